"""ScaleIO/PowerFlex: cluster readings from gateway responses or recorded scli text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from sdstop.collectors.powerflex.nodes import addresses_of, cluster_row, manager_rows, node_rows
from sdstop.collectors.powerflex.objects import (
    LISTS,
    QUERY,
    decode,
    microseconds,
    number,
    objects,
    size,
    statistics,
    text,
    whole,
    without_texts,
)
from sdstop.collectors.powerflex.pools import LocalNode, System, pool_rows
from sdstop.collectors.powerflex.readings import INSTANCES, STATISTICS, Gateway, ScaleioPool
from sdstop.collectors.powerflex.scli import recorded_objects
from sdstop.collectors.powerflex.volumes import client_rows, volume_rows
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.evidence import GATEWAY, http_key
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Failed, Host, Reply, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.retention import lines_of
from sdstop.readings import service
from sdstop.readings.cluster import (
    Cluster,
    ClusterClient,
    ClusterDevice,
    ClusterNode,
    ClusterPool,
    ClusterVolume,
    FailureDomain,
)
from sdstop.readings.device_names import DevicePath
from sdstop.readings.disk import device_name
from sdstop.readings.limit import USE, Limit
from sdstop.readings.rebuild import Rebuild
from sdstop.readings.service import Service

BY_ID = "/dev/disk/by-id"
ADDRESSES = "/proc/net/fib_trie"
DRIVER = "/bin/emc/scaleio/drv_cfg.txt"
PACE = 10.0
"""Seconds between samples, as in the vendor's own tool."""
_LINK = expression(r"emc-vol-([0-9a-fA-F]{1,32})-([0-9a-fA-F]{1,32})")
_LEAF = expression(r"\|-- ([0-9.]{7,15})\s+/32 host LOCAL")
_GUID = expression(r"^ini_guid\s+([0-9A-Fa-f-]{36})\s*$", re.MULTILINE)


def read(host: Host) -> Iterator[Reading]:
    """Yield a system's rows. Raise Absent without a configured gateway and recorded scli output."""
    said, origin, numbers, counted = _ask(host)
    known = objects(said)
    gateway = _gateway(host)
    name = text(known.system.get("name")) or text(known.system.get("id")) or "powerflex"
    stale = gateway is not None and gateway.state == "stale"
    system = System(name, known, statistics(numbers), origin, counted, stale)
    here = _here(host)
    if gateway is not None:
        yield gateway
    if stale and gateway is not None:
        age = "" if gateway.age is None else f"{gateway.age:.0f} s "
        host.defect(origin, f"{age}old: {gateway.trouble or 'no gateway answers'}")
    yield cluster_row(system)
    yield from manager_rows(system)
    yield from node_rows(system, here)
    yield from pool_rows(system)
    yield from _devices(host, system, here)
    yield from volume_rows(system, here)
    yield from client_rows(system, here)


def _ask(host: Host) -> tuple[Any, str, Any, str]:
    """Return the raw objects and statistics, each with its evidence key."""
    asked = http_key("GET", INSTANCES)
    try:
        reply = host.get(INSTANCES)
    except Absent as absent:
        if absent.recorded:  # recorded on a node without a gateway
            raise
        return _recorded(host, absent, asked)
    posed = http_key("POST", STATISTICS, QUERY)
    said = _objects(_good(reply, asked))
    try:
        numbers = decode(_good(host.request("POST", STATISTICS, QUERY), posed))
    except TimedOut:
        raise
    except Unreadable as error:
        if not isinstance(error, Absent):
            raise
        numbers = {}
    return said, asked, numbers, posed if numbers else ""


@lru_cache(maxsize=2)
def _objects(data: bytes) -> Any:
    """Decode the objects; cached, because they rarely change."""
    return decode(data)


def _good(reply: Reply, key: str) -> bytes:
    if reply.status != 200:
        raise Failed(key, f"status {reply.status}")
    return reply.body


def _recorded(host: Host, absent: Absent, asked: str) -> tuple[Any, str, Any, str]:
    """Return the recorded objects from captures without /api/instances: lists by type, or scli text."""
    found: dict[str, Any] = {}
    origin = ""
    for kind, name in {"System": "System", **LISTS}.items():
        path = f"/api/types/{kind}/instances"
        try:
            listed = decode(_good(host.get(path), path))
        except Absent:
            continue
        if kind == "System":
            found[name] = listed[0] if isinstance(listed, list) and listed else {}
        else:
            found[name] = listed
        origin = origin or http_key("GET", path)
    if found:
        posed = http_key("POST", STATISTICS, QUERY)
        try:
            return found, origin, decode(_good(host.request("POST", STATISTICS, QUERY), posed)), posed
        except Absent:
            return found, origin, {}, ""
    told = recorded_objects(host)
    if told is None:
        raise Absent(asked, absent.detail, recorded=absent.recorded)
    return told


def _gateway(host: Host) -> Gateway | None:
    try:
        said = host.answer(GATEWAY)
    except TimedOut:
        raise
    except Unreadable:
        return None
    if not isinstance(said, dict) or not text(said.get("gateway")):
        return None
    dropped = said.get("dropped")
    names = ", ".join(str(name) for name in dropped) if isinstance(dropped, list) else ""
    return Gateway(
        gateway=str(said["gateway"]),
        state=text(said.get("state")) or "ok",
        age=number(said.get("age")),
        version=text(said.get("version")),
        login=text(said.get("login")),
        verified=text(said.get("verified")),
        gateways=whole(said.get("gateways")),
        failures=whole(said.get("failures")),
        dropped=names or None,
        trouble=text(said.get("trouble")),
    )


