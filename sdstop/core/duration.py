"""Duration: a length of time as users type it."""

from __future__ import annotations

from sdstop.core.expression import expression

_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_DURATION = expression(rf"(?=[0-9])(?:{_NUMBER}(?:ms|[dhms]))*(?:{_NUMBER})?")
_PART = expression(rf"({_NUMBER})(ms|[dhms]?)")
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}


def seconds_of(text: str) -> float | None:
    """Return the seconds of `5m`, `1h30m`, `500ms`, or of a plain number of seconds; None for anything else."""
    if _DURATION.fullmatch(text) is None:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
