"""Stages of a data path: what each thing between client and medium carries, could carry, and adds to the wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from sdstop.analysis.disks.saturation import BUSY, depth
from sdstop.analysis.fabric.hba_throughput import loads, pcie_payload
from sdstop.analysis.limits.limit_samples import BANDWIDTH, weighted
from sdstop.analysis.limits.limiting import LimitAnalysis
from sdstop.analysis.members.peer_samples import recent
from sdstop.analysis.path.load import FEWEST, SECONDS, Load, combined, load_of
from sdstop.analysis.path.network import is_remote
from sdstop.analysis.path.parts import Layer, below_wait, layer_of
from sdstop.analysis.path.stage import FULL, Stage, StageKind
from sdstop.analysis.rebuilds.suspects import PASSES, REACHED
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.fabric.readings import Hba
from sdstop.collectors.memory.readings import MemorySocket
from sdstop.collectors.system.readings import CpuActivity
from sdstop.core import format as human
from sdstop.core.averages import median
from sdstop.core.history import Window
from sdstop.core.joins import CONTAINS, Naming, ThingKind
from sdstop.core.text import added
from sdstop.core.thing import Thing, by_name
from sdstop.core.topology import Topology
from sdstop.readings.disk import DiskActivity
from sdstop.readings.limit import READ, WRITE

DISK_RATE, FLASH_RATE, EFFICIENCY = 265e6, 530e6, 0.85
"""Bytes per second of a disk and a flash drive, and payload share of a PCI Express link, as in hba-oversubscribed."""
ODD, FEW = 2.0, 3
"""A member is shown alone if its wait is this multiple of the median of at least FEW members."""
_CLUSTERED = frozenset({ThingKind.CLUSTER, ThingKind.OSD})
"""Kinds that a device of this node, such as DRBD's, belongs to: a cluster's other nodes are not on its path."""
_LAYERS = (
    (ThingKind.CACHE, StageKind.CACHE),
    (ThingKind.ARRAY, StageKind.ARRAY),
    (ThingKind.POOL, StageKind.ARRAY),
    (ThingKind.GROUP, StageKind.ARRAY),
    (ThingKind.MULTIPATH_MAP, StageKind.ARRAY),
    (ThingKind.VOLUME, StageKind.VOLUME),
    (ThingKind.OSD, StageKind.DISKS),
)


def limit_stage(known: LimitAnalysis) -> Stage:
    """Return the stage of a limit: its use, and the wait that it causes."""
    row, split = known.limit, known.split
    bandwidth = known.binding == BANDWIDTH or not row.iops
    way = "" if row.direction not in {READ, WRITE} else f" {row.direction}"
    most = human.quantity(row.bandwidth, "bytes_per_second") if bandwidth else f"{human.number(row.iops)} IOPS"
    full = (known.at_limit or 0.0) >= 0.5 and known.samples != ()
    return Stage(
        kind=StageKind.LIMIT,
        name=f"limit {most}{way}",
        load=_limited(known),
        carries=row.bandwidth if bandwidth else row.iops,
        unit="bytes_per_second" if bandwidth else "per_second",
        used=known.share,
        wait=split.wait,
        own=split.limit,
        below=split.disks,
        least=split.least,
        full=full,
        subject=row.subject,
        note=_limit_note(known),
    )


def _limited(known: LimitAnalysis) -> Load | None:
    if known.requests is None:
        return None
    return Load(both=known.requests, read_bytes=known.bytes, queue=known.queue)


def _limit_note(known: LimitAnalysis) -> str:
    said = []
    if not known.certain:
        said.append(f"use is known for {known.limit.sharers} clients together")
    if known.at_limit:
        said.append(f"at it {human.percent(known.at_limit)}% of the time")
    if known.stalled is not None:
        said.append(f"tasks stalled {human.percent(known.stalled)}% of the time")
    return ", ".join(said)


def client_stage(known: LimitAnalysis) -> Stage:
    """Return the stage of the client that a limit applies to."""
    split = known.split
    return Stage(
        kind=StageKind.CLIENT,
        name=human.safe(known.limit.owner.removeprefix("?") or "clients", 40),
        load=_limited(known),
        wait=split.wait,
        own=None if split.wait is None else 0.0,
        below=split.wait,
        least=split.least,
    )


def lower_stages(
    window: Window, thing: Thing, accused: frozenset[str] = frozenset()
) -> Iterator[tuple[Stage, Sequence[Layer]]]:
    """Yield the stages from a thing to the disks that hold its data, each with its layers.

    Disks whose names are `accused` by a finding are apart from the others.
    """
    topology = window.topology
    inside = {thing, *topology.below(thing, CONTAINS)}
    if thing.device is not None:
        inside -= {other for other in inside if not _CLUSTERED.isdisjoint(other.kinds) and other.device is None}
    main = {thing, *topology.holders(thing)}
    leaves = set(topology.disks(thing))
    if any(ThingKind.OSD in other.kinds for other in inside):
        leaves = set()  # of a cluster's devices only those of this node have disks here
    disks: dict[bool, list[Thing]] = {False: [], True: []}
    for stage in topology.path(thing):
        groups: dict[StageKind, list[Thing]] = {}
        for other in stage:
            if other not in inside:
                continue
            kind = _kind(topology, other, other is thing)
            if other in leaves or kind is StageKind.DISKS:
                disks[other not in main].append(other)
            elif kind is not None and other in main:
                groups.setdefault(kind, []).append(other)
        for kind, things in groups.items():
            yield from _layer_stage(window, kind, things, inside)
    for branch in (True, False):
        if disks[branch]:
            yield from _disk_stages(window, disks[branch], inside, accused, branch=branch)


def _kind(topology: Topology, thing: Thing, subject: bool) -> StageKind | None:  # noqa: FBT001
    """Return the kind of stage that a thing belongs to, None for partitions and parts without a role of their own."""
    found = next((stage for kind, stage in _LAYERS if kind in thing.kinds), None)
    if ThingKind.GROUP in thing.kinds and any(ThingKind.GROUP in other.kinds for other in topology.upper(thing)):
        return None  # a spare or replacement inside a vdev
    if found is StageKind.VOLUME and thing.device is None and not subject:
        return None  # a part of LVM without a device
    return StageKind.VOLUME if found is None and subject else found


def _layer_stage(
    window: Window, kind: StageKind, things: Sequence[Thing], inside: set[Thing]
) -> Iterator[tuple[Stage, Sequence[Layer]]]:
    known = [(thing, load_of(window, thing)) for thing in things]
    load = combined(load for _, load in known)
    layers = [layer_of(window, thing, load) for thing, load in known if load is not None and load.requests is not None]
    wait = load.wait if load is not None else None
    waits = [(below_wait(window, layer), layer.load.requests) for layer in layers]
    below = weighted(waits) if waits and all(each is not None or not rate for each, rate in waits) else None
    own = max(wait - below, 0.0) if wait is not None and below is not None else None
    name = human.safe(things[0].label, 40) if len(things) == 1 else f"{len(things)} {kind}s"
    note = ""
    if len(layers) == 1:
        traits = layers[0].traits
        name = f"{name} {traits.layout}" if traits.layout and kind is StageKind.ARRAY else name
        note = "" if not traits.copies or traits.copies < 2 else f"each write goes to {traits.copies} disks"
    yield (
        Stage(
            kind=kind, name=name, things=tuple(things), load=load, used=load.busy if load is not None else None,
            wait=wait, own=own, below=below, shared=_shared(window, things, inside), note=note,
            reason="" if load is not None and load.requests is not None else "no source reports its requests",
        ),
        layers,
    )  # fmt: skip


def _shared(window: Window, things: Sequence[Thing], inside: set[Thing]) -> tuple[str, ...]:
    """Return the other users of a stage's thing that is inside a path, by name."""
    upper = window.topology.upper(things[0]) if len(things) == 1 else {}
    if inside.isdisjoint(upper):
        return ()  # the subject itself: its users are the clients
    users = (other for other, how in upper.items() if how in CONTAINS and other not in inside)
    return tuple(human.safe(other.label, 40) for other in by_name(users))


