"""HTML document frame: head with security policy and style sheet."""

from __future__ import annotations

import re
from importlib.resources import files

from sdstop.exporters.report.html.markup import Markup, el

_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def document(title: str, *body: Markup) -> str:
    """Return a complete page that loads nothing from elsewhere."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_CSP),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Markup(_style())),
    )
    return f"<!doctype html>\n{el('html', head, el('body', *body), lang='en')}\n"


def _style() -> str:
    """Return the style sheet without its comments."""
    text = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/\s*", "", text, flags=re.DOTALL)
