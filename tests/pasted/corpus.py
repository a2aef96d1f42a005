"""Corpus: pasted texts, and what must be read from each.

`fixtures/texts/<technology>/<name>.txt` is a text as somebody pasted it, `<name>.toml` beside it declares:

    origin = "recorded: mdadm 4.2 (Debian 12)"       # or "written by hand: ...", "as pasted: ..."
    reads = ["cmd:mdadm -D /dev/md0"]                # keys of evidence that a source reads; no other may be there
    unread = ["cmd:uptime"]                          # keys, or first lines, of blocks that no source reads
    rows = ["array md0 level=raid1 working=1"]    # family, name of the row, values (quoted as in a shell)
    counts = { array = 1 }                        # number of rows of a family, where it matters
    found = ["critical array-degraded md0"]          # all findings above info: severity, rule, subject
    good = ["rebuild-stalled md0"]                   # must be ruled out: rule, subject
    names = { d6 = "nvme0" }                         # other names of things, where the command line is lost
    refused = true                                   # nothing in it is recognized; `reads` and `found` are empty
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sdstop.collectors import BUILTIN
from sdstop.core.collector import texts_of
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Severity
from sdstop.core.interval import unrolled
from sdstop.core.model import schema
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.pasted.reader import read_nodes
from sdstop.rules import RULES
from tests.fixtures import FIXTURES

TEXTS = FIXTURES / "texts"
FORMS = texts_of(BUILTIN)
RETENTION = Retention(BUILTIN)


class Declared(msgspec.Struct, forbid_unknown_fields=True):
    """What must be read from a text."""

    origin: str
    reads: list[str]
    found: list[str]
    unread: list[str] = msgspec.field(default_factory=list)
    rows: list[str] = msgspec.field(default_factory=list)
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    good: list[str] = msgspec.field(default_factory=list)
    names: dict[str, str] = msgspec.field(default_factory=dict)
    refused: bool = False


@dataclass(frozen=True)
class Text:
    """A text of the corpus."""

    name: str
    path: Path

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @functools.cached_property
    def declared(self) -> Declared:
        return msgspec.toml.decode(self.path.with_suffix(".toml").read_bytes(), type=Declared)


def texts() -> list[Text]:
    """Return all texts of the corpus."""
    found = sorted(TEXTS.glob("*/*.txt"))
    return [Text(f"{path.parent.name}/{path.stem}", path) for path in found]


def judged(data: bytes) -> Session:
    """Return the session of a text, opened as the command line opens it. Raises TextRefused."""
    origin, frames = read_nodes(data, FORMS)[0]
    origin, frames = unrolled(origin, RETENTION.frames(frames), BUILTIN)
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    return session


def findings(session: Session) -> set[str]:
    """Return all findings above info that were ever in force: severity, rule, subject."""
    return {
        f"{each.finding.severity.value} {each.finding.rule} {each.finding.subject}"
        for each in session.episodes()
        if each.finding.severity is not Severity.INFO
    }


def ruled_out(session: Session) -> set[str]:
    """Return what rules found good in the last frame: rule, subject."""
    return {f"{each.rule} {subject}" for each in session.head().judgement.ruled_out for subject in each.subjects}


def keys_read(session: Session) -> set[str]:
    """Return the keys of recorded outputs and files that a source read."""
    now = session.head().now
    return {
        key
        for run in now.runs.values()
        if run.outcome is Outcome.OK
        for key in run.keys
        if key in session.head().host.state and not key.startswith(("link:", "list:"))
    }


def rows(session: Session) -> dict[str, dict[str, str]]:
    """Return the values of all rows: "family name" to `{field: text}`."""
    now, found = session.head().now, {}
    for family in now.by_family:
        columns = schema(family)
        for key, row in now.rows(family).items():
            values = {name: str(value) for name, value in columns.row(row).items()}
            found[f"{family.family} {_name(key)}"] = values
    return found


def _name(key: Hashable) -> str:
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)


def missing(declared: list[str], found: dict[str, dict[str, str]]) -> list[str]:
    """Return the declared rows, and values of rows, that were not read."""
    wrong = []
    for line in declared:
        family, name, *values = shlex.split(line)
        row = found.get(f"{family} {name}")
        if row is None:
            wrong.append(f"{family} {name}: no such row among {sorted(found)[:200]}")
            continue
        for value in values:
            field, _, expected = value.partition("=")
            if row.get(field) != expected:
                wrong.append(f"{family} {name}: {field}={row.get(field)}, expected {expected}")
    return wrong
