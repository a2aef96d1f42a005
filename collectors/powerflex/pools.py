"""Storage pools of a ScaleIO/PowerFlex system: capacity, failure domains, settings, rebuilds and rebalances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from sdstop.collectors.powerflex.objects import (
    KIB,
    Object,
    SystemObjects,
    flag,
    number,
    rates,
    remaining,
    size,
    text,
    whole,
)
from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.core.model import object_needle
from sdstop.readings.cluster import ClusterPool, FailureDomain
from sdstop.readings.rebuild import Rebuild

COPIES = 2
"""Copies of all data that ScaleIO keeps, in different failure domains."""
_OPERATIONS = (("Fwd", "forward rebuild"), ("Bck", "backward rebuild"), ("Norm", "rebuild"), ("", "rebalance"))
"""Forward: a node or device failed; backward: it returned; normal: data with intentionally one copy gets its second."""
_POLICIES = {
    "unlimited": "no limit", "limitnumofconcurrentios": "limited by concurrent I/Os",
    "favorappios": "favors application I/O", "dynamicbwthrottling": "throttled while applications do I/O",
}  # fmt: skip


class Domain(Struct):
    """A failure domain of a pool: a fault set, or a node without one."""

    name: str
    of: str
    ident: str
    nodes: set[str] = field(default_factory=set)
    devices: int = 0
    capacity: int = 0
    used: int | None = None
    down: int = 0


class System(Struct, frozen=True):
    """Objects and statistics of a system; `cluster` is its name, `origin` and `statistics` are evidence keys."""

    cluster: str
    objects: SystemObjects
    numbers: Mapping[str, Mapping[str, Object]]
    origin: str
    statistics: str
    stale: bool = False
    names: dict[str | None, str | None] = field(default_factory=dict)

    def of(self, kind: str, ident: str) -> Object:
        """Return the statistics of an object; empty if there are none."""
        return self.numbers.get(kind, {}).get(ident, {})

    def pool(self, ident: str | None) -> str | None:
        """Return a pool's name, prefixed by its protection domain if the name is not unique."""
        if ident not in self.names:
            self.names[ident] = self._pool(ident)
        return self.names[ident]

    def _pool(self, ident: str | None) -> str | None:
        if ident is None:
            return None
        name = self.objects.name("StoragePool", ident) or ident
        same = [row for row in self.objects.of("StoragePool").values() if text(row.get("name")) == name]
        if len(same) < 2:
            return name
        area = text(self.objects.of("StoragePool")[ident].get("protectionDomainId"))
        return f"{self.objects.name('ProtectionDomain', area)}/{name}"


class LocalNode(Struct, frozen=True):
    """Identity of this node in the cluster: its addresses, its SDC's GUID and its volume devices."""

    addresses: frozenset[str] = frozenset()
    guid: str | None = None
    volumes: Mapping[str, str] = field(default_factory=dict)


_GOOD = (("mdmConnectionState", "Connected"), ("membershipState", "Joined"), ("sdsState", "Normal"))
"""States of an SDS, each with its only good word."""


def bad_states(row: Object) -> list[str]:
    """Return the abnormal states of an SDS; compared as whole words, because `Disconnected` contains `connected`."""
    return [str(row[key]) for key, word in _GOOD if text(row.get(key)) not in {None, word}]


def has_state(row: Object) -> bool:
    """Return whether a state of an SDS is known: some output of scli has none."""
    return any(text(row.get(key)) is not None for key, _ in _GOOD)