def _here(host: Host) -> LocalNode:
    links = {match[2].lower(): name for name in host.names(BY_ID) if (match := _LINK.fullmatch(name))}
    volumes = {ident: host.target(f"{BY_ID}/{name}") for ident, name in links.items()}
    addresses = _LEAF.findall(host.maybe(ADDRESSES) or "")
    guid = _GUID.search(host.maybe(DRIVER) or "")
    return LocalNode(
        frozenset(a for a in addresses if not a.startswith("127.")),
        guid[1].lower() if guid else None,
        {ident: device_name(name) for ident, name in volumes.items() if name},
    )


def _devices(host: Host, system: System, here: LocalNode) -> Iterator[ClusterDevice | DevicePath | Service]:
    mine = {
        ident for ident, row in system.objects.of("Sds").items() if not here.addresses.isdisjoint(addresses_of(row))
    }
    for ident, row in system.objects.of("Device").items():
        numbers = system.of("Device", ident)
        node = text(row.get("sdsId"))
        path = text(row.get("deviceCurrentPathName"))
        original = text(row.get("deviceOriginalPathName"))
        state, error = text(row.get("deviceState")), text(row.get("errorState"))
        bad = [word for word, good in ((error, "None"), (state, "Normal")) if word not in {None, good}]
        found = ClusterDevice(
            cluster=system.cluster,
            node=system.objects.name("Sds", node) or "?",
            device=path or original or text(row.get("name")) or ident,
            ident=ident,
            pool=system.pool(text(row.get("storagePoolId"))),
            name=text(row.get("name")),
            path=path,
            original=original,
            state=", ".join(bad) or state,
            healthy=0 if bad else None if state is None else 1,  # without an error it can be out of service
            media=text(row.get("mediaType")) or text(row.get("autoDetectMediaType")),
            model=" ".join(filter(None, (text(row.get("vendorName")), text(row.get("modelName"))))) or None,
            serial=text(row.get("serialNumber")),
            capacity=size(row, "capacityLimitInKb", "maxCapacityInKb") or size(numbers, "maxCapacityInKb"),
            used=size(numbers, "capacityInUseInKb"),
            read_wait=microseconds(numbers, "avgReadLatencyInMicrosec"),
            write_wait=microseconds(numbers, "avgWriteLatencyInMicrosec"),
            local=_kernel_name(host, path) if node in mine and path else None,
            origin=system.origin,
        )
        yield found
        if found.read_wait is not None or found.write_wait is not None:
            yield _service(found, system.statistics)
        if original or path:
            source = found.source()
            needle = source.needle if source is not None else ident
            yield DevicePath(
                holder=system.cluster,
                place=found.node,
                path=original or path or "",
                kind="powerflex",
                now=path,
                healthy=found.healthy,
                device=found.local,
                origin=system.origin,
                needle=needle,
            )


def _service(device: ClusterDevice, statistics: str) -> Service:
    """Return the latencies of a device, which the gateway averages over the last seconds; `statistics` is their key."""
    return Service(
        device=f"{device.cluster}/{device.node}/{device.device}",
        tool=service.POWERFLEX,
        kind="osd",
        read_wait=device.read_wait,
        write_wait=device.write_wait,
        origin=statistics,
        needle=f"{device.ident}>avgReadLatencyInMicrosec,avgWriteLatencyInMicrosec",
    )


def _kernel_name(host: Host, path: str) -> str | None:
    """Return the kernel name of a /dev path of this node."""
    if path.startswith("/dev/disk/"):
        name = host.target(path)
        return device_name(name) if name else None
    return path.removeprefix("/dev/") if path.startswith("/dev/") and path.count("/") == 2 else None


def _lacks(tables: Mapping[type[Reading], Mapping[Any, Reading]]) -> str:
    for row in tables.get(Gateway, {}).values():
        if isinstance(row, Gateway) and row.state == "stale":
            age = "" if row.age is None else f" of {row.age:.0f} s ago"
            return f"stale, this is{age}: {row.trouble or 'no gateway answers'}"
    return ""


SCALEIO = Collector(
    "scaleio",
    "ScaleIO/PowerFlex",
    read,
    (
        Gateway, Cluster, ClusterNode, ClusterPool, FailureDomain, ScaleioPool, ClusterDevice, ClusterVolume, Service,
        ClusterClient, Limit, Rebuild, DevicePath,
    ),
    (
        Need(f"http:GET {INSTANCES}", "all objects of the system", "a user of the role Monitor: [powerflex] in the "
             "config file"),
        Need(f"http:POST {STATISTICS}*", "all statistics of the system, in one read-only query"),
        Need("http:GET /api/types/*/instances", "objects by type, if recorded in that form"),
        Need("http:*api*instances*", "objects recorded under another name", redact=without_texts),
        Question(GATEWAY, "which gateway answered, and how old the answer is"),
        Need(f"{BY_ID}/emc-vol-*", "volumes of this node and their devices"),
        Need(ADDRESSES, "SDS and SDC of this node"),
        Need(DRIVER, "SDC of this node", "root", lines_of(r"ini_guid\s")),
        Need("cmd:scli *", "recorded output of scli, if no gateway was queried"),
    ),
    PACE,
    45.0,
    derives=(USE,),
    lacks=_lacks,
)  # fmt: skip
