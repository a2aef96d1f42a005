"""Rows of which only some fields matter."""

from __future__ import annotations

from typing import Any

from sdstop.core.model import schema


def row(family: Any, **fields: Any) -> Any:
    """Return a row with these fields; other numbers are 0, texts and anything optional None."""
    numbers = {column.name: None if column.optional or column.is_text else 0 for column in schema(family).columns}
    return family(**{**numbers, **fields})
