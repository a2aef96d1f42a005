"""Names made of markup, escape sequences, bidi controls and worse; and a look at what became of them."""

from __future__ import annotations

import re
import unicodedata

from tests.tui.screens import Screen

NASTY = (
    "[red]x[/red]y",
    "vol[/foo]",
    "[@click=app.exit]q[/]",
    "\x1b]0;PWNED\x1b\\",
    "\x1b[5n\x1b[2J",
    "\x9b31mred",
    "a\x07b\x08c\x7f",
    "\u202egnp.exe\u202c\u2066x\u2069",
    "z\u200bw\u2060\ufeff\u00ad",
    "line\u2028sep\u2029end",
    "nul\x00l",
    "\udc80\udcff",
    "日本語" * 9,
    "e\u0301\u0300\u0301" * 5,
    "👩‍👩‍👧‍👦",
    "x" * 300,
    "%s{0}$HOME`id`",
)


_ACTION = re.compile(r"(app\.)?[a-z_]+\('[a-z0-9_!]+'\)", re.IGNORECASE)
"""What a click does: an action of sdstop about one of its own words, never about a name of the node."""


def harmless(shown: Screen, *, ascii_only: bool = False) -> None:
    """Look at every cell that would be sent to the terminal."""
    for line in shown.segments():
        for segment in line:
            assert segment.control is None
            assert not [
                c for c in segment.text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Mn"}
            ]
            assert not ascii_only or segment.text.isascii()
            meta = dict(segment.style.meta) if segment.style is not None else {}
            assert set(meta) <= {"@click"}
            assert _ACTION.fullmatch(meta.get("@click", "app.nothing('here')")), meta
            assert segment.style is None or segment.style.link is None
