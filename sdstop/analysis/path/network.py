"""Network stages of a data path: clients and interfaces above a thing, interfaces and targets below remote disks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from sdstop.analysis.path.load import SECONDS, Load, combined, load_of
from sdstop.analysis.path.stage import FULL, Stage, StageKind
from sdstop.collectors.aoe.readings import AoeTarget
from sdstop.collectors.network.readings import Interface, InterfaceActivity
from sdstop.core import format as human
from sdstop.core.history import Window
from sdstop.core.joins import Relation, ThingKind
from sdstop.core.text import added
from sdstop.core.thing import Thing, by_name
from sdstop.core.topology import Topology

_BEYOND = (ThingKind.TARGET, ThingKind.SESSION, ThingKind.PEER)
"""Kinds of things beyond the network, the one that names the other end best first."""


def upper_stages(window: Window, thing: Thing, mounts: Sequence[str] = ()) -> Iterator[Stage]:
    """Yield the clients of a thing and the network between: client first. `mounts` are its mount points."""
    topology = window.topology
    above = topology.above(thing)
    clients = [other for other in above if ThingKind.CLIENT in other.kinds]
    targets = [other for other in above if ThingKind.TARGET in other.kinds]
    if clients:
        yield _together(window, StageKind.CLIENT, clients, "client")
    elif targets:
        reason = "remote initiators: run sdstop there to see their wait"
        yield Stage(kind=StageKind.CLIENT, name="initiators", reason=reason)
    else:
        more = f" (+{len(mounts) - 1} more)" if len(mounts) > 1 else ""
        name = f"programs on {human.safe(mounts[0], 40)}{more}" if mounts else "clients"
        yield Stage(kind=StageKind.CLIENT, name=name, reason="no source reports the wait of programs")
    nics = {other for target in targets for other, how in topology.lower(target).items() if how is Relation.CARRIED}
    for nic in by_name(nics):
        yield _nic(window, nic)
    if targets:
        yield _together(window, StageKind.NETWORK, targets, "target")


def _together(window: Window, kind: StageKind, things: Sequence[Thing], word: str) -> Stage:
    load = combined(load_of(window, thing) for thing in things)
    name = human.safe(things[0].label, 40) if len(things) == 1 else f"{len(things)} {word}s"
    return Stage(
        kind=kind, name=name, things=by_name(things), load=load, wait=load.wait if load is not None else None,
        reason="" if load is not None else f"no source reports the wait of {word}s",
    )  # fmt: skip


def _nic(window: Window, nic: Thing) -> Stage:
    moments = window.last(SECONDS).moments(InterfaceActivity)
    rows = [row for moment in moments if (row := moment.rows.get(nic.name)) is not None]
    known = window.get(Interface, nic.name)
    speed = known.speed if known is not None else None
    name = human.safe(nic.name, 20)
    if speed:
        name = f"{name} {speed * 8 / 1e9:g} Gb/s"
    if not rows:
        return Stage(kind=StageKind.NETWORK, name=name, things=(nic,), carries=speed, reason="its traffic is unknown")
    received = added(row.rx_bytes_per_second for row in rows) / len(rows)
    sent = added(row.tx_bytes_per_second for row in rows) / len(rows)
    used = max(received, sent) / speed if speed else None
    return Stage(
        kind=StageKind.NETWORK, name=name, things=(nic,), load=Load(write_bytes=received, read_bytes=sent),
        carries=speed, used=used, full=used is not None and used >= FULL, note="waits of frames are not counted",
    )  # fmt: skip


def is_remote(topology: Topology, thing: Thing) -> bool:
    """Return whether the data of a disk or mount is on another host, reached through the network."""
    return any(
        how is Relation.SERVED and not other.kinds.isdisjoint(_BEYOND) for other, how in topology.lower(thing).items()
    )


def remote_stages(window: Window, things: Iterable[Thing]) -> Iterator[Stage]:
    """Yield the interfaces through which remote disks are reached, and the targets, in which their wait is spent.

    The wait of a remote disk includes the network, the target and its disks; nothing on this node separates them.
    """
    topology = window.topology
    remote = [thing for thing in things if is_remote(topology, thing)]
    if not remote:
        return
    below = {other for thing in remote for other in topology.below(thing, (Relation.SERVED, Relation.CARRIED))}
    for nic in by_name(other for other in below if ThingKind.NIC in other.kinds):
        yield _nic(window, nic)
    ends: list[Thing] = []
    all_beyond: set[Thing] = set()
    for thing in remote:
        beyond = [each for each in topology.below(thing, (Relation.SERVED,)) if not each.kinds.isdisjoint(_BEYOND)]
        all_beyond.update(beyond)
        kind = next((kind for kind in _BEYOND if any(kind in other.kinds for other in beyond)), None)
        ends += [other for other in beyond if kind in other.kinds]
    load = combined(load_of(window, thing) for thing in remote)
    wait = load.wait if load is not None else None
    trips = [row.rtt for thing in remote if (row := window.get(AoeTarget, thing.device)) is not None and row.rtt]
    trip = f"round trip of a frame {human.wait(max(trips))} ms" if trips else ""
    names = [human.safe(name, 40) for name in dict.fromkeys(end.label for end in by_name(ends))]
    if load is not None:
        load = replace(load, busy=None, busiest=None)  # share of time here, not of the capacity there
    yield Stage(
        kind=StageKind.NETWORK, name=f"target {names[0]}" if len(names) == 1 else f"{len(names)} targets",
        things=by_name(all_beyond), load=load, wait=wait, own=wait,
        note="; ".join(filter(None, ("network, target and its disks together", trip))) if wait is not None else trip,
        reason="" if load is not None and load.requests is not None else "not visible from this node: run sdstop there",
    )  # fmt: skip