def _disk_stages(
    window: Window, things: Sequence[Thing], inside: set[Thing], accused: frozenset[str], *, branch: bool
) -> Iterator[tuple[Stage, Sequence[Layer]]]:
    """Yield the disks as one stage, after members that are accused, full, or answer far slower than the others."""
    known = {thing: load_of(window, thing) for thing in things}
    odd = _odd(known)
    full = {thing for thing in things if _is_full(window, thing)}
    groups = _apart(things, odd | (full if len(full) < len(things) else set()), accused)
    shown = {thing for group in groups for thing in group}
    rest = [thing for thing in things if thing not in shown]
    usual = weighted([(each.wait, each.requests) for thing in rest if (each := known[thing]) is not None])
    for group in (*groups, *([rest] if rest else [])):
        load = combined(known[thing] for thing in group)
        wait = load.wait if load is not None else None
        slow = group is not rest and wait is not None and usual is not None and wait >= ODD * usual
        peers = usual if group is not rest and (group[0] in odd or slow) else None
        own = "its" if len(group) == 1 else "their"
        note = f"{own} peers take {human.wait(peers)} ms" if peers else _osd_note(window, group)
        remote = all(is_remote(window.topology, thing) for thing in group)
        if remote and load is not None:
            load = replace(load, busy=None, busiest=None)  # share of time here, not of the capacity there
        word = "devices" if any(thing.device is None for thing in group) else "disks"
        name = human.safe(group[0].label, 40) if len(group) == 1 else f"{len(group)} {word}"
        stage = Stage(
            kind=StageKind.DISKS, name=name, things=tuple(group), load=load,
            used=None if load is None or remote else load.busy, wait=wait, branch=branch, note=note,
            own=0.0 if remote and wait is not None else wait, below=wait if remote else None,
            full=any(thing in full for thing in group), shared=_shared(window, group, inside), peers=peers,
            reason="" if load is not None and load.requests is not None else "no source reports their requests",
        )  # fmt: skip
        yield stage, ()


