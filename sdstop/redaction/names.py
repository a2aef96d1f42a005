r"""Names: search for learned names in any text: whole words, regardless of case, and in the escapes of formats.

Names are indexed by their first run of letters and digits, so that a search costs the same for one name and for
thousands. `acme-db` is found in `customers-acme--db` (device mapper), `machine-qemu\x2d1\x2dacme\x2ddb`
(systemd, udev), `acme%2Ddb` (URLs), and in its hex digits or Base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator

from sdstop.core.expression import expression
from sdstop.redaction.identity import usable
from sdstop.redaction.pseudonym import NameKind, Pseudonyms

_PIECE = expression(r"[^\W_]+")
_ESCAPED = expression(r"(?:\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-3][0-7]{2}|[nrtbf])|%[0-9A-Fa-f]{2})(?=[^\W_])")
"""Escaped character, which is not part of the word after it."""
_LABELS = expression(r"(?<![A-Za-z0-9.-])(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,8}\Z")
_SHORT = 6
"""Minimum length of a name that is searched for in encodings: shorter hex digits may be any number."""
Writing = Callable[[str], str]


def _percent(text: str, kept: str) -> str:
    """Return a text in URL encoding; `kept` are characters that are not encoded."""
    plain = frozenset(f"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789{kept}".encode())
    return "".join(chr(c) if c in plain else f"%{c:02X}" for c in text.encode("utf-8", "surrogateescape"))


def _escaped(signs: str, sign: str) -> Writing:
    """Return a function that escapes the characters `signs`; `sign` is the format for a character's number."""
    return lambda text: "".join(sign % ord(c) if c in signs else c for c in text)


_NAMED: tuple[Writing, ...] = (
    lambda text: text.replace("-", "--"),
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    _escaped(" ,;:@()'\"&#+/", "\\x%02x"),
    _escaped(" -,;:@()'\"&#+/", "\\x%02x"),
    _escaped(" \t\\#", "\\%03o"),
    lambda text: _percent(text, "-._~"),
    lambda text: _percent(text, ""),
    lambda text: text.replace(" ", "_"),
    lambda text: text.replace("-", "_"),
    lambda text: text.replace("/", "-"),
)
_ENCODED: tuple[Writing, ...] = (
    lambda text: text.encode("utf-8", "surrogateescape").hex(),
    lambda text: base64.b64encode(text.encode("utf-8", "surrogateescape")).decode(),
    lambda text: base64.b64encode(f"{text}\n".encode("utf-8", "surrogateescape")).decode(),
    lambda text: base64.b64encode(text.encode("utf-8", "surrogateescape")).decode().rstrip("="),
    lambda text: base64.b64encode(text.encode("utf-16-le", "surrogatepass")).decode(),
)


class Names:
    """Registry of known names and their kinds; replaces them with pseudonyms."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        """Start without names."""
        self._pseudonyms = pseudonyms
        self.kinds: dict[str, NameKind] = {}
        self._aliases: dict[str, list[tuple[str, str, str, Writing | None]]] = {}
        self._lower: dict[str, str] = {}

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self.kinds)

    def add(self, kind: NameKind, name: str) -> None:
        """Add a name; the kind with which it was first added is kept."""
        if name in self.kinds:
            return
        self.kinds[name] = kind
        self._lower.setdefault(name.lower(), name)
        self._add(name, name, None)
        for writing in _NAMED:
            self._add(writing(name), name, writing)
        if len(name) >= _SHORT:
            for writing in _ENCODED:
                self._add(writing(name), name, writing)

    def _add(self, written: str, name: str, writing: Writing | None) -> None:
        first = _PIECE.search(written)
        if first is None or (writing is not None and written == name):
            return
        known = self._aliases.setdefault(first[0].lower(), [])
        if writing is None:  # a name takes precedence over the escaped form of another
            known[:] = [other for other in known if other[0] != written]
        if not any(other[0] == written for other in known):
            known.append((written, written.lower(), name, writing))
            known.sort(key=lambda other: -len(other[0]))

    def without(self, names: Iterable[str]) -> Names:
        """Return a registry of all other names."""
        left_out = set(names)
        made = Names(self._pseudonyms)
        for name, kind in self.kinds.items():
            if name not in left_out:
                made.add(kind, name)
        return made

    def replaced(self, text: str) -> str:
        """Return a text with all names replaced."""
        made: list[str] = []
        done = 0
        for start, end, name, writing in self.found(text):
            made += [text[done:start], self._standing(text[start:end], name, writing)]
            done = end
        return "".join([*made, text[done:]]) if made else text

    def found(self, text: str) -> Iterator[tuple[int, int, str, Writing | None]]:
        """Yield the occurrences of names: start, end, name, and the spelling used there."""
        if not self._aliases:
            return
        escaped = [found.end() for found in _ESCAPED.finditer(text)] if "\\" in text or "%" in text else []
        if not escaped and self._aliases.keys().isdisjoint(set(_PIECE.findall(text.lower()))):
            return
        pieces = [*_PIECE.finditer(text), *(piece for at in escaped if (piece := _PIECE.match(text, at)) is not None)]
        if escaped:
            pieces.sort(key=lambda piece: piece.start())
        done = 0
        for piece in pieces:
            if piece.start() < done:
                continue
            for written, lower, name, writing in self._aliases.get(piece[0].lower(), ()):
                lead = _PIECE.search(written)
                start = piece.start() - (lead.start() if lead is not None else 0)
                end = start + len(written)
                if start < done or text[start:end].lower() != lower or _goes_on(text, end):
                    continue
                if self._pseudonyms.made(text[start:end]):
                    continue
                if self.kinds[name] is NameKind.HOST and (
                    labels := _LABELS.search(text, max(done, start - 255), start)
                ):
                    whole = text[labels.start() : end]  # another host of a known domain
                    self.kinds.setdefault(whole, NameKind.HOST)
                    yield labels.start(), end, whole, None
                else:
                    yield start, end, name, writing
                done = end
                break

    def host(self, name: str) -> str:
        """Return the pseudonym of a host; in full, it begins with that of its short name, as other evidence has it.

        So names that belong together by their short form still do. Parts that are not identifying are kept.
        """
        short, dot, domain = name.partition(".")
        if not dot or not short or not domain:
            return self._pseudonyms.of(NameKind.HOST, name)
        parts = (
            self._pseudonyms.of(NameKind.HOST, part) if usable(NameKind.HOST, part) else part
            for part in (short, domain)
        )
        return self._pseudonyms.joined(NameKind.HOST, name, ".".join(parts))

    def _standing(self, written: str, name: str, writing: Writing | None) -> str:
        kind = self.kinds[name]
        made = self.host(name) if kind is NameKind.HOST else self._pseudonyms.of(kind, name)
        if writing is not None:
            return writing(made)
        if written == name:
            return made
        if written in self.kinds:
            other = self.kinds[written]
            return self.host(written) if other is NameKind.HOST else self._pseudonyms.of(other, written)
        return made.upper() if written.isupper() else made.lower() if written.islower() else made


def _goes_on(text: str, end: int) -> bool:
    return end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
