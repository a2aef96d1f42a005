"""Readings of the fabric: host bus adapters, PCI functions, NUMA nodes, interrupts."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.joins import Identity, Join, Naming, Relation, Stated, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, files, recorded

PCI = "/sys/bus/pci/devices"
NODES = "/sys/devices/system/node"
BLOCK = "/sys/block"
SAS_DEVICES = "/sys/class/sas_device"
_ADAPTER_FILES = {
    "speed": "current_link_speed",
    "width": "current_link_width",
    "max_speed": "max_link_speed",
    "max_width": "max_link_width",
    "node": "numa_node",
}
NET = "/sys/class/net"
NETWORK, STORAGE, PORT = "network", "storage", "port"
LINK = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
ERRORS = {"corrected": "aer_dev_correctable", "uncorrected": "aer_dev_nonfatal", "fatal": "aer_dev_fatal"}
IRQ = "/proc/irq"


class Hba(Reading, frozen=True):
    """A storage PCI function (SCSI, SAS, RAID, SATA, NVMe), with or without disks.

    The link is the one to the port above. Speeds are transfers per second and lane; None without a PCI Express link
    or if unknown. `node` is None if the function's NUMA node is unknown.
    """

    family: ClassVar[str] = "hba"
    title: ClassVar[str] = "HBAs"
    rows_of = (Source("{told}", "{function}"), Source(f"{PCI}/{{hba}}/class"))
    fields_of = recorded("{function}", files(f"{PCI}/{{hba}}", **_ADAPTER_FILES)) | recorded(
        "{port_function}",
        files(
            f"{PCI}/{{port}}",
            port_device_id="device",
            port_max_speed=_ADAPTER_FILES["max_speed"],
            port_max_width=_ADAPTER_FILES["max_width"],
        ),
    )
    things: ClassVar = {
        "hba": Identity(ThingKind.HBA, Naming.PCI),
        "port": Identity(ThingKind.PCIE_LINK, Naming.PCI),
        "bridges": Identity(ThingKind.PCIE_LINK, Naming.PCI, many=True),
        "node": Identity(ThingKind.NUMA_NODE, Naming.NUMA, "node{node}"),
    }
    joins = (
        Join("hba", "port", Relation.ATTACHED),
        Join("port", "bridges", Relation.ATTACHED),
        Join("hba", "node", Relation.LOCATED),
    )

    hba: Annotated[str, Label("HBA", "PCI address; hostN if known from sg_map only", plain=True)]
    kind: Annotated[str, Fact("Kind", "scsi, ide, raid, ata, sata, sas, nvme, or storage", plain=True)]
    device_id: Annotated[str | None, Fact("Device", "vendor:device, as numbers of PCI", plain=True)]
    driver: Annotated[str | None, Fact("Driver", "Kernel driver", plain=True)]
    firmware: Annotated[str | None, Fact("Firmware", "Running firmware, if its driver reports it", plain=True)]
    port: Annotated[str | None, Fact("Port", "PCI address of the port above it", plain=True)]
    port_device_id: Annotated[
        str | None, Fact("Port's device", "vendor:device of the port above", export=False, plain=True)
    ]
    node: Annotated[int | None, Metric("NUMA node", "NUMA node of the adapter", exact=True, setting=True)]
    speed: Annotated[
        float | None,
        Metric("Speed", "Current link speed, in transfers per second of a lane", "per_second", setting=True),
    ]
    width: Annotated[int | None, Metric("Lanes", "Current link width, in lanes", setting=True)]
    max_speed: Annotated[
        float | None, Metric("Its speed", "Maximum link speed or width of the adapter", "per_second", setting=True)
    ]
    max_width: Annotated[int | None, Metric("Its lanes", "Maximum link speed or width of the adapter", setting=True)]
    port_max_speed: Annotated[
        float | None,
        Metric("Port's speed", "Maximum link speed or width of the upstream port", "per_second", setting=True),
    ]
    port_max_width: Annotated[
        int | None, Metric("Port's lanes", "Maximum link speed or width of the upstream port", setting=True)
    ]
    node_by: Annotated[
        str | None,
        Fact(
            "Node known by", "Source of the NUMA node: firmware, bridge (above it), or cpus", export=False, plain=True
        ),
    ] = None
    bridges: Annotated[
        str | None,
        Fact("Bridges", "PCI addresses above that port, the root first, separated by commas", export=False, plain=True),
    ] = None
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None

    @property
    def function(self) -> str:
        """Its PCI address as lspci prints it, without domain 0; the number of a host."""
        return self.hba.removeprefix("0000:").removeprefix("host")

    @property
    def port_function(self) -> str:
        """The PCI address of the port above it as lspci prints it; its own if the port is unknown."""
        return (self.port or self.function).removeprefix("0000:")


class DiskPath(Reading, frozen=True, kw_only=True):
    """Path from a PCI-attached disk to its HBA."""

    family: ClassVar[str] = "disk_path"
    title: ClassVar[str] = "Disk paths"
    rows_of = (Source("{told}", "/dev/{device}"), Source(f"link:{BLOCK}/{{device:sysfs}}"))
    fields_of = files(f"{SAS_DEVICES}/{{end_device}}", enclosure="enclosure_identifier", bay="bay_identifier")
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV, aliases=(("{end_device}", Naming.SCSI),)),
        "expander": Identity(ThingKind.EXPANDER, Naming.SCSI),
        "host": Identity(ThingKind.CONTROLLER, Naming.SCSI),
        "hba": Identity(ThingKind.HBA, Naming.PCI),
        "bay": Identity(ThingKind.SLOT, Naming.ENCLOSURE, "{enclosure}/{bay}"),
        "enclosure": Identity(ThingKind.ENCLOSURE, Naming.ENCLOSURE),
    }
    joins = (
        Join("device", "expander|host|hba", Relation.ATTACHED),
        Join("expander", "host|hba", Relation.ATTACHED),  # perhaps through further expanders
        Join("host", "hba", Relation.PART),
        Join("device", "bay|enclosure", Relation.LOCATED),
        Join("bay", "enclosure", Relation.PART),
    )

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    hba: Annotated[str, Fact("HBA", "PCI address; hostN if known from sg_map only", plain=True, detail=True)]
    host: Annotated[str | None, Fact("Host", "SCSI host (hostN)", plain=True, detail=True)]
    port: Annotated[str | None, Fact("Port", "SAS port of the HBA", plain=True, detail=True)]
    expander: Annotated[
        str | None, Fact("Expander", "SAS expander that the disk is attached to", plain=True, detail=True)
    ]
    end_device: Annotated[str | None, Fact("End device", "The disk's name in the SAS fabric", plain=True, detail=True)]
    enclosure: Annotated[
        str | None, Fact("Enclosure", "Identifier of the enclosure", export=False, names=Name.IDENTIFIER)
    ]
    bay: Annotated[int | None, Metric("Bay", "Bay in the enclosure", export=False)]
    model: Annotated[
        str | None, Fact("Model", "Vendor and model, if known from sg_map only", export=False, plain=True)
    ] = None
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None


class NumaNode(Reading, frozen=True):
    """A NUMA node (kernel drivers/base/node.c). Counters are pages since boot.

    A node may have no CPUs or no memory. `missed` pages were allocated here although another node was preferred.
    """

    family: ClassVar[str] = "numa_node"
    title: ClassVar[str] = "NUMA nodes"
    rows_of = (Source("{told}", "{printed}"), Source(f"{NODES}/{{node}}/cpulist"))
    fields_of = recorded(
        "{printed}",
        files(f"{NODES}/{{node}}", "distance")
        | {
            "memory": Source(f"{NODES}/{{node}}/meminfo", "MemTotal:"),
            "free": Source(f"{NODES}/{{node}}/meminfo", "MemFree:"),
            "local": Source(f"{NODES}/{{node}}/numastat", "local_node"),
            "other": Source(f"{NODES}/{{node}}/numastat", "other_node"),
            "missed": Source(f"{NODES}/{{node}}/numastat", "numa_miss"),
            "foreign": Source(f"{NODES}/{{node}}/numastat", "numa_foreign"),
        },
    )
    things: ClassVar = {
        "node": Identity(ThingKind.NUMA_NODE, Naming.NUMA),
        "socket": Identity(None, Naming.SOCKET),
    }
    joins = (Join("socket", "node", Relation.LOCATED),)

    node: Annotated[str, Label("Node", "nodeN", plain=True)]
    cpus: Annotated[str | None, Fact("CPUs", "CPUs of the NUMA node, as 0-7,16-23; empty without any", plain=True)]
    distance: Annotated[
        str | None, Fact("Distance", "Distance to each node by the firmware; 10 is local", export=False, plain=True)
    ]
    memory: Annotated[int | None, Metric("Memory", "Memory of the NUMA node", "bytes")]
    free: Annotated[int | None, Metric("Free", "Free memory of the NUMA node", "bytes")]
    local: Annotated[
        int | None,
        Metric("Local", "Pages allocated on this node by tasks on this node (local_node)", kind=Kind.COUNTER),
    ] = None
    other: Annotated[
        int | None,
        Metric("Other", "Pages allocated on this node by tasks on other nodes (other_node)", kind=Kind.COUNTER),
    ] = None
    missed: Annotated[
        int | None,
        Metric("Missed", "Pages allocated here instead of on the preferred node (numa_miss)", kind=Kind.COUNTER),
    ] = None
    foreign: Annotated[
        int | None, Metric("Foreign", "Pages preferred here and allocated elsewhere (numa_foreign)", kind=Kind.COUNTER)
    ] = None
    socket: Annotated[int | None, Metric("Socket", "Processor socket of its first CPU", export=False, exact=True)] = (
        None
    )
    told: Annotated[str | None, Fact("Source", "Evidence, if not sysfs", export=False, names=Name.EVIDENCE)] = None

    @property
    def printed(self) -> str:
        """Its name as numactl (`node 0`) or lscpu (`node0`) prints it."""
        return f"node {self.number}" if "numactl" in (self.told or "") else self.node

    @property
    def number(self) -> int:
        """The node's number."""
        return int(self.node.removeprefix("node"))


