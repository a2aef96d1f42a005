"""Readings of ports of the fabric: SAS, Fibre Channel, RDMA."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from sdstop.core.expression import expression
from sdstop.core.joins import Identity, Join, Naming, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State, Unplaced, files, recorded

LOG_LINES = {
    "invalid dword count": "invalid_dwords",
    "running disparity error count": "disparity_errors",
    "loss of dword synchronization count": "sync_losses",
    "phy reset problem count": "reset_problems",
}
NEEDLES = {field: name for name, field in LOG_LINES.items()}
"""Label of each counter in the tool's output."""
PHY_COUNTERS: Mapping[str, str] = {
    "invalid_dwords": "invalid_dword_count",
    "disparity_errors": "running_disparity_error_count",
    "sync_losses": "loss_of_dword_sync_count",
    "reset_problems": "phy_reset_problem_count",
}
"""Error counters of a phy and their file names in sysfs."""
PHYS = "/sys/class/sas_phy"
PORTS = "/sys/class/sas_port"
DEVICES = "/sys/class/sas_device"
EXPANDERS = "/sys/class/sas_expander"
FC_HOSTS = "/sys/class/fc_host"
_SPEEDS = expression(r"(\d{1,4}) Gbit")
GIGABIT = 125_000_000
"""Bytes per second of 1 Gbit/s."""
STATISTICS = {
    "link_failures": "link_failure_count",
    "lost_sync": "loss_of_sync_count",
    "lost_signal": "loss_of_signal_count",
    "invalid_words": "invalid_tx_word_count",
    "invalid_crc": "invalid_crc_count",
}
INFINIBAND = "/sys/class/infiniband"
COUNTERS = {
    "symbol_errors": "symbol_error",
    "recoveries": "link_error_recovery",
    "downs": "link_downed",
    "receive_errors": "port_rcv_errors",
    "discards": "port_xmit_discards",
    "waits": "port_xmit_wait",
}
HARDWARE = {
    "timeouts": "local_ack_timeout_err",
    "sequence_errors": "packet_seq_err",
    "out_of_sequence": "out_of_sequence",
    "congestion_notices": "rp_cnp_handled",
    "out_of_buffer": "out_of_buffer",
}


class SasExpander(Reading, frozen=True, kw_only=True):
    """State of an expander as reported by the expander itself.

    `changes` is a 16-bit counter that increases whenever a link behind the expander is established, lost or changed.
    """

    family: ClassVar[str] = "sas_expander"
    title: ClassVar[str] = "SAS expanders"
    rows_of = Source("{told}")
    fields_of: ClassVar = {
        "phys": Source("{told}", "number of phys"),
        "zoning": Source("{told}", "zoning enabled"),
        "changes": Source("{told}", "xpander change count"),
    }
    things: ClassVar = {
        "expander": Identity(ThingKind.EXPANDER, Naming.SCSI),
    }

    expander: Annotated[
        str, Label("Expander", "expander-HOST:NUMBER; expander if recorded output does not name it", plain=True)
    ]
    state: Annotated[
        str | None, State("State", "SMP query state: answers, no answer, refuses, not asked; absent if not queryable")
    ]
    reason: Annotated[str | None, Fact("Why", "Why it is not queried, or its error", export=False, names=Name.TEXT)]
    changes: Annotated[int | None, Metric("Changes", "Link changes, counted by the expander")]
    phys: Annotated[int | None, Metric("Phys", "Number of phys of the expander")]
    links: Annotated[int | None, Metric("Links", "Number of phys with a device attached")]
    vacant: Annotated[int | None, Metric("Vacant", "Vacant phys: not fitted, or in another zone")]
    zoning: Annotated[bool | None, Metric("Zoning", "Whether zoning is enabled")]
    told: Annotated[str, Fact("Source", "Evidence of the change count", export=False, names=Name.EVIDENCE)]


class SasExpanderActivity(Reading, frozen=True):
    """Link changes of an expander between two samples."""

    family: ClassVar[str] = "sas_expander_activity"
    title: ClassVar[str] = "SAS expander changes"
    exported: ClassVar[bool] = False
    rows_of = Unplaced("it follows from two readings of an expander")
    things: ClassVar = {
        "expander": Identity(ThingKind.EXPANDER, Naming.SCSI),
    }

    expander: Annotated[str, Label("Expander", "expander-HOST:NUMBER", plain=True)]
    seconds: Annotated[float, Metric("Time", "Time between the two readings", "seconds")]
    changes: Annotated[int, Metric("Changes", "Link changes")]
    before: Annotated[
        int | None, Metric("Links before", "Number of phys with a device attached at the first sample", export=False)
    ]