def _apart(things: Sequence[Thing], odd: set[Thing], accused: frozenset[str]) -> list[list[Thing]]:
    """Return the disks to show apart: each alone if they are few, or else all those that are accused together."""
    bad = {thing for thing in things if not accused.isdisjoint((thing.name, thing.label))}
    bad = bad if len(bad) < len(things) else set()
    alone = by_name(odd | bad)
    if len(alone) <= FEW:
        return [[thing] for thing in alone]
    return [list(by_name(bad))] if bad else []


def _osd_note(window: Window, things: Sequence[Thing]) -> str:
    """Return the median waits of a cluster's devices, which have no rates to weight them with."""
    loads = [each for thing in things if thing.device is None and (each := load_of(window, thing)) is not None]
    said = []
    for words, waits in (("reads", [e.read_wait for e in loads]), ("writes", [e.write_wait for e in loads])):
        known = [wait for wait in waits if wait is not None]
        if known:
            said.append(f"{words} {human.wait(median(known))} ms")
    return f"median reported by the cluster: {', '.join(said)}" if said else ""


def _odd(known: dict[Thing, Load | None]) -> set[Thing]:
    """Return the disks that answer far slower than the others at a like number of requests."""
    waits = ((thing, load.wait, load.requests) for thing, load in known.items() if load is not None)
    rows = [(thing, wait, requests or 0.0) for thing, wait, requests in waits if wait]
    if len(rows) < FEW:
        return set()
    usual, rate = median([wait for _, wait, _ in rows]), median([requests for *_, requests in rows])
    return {
        thing
        for thing, wait, requests in rows
        if wait >= ODD * usual and wait - usual >= 0.001 and requests >= 0.2 * rate
    }


def _is_full(window: Window, thing: Thing) -> bool:
    """Return whether a disk was busy all the time with requests waiting, in at least half of the samples."""
    device = window.get(BlockDevice, thing.device) if thing.device is not None else None
    if device is None:
        return False
    moments = recent(window, SECONDS, FEWEST)
    rows = [row for moment in moments if (row := moment.brief("path.rows").get(thing.device)) is not None]
    full = [row for row in rows if _busy(row) and (row.queue or 0.0) >= depth(device)]
    return bool(rows) and len(full) * 2 >= len(rows)


