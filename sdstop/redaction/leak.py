"""Leak: what of the names that were replaced is still in what was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sdstop.redaction.pseudonym import Kind, Pseudonyms

_RUN = re.compile(rb"[A-Za-z0-9][A-Za-z0-9_.:+-]*")
_PIECE = re.compile(rb"[A-Za-z0-9]+")
_SHORT = 4


def leaks(files: Iterable[tuple[str, bytes]], pseudonyms: Pseudonyms) -> Iterator[tuple[str, str]]:
    """Yield (file, name) of each name that stands in a file, or in its path, though another stands for it.

    A word counts, and every part of one between signs; names of a few letters count as whole words alone.
    """
    wanted = {
        value.encode("utf-8", "surrogateescape"): kind
        for kind in Kind
        for value, made in pseudonyms.known[kind].items()
        if made != value
    }
    shapes = {made.encode("utf-8", "surrogateescape") for kind in Kind for made in pseudonyms.known[kind].values()}
    for name, data in files:
        seen: set[bytes] = set()
        for text in (name.encode("utf-8", "surrogateescape"), data):
            for run in set(_RUN.findall(text)):
                if run in wanted and run not in shapes:
                    seen.add(run)
                seen.update(p for p in set(_PIECE.findall(run)) if len(p) > _SHORT and p in wanted and p not in shapes)
        for found in sorted(seen):
            yield name, found.decode("utf-8", "replace")