def domains(system: System) -> dict[str, dict[str, Domain]]:
    """Return the failure domains of each pool, by pool id."""
    found: dict[str, dict[str, Domain]] = defaultdict(dict)
    nodes = system.objects.of("Sds")
    for ident, device in system.objects.of("Device").items():
        pool, node = text(device.get("storagePoolId")), text(device.get("sdsId"))
        if pool is None or node is None:
            continue
        numbers = system.of("Device", ident)
        whole_size = size(device, "maxCapacityInKb") or size(numbers, "maxCapacityInKb") or 0
        limit = size(device, "capacityLimitInKb")
        sds = nodes.get(node, {})
        fault_set = text(sds.get("faultSetId"))
        fault_set = None if fault_set is None or not fault_set.strip("0") else fault_set
        key = fault_set or node
        domain = found[pool].get(key)
        if domain is None:
            name = system.objects.name("FaultSet" if fault_set else "Sds", key) or key
            domain = found[pool][key] = Domain(name, "fault set" if fault_set else "node", key)
        if node not in domain.nodes:
            domain.nodes.add(node)
            domain.down += bool(bad_states(sds))
        domain.devices += 1
        domain.capacity += min(whole_size, limit) if limit else whole_size
        used = size(numbers, "capacityInUseInKb")
        domain.used = domain.used if used is None else (domain.used or 0) + used
    return found


def pool_rows(system: System) -> Iterator[ClusterPool | FailureDomain | ScaleioPool | Rebuild]:
    """Yield the rows of all pools."""
    parts = domains(system)
    for ident, row in system.objects.of("StoragePool").items():
        inside = parts.get(ident, {})
        yield _capacity(system, ident, row, inside)
        name = system.pool(ident) or ident
        for domain in inside.values():
            yield FailureDomain(
                cluster=system.cluster,
                pool=name,
                domain=domain.name,
                of=domain.of,
                nodes=len(domain.nodes),
                devices=domain.devices,
                capacity=domain.capacity or None,
                used=domain.used,
                nodes_down=domain.down,
                origin=system.origin,
                needle=domain.ident,
            )
        settings = _settings(system, ident, row)
        yield settings
        yield from _rebuilds(system, ident, settings, inside)


def _capacity(system: System, ident: str, row: Object, inside: Mapping[str, Domain]) -> ClusterPool:
    numbers = system.of("StoragePool", ident)
    added = sum(domain.capacity for domain in inside.values())
    capacity = size(numbers, "capacityLimitInKb", "maxCapacityInKb") or added or None
    share = number(row.get("sparePercentage"))
    share = share / 100 if share is not None and 0 <= share <= 100 else None
    spare = size(numbers, "spareCapacityInKb")
    if spare is None and share is not None and capacity is not None:
        spare = int(capacity * share)
    used = size(numbers, "capacityInUseInKb")
    usable = capacity - spare if capacity is not None and spare is not None else None
    largest = max(inside.values(), key=lambda domain: domain.capacity, default=None)
    area = text(row.get("protectionDomainId"))
    reads, read = rates(numbers, "userDataReadBwc")
    writes, write = rates(numbers, "userDataWriteBwc")
    return ClusterPool(
        cluster=system.cluster,
        pool=system.pool(ident) or ident,
        kind="powerflex",
        ident=ident,
        area=system.objects.name("ProtectionDomain", area),
        copies=COPIES,
        capacity=capacity,
        used=used,
        spare=spare,
        spare_ratio=share,
        filled=used / usable if used is not None and usable else None,
        near_full=_percent(row, "capacityAlertHighThreshold"),
        full=_percent(row, "capacityAlertCriticalThreshold"),
        domains=len(inside) or None,
        largest=largest.capacity or None if largest is not None else None,
        largest_domain=largest.name if largest is not None else None,
        degraded=_sum(numbers, "degradedHealthyCapacityInKb", "degradedFailedCapacityInKb"),
        failed=size(numbers, "failedCapacityInKb"),
        reads=reads,
        writes=writes,
        read=read,
        write=write,
        origin=system.origin,
        statistics=system.statistics,
    )


def _percent(row: Object, name: str) -> float | None:
    found = number(row.get(name))
    return found / 100 if found is not None and 0 < found <= 100 else None