class NumaActivity(Reading, frozen=True):
    """Page allocation of a NUMA node between two samples."""

    family: ClassVar[str] = "numa_activity"
    title: ClassVar[str] = "NUMA activity"
    exported: ClassVar[bool] = False
    rows_of = Source(f"{NODES}/{{node}}/numastat")
    things: ClassVar = {
        "node": Identity(ThingKind.NUMA_NODE, Naming.NUMA),
    }

    node: Annotated[str, Label("Node", "nodeN", plain=True)]
    pages_per_second: Annotated[float, Metric("Pages/s", "Pages allocated on this node per second", "per_second")]
    missed_per_second: Annotated[
        float | None,
        Metric("Missed/s", "Pages allocated here instead of on the preferred node, per second", "per_second"),
    ]
    foreign_per_second: Annotated[
        float | None, Metric("Foreign/s", "Pages preferred here and allocated elsewhere, per second", "per_second")
    ]
    remote: Annotated[
        float | None,
        Metric("Remote", "Share of the pages that were allocated by tasks on other nodes; absent without any", "ratio"),
    ]


class InterfaceNode(Reading, frozen=True):
    """NUMA node of a network interface with PCI hardware."""

    family: ClassVar[str] = "interface_node"
    title: ClassVar[str] = "NUMA nodes of network cards"
    rows_of = Source(f"{NET}/{{interface}}/device/numa_node")
    things: ClassVar = {
        "interface": Identity(ThingKind.NIC, Naming.NET),
        "node": Identity(ThingKind.NUMA_NODE, Naming.NUMA, "node{node}"),
    }
    joins = (Join("interface", "node", Relation.LOCATED),)

    interface: Annotated[str, Label("Interface", "Kernel name", names=Name.INTERFACE)]
    node: Annotated[
        int | None,
        Metric("NUMA node", "NUMA node of the network card; absent if not reported", exact=True, setting=True),
    ]
    node_by: Annotated[
        str | None,
        Fact("Known by", "Source of the NUMA node: firmware, bridge (above it), or cpus", export=False, plain=True),
    ] = None


