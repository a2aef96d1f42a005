"""Redactor: evidence with every name of it replaced, in keys, texts, links, lists and the firmware's binary table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.redaction import credentials, firmware, identity, learning, sockets
from sdstop.redaction.names import Names
from sdstop.redaction.needed import needed
from sdstop.redaction.pseudonym import Kind, Pseudonyms

_UNREAD = re.compile(
    r"/(?:vpd_pg[0-9a-f]+|inquiry|config|eeprom|resource\d+|vpd|rom|nvmem)$"
    r"|^/proc/(?:\d+/|self/)?net/(?:arp|unix|nf_conntrack|dev_mcast|igmp6?|mcfilter6?|mcast6|ptype|netlink|ip_\w+|rt6_stats)$"
    r"|^/proc/(?:keys|key-users|kallsyms|kcore|kmsg|\d+/(?:environ|maps|smaps|mountinfo|mem|auxv))$"
)
"""What nobody here reads, and holds names in ways of its own."""
_HOSTNAMES = frozenset({"/proc/sys/kernel/hostname", "/etc/hostname", "cmd:hostname"})
_SPACED = re.compile(r"/sys/.*/eui$")
_STRINGS = re.compile(rb"[\x20-\x7e]{3,}")
_ESCAPE = re.compile(r"(\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-3][0-7]{2}|[nrtbf]))")
_WIDE = re.compile(rb"(?:[\x20-\x7e]\0){3,}")
_VENDORS = re.compile(r"^(\s*String \d+: )([^\n]+)$", re.MULTILINE)
_NVME = re.compile(r"(?<![\w.])nvme\.([0-9a-f]{4})-([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]{8})(?![\w.])")
REMOVED = "removed by redaction"
_CACHED, _REMEMBERED = 4096, 300
"""Short texts (keys, values of sysfs) come again and again; so many, of so many characters, are remembered."""


class Redactor:
    """Replaces names as it learns them; what a frame says itself is learnt before it is written."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        """Start with nothing learnt."""
        self.pseudonyms = pseudonyms
        self._names = Names(pseudonyms)
        self._cached = lru_cache(_CACHED)(self._text)

    @property
    def names(self) -> Mapping[str, Kind]:
        """What was learnt."""
        return self._names.kinds

    def learn(self, items: Iterable[Evidence], host: str = "") -> bool:
        """Learn what evidence says; return whether there was anything new."""
        before = len(self._names)
        for kind, value in learning.host(host):
            if identity.usable(kind, value):
                self._names.add(kind, value)
        for kind, value in learning.learnt(credentials.removed(item) for item in items):
            self._names.add(kind, value)
        new = len(self._names) > before
        if new:
            self._cached.cache_clear()
        return new

    def frame(self, frame: Frame) -> Frame:
        """Return a frame with all names replaced."""
        return replace(frame, evidence=tuple(self.evidence(item) for item in frame.evidence))

    def evidence(self, item: Evidence) -> Evidence:
        """Return a piece of evidence with all names replaced, and without credentials."""
        item = credentials.removed(item)
        key = self.text(item.key)
        if _UNREAD.search(item.key) or not needed(item.key):
            return replace(item, key=key, outcome=Outcome.DENIED, data=b"", stderr=b"", detail=REMOVED)
        data = self._of(item.key, item.data)
        return replace(item, key=key, data=data, stderr=self.data(item.stderr), detail=self.text(item.detail))

    def origin(self, origin: Origin) -> Origin:
        """Return where frames come from, under another name."""

        def plain(text: str) -> str:
            return self.text(credentials.without(text))

        facts = {plain(name): plain(value) for name, value in origin.facts.items()}
        return replace(origin, name=self._host(plain(origin.name)), note=plain(origin.note), facts=facts)

    def _of(self, key: str, data: bytes) -> bytes:
        """Return what stands in a file, or was printed, with the names replaced in the ways of its format."""
        if not data:
            return data
        if key in _HOSTNAMES:
            return self._host(self.data(data).decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if key.endswith("/dmi/tables/DMI"):
            return firmware.replaced(data, self.pseudonyms, self.text)
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
                identity.like(digits, self.pseudonyms.of(Kind.WWN, plain)).encode("ascii", "replace") if plain else data
            )
        if "/etherd!" in key or "/aoe/" in key:
            plain = data.decode("utf-8", "surrogateescape")
            data = identity.BARE.sub(lambda m: identity.mac(m, self.pseudonyms), plain).encode(
                "utf-8", "surrogateescape"
            )
        if "dmidecode" in key and b"String 1:" in data:
            vendors = firmware.known_alike(self.pseudonyms)
            text = data.decode("utf-8", "surrogateescape")
            data = _VENDORS.sub(lambda m: m[1] + vendors(m[2]), text).encode("utf-8", "surrogateescape")
        return self.data(data)

    def _host(self, text: str) -> str:
        """Replace a host's name where it can be nothing else, though it is a word that has to stay: `node7`, `sda`."""
        name = text.strip()
        named = name and not self.pseudonyms.made(name) and identity.is_host(name)
        return text.replace(name, self.pseudonyms.of(Kind.HOST, name)) if named else text

    def data(self, data: bytes) -> bytes:
        """Return bytes with all names replaced; of what is binary each text within it, in the same length."""
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
        parts: list[tuple[str, bool]] = [(text, True)]  # and whether names may still be in it
        if "\\" in text:  # what follows an escape stands by itself
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
        """Replace the name that the kernel gives a namespace without one: serial and model are hex digits of texts."""
        serial = self._fixed(bytes.fromhex(found[2][: len(found[2]) // 2 * 2]))
        plain = serial.strip(b" \0").decode("ascii", "replace")
        if identity.usable(Kind.SERIAL, plain):
            made = self.pseudonyms.of(Kind.SERIAL, plain) if not self.pseudonyms.made(plain) else plain
            serial = made.encode("ascii", "replace").ljust(len(serial))[: len(serial)]
        return f"nvme.{found[1]}-{serial.hex()}-{found[3]}-{found[4]}"

    def map(self) -> dict[str, Any]:
        """Return what stands for what, to be kept by the node's owner alone."""
        known = self.pseudonyms.known
        return {kind.value: dict(sorted(known[kind].items())) for kind in Kind if known[kind]}


def _split(parts: list[tuple[str, bool]], pattern: re.Pattern[str], made: Any) -> list[tuple[str, bool]]:
    """Replace what a pattern finds in those parts that are not done; what was made is done."""
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
