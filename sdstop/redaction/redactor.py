"""Redactor: evidence with every name of it replaced, in keys, texts, links, lists and the firmware's binary table."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sdstop.evidence import Evidence, Frame, Origin, Outcome
from sdstop.redaction import identity
from sdstop.redaction.pseudonym import Kind, Pseudonyms

_BINARY = re.compile(r"/(?:vpd_pg[0-9a-f]+|inquiry|config|eeprom|resource\d+)$")
"""Attributes of devices whose bytes hold serial numbers in ways of their own; nobody here reads them."""
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_PART = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[A-Za-z0-9.+]+(?:--[A-Za-z0-9.+]+)*|[A-Za-z0-9_.+]+")
REMOVED = "removed by redaction"


class Redactor:
    """Replaces names as it learns them; what a frame says itself is learnt before it is written."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        """Start with nothing learnt."""
        self.pseudonyms = pseudonyms
        self._kinds: dict[str, Kind] = {}

    @property
    def names(self) -> Mapping[str, Kind]:
        """What was learnt."""
        return self._kinds

    def learn(self, items: Iterable[Evidence], host: str = "") -> bool:
        """Learn what evidence says; return whether there was anything new."""
        before = len(self._kinds)
        for kind, value in identity.learnt(items):
            self._kinds.setdefault(value, kind)
        for name in {host, host.partition(".")[0]}:
            if identity.usable(Kind.HOST, name):
                self._kinds.setdefault(name, Kind.HOST)
        return len(self._kinds) > before

    def frame(self, frame: Frame) -> Frame:
        """Return a frame with all names replaced."""
        return replace(frame, evidence=tuple(self.evidence(item) for item in frame.evidence))

    def evidence(self, item: Evidence) -> Evidence:
        """Return a piece of evidence with all names replaced."""
        key = self.text(item.key)
        if _BINARY.search(item.key):
            return replace(item, key=key, outcome=Outcome.DENIED, data=b"", stderr=b"", detail=REMOVED)
        return replace(
            item, key=key, data=self.data(item.data), stderr=self.data(item.stderr), detail=self.text(item.detail)
        )

    def origin(self, origin: Origin) -> Origin:
        """Return where frames come from, under another name."""
        facts = {name: self.text(value) for name, value in origin.facts.items()}
        return replace(origin, name=self.text(origin.name), note=self.text(origin.note), facts=facts)

    def data(self, data: bytes) -> bytes:
        """Return bytes with all names replaced; of a binary table each text within it, in the same length."""
        if not data:
            return data
        if b"\0" in data:
            return re.sub(rb"[\x20-\x7e]{3,}", lambda found: self._fixed(found[0]), data)
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _fixed(self, text: bytes) -> bytes:
        made = self.text(text.decode("ascii")).encode("ascii", "replace")
        return (made + b" " * len(text))[: len(text)]

    def text(self, text: str) -> str:
        """Return a text with all names replaced."""
        if not text:
            return text
        of = self.pseudonyms.of
        text = identity.IQN.sub(lambda m: of(Kind.IQN, m[0]), text)
        text = identity.MAC.sub(lambda m: of(Kind.MAC, m[0]), text)
        text = identity.IPV4.sub(lambda m: of(Kind.IPV4, m[0]), text)
        if "::" in text or text.count(":") > 5:
            text = identity.IPV6.sub(self._ipv6, text)
        text = identity.WWN.sub(self._wwn, text)
        return _TOKEN.sub(self._token, text) if self._kinds else text

    def _wwn(self, found: re.Match[str]) -> str:
        core = found["core"]
        self._kinds.setdefault(core, Kind.WWN)
        return found[0].replace(core, self.pseudonyms.of(Kind.WWN, core))

    def _ipv6(self, found: re.Match[str]) -> str:
        with contextlib.suppress(ValueError):
            ipaddress.IPv6Address(found[0])
            return self.pseudonyms.of(Kind.IPV6, found[0])
        return found[0]

    def _token(self, found: re.Match[str]) -> str:
        """Replace a word that is a name as a whole, else those of its parts that are names."""
        token = found[0]
        kind = self._kinds.get(token)
        if kind is not None:
            return self.pseudonyms.of(kind, token)
        if len(token) <= identity.SHORTEST or token.isdecimal():
            return token
        token = _WORD.sub(self._part, token)
        return _PART.sub(self._part, token) if not self.pseudonyms.made(token) else token

    def _part(self, found: re.Match[str]) -> str:
        part = found[0].replace("--", "-")
        kind = self._kinds.get(part)
        if kind is None or self.pseudonyms.made(part):
            return found[0]
        made = self.pseudonyms.of(kind, part)
        return made.replace("-", "--") if part != found[0] or (kind is Kind.VOLUME and "-" in part) else made

    def map(self) -> dict[str, Any]:
        """Return what stands for what, to be kept by the node's owner alone."""
        known = self.pseudonyms.known
        return {kind.value: dict(sorted(known[kind].items())) for kind in Kind if known[kind]}
