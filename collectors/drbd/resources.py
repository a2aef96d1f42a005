"""DRBD: resources as clusters of nodes, out-of-sync data, and resyncs with their rate limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from sdstop.collectors.drbd import overview, status_text
from sdstop.collectors.drbd.condition import faults, lacking_bytes, lost_bytes
from sdstop.collectors.drbd.connections import connections, mismatches, quoted
from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.collectors.drbd.status import (
    GOOD_DISKS,
    JSON_FORM,
    KEPT,
    PAUSED,
    PROC_FORM,
    SHOW,
    STATUS,
    UNKNOWN_DISKS,
    VERIFYING,
    DrbdPeer,
    PeerVolume,
    Rates,
    Resource,
    Resync,
    Volume,
    parse_proc,
    parse_rates,
    parse_status,
    resyncs,
)
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.form import FormOutput, outputs
from sdstop.core.host import Absent, Denied, Failed, Host, Output, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterVolume
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import Rebuild

PROC = "/proc/drbd"
BY_RESOURCE = "/dev/drbd/by-res"
PACE = 5.0
"""Seconds between runs."""
KIND = "drbd"


def read(host: Host) -> Iterable[Reading]:
    """Return the rows of each resource. Raise Absent if DRBD is not loaded, because its tool would load the module."""
    key, version, resources = _status(host)
    rates = _rates(host) if version == _NINE and any(True for r in resources for _ in resyncs(r)) else {}
    here = host.maybe("/proc/sys/kernel/hostname") or "this node"
    named = {} if version == _NINE else _named(host)
    rows: list[Reading] = []
    for each in resources:
        marker = quoted(each.name, key) if version == _NINE else f"{each.name.removeprefix('drbd')}: cs:"
        resource = replace(each, name=named.get(each.name, each.name))
        rows.append(_cluster(resource, key, marker))
        rows.extend(_nodes(resource, here, key, "" if version == _NINE else marker))
        linked = list(connections(resource, key, marker))
        rows.extend(linked)
        rows.extend(mismatches(linked))
        rows.extend(_devices(host, resource, here, key, quoted(resource.name, key) if version == _NINE else marker))
        rows.extend(_rebuilds(host, resource, rates.get(resource.name), key))
    return rows


_NINE = 9
"""Major version of DRBD."""


def _status(host: Host) -> tuple[str, int, list[Resource]]:
    """Return the evidence key, the DRBD version and the resources."""
    recorded = [name for name in host.recorded("drbdsetup") if "status" in name and "--json" in name]
    asked = " ".join(STATUS)
    if asked not in recorded and recorded:
        name = recorded[0]
        key = f"cmd:{name}" if " " in name else f"slug:{name}"
        return key, _NINE, parse_status(_said(key, host.recorded_output(name)))
    texts = [output for form in (status_text.TEXT, status_text.ADM, overview.FORM) for output in outputs(host, form)]
    known = None
    try:
        known = host.text(PROC).strip()
    except Absent as error:
        if not recorded and not texts:
            why = "DRBD is not loaded" if error.recorded else "not recorded"
            raise Absent(PROC, why, recorded=error.recorded) from error
    except Unreadable:
        if not recorded and not texts:
            raise
    bare = known is not None and re.search(r"(?m)^ *\d{1,7}: cs:", known) is None  # of `service drbd status`
    if known is not None and not (bare and texts) and (known[:10] == "version: 8" or known[:8] != "version:"):
        return PROC, 8, parse_proc(known)  # raises Malformed without a version
    if texts and asked not in recorded:
        return _printed(host, texts)
    return command_key(STATUS), _NINE, parse_status(_said(command_key(STATUS), host.run(STATUS, 3.0)))


def _printed(host: Host, texts: Sequence[FormOutput]) -> tuple[str, int, list[Resource]]:
    """Return what recorded texts have, of the one with the most details where several have a resource.

    Where they show other states of it, those of the one with more trouble.
    """
    found: dict[str, Resource] = {}
    for output in sorted(texts, key=lambda each: "--statistics" in each.words or "--verbose" in each.words):
        told = output.key.startswith(overview.FORM.key)
        text = overview.as_status(output.text) if told else output.text
        printed = status_text.parse(text, is_whole=told or not output.output.fault)
        for name, reason in printed.defects.items():
            host.defect(output.key, reason, name)
        for resource in printed.resources:
            before = found.get(resource.name)
            if before is not None and _trouble(before) != _trouble(resource):
                host.defect(output.key, "other states in another output", resource.name)
                if len(_trouble(before)) > len(_trouble(resource)):
                    continue
            found[resource.name] = resource
    return texts[-1].key, _NINE, list(found.values())


def _trouble(resource: Resource) -> tuple[str, ...]:
    """Return the states of disks and connections that are not the usual ones."""
    here = [volume.disk for volume in resource.volumes]
    peers = [state for peer in resource.peers for state in (peer.state, *(volume.disk for volume in peer.volumes))]
    return tuple(state for state in (*here, *peers) if state not in _USUAL_STATES)


_USUAL_STATES = frozenset({"UpToDate", "Connected"})


def _said(key: str, output: Output) -> str:
    if output.exit == 0:
        return output.text
    said = output.error
    if "ermission" in said or "ermitted" in said or "must be root" in said.lower():
        raise Denied(key, "DRBD answers root alone: start sdstop with sudo")
    raise Failed(key, output.failure)


def _named(host: Host) -> dict[str, str]:
    """Return the resource by device, from the links that udev's rules of DRBD make; /proc/drbd has only minor numbers.

        /dev/drbd/by-res/r0 -> ../../drbd0, or, of a resource with volumes, /dev/drbd/by-res/r0/1 -> ../../../drbd1

    The volume is part of the name if there are several.
    """
    found: dict[str, str] = {}
    for resource in host.names(BY_RESOURCE):
        device = host.target(f"{BY_RESOURCE}/{resource}")
        if device is not None:
            found[device] = resource
            continue
        volumes = host.names(f"{BY_RESOURCE}/{resource}")
        for volume in volumes:
            device = host.target(f"{BY_RESOURCE}/{resource}/{volume}")
            if device is not None:
                found[device] = f"{resource}/{volume}" if len(volumes) > 1 else resource
    return found


def _rates(host: Host) -> Mapping[str, Rates]:
    """Return the rate limits of resyncs; empty if unavailable, as they are optional."""
    try:
        output = host.run(SHOW, 3.0)
    except TimedOut:
        raise
    except Unreadable:
        return {}
    return parse_rates(output.text) if output.exit == 0 else {}


def _cluster(resource: Resource, key: str, marker: str) -> Cluster:
    wrong = list(faults(resource))
    sizes = [volume.size for volume in resource.volumes]
    size = None if None in sizes else sum(s or 0 for s in sizes)
    up = [peer for peer in resource.peers if peer.state == "Connected"]
    return Cluster(
        cluster=resource.name,
        kind=KIND,
        ident=None,
        version=None,
        state=wrong[0][0] if wrong else "UpToDate",
        healthy=0 if wrong else 1,
        leader=_leader(resource),
        managers=None,
        managers_up=None,
        replicas=None,
        replicas_up=None,
        tolerates=None,
        nodes=1 + len(resource.peers),
        nodes_up=1 + len(up),
        capacity=size,
        used=None,
        spare=None,
        degraded=lacking_bytes(resource),
        failed=lost_bytes(resource),
        says="; ".join(dict.fromkeys(text for _, text in wrong)) or None,
        origin=key,
        needle=marker,
    )


def _leader(resource: Resource) -> str | None:
    if resource.role == "Primary":
        return "this node"
    return next((peer.name for peer in resource.peers if peer.role == "Primary"), None)


def _nodes(resource: Resource, here: str, key: str, marker: str) -> Iterator[ClusterNode]:
    own = sorted({v.disk for v in resource.volumes}, key=lambda disk: disk in GOOD_DISKS)
    yield _node(resource.name, here, own[0] if own else None, resource.volumes, resource.role, key, marker, local=True)
    for peer in resource.peers:
        disks = sorted({v.disk for v in peer.volumes}, key=lambda disk: disk in GOOD_DISKS)
        state = disks[0] if disks else peer.state
        if peer.state != "Connected" and state in UNKNOWN_DISKS:
            state = "DUnknown"
        yield _node(resource.name, peer.name, state, peer.volumes, peer.role, key, marker, local=False)


def _node(
    cluster: str,
    name: str,
    state: str | None,
    volumes: tuple[Volume, ...] | tuple[PeerVolume, ...],
    role: str | None,
    key: str,
    marker: str,
    *,
    local: bool,
) -> ClusterNode:
    diskless = bool(volumes) and all(volume.diskless for volume in volumes)
    unknown = state is None or (state == "DUnknown" and not local)
    healthy = None if unknown else int(state in GOOD_DISKS or (diskless and state == "Diskless"))
    return ClusterNode(
        cluster=cluster,
        role="peer",
        node=name,
        ident=None,
        address=None,
        area=None,
        domain=name,
        state=state,
        healthy=healthy,
        maintenance=None,
        leads=role == "Primary",
        devices=len(volumes),
        capacity=None,
        used=None,
        version=None,
        local=local,
        origin=key,
        needle=marker or (quoted(cluster, key) if local else ""),
    )


def _devices(host: Host, resource: Resource, here: str, key: str, marker: str) -> Iterator[Reading]:
    for volume in resource.volumes:
        name = None if volume.minor is None else f"drbd{volume.minor}"
        below = host.names(f"/sys/block/{name}/slaves") if name is not None else []
        place = f"/dev/{name}" if name is not None else f"{resource.name}/{volume.number}"
        yield ClusterDevice(
            cluster=resource.name, node=here, device=place, ident=None, pool=None, name=None, path=None,
            original=None, state=volume.disk, healthy=int(volume.disk in GOOD_DISKS or volume.diskless), media=None,
            model=None, serial=None, capacity=volume.size, used=None, read_wait=None, write_wait=None,
            local=below[0].replace("!", "/") if below else name, origin=key,
            needle=marker,
        )  # fmt: skip
        yield ClusterVolume(
            cluster=resource.name, volume=f"{resource.name}/{volume.number}", ident=None, pool=None, provisioning=None,
            size=volume.size, clients=None, mapped=None, local=name, origin=key,
        )  # fmt: skip


def _rebuilds(host: Host, resource: Resource, rates: Rates | None, key: str) -> Iterator[Rebuild]:
    at_work = list(resyncs(resource))
    for peer, far, resync in at_work:
        alone = sum(other.number == far.number for _, other, _ in at_work) == 1
        name = resource.name if len(resource.volumes) == 1 else f"{resource.name}/{far.number}"
        minor = next((v.minor for v in resource.volumes if v.number == far.number), None)
        yield _rebuild(host, name if alone else f"{name}/{peer.name}", peer, far, resync, rates, minor, key)


def _rebuild(
    host: Host,
    name: str,
    peer: DrbdPeer,
    far: PeerVolume,
    resync: Resync,
    rates: Rates | None,
    minor: int | None,
    key: str,
) -> Rebuild:
    known = resync.total is not None and resync.left is not None
    below = host.names(f"/sys/block/drbd{minor}/slaves") if minor is not None else []
    return Rebuild(
        array=name,
        operation="check" if far.replication in VERIFYING else "resync",
        state=_state(far),
        done=max((resync.total or 0) - (resync.left or 0), 0) if known else None,
        total=resync.total if known else None,
        speed=resync.speed,
        remaining=resync.remaining,
        speed_min=rates.least if rates else None,
        speed_max=rates.most if rates else None,
        kind=KIND,
        limited_by=rates.most_by if rates and rates.most else None,
        devices=",".join(entry.replace("!", "/") for entry in below) or None,
        carrier=f"drbd{minor}" if minor is not None else None,
        where=key,
        needle=_needle(peer, far, key),
    )


def _needle(peer: DrbdPeer, far: PeerVolume, key: str) -> str:
    if key == PROC:
        return "sync'ed"
    return quoted(far.replication if far.replication != "unknown" else peer.name, key)


def _state(far: PeerVolume) -> str:
    """Return the state of a resync by the side that holds it: another resource goes first unless it is paused."""
    reasons = set((far.suspended or "no").split(",")) - {"no"}
    if "dependency" in reasons and "user" not in reasons:
        return "delayed"
    if len(reasons) == 1:
        return {"user": "paused here", "peer": "paused on peer"}.get(reasons.pop(), "paused")
    return "paused" if reasons or far.replication in PAUSED else "running"


DRBD = Collector(
    "drbd",
    "DRBD resources",
    read,
    (Cluster, ClusterNode, ClusterDevice, ClusterVolume, Rebuild, DrbdConnection, Mismatch),
    (
        Need(PROC, "version of the loaded DRBD; resources of version 8"),
        Command(STATUS, "resources of version 9", "root"),
        Need("cmd:drbdsetup status*", "resources recorded by other tools, also as text"),
        Need("cmd:drbdadm status*", "resources recorded by other tools, as text"),
        Need("cmd:drbd-overview*", "the same of drbd-overview"),
        Command(
            SHOW,
            "rate limits of a resync, only during one; lines with secrets are not kept",
            "root",
            KEPT,
        ),
        Need("/proc/sys/kernel/hostname", "host name"),
        Need(f"list:{BY_RESOURCE}", "names of version 8's resources"),
        Need(f"list:{BY_RESOURCE}/*", "volumes of version 8's resources"),
        Need(f"link:{BY_RESOURCE}/*", "devices of these volumes"),
        Need("list:/sys/block/drbd*/slaves", "disk below a DRBD device"),
    ),
    PACE,
    deadline=7.0,
    devices=r"drbd\d+",
    forms=(PROC_FORM, JSON_FORM, status_text.TEXT, status_text.ADM, overview.FORM),
)
