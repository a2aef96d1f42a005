"""Service of devices as tools print it: rates and waits over an interval, without counters to compute them from.

The sources are recorded `iostat -x`, `sar -d`, `zpool iostat -l`, `ceph osd perf` and the gateways of clusters. They
print different columns: a field is None where its tool does not print it, never 0.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source

IOSTAT = "iostat"
SAR = "sar"
ZPOOL = "zpool iostat"
OSD_PERF = "ceph osd perf"
POWERFLEX = "powerflex"


class Service(Reading, frozen=True, kw_only=True):
    """Service of one device over one interval, as one tool printed it.

    Waits are seconds and include queueing. `requests_per_second` and `wait` are those of all requests: the only ones of
    tools that do not separate reads from writes. A wait is None if no such request completed. `busy` is the share of
    the interval with a request in flight, `queue` the mean number outstanding. `seconds` is the interval, None if it is
    unknown (or, for `ceph osd perf`, a few seconds chosen by the daemon).

    Whole block devices and partitions have their kernel name, vdevs are POOL/VDEV, OSDs CLUSTER/NODE/DEVICE or only
    their name if the tool prints no more. `within` is the group, in the same form, in which the tool prints the device.
    """

    family: ClassVar[str] = "service"
    title: ClassVar[str] = "Service times"
    joined: ClassVar[bool] = True
    exported: ClassVar[bool] = False  # recorded elsewhere; live nodes have counters
    rows_of = Source("{origin}", "{needle|device}")
    things: ClassVar = {
        "device": Identity(
            Stated("kind", {"group": ThingKind.GROUP, "pool": ThingKind.POOL, "osd": ThingKind.OSD}, ThingKind.DEVICE),
            Stated("naming", {each: Naming(each) for each in ("number", "vdev", "osd")}, Naming.DEV),
            "{name}",
        ),
        "within": Identity(None, Naming.VDEV),
    }
    joins = (Join("within", "device", Relation.MEMBER),)

    device: Annotated[str, Label("Device", "Device, as the tool names it", names=Name.VOLUME)]
    tool: Annotated[str, Label("Tool", "Program or gateway that printed it", plain=True)]
    kind: Annotated[str, Fact("Kind", "device, group, pool or osd", plain=True)] = "device"
    within: Annotated[str | None, Fact("In", "Group in which the tool prints it", names=Name.VOLUME)] = None
    reads_per_second: Annotated[float | None, Metric("r/s", "Reads completed", "per_second")] = None
    writes_per_second: Annotated[float | None, Metric("w/s", "Writes completed", "per_second")] = None
    requests_per_second: Annotated[float | None, Metric("tps", "Requests completed", "per_second")] = None
    read_wait: Annotated[float | None, Metric("r_await", "Mean read latency, including queueing", "seconds")] = None
    write_wait: Annotated[float | None, Metric("w_await", "Mean write latency, including queueing", "seconds")] = None
    wait: Annotated[float | None, Metric("await", "Mean latency of all requests", "seconds")] = None
    size: Annotated[float | None, Metric("areq-sz", "Mean size of all requests", "bytes")] = None
    read_share: Annotated[float | None, Metric("Read", "Share of reads in the bytes that were moved", "ratio")] = None
    queue: Annotated[float | None, Metric("aqu-sz", "Mean requests outstanding")] = None
    busy: Annotated[float | None, Metric("%util", "Share of time with a request in flight", "ratio")] = None
    seconds: Annotated[float | None, Metric("Interval", "Length of the interval", "seconds")] = None
    origin: Annotated[str, Fact("Origin", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Line", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def naming(self) -> str:
        """Namespace of the name: dev, number (`dev8-0` of sar is 8:0), vdev or osd."""
        if self.tool == ZPOOL:
            return Naming.VDEV
        if self.kind == "osd":
            return Naming.OSD
        return Naming.NUMBER if self._number else Naming.DEV

    @property
    def name(self) -> str:
        """Name in that namespace."""
        return self._number or self.device

    @property
    def _number(self) -> str:
        major, _, minor = self.device.removeprefix("dev").partition("-")
        plain = self.tool == SAR and self.device.startswith("dev") and major.isdecimal() and minor.isdecimal()
        return f"{major}:{minor}" if plain else ""
