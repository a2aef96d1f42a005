"""Retention: the evidence, and the parts of it, that are kept according to the needs declared by collectors.

Files of a node and captures from other sources contain secrets and names that no collector needs. On a live node a
collector's `keep` is applied while reading; for captures it is applied on opening, and evidence that no collector
reads is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import translate
from functools import cache, cached_property
from typing import Any

from msgspec.structs import replace

from sdstop.core.collector import Collector, Command, is_pattern
from sdstop.core.evidence import Evidence, Frame, Outcome, slug
from sdstop.core.expression import expression
from sdstop.core.wording import own_words

Keep = Callable[[bytes], bytes]
DROPPED = "not kept: no collector reads it"
_OWN = expression(r"/proc/(?:self|thread-self|\d+)/(?=net/|mounts$)")
"""Files of a process that apply to the node; in copied trees a link from /proc leads to them."""
_TREES = ("/sys/", "/dev/")
"""Trees whose files are reachable by many paths through links, and hold one value each."""
_SPOKEN = ("cmd", "slug")
_translated = cache(translate)


class Retention:
    """Evidence read by a set of collectors, and the parts of it to keep."""

    def __init__(self, collectors: Iterable[Collector]) -> None:
        """Collect the declarations of the collectors."""
        needs = [need for collector in collectors for need in collector.needs]
        plain = [need for need in needs if not isinstance(need, Command)]
        lines = {need.what: need.kept for need in needs if isinstance(need, Command) and need.keep}
        self._whats = {need.what for need in needs}
        self._keeps = _by_pattern(lines | {need.what: need.keep for need in plain if need.keep is not None})
        self._redacting = {need.what: need.redact for need in plain if need.redact is not None}

    @cached_property
    def _redacts(self) -> _Parts:
        return _by_pattern(self._redacting)

    @cached_property
    def _files(self) -> frozenset[str]:
        return frozenset(what for what in self._whats if what.startswith("/") and not is_pattern(what))

    @cached_property
    def _trees(self) -> Sequence[tuple[str, re.Pattern[str]]]:
        """Patterns of files, and how their keys begin: few of them are compiled."""
        patterns = (what for what in self._whats - self._files if what.startswith("/") and not what.startswith(_TREES))
        return [(_starts(what)[0], expression(_translated(what))) for what in sorted(patterns)]

    @cached_property
    def _programs(self) -> frozenset[str]:
        return frozenset(what[4:].split()[0].rstrip("*") for what in self._whats if what.startswith("cmd:"))

    @cached_property
    def _called(self) -> tuple[str, ...]:
        """How the command lines of these programs begin, and their slugs."""
        return tuple(f"{program}{space}" for program in self._programs for space in " _")

    def __bool__(self) -> bool:
        """Return whether any evidence is kept only in part."""
        return bool(self._keeps[0])

    def needs(self, key: str) -> bool:
        """Return whether a collector reads this file or output of this program; True for other kinds of evidence."""
        kind, colon, rest = key.partition(":")
        if colon and kind in _SPOKEN:
            return rest in self._programs or rest.startswith(self._called)
        if not key.startswith("/") or key.startswith(_TREES):
            return True
        key = _of_node(key)
        return key in self._files or any(
            key.startswith(start) and pattern.fullmatch(key) is not None for start, pattern in self._trees
        )

    def part(self, key: str, data: bytes) -> bytes:
        """Return the part of a file, output or answer to keep; all of it unless a collector declares `keep`."""
        keep = _of(self._keeps, key) if data else None
        return data if keep is None else keep(data)

    def redacted(self, key: str, data: bytes) -> bytes:
        """Return the part of a piece of evidence that redaction keeps before it replaces names."""
        redact = _of(self._redacts, key)
        return data if redact is None else redact(data)

    def evidence(self, item: Evidence) -> Evidence:
        """Return the kept part of evidence from a capture; evidence that no collector reads is marked denied."""
        if not self.needs(item.key):
            return _dropped(item)
        part = self.part(item.key, item.data)
        return item if part == item.data else replace(item, data=part)

    def frames(self, frames: Iterable[Frame]) -> list[Frame]:
        """Return the kept parts of the frames of a capture."""
        keeps: dict[str, Keep | None] = {}  # most keys are in every frame
        drops: set[str] = set()

        def kept(item: Evidence) -> Evidence:
            key = item.key
            if key not in keeps:
                keeps[key] = _of(self._keeps, key)
                if not self.needs(key):
                    drops.add(key)
            if key in drops:
                return _dropped(item)
            keep = keeps[key] if item.data else None  # nothing was read: nothing is imported for it
            return item if keep is None or (part := keep(item.data)) == item.data else replace(item, data=part)

        return [replace(frame, evidence=tuple(map(kept, frame.evidence))) for frame in frames]


_WILD = expression(r"[*?\[]")
_Parts = tuple[tuple[str, ...], tuple[tuple[tuple[str, ...], re.Pattern[str] | None, Keep], ...]]
"""How keys begin for which there is a function, and the functions with the pattern of their keys and its beginnings.