class PcieFunction(Reading, frozen=True, kw_only=True):
    """A function or port, and the errors since boot that it detected (kernel 4.19 and later, drivers/pci/pcie/aer.c).

    Without error reporting by firmware or hardware the counters are None. Links are those of network functions; of
    storage they are those of sdstop.collectors.fabric.hba.
    """

    family: ClassVar[str] = "pcie_function"
    title: ClassVar[str] = "PCIe functions"
    remembered: ClassVar[int] = 64
    rows_of = Source(f"{PCI}/{{function}}/class")
    fields_of: ClassVar = {
        **files(f"{PCI}/{{function}}", **ERRORS),
        **files(f"{PCI}/{{function}}", speed=LINK[0], width=LINK[1], max_speed=LINK[2], max_width=LINK[3]),
        **files(f"{PCI}/{{port}}", port_max_speed=LINK[2], port_max_width=LINK[3]),
    }
    things: ClassVar = {
        "function": Identity(Stated("kind", {STORAGE: ThingKind.HBA}, ThingKind.PCIE_LINK), Naming.PCI),
        "port": Identity(ThingKind.PCIE_LINK, Naming.PCI),
    }
    joins = (Join("function", "port", Relation.ATTACHED),)

    function: Annotated[str, Label("Function", "PCI address", plain=True)]
    kind: Annotated[str, Fact("Kind", "storage, network, or port (a bridge above one)", plain=True)]
    interfaces: Annotated[
        str | None, Fact("Interfaces", "Network interfaces, separated by commas", export=False, names=Name.DEVICE)
    ] = None
    port: Annotated[str | None, Fact("Port", "PCI address of the port above it", plain=True)] = None
    port_device_id: Annotated[
        str | None, Fact("Port's device", "vendor:device of the port above", export=False, plain=True)
    ] = None
    corrected: Annotated[
        int | None, Metric("Corrected", "PCIe errors that the hardware corrected", kind=Kind.COUNTER)
    ] = None
    uncorrected: Annotated[
        int | None,
        Metric("Uncorrected", "PCIe errors that lost a transaction, without those of probing", kind=Kind.COUNTER),
    ] = None
    fatal: Annotated[int | None, Metric("Fatal", "PCIe errors that made the link unusable", kind=Kind.COUNTER)] = None
    speed: Annotated[
        float | None,
        Metric("Speed", "Current link speed, in transfers per second of a lane", "per_second", setting=True),
    ] = None
    width: Annotated[int | None, Metric("Lanes", "Current link width, in lanes", setting=True)] = None
    max_speed: Annotated[
        float | None, Metric("Its speed", "Maximum link speed of the function", "per_second", setting=True)
    ] = None
    max_width: Annotated[int | None, Metric("Its lanes", "Maximum link width of the function", setting=True)] = None
    port_max_speed: Annotated[
        float | None,
        Metric("Port's speed", "Maximum link speed of the upstream port", "per_second", setting=True, detail=True),
    ] = None
    port_max_width: Annotated[
        int | None, Metric("Port's lanes", "Maximum link width of the upstream port", setting=True, detail=True)
    ] = None


