"""Suggestions for mistyped names: "did you mean ...?"."""

from __future__ import annotations

import json
from collections.abc import Iterable


def quoted(text: str) -> str:
    """Return a user's word in double quotes, escaped so that it cannot act on the terminal."""
    return json.dumps(text)


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known name most similar to a mistyped one, ignoring case; None unless they are alike.

    `likeness` is the least ratio of equal characters, 0 to 1.
    """
    from difflib import get_close_matches  # noqa: PLC0415  # needed only after a mistake

    names = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), names, 1, likeness)
    return names[found[0]] if found else None


def unknown_name(what: str, word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return `unknown view "disk"; did you mean "disks"?`, or what to do `otherwise` (default: all names)."""
    names = sorted(known)
    near = nearest(word, names)
    hint = f"did you mean {quoted(near)}?" if near else otherwise or f"valid: {', '.join(names) or 'none'}"
    return f"unknown {what} {quoted(word)}; {hint}"
