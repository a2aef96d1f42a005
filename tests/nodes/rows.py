"""Rows of any family, with only the fields that a test is about."""

from __future__ import annotations

from typing import Any

from sdstop.core.model import schema


def row(family: Any, **fields: Any) -> Any:
    """Return a row; numbers that are not given are 0, optional fields and texts have their defaults or None."""
    numbers = {column.name: None if column.optional or column.is_text else 0 for column in schema(family).columns}
    return family(**{**numbers, **fields})
