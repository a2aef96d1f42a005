"""Settings of the exporter's recorder: the `[record]` table of a config file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec

from sdstop.cli.option_values import duration, size

V = TypeVar("V")
_LONGEST = 3600.0
"""Maximum seconds of a capture on each side of a finding."""
_Absolute = Annotated[str, msgspec.Meta(pattern="^/[^\\0]*$", description="an absolute path")]


class RecordSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[record]`: recording of the exporter, and captures around new critical findings.

    `file` is the recording, with the age and the size that it keeps. `on_critical` is the directory of captures of the
    time `before` and `after` a finding; at most `captures` of them, and `captures_size` of all, are kept.
    """

    file: _Absolute | None = None
    keep: str = "7d"
    max_size: str = "1GiB"
    on_critical: _Absolute | None = None
    before: str = "5m"
    after: str = "5m"
    captures: Annotated[int, msgspec.Meta(ge=1, le=1000, description="a number from 1 to 1000")] = 10
    captures_size: str = "1GiB"

    def __post_init__(self) -> None:
        """Refuse durations and sizes that cannot be read. Raises ValueError."""
        self.seconds()
        self.bytes()

    def seconds(self) -> tuple[float, float, float]:
        """Return the seconds of `keep`, `before` and `after`. Raises ValueError."""
        keep, before, after = (_typed(duration, each) for each in (self.keep, self.before, self.after))
        if max(before, after) > _LONGEST:
            raise ValueError("before and after: at most 1h")
        return keep, before, after

    def bytes(self) -> tuple[int, int]:
        """Return the bytes of `max_size` and `captures_size`. Raises ValueError."""
        return _typed(size, self.max_size), _typed(size, self.captures_size)


def _typed(read: Callable[[str], V], text: str) -> V:
    """Return a value that is typed as in an option. Raises ValueError."""
    try:
        return read(text)
    except argparse.ArgumentTypeError as error:
        raise ValueError(str(error)) from None
