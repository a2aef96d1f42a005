"""How interfaces are built upon each other: bonds and their slaves, bridges, VLANs, veth pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sdstop.model import Fact, Kind, Label, Metric, Reading, Source, State

CLASS = "/sys/class/net"


@dataclass(frozen=True, slots=True)
class InterfaceLink(Reading):
    """Which interface carries which, one row a pair: frames of `upper` go through `interface`.

    `relation` is what `upper` is: bond, bridge, team, vlan, macvlan ...; for a pair of veth, "veth": the two
    are ends of one cable, and the pair stands once, in the order of their names.
    """

    family: ClassVar[str] = "interface_link"
    title: ClassVar[str] = "Interface relations"

    interface: Annotated[str, Label("Interface", "The lower interface, or one end of a veth pair")]
    upper: Annotated[str, Label("Upper", "What is built upon it, or the other end")]
    relation: Annotated[str, Label("Relation", "bond, bridge, team, vlan, macvlan, ipvlan, veth ...")]

    def source(self, field: str = "") -> Source | None:
        """Return the link in sysfs."""
        del field
        name = "iflink" if self.relation == "veth" else f"upper_{self.upper}"
        return Source(f"{CLASS}/{self.interface}/{name}")


@dataclass(frozen=True, slots=True)
class Bond(Reading):
    """A bond, one row each, from /sys/class/net/X/bonding (kernel drivers/net/bonding/bond_sysfs.c)."""

    family: ClassVar[str] = "bond"
    title: ClassVar[str] = "Bonds"

    interface: Annotated[str, Label("Bond", "Kernel name of the bond")]
    mode: Annotated[str | None, Fact("Mode", "balance-rr, active-backup, 802.3ad ...")]
    hash_policy: Annotated[str | None, Fact("Hash", "What spreads frames over the slaves: layer2, layer3+4 ...")]
    active_slave: Annotated[str | None, Fact("Active", "The slave in use, where only one is", export=False)]
    link: Annotated[str | None, State("Link", "mii_status of the bond: up, down")]
    slaves: Annotated[int | None, Metric("Slaves", "Interfaces in the bond")]
    miimon: Annotated[float | None, Metric("Link check", "Time between link checks, 0: none", "seconds")]

    def source(self, field: str = "") -> Source | None:
        """Return the attribute that holds the field."""
        name = {"hash_policy": "xmit_hash_policy", "link": "mii_status"}.get(field, field or "slaves")
        return Source(f"{CLASS}/{self.interface}/bonding/{name}")


@dataclass(frozen=True, slots=True)
class BondSlave(Reading):
    """An interface of a bond, one row each, from /sys/class/net/X/bonding_slave."""

    family: ClassVar[str] = "bond_slave"
    title: ClassVar[str] = "Bond slaves"

    bond: Annotated[str, Label("Bond", "Kernel name of the bond")]
    interface: Annotated[str, Label("Slave", "Kernel name of the slave")]
    state: Annotated[str | None, State("State", "active or backup")]
    link: Annotated[str | None, State("Link", "mii_status of the slave: up, down, going down, going back")]
    link_failures: Annotated[int | None, Metric("Failures", "Times its link failed", kind=Kind.COUNTER)]
    aggregator: Annotated[int | None, Metric("Aggregator", "802.3ad aggregator that it belongs to", export=False)]

    def source(self, field: str = "") -> Source | None:
        """Return the attribute that holds the field."""
        name = {
            "link": "mii_status", "link_failures": "link_failure_count", "aggregator": "ad_aggregator_id",
        }.get(field, field or "state")  # fmt: skip
        return Source(f"{CLASS}/{self.interface}/bonding_slave/{name}")