Without a pattern, the beginning is the key.
"""


def _dropped(item: Evidence) -> Evidence:
    return replace(item, outcome=Outcome.DENIED, data=b"", stderr=b"", detail=DROPPED)


def _of_node(key: str) -> str:
    return _OWN.sub("/proc/", key) if key.startswith("/proc/") else key


def _of(parts: _Parts, key: str) -> Keep | None:
    """Return the function of the first pattern that matches a key, None without one."""
    every, known = parts
    key = _of_node(key)
    if not key.startswith(every):
        return None
    for starts, pattern, part in known:
        if key in starts if pattern is None else key.startswith(starts) and pattern.fullmatch(key):
            return part
    return None


def _by_pattern(parts: Mapping[str, Keep]) -> _Parts:
    known = tuple(
        (_starts(what), None if _is_key(what) else expression(_pattern(what)), part) for what, part in parts.items()
    )
    return tuple(dict.fromkeys(start for starts, _, _ in known for start in starts)), known


def _is_key(what: str) -> bool:
    return not (is_pattern(what) or what.startswith(("cmd:", "http:")))


def _starts(what: str) -> tuple[str, ...]:
    """Return how keys that match a need begin, so that few patterns are compiled."""
    kind = what.partition(":")[0]
    if kind == "cmd":
        program = what[4:].partition(" ")[0].partition("*")[0]
        return f"cmd:{program}", f"slug:{slug(program)[:_SLUG]}"
    return ("http",) if kind == "http" else (_WILD.split(what, maxsplit=1)[0],)


_SLUG = 100
"""Characters of a slug that do not depend on its end."""


def _pattern(what: str) -> str:
    """Return the pattern of a need's keys; commands and requests may be recorded by their slug only."""
    if what.startswith("http:"):
        return rf"http(?:-slug)?:{_translated(what[5:])}"
    if not what.startswith("cmd:"):
        return _translated(what)
    words = what[4:].rstrip("*")
    end = ".*" if what.endswith("*") else ""
    other = _OTHER.search(words)  # one character that is none of these
    if other is not None:
        begin = words[: other.start()]
        rest = f"{end if other.end() == len(words) else re.escape(words[other.end() :]) + end}"
        return rf"(?s:(?:cmd:{re.escape(begin)}|slug:{re.escape(slug(begin))})[^{other[1]}]{rest})\Z"
    return rf"(?s:cmd:{re.escape(words)}{end}|slug:{re.escape(slug(words))}{end})\Z"


_OTHER = expression(r"\[!([a-z]{1,8})\]")


_USER = expression(r"((?:\w+#)?(?:[A-Za-z][\w+.-]*:)?//)\S*@|(\w+#)\S*@|(?![/\w]*=)[^/\s][^/\s]*@(?=[^/\s]+:)")
"""User and password in front of a host: `//me:x@server/share`, `https://me:x@host`, `me:x@host:/path`."""


_OTHER_DEVICE = expression(r"(?:logdev|rtdev)=/dev/[\w./-]{1,100}", re.ASCII)
_MOUNTED = frozenset({"ro", "rw", "emergency_ro", "shutdown", "nobarrier", "barrier=0"})
"""Options that show whether a file system can be written, and whether it flushes caches of disks."""


