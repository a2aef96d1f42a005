"""Period: a part of a recording or capture, named by the moments that a user types."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.duration import seconds_of
from sdstop.core.evidence import Evidence, Frame, RunMark
from sdstop.core.expression import expression
from sdstop.core.format import moment

USUAL = 900.0
"""Seconds that are opened of a recording unless others are named."""
FORMS = "13:58, 13:58:02, 2026-11-21 13:58, -5m (before the end)"
"""Accepted forms of a moment, for messages."""

_CLOCK = expression(r"(?:(\d{4})-(\d{2})-(\d{2})[ T])?(\d{1,2}):(\d{2})(?::(\d{2}))?Z?$")
_UNIX = expression(r"@(\d{1,12}(?:\.\d{1,6})?)$")


def typed_time(text: str, newest: float, zone: tzinfo | None) -> float:
    """Return the Unix time of a moment typed by a user; `newest` is that of the last frame.

    `-5m` is before it. A time of day, in `zone` (None: of this terminal) or in UTC if it ends in Z, is its last
    occurrence. `@1763900000` is Unix time. Raises ValueError for any other form.
    """
    text = text.strip()
    ago = seconds_of(text[1:]) if text.startswith("-") else None
    if ago is not None:
        return newest - ago
    if unix := _UNIX.match(text):
        return float(unix[1])
    found = _CLOCK.match(text)
    if found is None:
        raise ValueError("invalid time")
    year, month, day, hour, minute, second = found.groups()
    here = moment(newest)
    if not text.endswith("Z"):
        here = here.astimezone(zone) if zone is not None else here.astimezone().replace(tzinfo=None)
    try:
        chosen = here.replace(hour=int(hour), minute=int(minute), second=int(second or 0), microsecond=0)
        if year:
            chosen = chosen.replace(year=int(year), month=int(month), day=int(day))
    except ValueError as error:
        raise ValueError("no such time") from error
    times = [chosen.replace(fold=fold).timestamp() for fold in (1, 0)]  # twice where clocks are set back
    past = next((each for each in times if each <= newest), None)
    if past is None and not year:
        return (chosen - timedelta(days=1)).replace(fold=1).timestamp()
    return times[-1] if past is None else past


class Period(Struct, frozen=True):
    """Moments named with `--since`, `--until` and `--at`, as typed; None: not named."""

    since: str | None = None
    until: str | None = None
    at: str | None = None

    @property
    def named(self) -> bool:
        """Whether any moment is named."""
        return (self.since, self.until, self.at) != (None, None, None)

    def times(self, newest: float, zone: tzinfo | None, usual: float = float("inf")) -> tuple[float, float]:
        """Return the Unix times of start and end; unless a start is named, it is `usual` seconds before the end.

        Raises ValueError with the option and the reason.
        """
        end = self.until if self.at is None else self.at
        until = newest if end is None else self._time("until" if self.at is None else "at", end, newest, zone)
        since = until - usual
        if self.since is not None:
            since = self._time("since", self.since, newest, zone)
        if since > until:
            raise ValueError("--since is after the end of the period")
        return since, until

    @staticmethod
    def _time(option: str, text: str, newest: float, zone: tzinfo | None) -> float:
        ago = seconds_of(text.removeprefix("-"))  # on the command line, it is easily taken for an option
        try:
            return newest - ago if ago is not None else typed_time(text, newest, zone)
        except ValueError as error:
            raise ValueError(f"--{option}: {error}; use 2h (before the end), 03:10 or 2026-11-21 03:10") from error


def between(frames: Iterable[Frame], since: float, until: float) -> list[Frame]:
    """Return the frames between two Unix times, each inclusive; the first one holds all that was known at its time.

    Without a frame between the times, the one before them is returned; without one before either, none.
    """
    known: dict[str, Evidence] = {}
    marks: dict[str, RunMark] = {}
    chosen: list[Frame] = []
    before: Frame | None = None
    for frame in frames:
        if frame.taken > until:
            break
        if chosen:
            chosen.append(frame)
            continue
        if frame.fresh:
            known.clear()
            marks.clear()
        known.update((item.key, item) for item in frame.evidence)
        marks.update(frame.ran or {})
        before = replace(frame, evidence=tuple(known.values()), ran=None if frame.ran is None else dict(marks))
        if frame.taken >= since:
            chosen.append(before)
    return chosen or ([before] if before is not None else [])
