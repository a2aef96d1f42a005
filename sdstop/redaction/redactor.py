"""Redactor: replaces every name in evidence, in keys, texts, links and lists.

Names are learned from fields that are declared as names, in the readings of a replay of the evidence. As a pool may be
named like a word of a parser, redacted evidence is replayed, too: if its readings differ in more than names, the
responsible names are found by trial and kept.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from sdstop.core.collector import Collector, commands_of
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, RunMark
from sdstop.core.expression import expression
from sdstop.core.model import Name, schema
from sdstop.core.replay import Replay
from sdstop.core.retention import Retention
from sdstop.core.snapshot import Run, is_derived
from sdstop.core.wording import own_words
from sdstop.core.zone import FACT, zone
from sdstop.redaction import credentials, declared, identity, sockets
from sdstop.redaction.comparison import differing
from sdstop.redaction.names import Names
from sdstop.redaction.ordinary import is_ordinary
from sdstop.redaction.pseudonym import NameKind, Pseudonyms

_HOSTNAMES = frozenset({"/proc/sys/kernel/hostname", "/etc/hostname", "cmd:hostname"})
_SPACED = expression(r"/sys/.*/eui$")
"""Files with an identifier whose bytes are separated by spaces."""
_STRINGS = expression(rb"[\x20-\x7e]{3,}")
"""Text in binary data."""
_ESCAPE = expression(r"(\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-3][0-7]{2}|[nrtbf]))")
_WIDE = expression(rb"(?:[\x20-\x7e]\0){3,}")
"""Text of 16 bits a character in binary data."""
_NVME = expression(r"(?<![\w.])nvme\.([0-9a-f]{4})-([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]{8})(?![\w.])")
_FACTS = frozenset({"kernel"})
"""Facts about a capture that are not free text."""
REMOVED = "removed by redaction"
_CACHED, _REMEMBERED = 4096, 300
"""Cache of short texts (keys, values of sysfs), which recur: number of texts, and maximum length in characters."""
_ORDER = {kind: place for place, kind in enumerate((NameKind.HOST, NameKind.USER, NameKind.SERIAL, NameKind.VOLUME))}
"""Precedence of kinds for a name that occurs in several fields."""


class Redactor:
    """Redactor of frames. Call `learn` before `frame`, with frames in order."""

    def __init__(
        self, pseudonyms: Pseudonyms, collectors: Sequence[Collector], known: frozenset[str] | None = None
    ) -> None:
        """Start with nothing learned. `known` are the collectors that read the node (Origin.collectors)."""
        self.pseudonyms = pseudonyms
        self.kept: set[str] = set()
        """Names that are not replaced, because a parser needs them or another field has them as plain words."""
        self.changed: set[str] = set()
        """Families whose readings redaction changed for another reason."""
        self.sources: set[str] = set()
        """Collectors with a successful run."""
        self._collectors = tuple(collectors)
        self._retention = Retention(collectors)
        self._known_commands = {command.what for command in commands_of(collectors)}
        self._names = Names(pseudonyms)
        self._cached = lru_cache(_CACHED)(self._text)
        self._known = known
        self._learning, self._before, self._after = (self._replay() for _ in range(3))
        self._learned: dict[str, Run] = {}
        self._read: set[str] = set()
        """Keys of evidence from which a collector has made readings."""
        self._asked: set[str] = set()
        """Keys of evidence that a collector has requested."""
        self._unread: set[str] = set()
        """Keys of evidence that was not understood: whether it holds names is unknown."""
        self._left_out = self.kept
        self._hosts: set[str] = set()
        """Words that are not replaced, and that other evidence than the host's own name has as names of hosts."""
        self._own: set[str] = set()
        """Pseudonyms of host names that are used only where a host reports its own name."""
        self._seen: set[tuple[Name, str]] = set()

    @property
    def names(self) -> Mapping[str, NameKind]:
        """Learned names and their kinds."""
        return self._names.kinds

    def _replay(self) -> Replay:
        return Replay(self._collectors, known=self._known)

    def learn(self, frame: Frame) -> None:
        """Learn the names in a frame's readings, and those of devices and machines in paths."""
        found: list[tuple[NameKind, str]] = []
        for run in self._learning.feed(frame).runs.values():
            if self._learned.get(run.collector) is not run:
                self._learned[run.collector] = run
                self._asked |= run.keys
                if run.ok:
                    self._read |= run.keys
                elif run.outcome is Outcome.ABSENT:  # no connection to storage
                    self._read |= set(filter(sockets.is_list, run.keys))
                self._unread |= run.keys if run.outcome is Outcome.UNREAD else set()
                found += self._held(run)
                self._hosts |= self._kept_hosts(run)
        for item in frame.evidence:
            key = item.key.removeprefix("link:")
            if key.startswith("list:"):
                listed = item.data.decode("utf-8", "replace").split("\n")
                found += (name for entry in listed for name in declared.in_key(f"{key[5:]}/{entry}"))
            elif key.startswith("/"):
                found += declared.in_key(key)
        self._add(found)

    def learn_origin(self, origin: Origin) -> None:
        """Learn the name of the node, and those of the other nodes in a pasted text."""
        for name in (origin.name, *(block.node for block in origin.blocks)):
            self._add(declared.host(name))

    def _held(self, run: Run) -> Iterable[tuple[NameKind, str]]:
        """Yield the names in a run's readings."""
        if run.ok:
            self.sources.add(run.collector)
        for family, rows in run.tables.items():
            columns = [column for column in schema(family).columns if column.names is not None]
            for row in rows.values() if columns and not is_derived(rows) else ():
                for column in columns:
                    value = getattr(row, column.name)
                    if isinstance(value, str) and column.names is not None and (column.names, value) not in self._seen:
                        self._seen.add((column.names, value))
                        yield from declared.names_in(column.names, value)

    def _kept_hosts(self, run: Run) -> set[str]:
        """Return words among the names of hosts in a run's readings that its evidence has, and that are kept there."""
        words = {
            value for family, rows in run.tables.items() if not is_derived(rows)
            for column in schema(family).columns if column.names is Name.HOST
            for row in rows.values() if isinstance(value := getattr(row, column.name), str)
        }  # fmt: skip
        words = {word for word in words - self._hosts if word and is_ordinary(word)}
        state = self._learning.host.state
        items = [state[key].data for key in run.keys - _HOSTNAMES if key in state] if words else []
        return {
            word for word in words
            if any(re.search(rb"(?<![\w-])" + re.escape(word.encode()) + rb"(?![\w-])", data) for data in items)
        }  # fmt: skip

    def _add(self, found: Iterable[tuple[NameKind, str]]) -> None:
        before = len(self._names)
        for kind, name in sorted(found, key=lambda item: _ORDER.get(item[0], len(_ORDER))):
            if name not in self.kept and identity.usable(kind, name):
                self._names.add(kind, name)
        if len(self._names) > before:
            self._cached.cache_clear()

    def frame(self, frame: Frame) -> Frame:
        """Return a frame with all names replaced. Its readings are otherwise unchanged."""
        before = self._before.feed(frame)
        made = self._frame(frame)
        if not differing(before, self._after.feed(made), self._shown, self._same):
            return made
        self._settle({name: RunMark(0.0, run.duration or 0.0) for name, run in before.runs.items()})
        return self._frame(frame)

    def _frame(self, frame: Frame) -> Frame:
        return replace(frame, evidence=self._all(frame.evidence))

    def _all(self, items: Iterable[Evidence]) -> tuple[Evidence, ...]:
        """Return evidence with all names replaced, without keys that no collector has read or found in a directory."""
        return tuple(self.evidence(item) for item in items if self._is_handed_on(item))

    def _is_handed_on(self, item: Evidence) -> bool:
        if item.key in self._read or item.key in self._unread:
            return True
        if item.key in self._asked and item.outcome is not Outcome.OK:
            return True
        return self._is_listed(item.key)

    def _is_listed(self, key: str) -> bool:
        """Return whether a collector requested the listing of a parent directory, and none was recorded."""
        path = key.removeprefix("link:")
        while path.startswith("/") and (path := posixpath.dirname(path)) != "/":
            if f"list:{path}" in self._asked and f"list:{path}" not in self._before.host.state:
                return True
        return False

    def _settle(self, ran: Mapping[str, RunMark]) -> None:
        """Find the names whose replacement changes readings, and keep them; note any change that remains.

        `ran` are the collectors that have run so far.
        """
        while self._trial(ran):
            suspects = list(self._names.kinds)  # also those not replaced so far: a longer name can have hidden them
            if self._trial(ran, suspects):
                break
            low, high = 0, len(suspects)  # replacing the first `low` changes nothing, replacing the first `high` does
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._trial(ran, suspects[middle:]) else (middle, high)
            self._keep(suspects[high - 1])
        self.changed |= self._trial(ran)
        state = self._all(self._before.host.state.values())
        self._after = self._replay()
        self._after.feed(Frame(1, 0.0, 0.0, state, ran))

    def _trial(self, ran: Mapping[str, RunMark], without: Sequence[str] = ()) -> set[str]:
        """Return the families whose readings differ if all names but those in `without` are replaced."""
        names, cached = self._names, self._cached
        try:
            self._left_out = {*self.kept, *without}
            self._names = names.without(without)
            self._cached = lru_cache(_CACHED)(self._text)
            state = tuple(self._before.host.state.values())
            before = self._replay().feed(Frame(1, 0.0, 0.0, state, ran))
            after = self._replay().feed(Frame(1, 0.0, 0.0, self._all(state), ran))
            return differing(before, after, self._shown, self._same)
        finally:
            self._names, self._cached, self._left_out = names, cached, self.kept

    def _keep(self, name: str) -> None:
        self.kept.add(name)
        self.pseudonyms.forget(self._names.kinds[name], name)
        self._names = self._names.without([name])
        self._cached.cache_clear()

    def _shown(self, kind: Name, text: str) -> str:
        if kind is Name.IDENTIFIER and identity.BARE.fullmatch(text):
            return identity.BARE.sub(lambda found: identity.mac(found, self.pseudonyms), text)
        made = self.text(text)
        return "" if kind is Name.HOST and (made == text or made in self._own) else made

    def _same(self, kind: Name, text: str) -> str:
        return "" if kind is Name.HOST and (text in self._own or not self.pseudonyms.made(text)) else text

    def evidence(self, item: Evidence) -> Evidence:
        """Return a piece of evidence with all names replaced, without free text and credentials."""
        item = credentials.removed(item)
        key = self.text(item.key)
        if item.key in self._unread - self._read and item.outcome is Outcome.OK:
            # It stays unread, without its content: dropped, the node would look better than it does now.
            return replace(item, key=self._bare(item.key), data=f"({REMOVED})".encode(), stderr=b"", detail="")
        if item.key not in self._read and item.outcome is Outcome.OK:
            return replace(item, key=key, outcome=Outcome.DENIED, data=b"", stderr=b"", detail=REMOVED)
        data = self._of(item.key, self._retention.redacted(item.key, item.data))
        return replace(item, key=key, data=data, stderr=self.text(_said(item)).encode(), detail=self.text(item.detail))

    def _bare(self, key: str) -> str:
        """Return a key with all names replaced; of a command that no collector runs, keep only the program."""
        form, _, command = key.partition(":")
        if form not in {"cmd", "slug"} or key in self._known_commands:
            return self.text(key)
        return f"{form}:{re.split('[ _]', command, maxsplit=1)[0]} ({REMOVED})"

    def origin(self, origin: Origin) -> Origin:
        """Return the origin of frames with all names replaced."""

        def plain(text: str) -> str:
            return self.text(credentials.without(text))

        def host(name: str) -> str:
            return self._host(plain(name))

        facts = {name: plain(value) for name, value in origin.facts.items() if name in _FACTS}
        rule = origin.facts.get(FACT)
        if zone(rule) is not None and rule is not None:  # offsets and dates, no name of a place
            facts[FACT] = rule
        blocks = tuple(
            replace(each, first="", key=self._bare(each.key), unused=plain(each.unused), node=host(each.node))
            for each in origin.blocks
        )
        return replace(origin, name=host(origin.name), note=plain(origin.note), facts=facts, blocks=blocks)

    def _of(self, key: str, data: bytes) -> bytes:
        """Return file content or output with the names replaced, in the spelling of its format."""
        if not data:
            return data
        if key in _HOSTNAMES:
            return self._host(self.data(data).decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if key.endswith(("/cmdline", "/comm")):
            return b"\0".join(self.data(word) for word in data.split(b"\0"))
        if key.startswith("/proc/") and b"\0" not in data:
            text = data.decode("utf-8", "surrogateescape")
            made = sockets.replaced(key, text, self.pseudonyms)
            if made is not None:
                return made.encode("utf-8", "surrogateescape")
        if _SPACED.fullmatch(key):
            digits = data.decode("ascii", "replace")
            plain = re.sub(r"[^0-9a-f]", "", digits.lower())
            return (
                identity.like(digits, self.pseudonyms.of(NameKind.WWN, plain)).encode("ascii", "replace")
                if plain
                else data
            )
        if "/etherd!" in key or "/aoe/" in key:
            plain = data.decode("utf-8", "surrogateescape")
            data = identity.BARE.sub(lambda m: identity.mac(m, self.pseudonyms), plain).encode(
                "utf-8", "surrogateescape"
            )
        return self.data(data)

    def _host(self, text: str) -> str:
        """Replace a host's own name, even if it is a word that is kept elsewhere: `node7`, `sda`.

        It is kept if other evidence has it as the name of a host, and keeps it: the cluster's `node2` is this node.
        """
        name = text.strip()
        if not name or name in self._left_out or self.pseudonyms.made(name) or not identity.is_host(name):
            return text
        if name in self._hosts:
            return text
        made = self._names.host(name)
        self._own.add(made)
        return text.replace(name, made)

    def data(self, data: bytes) -> bytes:
        """Return bytes with all names replaced; in binary data each text is replaced in the same length."""
        if not data:
            return data
        if b"\0" in data:
            data = _WIDE.sub(lambda found: self._fixed(found[0][::2]).decode("latin-1").encode("utf-16-le"), data)
            return _STRINGS.sub(lambda found: self._fixed(found[0]), data)
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _fixed(self, text: bytes) -> bytes:
        made = self.text(text.decode("ascii")).encode("ascii", "replace")
        return (made + b" " * len(text))[: len(text)]

    def text(self, text: str) -> str:
        """Return a text with all names replaced."""
        if not text:
            return text
        return self._cached(text) if len(text) <= _REMEMBERED else self._text(text)

    def _text(self, text: str) -> str:
        known = self.pseudonyms
        parts: list[tuple[str, bool]] = [(text, True)]  # flag: the part may still contain names
        if "\\" in text:  # an escape separates words
            parts = [(part, True) for part in _ESCAPE.split(text) if part]
        if "nvme." in text:
            parts = _split(parts, _NVME, self._nvme)
        for look in identity.LOOKS:
            if not look.sign or look.sign in text:
                parts = _split(parts, look.pattern, lambda found, made=look.made: made(found, known))
        runs = groupby(parts, lambda part: part[1])
        joined = (("".join(part for part, _ in run), todo) for todo, run in runs)
        return "".join(self._names.replaced(part) if todo else part for part, todo in joined)

    def _nvme(self, found: re.Match[str]) -> str:
        """Replace the serial in the kernel's default name of a namespace; serial and model are hex-encoded texts."""
        serial = self._fixed(bytes.fromhex(found[2][: len(found[2]) // 2 * 2]))
        plain = serial.strip(b" \0").decode("ascii", "replace")
        if identity.usable(NameKind.SERIAL, plain):
            made = self.pseudonyms.of(NameKind.SERIAL, plain) if not self.pseudonyms.made(plain) else plain
            serial = made.encode("ascii", "replace").ljust(len(serial))[: len(serial)]
        return f"nvme.{found[1]}-{serial.hex()}-{found[3]}-{found[4]}"

    def map(self) -> dict[str, Any]:
        """Return the map of values to pseudonyms, for the node's administrator only."""
        known = self.pseudonyms.known
        return {kind.value: dict(sorted(known[kind].items())) for kind in NameKind if known[kind]}


def _said(item: Evidence) -> str:
    """Return the metadata that collectors read: first line of an error, type of a reply, without free text."""
    if item.key.startswith("http"):
        return item.stderr.partition(b";")[0].decode("utf-8", "replace")
    return own_words(item.stderr.strip().partition(b"\n")[0].decode("utf-8", "replace"))


def _split(parts: list[tuple[str, bool]], pattern: re.Pattern[str], made: Any) -> list[tuple[str, bool]]:
    """Replace the matches of a pattern in unfinished parts; replacements are finished."""
    done: list[tuple[str, bool]] = []
    for part, todo in parts:
        at = 0
        for found in pattern.finditer(part) if todo else ():
            instead = made(found)
            if instead == found[0]:
                continue
            done += [(part[at : found.start()], True), (instead, False)]
            at = found.end()
        done.append((part[at:], todo))
    return done