def _sum(row: Object, *names: str) -> int | None:
    found = [size(row, name) for name in names]
    return None if all(part is None for part in found) else sum(part or 0 for part in found)


def _settings(system: System, ident: str, row: Object) -> ScaleioPool:
    objects = system.objects
    devices = [device for device in objects.of("Device").values() if device.get("storagePoolId") == ident]
    nodes = {str(device.get("sdsId")) for device in devices}
    cached = [sds for node in nodes if flag((sds := objects.of("Sds").get(node, {})).get("rmcacheEnabled"))]
    area = objects.of("ProtectionDomain").get(str(row.get("protectionDomainId")), {})
    volumes = [volume for volume in objects.of("Volume").values() if volume.get("storagePoolId") == ident]
    thin = [volume for volume in volumes if provisioning(volume) in {"thin", "snapshot"}]
    sizes = [size(sds, "rmcacheSizeInKb") or 0 for sds in cached]
    return ScaleioPool(
        cluster=system.cluster,
        pool=system.pool(ident) or ident,
        ident=ident,
        media=_media(row, devices),
        zero_padding=_switch(row.get("zeroPaddingEnabled")),
        checksum=_switch(row.get("checksumEnabled")),
        rmcache=_switch(row.get("useRmcache")),
        rmcache_nodes=len(cached) if nodes else None,
        rmcache_size=sum(sizes) if cached else None,
        thin_volumes=len(thin),
        devices=len(devices),
        rebuild=_switch(row.get("rebuildEnabled")),
        rebuild_policy=_policy(row, "rebuild"),
        rebuild_ios=whole(row.get("rebuildIoPriorityNumOfConcurrentIosPerDevice")),
        rebuild_limit=_limit(row, "rebuild"),
        rebuild_throttle=_throttle(area, "rebuild"),
        rebalance=_switch(row.get("rebalanceEnabled")),
        rebalance_policy=_policy(row, "rebalance"),
        rebalance_ios=whole(row.get("rebalanceIoPriorityNumOfConcurrentIosPerDevice")),
        rebalance_limit=_limit(row, "rebalance"),
        rebalance_throttle=_throttle(area, "rebalance"),
        jobs=whole(row.get("numOfParallelRebuildRebalanceJobsPerDevice")),
        origin=system.origin,
    )


def provisioning(volume: Object) -> str | None:
    """Return thin, thick or snapshot; any other type unchanged."""
    word = text(volume.get("volumeType"))
    known = {"thinprovisioned": "thin", "thickprovisioned": "thick", "snapshot": "snapshot"}
    return None if word is None else known.get(word.lower().replace("_", ""), word)


def _media(row: Object, devices: list[Object]) -> str | None:
    """Return the detected or configured media type of the devices, else that of the pool."""
    kinds = {text(device.get("mediaType")) or text(device.get("autoDetectMediaType")) for device in devices}
    kinds -= {None, "Transitional", "Unknown"}
    if len(kinds) > 1:
        return "mixed"
    return next(iter(kinds), None) or text(row.get("mediaType"))


def _switch(value: object) -> str | None:
    known = flag(value)
    return None if known is None else "on" if known else "off"


def _policy(row: Object, what: str) -> str | None:
    return text(row.get(f"{what}IoPriorityPolicy"))


def _limit(row: Object, what: str) -> int | None:
    """Return the bandwidth limit per device if the policy uses it; other policies ignore the field."""
    policy = (_policy(row, what) or "").lower()
    if policy not in {"favorappios", "dynamicbwthrottling"}:
        return None
    return size(row, f"{what}IoPriorityBwLimitPerDeviceInKbps") or None


def _throttle(area: Object, what: str) -> int | None:
    return size(area, f"{what}NetworkThrottlingInKbps") or None if flag(
        area.get(f"{what}NetworkThrottlingEnabled")
    ) else None  # fmt: skip


