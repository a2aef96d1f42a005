"""Every name that a field declares, in every story, renamed to a planted one: none is left, in any encoding.

The names are found without redaction's own reading of fields: a word of a declared field is one, if it is no word that
a kernel, a format or every node has.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.cli import command
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.model import Name, Reading, schema
from sdstop.core.replay import Replay
from sdstop.core.retention import Retention
from sdstop.core.snapshot import is_derived
from sdstop.exporters.capture import CaptureWriter
from tests.fixtures import names, opened

NAMING = set(Name) - {Name.IDENTIFIER, Name.TEXT, Name.EVIDENCE, Name.PATHS}
"""Kinds of fields of which each word is a name: identifiers are known by their form, and planted elsewhere."""
COMMON = re.compile(
    r"sd[a-z]{1,2}\d*|vd[a-z]\d*|nvme\d+n\d+(p\d+)?|(md|dm-|drbd|zd|bcache|rbd|loop|sr|osd\.|eth|bond|br|vb|va|eno|enp|node)"
    r"\d*\w*|etherd|e\d+\.\d+(p\d+)?|lo|va|vb|dev|mapper|disk|by-\w+|(mirror|raidz\d?|draid\d?(:\w+)*|spare|replacing)-[\d-]+"
    r"|draid\d|\d+\w|\d+s-\d+|spares|logs|cache|default|hdd|ssd|wwn-\S+|scsi-\S+|srv|mnt|vm|run|etc|fstab|swap|slice|scope"
    r"|system\.slice|tank|vg0?|vol|arc|l2arc|zil|root|images|golden|raw|data|pool|group|powerflex|ceph|drbd|gluster|pacemaker"
    r"|machine\.slice|user\.slice|vdo|block|bin|sh|init\.sh|this|all|file|flashcache|meta|host\d+|part\d+|backup\S*"
    r"|tpool|real|postgres|wc|origin|metadata|cvol|home|ata|[0-9a-f]{16}|[a-z]{1,3}\d?|\d[\d.:/-]*|pci-\S+|rack\d+|storage"
    r"|tmpfs",
    re.IGNORECASE,
)
LINKED = re.compile(r"(?:nvme|ata|scsi|md-name|md-uuid|dm-name|dm-uuid|lvm-pv)-")
"""Links of udev."""
LONGEST = 6
"""Frames of a story that are renamed: its first and its last ones have all names."""


def shortened(story: str) -> tuple[Origin, list[Frame]]:
    origin, every = opened(story)
    kept = every if len(every) <= LONGEST else [every[0], *every[1 - LONGEST :]]
    return origin, list(Retention(BUILTIN).frames(kept))


def words_of(kind: Name, text: str) -> Iterator[str]:
    if kind is Name.SERIAL:
        yield text
        return
    if kind is Name.MAPPING:
        text = re.sub(r"(?<!-)-(?!-)", "/", text).replace("--", "-")
    for word in re.split(r"[\s/@:,()\[\]~]+", text):
        if LINKED.match(word):  # the serial number in it is a field of its own
            continue
        host = word.split(".") if kind is Name.HOST else [word]
        yield from (part for part in host if len(part) >= 4 and not COMMON.fullmatch(part))


def rows(origin: Origin, frames: Iterable[Frame]) -> Iterator[Reading]:
    replay = Replay(BUILTIN, known=origin.collectors)
    for frame in frames:
        for run in replay.feed(frame).runs.values():
            for table in run.tables.values():
                yield from () if is_derived(table) else table.values()


def declared(origin: Origin, frames: Iterable[Frame]) -> dict[str, str]:
    """Return what each name is renamed to."""
    found: dict[str, str] = {}
    for row in rows(origin, frames):
        for column in schema(type(row)).columns:
            value = getattr(row, column.name)
            for word in words_of(column.names, value) if column.names in NAMING and isinstance(value, str) else ():
                digest = hashlib.sha256(word.encode()).hexdigest()
                letters = "".join(chr(ord("g") + int(digit, 16)) for digit in digest[:10])
                found[word] = f"q{letters}7" if column.names is not Name.SERIAL else f"Q{letters.upper()}7"
    return found


def renamed(frames: Iterable[Frame], planted: Mapping[str, str]) -> list[Frame]:
    """Return frames in which names are others, whole words, also where hyphens are doubled."""
    forms = {form: new for old, new in planted.items() for form in (old, old.replace("-", "--"))}
    longest = sorted(forms, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])" for form in longest) or "(?!)")

    def new(text: str) -> str:
        return pattern.sub(lambda found: forms[found[0]], text)

    def item(old: Evidence) -> Evidence:
        binary = b"\0" in old.data and not old.key.endswith("/cmdline")
        text = old.data.decode("utf-8", "surrogateescape")
        data = old.data if binary else new(text).encode("utf-8", "surrogateescape")
        return replace(old, key=new(old.key), data=data, detail=new(old.detail))

    return [replace(frame, evidence=tuple(map(item, frame.evidence))) for frame in frames]


def writings(name: str) -> Iterator[bytes]:
    plain = name.lower().encode()
    yield from (plain, plain.hex().encode(), name.encode("utf-16-le").lower(), name.encode("utf-16-be").lower())
    for written in (name.encode(), name.upper().encode()):
        yield base64.b64encode(written)[: len(written) // 3 * 4].lower()


def left(planted: Iterable[str], data: bytes) -> list[str]:
    lower = data.lower()
    return [name for name in planted if any(written in lower for written in writings(name))]


WIDEST = {
    "aoe-flashcache", "ceph-osd-down", "disks-healthy", "draid-mended", "gluster-clean", "layers-in-place",
    "lvm-failing", "lvm-physical-volume-back", "lvm-physical-volume-missing", "mtu-mended", "pacemaker-clean",
    "quota-exhausted", "san-neglected", "scaleio-cloud", "service-roomy", "vm-dm-cache", "vm-sosreport",
}  # fmt: skip
"""Stories that together have names in every field in which any story has one."""


@pytest.mark.slow
def test_the_stories_of_every_run_have_every_field() -> None:
    def fields(story: str) -> set[tuple[str, str]]:
        return {
            (row.family, column.name) for row in rows(*shortened(story)) for column in schema(type(row)).columns
            if column.names in NAMING and any(words_of(column.names, getattr(row, column.name) or ""))
        }  # fmt: skip

    assert set[tuple[str, str]]().union(*map(fields, names())) == set[tuple[str, str]]().union(*map(fields, WIDEST))


@pytest.mark.parametrize(
    "story", [name if name in WIDEST else pytest.param(name, marks=pytest.mark.slow) for name in names()]
)
def test_no_renamed_name_is_left(story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    origin, frames = shortened(story)
    planted = declared(origin, frames)
    made = renamed(frames, planted)
    name = planted.get(origin.name, "node7x")  # without a name of its own, a story has that of its folder: a rule's ID
    found = {word for row in rows(origin, made) for word in re.findall(r"\w+", str(row))}
    assert not planted or set(planted.values()) & found, "the renamed names reach the readings"
    source, out = tmp_path / "raw.tar.gz", tmp_path / "out.tar.gz"
    with CaptureWriter(source, name, collectors=origin.collectors) as writer:
        for frame in made:
            writer.add(frame)
        writer.finish()
    assert command.execute(["capture", "--from", str(source), "-o", str(out), "--redact"]) == 0
    said = capsys.readouterr().err
    assert re.search(r"; replaced \d+ names? from \d+ sources?; mapping saved in", said), said
    with tarfile.open(out) as archive:
        for member in archive:
            file = archive.extractfile(member)
            data = member.name.encode() + (file.read() if file is not None else b"")
            assert (member.name, left(planted.values(), data)) == (member.name, [])
    known = json.loads(Path(f"{out}.map.json").read_text())
    assert planted[origin.name] in known["host"] if origin.name in planted else True