class CardInterrupts(Reading, frozen=True, kw_only=True):
    """Message-signaled interrupts of a storage or network PCI function.

    Counts are numbers of interrupts, not of occurrences. `far` interrupts go only to CPUs of other NUMA nodes; None
    if the card's node is unknown.
    """

    family: ClassVar[str] = "card_interrupts"
    title: ClassVar[str] = "Interrupts of cards"
    rows_of = Source(f"{PCI}/{{card}}/numa_node")
    fields_of = files(f"{IRQ}/{{first_far}}", far="effective_affinity_list")
    things: ClassVar = {
        "card": Identity(Stated("kind", {"storage": ThingKind.HBA}, ThingKind.CONTROLLER), Naming.PCI),
        "interfaces": Identity(ThingKind.NIC, Naming.NET, many=True),
        "node": Identity(ThingKind.NUMA_NODE, Naming.NUMA, "node{node}"),
    }
    joins = (
        Join("interfaces", "card", Relation.PART),
        Join("card", "node", Relation.LOCATED),
    )

    card: Annotated[str, Label("Card", "PCI address", plain=True)]
    kind: Annotated[str, Fact("Kind", "storage or network", plain=True)]
    interfaces: Annotated[
        str | None, Fact("Interfaces", "Network interfaces of the card, separated by commas", names=Name.INTERFACE)
    ]
    node: Annotated[int | None, Metric("NUMA node", "NUMA node of the card", exact=True, setting=True)]
    node_by: Annotated[
        str | None,
        Fact("Known by", "Source of the NUMA node: firmware, bridge (above it), or cpus", export=False, plain=True),
    ]
    irqs: Annotated[int, Metric("Interrupts", "Number of message interrupts", setting=True)]
    cpus: Annotated[str | None, Fact("CPUs", "CPUs that handle the interrupts, as 0-7,16-23", export=False, plain=True)]
    far: Annotated[int | None, Metric("Far", "Interrupts handled only by CPUs of other NUMA nodes")]
    first_far: Annotated[int | None, Metric("First far", "Number of the first of these interrupts", export=False)] = (
        None
    )