class SasPhy(Reading, frozen=True):
    """A phy of an HBA or an expander (kernel drivers/scsi/scsi_transport_sas.c).

    Counters stop at 2^32-1 and restart with the expander or when cleared; None for phys without an attached device,
    which are not queried. Speeds are data rates, without line coding.
    """

    family: ClassVar[str] = "sas_phy"
    numerous: ClassVar[bool] = True
    title: ClassVar[str] = "SAS phys"
    things: ClassVar = {
        "phy": Identity(ThingKind.PHY, Naming.SCSI),
        "owner": Identity(None, Naming.SCSI),
        "attached": Identity(None, Naming.SCSI),
    }
    joins = (
        Join("attached", "phy", Relation.ATTACHED),
        Join("phy", "owner", Relation.PART),
    )

    phy: Annotated[str, Label("Phy", "phy-HOST:NUMBER of an HBA, phy-HOST:EXPANDER:NUMBER of an expander", plain=True)]
    owner: Annotated[str, Fact("Of", "Host (hostN) or expander (expander-H:N) of the phy", plain=True)]
    number: Annotated[int | None, Metric("Number", "Number of the phy on its host or expander", export=False)]
    port: Annotated[str | None, Fact("Port", "Port of the phy, while a device is attached", plain=True)]
    attached: Annotated[str | None, Fact("Attached", "end_device-... or expander-... at the other end", plain=True)]
    address: Annotated[
        str | None, Fact("Address", "SAS address of the device at the other end", export=False, names=Name.IDENTIFIER)
    ]
    state: Annotated[
        str | None,
        State("State", "State of the phy: up, vacant, or as the kernel reports it (Phy disabled, Link Rate failed)"),
    ]
    rate: Annotated[int | None, Metric("Rate", "Data rate of the negotiated link", "bytes_per_second", setting=True)]
    maximum_rate: Annotated[
        int | None, Metric("At most", "Maximum data rate of the phy", "bytes_per_second", setting=True)
    ]
    invalid_dwords: Annotated[int | None, Metric("Invalid dwords", "Invalid dwords received", kind=Kind.COUNTER)] = None
    disparity_errors: Annotated[
        int | None,
        Metric("Disparity", "Running disparity errors (mostly counted as invalid dwords too)", kind=Kind.COUNTER),
    ] = None
    sync_losses: Annotated[int | None, Metric("Sync lost", "Losses of dword synchronization", kind=Kind.COUNTER)] = None
    reset_problems: Annotated[int | None, Metric("Reset problems", "Failed link resets", kind=Kind.COUNTER)] = None
    told: Annotated[
        str | None, Fact("Source", "Evidence of the counters, if not sysfs", export=False, names=Name.EVIDENCE)
    ] = None

    def source(self, field: str = "") -> Source | None:
        """Return the attribute (by default the state) or the command that a field was read from."""
        if self.told is not None and (field in PHY_COUNTERS or self.rate is None or self.port is None):
            several = field in PHY_COUNTERS and not re.search(r"-p[ _]?\d", self.told)
            return Source(self.told, f"phy identifier: {self.number}" if several else NEEDLES.get(field, ""))
        if field == "address" and self.attached is not None:
            return Source(f"{DEVICES}/{self.attached}/sas_address")
        names = {**PHY_COUNTERS, "maximum_rate": "maximum_linkrate_hw"}
        return Source(f"{PHYS}/{self.phy}/{names.get(field, 'negotiated_linkrate')}")


class SasPhyActivity(Reading, frozen=True):
    """Error rates of a phy between two samples of an unchanged link."""

    family: ClassVar[str] = "sas_phy_activity"
    title: ClassVar[str] = "SAS phy errors"
    exported: ClassVar[bool] = False
    rows_of = Source(f"{PHYS}/{{phy}}/invalid_dword_count")
    fields_of = files(f"{PHYS}/{{phy}}", **{f"{field}_per_second": name for field, name in PHY_COUNTERS.items()})
    things: ClassVar = {
        "phy": Identity(ThingKind.PHY, Naming.SCSI),
    }

    phy: Annotated[str, Label("Phy", "Name of the phy", plain=True)]
    seconds: Annotated[float, Metric("Time", "Time between the two readings", "seconds")]
    invalid_dwords_per_second: Annotated[
        float | None, Metric("Invalid dwords/s", "Invalid dwords received per second", "per_second")
    ]
    disparity_errors_per_second: Annotated[
        float | None, Metric("Disparity/s", "Running disparity errors per second", "per_second")
    ]
    sync_losses_per_second: Annotated[
        float | None, Metric("Sync lost/s", "Losses of dword synchronization per second", "per_second")
    ]
    reset_problems_per_second: Annotated[float | None, Metric("Resets/s", "Failed link resets", "per_second")]


