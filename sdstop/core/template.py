"""Templates: text with field names in braces, filled from a row."""

from __future__ import annotations

import re
from typing import Any

_FIELD = re.compile(r"\{(\w+(?:\|\w+)*)(?::(sysfs|dev))?\}")
_DEV = "/dev/"


def filled(template: str, row: Any) -> str | None:
    """Return a template filled with the fields (or properties) of a row, or None if one of them is None or "".

    `{device}` is a field, `{ident|name}` the first of several that has a value, `{device:sysfs}` its name in
    /sys/block (`!` for `/`), `{path:dev}` a path without `/dev/`; a path without that prefix counts as no value.
    """
    lacking = False

    def value(found: re.Match[str]) -> str:
        nonlocal lacking
        known = next((text for name in found[1].split("|") if (text := _text(getattr(row, name), found[2]))), None)
        lacking = lacking or known is None
        return known or ""

    text = _FIELD.sub(value, template) if "{" in template else template
    return None if lacking else text


def _text(value: Any, form: str | None) -> str | None:
    text = "" if value is None else str(value)
    match form:
        case "sysfs":
            return text.replace("/", "!")
        case "dev":
            return text.removeprefix(_DEV) if text.startswith(_DEV) else None
    return text


def needed_fields(template: str) -> frozenset[str]:
    """Return the names of the fields used by a template."""
    return frozenset(name for names, _ in _FIELD.findall(template) for name in names.split("|"))
