"""Volumes and clients of a ScaleIO/PowerFlex system, and the limits of each mapping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.powerflex.objects import MIB, Object, flag, latency, number, rates, size, text
from sdstop.collectors.powerflex.pools import LocalNode, System, provisioning
from sdstop.core.text import added
from sdstop.readings.cluster import ClusterClient, ClusterVolume
from sdstop.readings.limit import POWERFLEX, TOTAL, Limit, limited


def volume_rows(system: System, here: LocalNode) -> Iterator[ClusterVolume | Limit]:
    """Yield the volumes and the limits of each of their mappings."""
    for ident, row in system.objects.of("Volume").items():
        numbers = system.of("Volume", ident)
        name = system.objects.name("Volume", ident) or ident
        listed = row.get("mappedSdcInfo")
        mappings: Sequence[Object] = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
        reads, read = rates(numbers, "userDataReadBwc")
        writes, write = rates(numbers, "userDataWriteBwc")
        device = here.volumes.get(ident.lower())
        volume = ClusterVolume(
            cluster=system.cluster,
            volume=name,
            ident=ident,
            pool=system.pool(text(row.get("storagePoolId"))),
            provisioning=provisioning(row),
            size=size(row, "sizeInKb"),
            clients=len(mappings),
            mapped=", ".join(_owner(system, mapping) for mapping in mappings[:4]) or None,
            reads=reads,
            writes=writes,
            read=read,
            write=write,
            read_wait=latency(numbers, "userDataSdcReadLatency"),
            write_wait=latency(numbers, "userDataSdcWriteLatency"),
            local=device,
            origin=system.origin,
        )
        yield volume
        for mapping in mappings:
            yield _limit(system, here, volume, mapping, len(mappings))


def _owner(system: System, mapping: Object) -> str:
    ident = text(mapping.get("sdcId"))
    named = text(system.objects.of("Sdc").get(ident or "", {}).get("name")) or text(mapping.get("sdcName"))
    return named or text(mapping.get("sdcIp")) or ident or "?"


def _limit(system: System, here: LocalNode, volume: ClusterVolume, mapping: Object, sharers: int) -> Limit:
    """Return the limits of a mapping: IOPS, and bandwidth in MiB/s (`limitBwInMbps`); 0 is unlimited."""
    iops, bandwidth = number(mapping.get("limitIops")), number(mapping.get("limitBwInMbps"))
    told = iops is not None or bandwidth is not None
    device = volume.local if sharers == 1 or _is_here(system, here, mapping) else None
    fresh = device is None and not system.stale  # for local devices the kernel's exact counters are used
    bounds = limited(iops, bandwidth) if told else None
    return Limit(
        volume.volume,
        _owner(system, mapping),
        POWERFLEX,
        TOTAL,
        bounds,
        iops or None,
        bandwidth * MIB if bandwidth else None,
        device=device,
        size=volume.size,
        requests_rate=_both(volume.reads, volume.writes) if fresh else None,
        bytes_rate=_both(volume.read, volume.write) if fresh else None,
        sharers=sharers,
        wait=_mean(volume) if fresh and sharers == 1 else None,
        origin=system.origin,
        needle=_needle(volume),
        used_origin=system.statistics,
    )


def _needle(volume: ClusterVolume) -> str:
    source = volume.source()
    return source.needle if source is not None else volume.volume


def _is_here(system: System, here: LocalNode, mapping: Object) -> bool:
    sdc = system.objects.of("Sdc").get(str(mapping.get("sdcId")), {})
    return _local_client(sdc, here) or text(mapping.get("sdcIp")) in here.addresses


def _local_client(sdc: Object, here: LocalNode) -> bool:
    guid = text(sdc.get("sdcGuid"))
    return (guid is not None and guid.lower() == here.guid) or text(sdc.get("sdcIp")) in here.addresses


def _both(one: float | None, other: float | None) -> float | None:
    return None if one is None and other is None else (one or 0.0) + (other or 0.0)


def _mean(volume: ClusterVolume) -> float | None:
    """Return the mean latency of reads and writes combined."""
    parts = [(volume.reads, volume.read_wait), (volume.writes, volume.write_wait)]
    known = [(rate, wait) for rate, wait in parts if rate and wait is not None]
    return added(rate * wait for rate, wait in known) / added(rate for rate, _ in known) if known else None


def client_rows(system: System, here: LocalNode) -> Iterator[ClusterClient]:
    """Yield the clients (SDCs)."""
    mapped: dict[str, int] = {}
    for volume in system.objects.of("Volume").values():
        listed = volume.get("mappedSdcInfo")
        for mapping in listed if isinstance(listed, list) else ():
            if isinstance(mapping, dict):
                mapped[str(mapping.get("sdcId"))] = mapped.get(str(mapping.get("sdcId")), 0) + 1
    for ident, row in system.objects.of("Sdc").items():
        numbers = system.of("Sdc", ident)
        state = text(row.get("mdmConnectionState"))
        approved = flag(row.get("sdcApproved"))
        reads, read = rates(numbers, "userDataReadBwc")
        writes, write = rates(numbers, "userDataWriteBwc")
        yield ClusterClient(
            cluster=system.cluster,
            client=text(row.get("name")) or text(row.get("sdcIp")) or ident,
            ident=ident,
            address=text(row.get("sdcIp")),
            state="not approved" if approved is False else state,
            healthy=0 if approved is False else None if state is None else int(state == "Connected"),
            volumes=mapped.get(ident, 0),
            version=text(row.get("softwareVersionInfo")) or text(row.get("versionInfo")),
            reads=reads,
            writes=writes,
            read=read,
            write=write,
            read_wait=latency(numbers, "userDataSdcReadLatency"),
            write_wait=latency(numbers, "userDataSdcWriteLatency"),
            local=_local_client(row, here),
            origin=system.origin,
            statistics=system.statistics,
        )