class SasPort(Reading, frozen=True):
    """A SAS port: the phys that lead to the same device."""

    family: ClassVar[str] = "sas_port"
    title: ClassVar[str] = "SAS ports"
    rows_of = Source(f"{PORTS}/{{port}}/num_phys")

    port: Annotated[str, Label("Port", "port-HOST:NUMBER, or port-HOST:EXPANDER:NUMBER", plain=True)]
    phys: Annotated[int | None, Metric("Phys", "Number of phys; a wide port has several")]


class SasDevice(Reading, frozen=True):
    """An expander or end device (a drive's port, an enclosure processor) and its position."""

    family: ClassVar[str] = "sas_device"
    title: ClassVar[str] = "SAS devices"
    rows_of = Source(f"{DEVICES}/{{device}}/device_type")
    fields_of = files(
        f"{DEVICES}/{{device}}", address="sas_address", enclosure="enclosure_identifier", bay="bay_identifier"
    ) | files(f"{EXPANDERS}/{{device}}", product="product_id")
    things: ClassVar = {
        "device": Identity(
            Stated(
                "kind",
                dict.fromkeys(("edge expander", "fanout expander"), ThingKind.EXPANDER),
                ThingKind.DEVICE,
            ),
            Naming.SCSI,
        ),
        "above": Identity(None, Naming.SCSI),
        "host": Identity(ThingKind.CONTROLLER, Naming.SCSI),
        "bay": Identity(ThingKind.SLOT, Naming.ENCLOSURE, "{enclosure}/{bay}"),
        "enclosure": Identity(ThingKind.ENCLOSURE, Naming.ENCLOSURE),
    }
    joins = (
        Join("device", "above|host", Relation.ATTACHED),
        Join("device", "bay|enclosure", Relation.LOCATED),
        Join("bay", "enclosure", Relation.PART),
    )

    device: Annotated[str, Label("Device", "expander-H:N or end_device-...", plain=True)]
    kind: Annotated[str | None, Fact("Kind", "end device, edge expander, fanout expander", plain=True)]
    address: Annotated[str | None, Fact("Address", "SAS address", export=False, names=Name.IDENTIFIER)]
    host: Annotated[str | None, Fact("Host", "SCSI host that leads to the device", plain=True)]
    port: Annotated[str | None, Fact("Port", "Port that leads to it", plain=True)]
    above: Annotated[str | None, Fact("Above", "Expander or host that the port belongs to", plain=True)]
    enclosure: Annotated[
        str | None, Fact("Enclosure", "Identifier of the enclosure", export=False, names=Name.IDENTIFIER)
    ]
    bay: Annotated[int | None, Metric("Bay", "Number of the bay in the enclosure", export=False)]
    product: Annotated[str | None, Fact("Product", "Vendor and product of an expander", plain=True)]


class FcPort(Reading, frozen=True):
    """A Fibre Channel port of this node (kernel drivers/scsi/scsi_transport_fc.c).

    The counters are those of the link error status block (FC-FS), since the adapter was reset. Each one is a question
    to the adapter, so they are read once a minute.
    """

    family: ClassVar[str] = "fc_port"
    title: ClassVar[str] = "Fibre Channel ports"
    remembered: ClassVar[int] = 64
    rows_of = Source(f"{FC_HOSTS}/{{port}}/port_state")
    fields_of: ClassVar = {
        **files(f"{FC_HOSTS}/{{port}}", "speed", name="port_name", supported="supported_speeds"),
        **files(f"{FC_HOSTS}/{{port}}/statistics", **STATISTICS),
    }
    things: ClassVar = {"port": Identity(ThingKind.CONTROLLER, Naming.SCSI)}

    port: Annotated[str, Label("Port", "SCSI host of the port: host7", plain=True)]
    name: Annotated[str | None, Fact("WWPN", "World wide name of the port", names=Name.IDENTIFIER)]
    state: Annotated[str | None, State("State", "State of the port: Online, Linkdown, Offline, Blocked, Error ...")]
    speed: Annotated[int | None, Metric("Speed", "Negotiated speed of the port", "bytes_per_second", setting=True)]
    supported: Annotated[str | None, Fact("Supports", "Speeds that the adapter supports", export=False, plain=True)]
    link_failures: Annotated[int | None, Metric("Link failures", "Losses of the link", kind=Kind.COUNTER)]
    lost_sync: Annotated[int | None, Metric("Sync lost", "Losses of synchronization", kind=Kind.COUNTER)]
    lost_signal: Annotated[int | None, Metric("Signal lost", "Losses of the signal", kind=Kind.COUNTER)]
    invalid_words: Annotated[int | None, Metric("Bad words", "Invalid transmission words", kind=Kind.COUNTER)]
    invalid_crc: Annotated[int | None, Metric("Bad CRC", "Frames with a wrong checksum", kind=Kind.COUNTER)]

    @property
    def fastest(self) -> int | None:
        """The fastest supported speed in bytes per second, None if unknown."""
        return max((int(each) * GIGABIT for each in _SPEEDS.findall(self.supported or "")), default=None)