def _busy(row: DiskActivity) -> bool:
    return row.busy is not None and row.busy >= BUSY and bool(row.completed_per_second)


def bus_stages(window: Window, disks: Iterable[Thing], *, all_data: bool) -> Iterator[Stage]:
    """Yield what lies between the disks and the programs: host below, HBA, PCI Express, memory and processors.

    `all_data`: the data passes through memory and processors, as in a rebuild or a ZFS pool.
    """
    topology = window.topology
    names = [thing.device for thing in disks if thing.device is not None]
    devices = [window.get(BlockDevice, name) for name in names]
    if devices and all(device is not None and device.hosted for device in devices):
        yield Stage(kind=StageKind.HOST, name="host below", reason="not visible from the guest")
        return
    above = {other for thing in disks for other in topology.below(thing) if ThingKind.HBA in other.kinds}
    hbas = {thing.named(Naming.PCI) for thing in above}
    found = [load for load in loads(window, DISK_RATE, FLASH_RATE, EFFICIENCY) if load.hba.hba in hbas]
    if found:
        counted = bool(window.last(SECONDS).moments(DiskActivity))
        top = max(found, key=lambda load: load.moves / load.carries if load.carries else 0.0)
        moves = added(load.moves for load in found)
        used = top.moves / top.carries if top.carries and counted else None
        name = f"{len(found)} HBAs" if len(found) > 1 else f"HBA {top.hba.hba.removeprefix('0000:')}"
        yield Stage(
            kind=StageKind.HBA, name=name,
            things=by_name(above), load=Load(read_bytes=moves) if counted else None,
            carries=added(load.carries for load in found if load.carries) or None, used=used,
            full=used is not None and used >= FULL, note="the fullest one's use" if len(found) > 1 else "",
        )  # fmt: skip
        yield from _pcie(top.hba, top.moves if counted else None, len(found))
    if all_data:
        yield from _memory(window, names)
        yield from _processors(window)


def _pcie(hba: Hba, moves: float | None, count: int) -> Iterator[Stage]:
    if hba.speed is None or hba.width is None:
        return
    carries = pcie_payload(hba.speed, hba.width, EFFICIENCY)
    used = moves / carries if moves is not None else None
    yield Stage(
        kind=StageKind.PCIE, name=f"PCIe {hba.speed / 1e9:g} GT/s x{hba.width}",
        load=Load(read_bytes=moves) if moves is not None else None,
        carries=carries, used=used, full=used is not None and used >= FULL,
        note="of the fullest HBA" if count > 1 else "",
    )  # fmt: skip


def _memory(window: Window, disks: Sequence[str]) -> Iterator[Stage]:
    sockets = list(window.rows(MemorySocket).values())
    peaks = [row.peak for row in sockets if row.peak is not None]
    if not sockets or len(peaks) < len(sockets) or any(row.virtual for row in sockets):
        return
    peak = added(peaks)
    rows = [load_of(window, thing) for name in disks if (thing := window.topology.named(Naming.DEV, name)) is not None]
    known = [load.bytes for load in rows if load is not None and load.bytes is not None]
    moved = PASSES * added(known) if known else None
    used = moved / peak if moved is not None else None
    yield Stage(
        kind=StageKind.MEMORY, name="memory", subject="memory",
        load=Load(read_bytes=moved) if moved is not None else None, carries=peak, used=used, derived_use=True,
        full=used is not None and used >= REACHED, note=f"derived: data crosses memory {PASSES:g} times",
    )  # fmt: skip


def _processors(window: Window) -> Iterator[Stage]:
    moments = window.last(SECONDS).moments(CpuActivity)
    rows = [row for moment in moments if (row := moment.rows.get("all")) is not None]
    if not rows:
        return
    used = added(row.busy for row in rows) / len(rows)
    count = len(moments[-1].rows) - 1
    yield Stage(
        kind=StageKind.CPU, name=f"{count} CPUs" if count > 0 else "CPUs", used=used, full=used >= BUSY,
        note="mean of all processors",
    )  # fmt: skip
