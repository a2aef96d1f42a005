"""Plots over time: active findings, array members, caches and rebuilds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sdstop.collectors.md.readings import Member
from sdstop.collectors.memory.readings import Dimm
from sdstop.core.averages import fmean
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import dated
from sdstop.core.format import bytes_, clock, done, duration, number, percent, safe
from sdstop.core.session import Look, Session
from sdstop.exporters.report.html import drawing
from sdstop.exporters.report.html.limits import limits
from sdstop.exporters.report.html.markup import Markup, el, join
from sdstop.exporters.report.html.phys import phy_errors
from sdstop.exporters.report.html.sizes import sizes, sizes_over_time
from sdstop.exporters.report.series import ReportSeries

MOST_MEMBERS = 64
"""Curves in a plot of members."""
MOST_DISKS = 24
"""Rows in a plot of episodes."""
_STATES = ("info", "warning", "critical")

Values = Sequence[float | None]


def plots(session: Session, series: ReportSeries, look: Look, episodes: Sequence[Episode]) -> Iterator[Markup]:
    """Yield every plot that has data."""
    axis = drawing.DiagramAxis.of(series.times, _labels(series))
    if len(series.times) > 1:
        yield from _in_force(session, look, episodes)
        yield from _members(series, look, axis)
        yield from _rebuilds(series, axis)
        yield from _caches(series, axis)
        yield from _disks(series, axis)
        for title, said, drawn in sizes_over_time(series, look.window, axis):
            yield _figure(title, said, drawn)
        for title, said, drawn in phy_errors(series, axis):
            yield _figure(title, said, drawn)
    for title, said, drawn in sizes(look.window):
        yield _figure(title, said, drawn)
    limited = limits(look.window)
    if limited is not None:
        yield _figure("Limits on volumes", *limited)
    yield from _dimms(look)


def _labels(series: ReportSeries) -> list[str]:
    if not series.times:
        return []
    return _marks(series.times[0], series.times[-1])


def _marks(first: float, last: float) -> list[str]:
    """Return the times at the ends and quarters of an axis; elapsed times if undated."""
    at = [first + (last - first) * part / 4 for part in range(5)]
    return [clock(taken) for taken in at] if dated(first) else [f"+{duration(taken - first)}" for taken in at]


def _figure(title: str, said: str, drawn: Markup) -> Markup:
    return el("figure", el("figcaption", el("strong", title), el("span", f"  {said}", class_="dim")), drawn)


def _in_force(session: Session, look: Look, episodes: Sequence[Episode]) -> Iterator[Markup]:
    """Yield a chart of the periods in which each finding was active."""
    now = look.now.monotonic
    span = now - session.began
    if not episodes or span <= 0:
        return
    parts = []
    for at, episode in enumerate(episodes[:MOST_DISKS]):
        ended = episode.ended if episode.until is not None else now
        start = max(episode.began - session.began, 0.0) / span * drawing.WIDTH
        end = max((ended if ended is not None else now) - session.began, 0.0) / span * drawing.WIDTH
        severity = episode.finding.severity
        colour = {"critical": "var(--crit)", "warning": "var(--warn)", "info": "var(--info)"}[severity.value]
        y = at * 16
        parts += [
            drawing.word(drawing.LABEL - 6, y + 11, _short(episode.finding.subject), right=True),
            el("rect", x=drawing.LABEL + start, y=y + 2, width=max(end - start, 3.0), height=11, fill=colour),
        ]
        parts.append(
            el("text", f"{severity.value} {episode.finding.rule}", x=drawing.LABEL + start + 5, y=y + 11,
               style="fill:var(--bg);font-weight:700")
        )  # fmt: skip
    marks = _marks(look.now.taken - span, look.now.taken)
    height = 16 * min(len(episodes), MOST_DISKS) + 20
    drawn = drawing.svg(drawing.LABEL + drawing.WIDTH, height, *parts, _axis(marks, height), title="Findings over time")
    yield _figure("Findings", "periods in which each was active", drawn)


def _axis(marks: Sequence[str], height: float) -> Markup:
    room = drawing.WIDTH / (len(marks) - 1)
    return join(
        el("text", shown, x=drawing.LABEL + room * at, y=height - 4, class_="d",
           text_anchor="start" if at == 0 else "end" if at == len(marks) - 1 else "middle")
        for at, shown in enumerate(marks)
    )  # fmt: skip


def _members(series: ReportSeries, look: Look, axis: drawing.DiagramAxis) -> Iterator[Markup]:
    """Yield a heat map for each array: requests outstanding at each member, on one scale."""
    slots = {(m.array, m.device): m.slot if m.slot is not None else 1 << 20 for m in look.window.rows(Member).values()}
    for array, members in sorted(series.of("queue").items()):
        ordered = sorted(members, key=lambda d, of=array: (slots.get((of, d), 1 << 20), len(d), d))  # type: ignore[misc]
        shown = ordered[:MOST_MEMBERS]
        known = [value for device in shown for value in members[device] if value is not None]
        if not known:
            continue
        top = max(max(known) / 2, 4 * fmean(known), 1.0)
        rows = [(_short(device), members[device]) for device in shown]
        means = {device: fmean(v) for device in shown if (v := [x for x in members[device] if x is not None])}
        most = max(means, key=lambda device: means[device])
        said = (
            f"queue of each member; darkest is {number(top)} or more; longest: {safe(most)}, "
            f"mean {number(means[most])} (all: {number(fmean(means.values()))})"
        )
        if len(ordered) > len(shown):
            said += f"; {len(ordered) - len(shown)} more members omitted"
        drawn = drawing.heat(rows, top, axis, title=f"Queue of the members of {array}", shown=number)
        yield _figure(f"Members of {array}", said, drawn)


def _rebuilds(series: ReportSeries, axis: drawing.DiagramAxis) -> Iterator[Markup]:
    for array, operations in sorted(series.of("rebuild").items()):
        rows = [(operation, values) for operation, values in sorted(operations.items())]
        known = [value for _, values in rows for value in values if value is not None]
        if not known:
            continue
        low, high = min(known), max(known)
        said = f"from {done(low)} to {done(high)}% done while observed"
        # A few minutes of a rebuild that takes days would be a flat line: scale to the observed progress.
        if high - low < 0.5:
            moved = [(name, [None if v is None else v - low for v in values]) for name, values in rows]
            top = max(high - low, 1e-6)
            said += "; the line is the progress since then"
            drawn = drawing.lines(moved, top, axis, title=f"Progress of {array}", shown=lambda v: f"+{v * 100:.3g}%")
        else:
            drawn = drawing.lines(rows, 1.0, axis, title=f"Progress of {array}", shown=lambda v: f"{percent(v)}%")
        yield _figure(f"Rebuild of {array}", said, drawn)


def _caches(series: ReportSeries, axis: drawing.DiagramAxis) -> Iterator[Markup]:
    for cache, parts in sorted(series.of("cache").items()):
        rows = [(which, parts[which]) for which in ("hit", "miss", "bypass") if which in parts]
        if any(value is not None for _, values in rows for value in values):
            drawn = drawing.stack(rows, axis, title=f"Requests to {cache}")
            yield _figure(f"Cache {cache}", "hits, misses and bypassed requests", drawn)


def _disks(series: ReportSeries, axis: drawing.DiagramAxis) -> Iterator[Markup]:
    """Yield the busy time of disks that are not members, busiest first."""
    disks = series.of("busy").get("", {})
    means = {name: fmean(v) for name, values in disks.items() if (v := [x for x in values if x is not None])}
    chosen = sorted(means, key=lambda name: -means[name])[:MOST_DISKS]
    if not chosen or means[chosen[0]] < 0.02:
        return
    rows: list[tuple[str, Values]] = [(_short(name), disks[name]) for name in chosen]
    said = "share of time with a request in flight; darkest is 100%"
    if len(means) > len(chosen):
        said += f"; {len(means) - len(chosen)} less busy ones omitted"
    drawn = drawing.heat(rows, 1.0, axis, title="Busy time of other devices", shown=lambda v: f"{percent(v)}%")
    yield _figure("Other devices", said, drawn)


def _dimms(look: Look) -> Iterator[Markup]:
    """Yield the map of filled and empty memory slots by socket and channel."""
    by_socket: dict[str, dict[str, list[Dimm]]] = {}
    for dimm in look.window.rows(Dimm).values():
        by_socket.setdefault(dimm.socket or "?", {}).setdefault(dimm.channel or "?", []).append(dimm)
    if not by_socket:
        return
    parts: list[Markup] = []
    y = 0.0
    for socket, channels in sorted(by_socket.items()):
        parts.append(drawing.word(0, y + 12, "socket unknown" if socket == "?" else f"socket {safe(socket, 20)}"))
        y += 18
        for channel, slots in sorted(channels.items()):
            parts.append(drawing.word(drawing.LABEL - 6, y + 13, _channel(channel), right=True, dim=True))
            for at, dimm in enumerate(sorted(slots, key=lambda d: d.slot)):
                x, line = drawing.LABEL + at % 5 * 166, y + at // 5 * 22
                parts += _slot(dimm, x, line)
            y += 22 * (1 + (len(slots) - 1) // 5)
        y += 6
    drawn = drawing.svg(drawing.LABEL + drawing.WIDTH, y, *parts, title="Memory slots, filled and empty")
    yield _figure("Memory slots", _filled(by_socket), drawn)


def _channel(channel: str) -> str:
    return "channel unknown" if channel == "?" else f"channel {safe(channel, 12)}"


def _filled(by_socket: Mapping[str, Mapping[str, Sequence[Dimm]]]) -> str:
    dimms = [dimm for channels in by_socket.values() for slots in channels.values() for dimm in slots]
    filled = sum(1 for dimm in dimms if dimm.size)
    return f"{filled} of {len(dimms)} slots filled; empty slots are dashed"


def _slot(dimm: Dimm, x: float, y: float) -> Iterator[Markup]:
    size = "size unknown" if dimm.size is None else "empty" if not dimm.size else bytes_(dimm.size)
    full = bool(dimm.size)
    yield el("rect", x=x, y=y + 1, width=160, height=18, fill="var(--data2)" if full else "none", stroke="var(--dim)",
             stroke_dasharray=None if full else "3 2", rx=2)  # fmt: skip
    yield drawing.word(x + 5, y + 14, f"{_short(dimm.slot, 14)} {size}")


def _short(name: str, most: int = 30) -> str:
    """Shorten a name by cutting its middle, because names usually differ at their ends."""
    shown = safe(name, 200)
    half = most // 2
    return shown if len(shown) <= most else f"{shown[: most - half - 1]}\u2026{shown[-half:]}"
