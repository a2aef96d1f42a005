"""Strips of volumes against their limits: requests and bytes a second, where full height is "at its limit"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style

from sdstop.analysis.limits.limit_samples import Sample as UseSample
from sdstop.core.finding import Severity
from sdstop.core.format import bytes_, mebibytes, number, percent, whole
from sdstop.tui.scene import Mode, Scene
from sdstop.tui.views.cells import counted
from sdstop.tui.views.limited_volume import LimitedVolume
from sdstop.tui.widgets.graph import area, samples
from sdstop.tui.widgets.palette import FAINT, FRAME, MARKS, OTHER, PLAIN, STRONG, Line, Palette, text, width_of
from sdstop.tui.widgets.pane import Row, words
from sdstop.tui.widgets.strip import spread

LEAST = 3
"""Minimum lines of a volume, excluding its base line."""
_MOST = 8
"""Lines of a strip."""
_BESIDE = 17
"""Cells to the right of a strip."""
MIB = 1 << 20
"""Bytes."""


def drawn_volumes(listed: Sequence[LimitedVolume], chosen: LimitedVolume | None, room: int) -> list[LimitedVolume]:
    """Return the volumes with a measured limit that fit into `room` lines, one item each; the chosen one is there."""
    found: dict[str, LimitedVolume] = {}
    for item in listed:
        if item.known is not None and item.known.samples and any(_limits(item)):
            found.setdefault(item.name, item)
    most = max(room // (LEAST + 1), 0)
    names = list(found)[:most]
    if chosen is not None and chosen.name in found and chosen.name not in names and names:
        names[-1] = chosen.name
    return [found[name] for name in names]


def strip_rows(shown: Sequence[LimitedVolume], scene: Scene, width: int, room: int) -> list[Row]:
    """Return the rows of the pane: each volume with its two strips."""
    if not shown:
        return []
    high = min(max(room // len(shown) - 1, LEAST), _MOST)
    return [words(line) for item in shown for line in _volume(item, scene, width - 1, high)]


def _limits(item: LimitedVolume) -> tuple[float | None, float | None]:
    """Return the limits of requests and of bytes a second, of all sharers; None for one that is not set."""
    limit, each = item.limit, _sharers(item)
    if limit is None:
        return None, None
    return (limit.iops * each if limit.iops else None), (limit.bandwidth * each if limit.bandwidth else None)


def _volume(item: LimitedVolume, scene: Scene, width: int, high: int) -> list[Line]:
    name = 26 if width >= 110 else 20
    room = max((width - name - 2 * _BESIDE - 2) // 2, 8)
    labels = _labels(item, high)
    iops, bandwidth = _strips(item, scene, room, high)
    lines: list[Line] = []
    for at in range(high + 1):
        left = labels[at] if at < len(labels) else ()
        blank = name - width_of(left)
        left = (*left, Segment(" " * blank)) if blank >= 0 else left
        lines.append((*left, *iops[at], Segment("  "), *bandwidth[at]))
    return lines


def _labels(item: LimitedVolume, high: int) -> list[Line]:
    word, known, sharers = item.scene.palette.word, item.known, _sharers(item)
    accused = item.severity if item.severity in MARKS else None
    style = item.scene.palette.severity(accused) if accused is not None else STRONG
    mark = MARKS[accused] if accused is not None else " "
    owner = counted(sharers, "client") if sharers > 1 else word(item.limit.owner, 20) if item.limit is not None else ""
    size = f"{bytes_(known.size)} a request" if known is not None and known.size else ""
    binds = _binds(item)
    said = text((f"  {binds}", style if accused is not None and binds != _BELOW else FAINT))
    lines = [
        text((f"{mark} {word(item.name, 20)}", style)),
        text((f"  {owner}", FAINT)),
        text((f"  {size}", FAINT)),
    ]
    return [*lines[: 3 if high > LEAST else 2], said]


_BELOW = "below its limits"


def _binds(item: LimitedVolume) -> str:
    """Return which limit binds, if the volume was at it; each client of a shared one has the limit for itself."""
    known = item.known
    if known is not None and _sharers(item) > 1:
        return f"limit per client, x{_sharers(item)}"
    if known is None or not item.at_limit:
        return _BELOW
    return "IOPS limit binds" if known.binding == "IOPS" else "MiB/s limit binds"


def _sharers(item: LimitedVolume) -> int:
    """Return how many clients have a limit each and report their use together."""
    return (item.limit.sharers or 1) if item.limit is not None else 1


def _strips(item: LimitedVolume, scene: Scene, room: int, high: int) -> tuple[list[Line], list[Line]]:
    limit = item.limit

    def requests(sample: UseSample) -> float | None:
        if sample.requests is None or limit is None:
            return None
        return sample.requests * limit.weight(sample.size)

    iops, bandwidth = _limits(item)
    return (
        _strip(item, "IOPS", requests, iops, whole, scene, room, high),
        _strip(item, "bandwidth", lambda sample: sample.bytes, bandwidth, mebibytes, scene, room, high),
    )


def _strip(
    item: LimitedVolume, what: str, read: Callable[[UseSample], float | None], limit: float | None,
    shown: Callable[[float | None], str], scene: Scene, room: int, high: int,
) -> list[Line]:  # fmt: skip
    """Return the lines of one strip and of its base line, each with its part of the numbers at the right."""
    palette, known = scene.palette, item.known
    unit = "IOPS" if what == "IOPS" else "MiB/s"
    if limit is None or known is None:
        said: list[Line] = [text((f" no {unit} limit", FAINT))]
        return [_beside(text(" " * room), said, at) for at in range(high + 1)]
    fit = samples(room, palette)
    course = [(s.started, s.seconds, read(s)) for s in known.samples]
    values = spread(course, fit, stretch=scene.mode is Mode.REPLAY)
    used = next((value for _, _, value in reversed(course) if value is not None), None)
    share = used / limit if used is not None else None
    accused = item.severity in MARKS and known.binding == what and bool(item.at_limit) and not item.shared
    style = palette.severity(item.severity) if accused else OTHER
    top = number(limit) if what == "IOPS" else number(limit / MIB)
    number_style = _strong(item.severity, palette) if accused else PLAIN
    said = [
        text((f" {shown(used)} of", number_style)),
        text((f" {top} {unit}", number_style)),
        text((f" {percent(share)}%" if share is not None else " ?", number_style if accused else FAINT)),
    ]
    drawn = area(values, room, high, limit, palette)
    lines = [_beside(text((row, style)), said, at) for at, row in enumerate(drawn)]
    return [*lines, _beside(text((palette.dash * room, FRAME)), said, high)]


def _strong(severity: Severity | None, palette: Palette) -> Style:
    return palette.severity(severity) + Style(bold=True)


def _beside(drawn: Line, said: Sequence[Line], at: int) -> Line:
    """Return a line of a strip with its numbers, in exactly the width of both."""
    right = said[at] if at < len(said) else ()
    return (*drawn, *right, Segment(" " * max(_BESIDE - width_of(right), 0)))
