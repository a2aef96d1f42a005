"""Limits of volumes: two bars each, IOPS and bandwidth, full at the limit; the one that binds wears the severity."""

from __future__ import annotations

from collections.abc import Sequence

from sdstop.core.finding import Finding
from sdstop.core.format import bytes_, number, wait
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.cause import ROLES
from sdstop.tui.views.limited_volume import LimitedVolume, limited_volumes
from sdstop.tui.widgets.graph import bar
from sdstop.tui.widgets.palette import Line, Palette, text
from sdstop.tui.widgets.roles import role

MIB = float(1 << 20)
_NAME, _OWNER, _FIGURE = 14, 14, 12
"""Cells."""
_NEAR = 0.9
"""Share of the limit from which a bar has its color."""


def limit_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the volumes with limits, that of a finding first; None without any."""
    rows = _rows(scene, finding)
    if not rows:
        return None
    return Picture(
        "Volumes against their limits", lambda width, height: limit_lines(rows, scene.palette, width, height),
        tuple(range(min(len(rows), 3), len(rows) + 2)),
    )  # fmt: skip


def limited(scene: Scene) -> list[LimitedVolume]:
    """Return the volumes that have a limit or a finding."""
    found: dict[tuple[str, str], LimitedVolume] = {}
    for row in limited_volumes(scene):
        if row.severity is not None or row.limit is not None:
            # Clients of one volume whose use is known only together are one line.
            owner = "" if row.shared or row.limit is None else f"{row.limit.owner} {row.limit.direction}"
            found.setdefault((row.name, owner), row)
    return list(found.values())


def _rows(scene: Scene, finding: Finding) -> list[LimitedVolume]:
    subjects = set(finding.subjects)
    known = limited(scene)

    def of(row: LimitedVolume) -> bool:
        subject = row.limit.subject if row.limit is not None else ""
        return not subjects.isdisjoint({subject, f"vol:{row.name}", row.name})

    return sorted(known, key=lambda row: (not of(row), row.severity is None))


def limit_lines(rows: Sequence[LimitedVolume], palette: Palette, width: int, height: int) -> list[Line]:
    """Return a heading if there is room, and a line for each volume."""
    if not rows:
        return []
    waits = width >= 110 and any(row.wait is not None for row in rows)
    owner = min(_OWNER, max(len(_owner(row)) for row in rows)) if width >= 70 else 0
    name = min(max([*(len(row.name) for row in rows), 6]), _NAME if width < 110 else 28)
    fixed = 2 + name + 1 + (owner + 1 if owner else 0) + 2 * (_FIGURE + 2) + (16 if waits else 0)
    size = max((width - fixed) // 2, 3)
    lines: list[Line] = []
    if height > len(rows):
        head = f" {'VOLUME':<{name}} " + (f"{'CLIENT':<{owner}} " if owner else "")
        head += f"{'IOPS':<{size}} {'of limit':>{_FIGURE}} {'MiB/s':<{size}} {'of limit':>{_FIGURE}}"
        head += f" {'size':>6} {'await':>7}" if waits else ""
        lines.append(text((head, role("dim"))))
    return lines + [_line(row, palette, name, owner, size, waits=waits) for row in rows[: height - len(lines)]]


def _owner(row: LimitedVolume) -> str:
    if row.shared and row.limit is not None and row.limit.sharers:
        return f"{row.limit.sharers} clients"
    return (row.limit.owner or row.limit.kind) if row.limit is not None else ""


def _line(row: LimitedVolume, palette: Palette, name: int, owner: int, size: int, *, waits: bool) -> Line:
    color = ROLES.get(row.severity, "text") if row.severity is not None else "text"
    limit = row.limit
    binds = row.known.binding if row.known is not None else None
    parts = list(text((f" {palette.fit(palette.word(row.name, 40), name)} ", role(color, bold=color != "text"))))
    if owner:
        parts += text((f"{palette.fit(palette.word(_owner(row), 40), owner)} ", role("dim")))
    every = (limit.sharers or 1) if row.shared and limit is not None else 1
    for value, share, most, shown, name_ in (
        (row.iops, row.iops_share, limit.iops if limit is not None else None, _whole, "IOPS"),
        (row.bytes, row.bytes_share, limit.bandwidth if limit is not None else None, _mib, "bandwidth"),
    ):
        said = f"{shown(value)}/{shown(most * every) if most else '-'}"
        own = share / every if share is not None else None
        parts += _half(own, said, size, _color(color, own, binds == name_), palette)
    if waits:
        mean = row.known.size if row.known is not None else None
        parts += text((f" {bytes_(mean):>6} {('>' if row.least else '') + wait(row.wait):>7}", role("dim")))
    return tuple(parts)


def _color(color: str, share: float | None, binds: bool) -> str:  # noqa: FBT001
    return color if color != "text" and binds and (share or 0.0) >= _NEAR else "other"


def _mib(value: float | None) -> str:
    if value is None:
        return "-"
    shown = value / MIB
    return f"{shown:.0f}" if shown >= 99.5 or shown == int(shown) else f"{shown:.1f}"


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value < 99_999.5 else number(value)


def _half(share: float | None, said: str, size: int, color: str, palette: Palette) -> Line:
    drawn = bar(share, size, palette, role(color))
    return (*drawn, *text((f" {said:>{_FIGURE}} ", role(color if color != "other" else "text"))))