def _rebuilds(system: System, ident: str, settings: ScaleioPool, inside: Mapping[str, Domain]) -> Iterator[Rebuild]:
    """Yield the rebuilds and rebalances of a pool.

    The initial amount is not reported. Progress is therefore relative to all data of the pool: the bytes not yet in
    place are the remaining part.
    """
    numbers = system.of("StoragePool", ident)
    total = size(numbers, "capacityInUseInKb")
    for kind, operation in _OPERATIONS:
        left = remaining(numbers, kind)
        if not left or total is None:
            continue
        what = "rebuild" if kind else "rebalance"
        rate = rates(numbers, f"{kind.lower()}RebuildWriteBwc" if kind else "rebalanceWriteBwc")[1]
        off = (settings.rebuild if kind else settings.rebalance) == "off"
        yield Rebuild(
            settings.name,
            operation,
            "stale" if system.stale else "paused" if off else "running",
            max(total, left) - left,
            max(total, left),
            None if rate is None else int(rate),
            int(left / rate) if rate else None,
            speed_max=_most(system, ident, settings, what, kind, inside),
            kind="powerflex",
            limited_by=_limited_by(system, ident, settings, what, kind),
            where=system.statistics,
            needle=_progress_needle(system, ident, kind),
        )


def _progress_needle(system: System, ident: str, kind: str) -> str:
    what = f"{kind}Rebuild" if kind else "Rebalance"
    rate = f"{kind.lower()}RebuildWriteBwc" if kind else "rebalanceWriteBwc"
    return object_needle(system.statistics, ident, (f"pending{what}CapacityInKb", f"active{what}CapacityInKb", rate))


def _receivers(system: System, ident: str, kind: str) -> int | None:
    """Return the number of devices in a pool that currently receive data; None if unknown."""
    name = f"activeMovingIn{kind}RebuildJobs" if kind else "activeMovingInRebalanceJobs"
    mine = [device for device, row in system.objects.of("Device").items() if row.get("storagePoolId") == ident]
    jobs = [whole(system.of("Device", device).get(name)) for device in mine]
    return None if all(count is None for count in jobs) else sum(1 for count in jobs if count)


def _most(
    system: System, ident: str, settings: ScaleioPool, what: str, kind: str, inside: Mapping[str, Domain]
) -> int | None:
    """Return the bytes per second that the policies allow, per receiving device and per node."""
    limit = settings.rebuild_limit if what == "rebuild" else settings.rebalance_limit
    throttle = settings.rebuild_throttle if what == "rebuild" else settings.rebalance_throttle
    receivers = _receivers(system, ident, kind)
    nodes = sum(len(domain.nodes) for domain in inside.values())
    bounds = [limit * receivers] if limit is not None and receivers else []
    bounds += [throttle * nodes] if throttle is not None and nodes else []
    return min(bounds, default=None)


def _limited_by(system: System, ident: str, settings: ScaleioPool, what: str, kind: str) -> str | None:
    """Return the policy as text: the limits per device and per SDS, and the number of receiving devices."""
    policy = settings.rebuild_policy if what == "rebuild" else settings.rebalance_policy
    if policy is None:
        return None
    limit = settings.rebuild_limit if what == "rebuild" else settings.rebalance_limit
    ios = settings.rebuild_ios if what == "rebuild" else settings.rebalance_ios
    throttle = settings.rebuild_throttle if what == "rebuild" else settings.rebalance_throttle
    words = [f"{what} policy {policy} ({_POLICIES.get(policy.lower(), policy)})"]
    if limit is not None:
        words.append(f"{limit // KIB} KB/s a device")
    if ios is not None and policy.lower() != "unlimited":
        words.append(f"{ios} concurrent I/O{'' if ios == 1 else 's'} a device")
    receivers = _receivers(system, ident, kind)
    if receivers:
        words.append(f"{receivers} receiving device{'' if receivers == 1 else 's'}")
    if throttle is not None:
        words.append(f"{throttle // KIB} KB/s an SDS")
    return ", ".join(words)