FSTAB_WORDS = frozenset({
    "auto", "bind", "comment=systemd.automount", "defaults", "noauto", "nofail", "rbind", "ro", "rw",
    "x-systemd.automount",
})  # fmt: skip
"""Options of fstab(5) that show whether a file system is mounted at boot, and how."""


def mount_table(data: bytes) -> bytes:
    """Return the device, mount point and type of each line of /proc/mounts, without user and password.

    Of the options only those are kept that show whether the file system can be written and flushes caches, and the
    devices of an external log and of file contents (XFS); comments are dropped.

        //me:x@server/share /mnt cifs rw,username=me,password=x 0 0     //server/share /mnt cifs rw
    """
    return _table(data, lambda given: [word for word in given if word in _MOUNTED or _OTHER_DEVICE.fullmatch(word)])


def fstab_table(data: bytes) -> bytes:
    """Return the device, mount point, type and known options of each line of fstab(5), without user and password.

    A line that has other options only has the option `defaults`, so that these are known to be none of them.

        //me:x@server/share /mnt cifs nofail,username=me,password=x 0 0     //server/share /mnt cifs nofail
    """
    return _table(data, lambda given: [word for word in given if word in FSTAB_WORDS] or ["defaults"] * bool(given))


def fstab_without_names(data: bytes) -> bytes:
    """Return fstab(5) with devices by path alone: labels, UUIDs, servers and data sets are names of the owner.

    LABEL=acme /srv xfs nofail     LABEL=- /srv xfs nofail          nas:/acme /mnt nfs4     -:/ /mnt nfs4
    """
    lines = []
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        words = line.split()
        if len(words) > 1 and not words[0].startswith(("#", "/dev/")):
            words[0] = _source_kind(words[0])
        lines.append(" ".join(words) + "\n")
    return "".join(lines).encode("utf-8", "surrogateescape") if lines else data


def _source_kind(source: str) -> str:
    """Return what identifies a file system in fstab(5), without its name: `UUID=-`, `-:/` (a server), `/`, or `-`."""
    tag, sign, _ = source.partition("=")
    if sign and tag.isalpha():
        return f"{tag}=-"
    if source.startswith("//") or ":/" in source:
        return "-:/"
    return "/" if source.startswith("/") else "-"


def _table(data: bytes, chosen: Callable[[Sequence[str]], list[str]]) -> bytes:
    lines = []
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        words = line.split()[:4]
        if words and not words[0].startswith("#"):
            words[0] = _USER.sub(lambda found: found[1] or found[2] or "", words[0], count=1)
            given = words.pop().split(",") if len(words) > 3 else ()
            lines.append(" ".join([*words, *filter(None, [",".join(chosen(given))])]) + "\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def json_texts(*fields: str, wording: Sequence[str] = ()) -> Keep:
    """Return a filter that empties the strings of a JSON document except in some fields, and drops invalid JSON.

    Numbers are kept, also as strings. In the fields of `wording`, messages of a program, its own words are kept.
    """

    def part(data: bytes) -> bytes:
        try:
            said = json.loads(data)
            made = _texts(said, frozenset(fields), frozenset(wording), "")
        except (ValueError, RecursionError):
            return b""
        return data if made == said else json.dumps(made).encode()

    return part


def _texts(said: Any, fields: frozenset[str], wording: frozenset[str], name: str) -> Any:
    if isinstance(said, dict):
        return {key: _texts(value, fields, wording, key) for key, value in said.items()}
    if isinstance(said, list):
        return [_texts(value, fields, wording, name) for value in said]
    if not isinstance(said, str) or name in fields or _NUMERAL.fullmatch(said):
        return said
    return own_words(said) if name in wording else ""


_NUMERAL = expression(r"[+-]?\d{1,20}(?:\.\d{1,20})?[A-Za-z%]{0,3}|-")


def lines_of(pattern: str) -> Keep:
    """Return a filter that keeps only lines that begin with a match of a pattern."""
    known = re.compile(pattern.encode())
    return lambda data: b"".join(line for line in data.splitlines(keepends=True) if known.match(line))
