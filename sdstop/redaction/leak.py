"""Leak check: names that were to be replaced and are still in the output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.core.expression import expression
from sdstop.redaction.ordinary import is_ordinary
from sdstop.redaction.pseudonym import NameKind, Pseudonyms

_PIECE = expression(rb"[a-z0-9]+")
_SIGNS = expression(r"[^0-9a-z]")
_HEXED = frozenset({NameKind.WWN, NameKind.MAC, NameKind.UUID})


def leaks(files: Iterable[tuple[str, bytes]], pseudonyms: Pseudonyms) -> Iterator[tuple[str, str]]:
    """Yield (file, name) for each name with a pseudonym that still occurs in a file or in its path.

    Whole words count, regardless of case; digits of WWNs, MACs and UUIDs count with any separators. The check is
    independent of the replacement: it uses none of its patterns and nothing that it learned.
    """
    wanted: dict[bytes, dict[bytes, str]] = {}
    shapes = {
        made.lower().encode("utf-8", "surrogateescape") for k in NameKind for made in pseudonyms.known[k].values()
    }
    for kind in NameKind:
        for value, made in pseudonyms.known[kind].items():
            if made == value or is_ordinary(
                value
            ):  # a host `sda` is replaced only where it reports its own name; disks keep it
                continue
            for form in _forms(kind, value.lower()):
                written = form.encode("utf-8", "surrogateescape")
                first = _PIECE.search(written)
                if first is not None and written not in shapes:
                    wanted.setdefault(first[0], {})[written] = value
    for name, data in files:
        seen: set[str] = set()
        for text in (name.encode("utf-8", "surrogateescape").lower(), data.lower()):
            for piece in wanted.keys() & set(_PIECE.findall(text)):
                seen.update(value for written, value in wanted[piece].items() if _stands(written, text))
        yield from ((name, value) for value in sorted(seen))


def _forms(kind: NameKind, value: str) -> Iterator[str]:
    """Yield the possible spellings of a value."""
    yield value
    if kind in _HEXED:
        digits = _SIGNS.sub("", value)
        pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
        yield from (sign.join(pairs) for sign in ("", ":", "-", " "))
        yield "".join(reversed(pairs))
        yield f"0x{digits}"
        if len(digits) == 32:
            yield "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
            yield ":".join(digits[at : at + 8] for at in range(0, 32, 8))
        if kind is NameKind.MAC:
            yield ".".join(digits[at : at + 4] for at in range(0, 12, 4))


def _stands(written: bytes, text: bytes) -> bool:
    """Return whether a text contains a word that is not part of a longer one."""
    at = text.find(written)
    while at >= 0:
        end = at + len(written)
        if not (at and text[at - 1 : at].isalnum()) and not (end < len(text) and text[end : end + 1].isalnum()):
            return True
        at = text.find(written, at + 1)
    return False
