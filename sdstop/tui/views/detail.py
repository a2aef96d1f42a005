"""Details of one device: model, location, membership, devices built on it, and processes doing I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.disks.drives import DriveState
from sdstop.analysis.disks.membership import memberships
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.system.readings import ProcessActivity, ProcessSummary
from sdstop.core.format import bytes_, natural, rate
from sdstop.core.joins import Naming
from sdstop.core.remarks import remarks
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import FAINT, Line, Palette, text
from sdstop.tui.widgets.pane import Row, words


def detail_rows(drive: DriveState, scene: Scene) -> list[Row]:
    """Return the detail rows of a device."""
    palette = scene.palette
    lines = [
        _line("is", _make(drive, palette), palette),
        _line("sits", _place(drive, palette), palette),
        _line("stack", _relations(drive, scene), palette),
        _about(drive, scene),
    ]
    if not _idle(drive):
        lines.append(_line("I/O by", _whole_node(scene, 4), palette))
    return [words(line) for line in lines]


def _about(drive: DriveState, scene: Scene) -> Line:
    """Return what other sources report of a disk, such as its health and slot; of other devices the queue."""
    said = [f"{title} {scene.palette.word(text, 80)}" for title, text in remarks(scene.window, drive.name)]
    if said:
        return _line("reports", said, scene.palette)
    return _line("queue", _queue(drive.device), scene.palette)


def _line(name: str, facts: Sequence[str], palette: Palette) -> Line:
    shown = f" {palette.dot} ".join(facts) if facts else "-"
    return text((f" {name:<8}", FAINT), shown)


def _make(drive: DriveState, palette: Palette) -> list[str]:
    d = drive.device
    if d is None:
        return [drive.kind]
    facts = [
        drive.kind,
        *(palette.word(w, 60) for w in (d.vendor, d.model, d.revision, drive.volume, d.backing_file) if w),
    ]
    if d.serial:
        facts.append(f"serial {palette.word(d.serial, 40)}")
    if d.size is not None:
        facts.append(bytes_(d.size))
    if d.rotational is not None:
        facts.append("rotating" if d.rotational else "non-rotating")
    if d.state:
        facts.append(palette.word(d.state, 20))
    if d.read_only:
        facts.append("read-only")
    if d.iostats_enabled == 0:
        facts.append("no statistics (iostats off)")
    return facts


def _place(drive: DriveState, palette: Palette) -> list[str]:
    d = drive.device
    if d is None:
        return []
    named = (("", d.by_path), ("", d.hctl), ("wwn ", d.wwn), ("", d.by_id if not d.wwn else None))
    return [f"{title}{palette.word(value, 90)}" for title, value in named if value]


def _relations(drive: DriveState, scene: Scene) -> list[str]:
    word = scene.palette.word
    facts = []
    for member in drive.members:
        slot = "no slot" if member.slot is None else f"slot {member.slot}"
        errors = f", {member.errors} corrected errors" if member.errors else ""
        facts.append(f"{word(member.array, 40)} {slot}, {word(member.state, 20)}{errors}")
    given = [part for part in memberships(scene.window, drive.name) if part.clustered]
    facts += [f"device of {word(p.whole, 60)}" + (f", {word(p.part, 40)}" if p.part else "") for p in given]
    arrays = {member.array for member in drive.members}
    topology = scene.window.topology
    thing = topology.named(Naming.DEV, drive.name)
    upper, lower = (topology.upper(thing), topology.lower(thing)) if thing is not None else ({}, {})
    above = sorted({name for other in upper if (name := other.device) is not None} - arrays, key=natural)
    below = sorted({name for other in lower if (name := other.device) is not None}, key=natural)
    if above:
        facts.append(f"used by {_some(above, scene.palette)}")
    if below:
        facts.append(f"built on {_some(below, scene.palette)}")
    return facts


_NAMES = 12
"""Maximum names of a kind."""


def _some(names: list[str], palette: Palette) -> str:
    shown = " ".join(palette.word(name, 40) for name in names[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES} more"


def _queue(d: BlockDevice | None) -> list[str]:
    if d is None:
        return []
    facts = []
    for title, value in (("requests", d.nr_requests), ("depth", d.queue_depth)):
        if value is not None:
            facts.append(f"{title} {value}")
    if d.scheduler:
        facts.append(d.scheduler)
    facts.extend(
        f"{title} {bytes_(value)}"
        for title, value in (("read-ahead", d.read_ahead), ("max request", d.max_request))
        if value is not None
    )
    if d.logical_block_size and d.physical_block_size:
        facts.append(f"sectors {d.logical_block_size}/{d.physical_block_size}")
    if d.write_cache:
        facts.append(d.write_cache)
    return facts


def busy_processes(scene: Scene) -> list[ProcessActivity]:
    """Return the processes doing I/O, the busiest first."""
    activity, _ = scene.rows(ProcessActivity)
    busy = [p for p in activity.values() if p.read_bytes_per_second + p.write_bytes_per_second > 0]
    return sorted(busy, key=lambda p: -(p.read_bytes_per_second + p.write_bytes_per_second))


def _idle(drive: DriveState) -> bool:
    """Return whether a device had no recent I/O; processes doing I/O elsewhere are then irrelevant to it."""
    row = drive.activity
    return row is not None and not drive.stale and not row.completed_per_second and not row.in_flight and not row.queue


def _whole_node(scene: Scene, most: int) -> list[str]:
    """Return the node's busiest processes, marked as node-wide: the kernel does not report their devices."""
    facts = list(busiest(scene, most))
    return [f"whole node: {facts[0]}", *facts[1:]] if facts else []


def busiest(scene: Scene, most: int) -> Iterator[str]:
    """Yield the node's busiest processes on all devices, then the number of hidden processes."""
    for p in busy_processes(scene)[:most]:
        read, write = rate(p.read_bytes_per_second), rate(p.write_bytes_per_second)
        yield f"{scene.palette.word(p.name, 24)} ({p.pid}) r {read} w {write}"
    for summary in scene.rows(ProcessSummary)[0].values():
        if hidden := hidden_processes(summary):
            yield hidden


def hidden_processes(summary: ProcessSummary) -> str:
    """Return the number of hidden processes as text, "" if there are none."""
    return "others hidden" if summary.denied is None else f"{summary.denied} hidden" if summary.denied else ""
