"""Readings specific to ScaleIO/PowerFlex: storage pool settings and the queried gateway."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.evidence import GATEWAY
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

INSTANCES = "/api/instances"
"""All objects of a system in one response (GET)."""
STATISTICS = "/api/instances/querySelectedStatistics"
"""All statistics of a system in one response (read-only POST)."""
"""Question for the state of the gateway connection."""


_SETTINGS = {
    "zero_padding": ("zeroPaddingEnabled",),
    "rmcache": ("useRmcache", "rmcacheWriteHandlingMode", "mediaType"),
    "rebuild": ("rebuildEnabled", "rebuildIoPriorityPolicy", "rebuildIoPriorityBwLimitPerDeviceInKbps"),
    "rebalance": ("rebalanceEnabled", "rebalanceIoPriorityPolicy", "rebalanceIoPriorityBwLimitPerDeviceInKbps"),
}  # fmt: skip


class ScaleioPool(Reading, frozen=True, kw_only=True):
    """Settings of a storage pool that affect data safety and speed.

    Rebuild restores copies after a failure, rebalance fills new devices. Limits are per device, in addition to the
    number of concurrent I/Os; None if unlimited. `throttle` is the protection domain's limit per SDS.
    """

    family: ClassVar[str] = "scaleio_pool"
    title: ClassVar[str] = "ScaleIO pools: settings"
    rows_of = Source("{origin}", "{ident|pool}", ("protectionDomainId",))
    fields_of: ClassVar = {field: Source("{origin}", "{ident|pool}", shown) for field, shown in _SETTINGS.items()}
    things: ClassVar = {
        "pool": Identity(ThingKind.POOL, Naming.CLUSTER, "{cluster}/{pool}"),
    }

    cluster: Annotated[str, Label("Cluster", "Name of the system, or its id", names=Name.VOLUME)]
    pool: Annotated[str, Label("Pool", "Its name", names=Name.VOLUME)]
    ident: Annotated[str | None, Fact("Id", "Its id", names=Name.IDENTIFIER)]
    media: Annotated[str | None, Fact("Media", "SSD or HDD if all devices are of one kind, else mixed", plain=True)]
    zero_padding: Annotated[
        str | None, State("Zero padding", "Whether zero padding is enabled: on or off", detail=True)
    ]
    checksum: Annotated[str | None, State("Checksum", "Whether it is enabled: on or off", detail=True)]
    rmcache: Annotated[
        str | None, State("RAM cache", "Whether the pool uses the RAM read cache of its nodes: on or off", detail=True)
    ]
    rmcache_nodes: Annotated[
        int | None, Metric("RAM cache nodes", "Number of nodes with the RAM read cache enabled", detail=True)
    ]
    rmcache_size: Annotated[
        int | None, Metric("RAM cache", "Memory reserved for the RAM read cache", "bytes", setting=True, detail=True)
    ]
    thin_volumes: Annotated[int | None, Metric("Thin", "Number of thin volumes and snapshots", detail=True)]
    devices: Annotated[int | None, Metric("Devices", "Number of devices")]
    rebuild: Annotated[str | None, State("Rebuild", "Whether it is enabled: on or off")]
    rebuild_policy: Annotated[str | None, Fact("Rebuild by", "Rebuild policy, as reported", plain=True)]
    rebuild_ios: Annotated[
        int | None, Metric("Rebuild I/Os", "Concurrent rebuild I/Os of a device", setting=True, detail=True)
    ]
    rebuild_limit: Annotated[
        int | None, Metric("Rebuild limit", "Rebuild bandwidth of a device", "bytes_per_second", setting=True)
    ]
    rebuild_throttle: Annotated[
        int | None, Metric("Rebuild throttle", "Limit of each SDS, by protection domain", "bytes_per_second")
    ]
    rebalance: Annotated[str | None, State("Rebalance", "Whether it is enabled: on or off")]
    rebalance_policy: Annotated[str | None, Fact("Rebalance by", "Rebalance policy, as reported", plain=True)]
    rebalance_ios: Annotated[
        int | None, Metric("Rebalance I/Os", "Concurrent rebalance I/Os of a device", setting=True, detail=True)
    ]
    rebalance_limit: Annotated[
        int | None, Metric("Rebalance limit", "Rebalance bandwidth of a device", "bytes_per_second", setting=True)
    ]
    rebalance_throttle: Annotated[
        int | None,
        Metric("Rebalance throttle", "Limit of each SDS, by protection domain", "bytes_per_second", detail=True),
    ]
    jobs: Annotated[int | None, Metric("Jobs", "Rebuild and rebalance jobs of a device at a time")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""

    @property
    def name(self) -> str:
        """The name in findings: `cluster/pool`."""
        return f"{self.cluster}/{self.pool}"


class Gateway(Reading, frozen=True, kw_only=True):
    """Connection state of the configured gateways; captures made without a gateway have no row.

    `state`: ok; stale (no gateway responds, the data is `age` seconds old, and `trouble` is the reason). Statistics
    that the gateway does not support are omitted from further queries.
    """

    family: ClassVar[str] = "gateway"
    title: ClassVar[str] = "Gateways"
    rows_of = Source(f"answer:{GATEWAY}")

    gateway: Annotated[str, Label("Gateway", "Host and port of the gateway that responded last", names=Name.HOST)]
    state: Annotated[str, State("State", "State of the gateway's data: ok or stale")]
    age: Annotated[float | None, Metric("Age", "Age of the last gateway response", "seconds")]
    version: Annotated[str | None, Fact("Version", "Reported version", plain=True)]
    login: Annotated[str | None, Fact("Login", "token (1.x to 3.x) or bearer (4.x)", plain=True)]
    verified: Annotated[
        str | None, Fact("Verified", "By system, ca, fingerprint; NOT VERIFIED; or none: plain HTTP", plain=True)
    ]
    gateways: Annotated[int | None, Metric("Configured", "Number of configured gateways")]
    failures: Annotated[int | None, Metric("Failures", "Failed attempts since the last response")]
    dropped: Annotated[
        str | None, Fact("Not known", "Properties that the gateway does not support", export=False, plain=True)
    ]
    trouble: Annotated[str | None, Fact("Trouble", "Error of the last attempt", export=False, names=Name.TEXT)]