class RdmaPort(Reading, frozen=True):
    """A port of an RDMA adapter, from /sys/class/infiniband/X/ports/N (kernel drivers/infiniband/core/sysfs.c).

    Counters of the link are those of the InfiniBand specification (PortCounters); a RoCE adapter keeps some of them.
    Those of the adapter (hw_counters) are named as mlx5 names them; others have none or other ones.
    """

    family: ClassVar[str] = "rdma_port"
    title: ClassVar[str] = "RDMA ports"
    remembered: ClassVar[int] = 64
    rows_of = (Source("{told}", "{needle}"), Source(f"{INFINIBAND}/{{adapter}}/ports/{{number}}/state"))
    fields_of: ClassVar = recorded(
        "{needle}",
        {
            **files(
                f"{INFINIBAND}/{{adapter}}/ports/{{number}}",
                "rate",
                layer="link_layer",
                lanes="rate",
                physical="phys_state",
            ),
            **files(f"{INFINIBAND}/{{adapter}}/ports/{{number}}/counters", **COUNTERS),
            **files(f"{INFINIBAND}/{{adapter}}/ports/{{number}}/hw_counters", **HARDWARE),
        },
    )
    things: ClassVar = {"interface": Identity(None, Naming.NET)}

    adapter: Annotated[str, Label("Adapter", "RDMA device: mlx5_0", plain=True)]
    number: Annotated[str, Label("Port", "Number of the port", plain=True)]
    layer: Annotated[str | None, Fact("Layer", "InfiniBand or Ethernet (RoCE, iWARP)", plain=True)]
    state: Annotated[str | None, State("State", "State of the port: ACTIVE, DOWN, INIT, ARMED")]
    rate: Annotated[
        int | None, Metric("Rate", "Rate of the port in one direction", "bytes_per_second", setting=True, detail=True)
    ]
    interface: Annotated[str | None, Fact("Interface", "Network interface of the adapter", names=Name.INTERFACE)]
    symbol_errors: Annotated[int | None, Metric("Symbol errors", "Damaged symbols received", kind=Kind.COUNTER)]
    recoveries: Annotated[
        int | None, Metric("Recoveries", "Recoveries of the link after errors", kind=Kind.COUNTER, detail=True)
    ]
    downs: Annotated[int | None, Metric("Link down", "Losses of the link", kind=Kind.COUNTER, detail=True)]
    receive_errors: Annotated[int | None, Metric("RX errors", "Damaged packets received", kind=Kind.COUNTER)]
    discards: Annotated[
        int | None, Metric("TX discards", "Packets discarded because the port was down or full", kind=Kind.COUNTER)
    ]
    waits: Annotated[
        int | None, Metric("TX waits", "Ticks in which data waited for credits of the receiver", kind=Kind.COUNTER)
    ]
    timeouts: Annotated[
        int | None, Metric("Timeouts", "Requests repeated because no acknowledgement arrived", kind=Kind.COUNTER)
    ]
    sequence_errors: Annotated[
        int | None,
        Metric("Sequence errors", "Requests repeated because the peer missed a packet", kind=Kind.COUNTER, detail=True),
    ]
    out_of_sequence: Annotated[
        int | None, Metric("Out of sequence", "Packets received out of sequence", kind=Kind.COUNTER)
    ]
    congestion_notices: Annotated[
        int | None,
        Metric("CNP", "Congestion notifications that slowed this sender down", kind=Kind.COUNTER, detail=True),
    ]
    out_of_buffer: Annotated[
        int | None, Metric("No buffer", "Packets dropped for lack of a receive buffer", kind=Kind.COUNTER, detail=True)
    ]
    lanes: Annotated[int | None, Metric("Lanes", "Lanes of the link", setting=True, detail=True)] = None
    physical: Annotated[
        str | None, Fact("Physical", "Physical state: LinkUp, Polling, Disabled, LinkErrorRecovery ...", plain=True)
    ] = None
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    @property
    def port(self) -> str:
        """Adapter and number, as verbs name a port."""
        return f"{self.adapter}/{self.number}"
