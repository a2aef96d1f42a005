"""Parser for /proc/net/bonding/* (kernel drivers/net/bonding/bond_procfs.c)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sdstop.collectors.network.readings import FOLDER
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.text import whole

_MODES = {
    "load balancing (round-robin)": "balance-rr", "fault-tolerance (active-backup)": "active-backup",
    "load balancing (xor)": "balance-xor", "fault-tolerance (broadcast)": "broadcast",
    "IEEE 802.3ad Dynamic link aggregation": "802.3ad", "transmit load balancing": "balance-tlb",
    "adaptive load balancing": "balance-alb",
}  # fmt: skip
_FIELD = expression(r"\s*([A-Z][\w ()/-]{2,50}): (.*?)\s*")

_DETAILS = expression(r"details (actor|partner) lacp pdu:")
_DETAIL = expression(r"\s+([a-z][a-z ]{2,30}): (\S{1,40})\s*")


class ProcSlave(Struct, frozen=True):
    """A slave: name, state of its link, link failures, aggregator; None if not shown.

    `partner` is the address of the system at the other end (802.3ad, shown to root only), `port_state` the state of
    the port that the slave reports to it.
    """

    name: str
    link: str | None
    failures: int | None
    aggregator: int | None
    partner: str | None = None
    port_state: int | None = None


class ProcBond(Struct, frozen=True):
    """A bond; `miimon` in seconds."""

    mode: str | None
    hash_policy: str | None
    active_slave: str | None
    link: str | None
    miimon: float | None
    slaves: tuple[ProcSlave, ...]


def parse(text: str) -> ProcBond:
    """Parse a bond.

        Ethernet Channel Bonding Driver: v6.1.0-38-amd64

        Bonding Mode: fault-tolerance (active-backup)
        Currently Active Slave: eth0
        MII Status: up
        MII Polling Interval (ms): 100

        Slave Interface: eth0
        MII Status: up
        Link Failure Count: 0

    To root, slaves of an 802.3ad bond have details of both ends: `details partner lacp pdu:`, and below it
    `system mac address: 00:1c:73:aa:bb:01`. Raises Malformed for another text.
    """
    parts: list[dict[str, str]] = [{}]
    details = ""
    for line in text.splitlines():
        inner = _DETAIL.fullmatch(line) if details else None
        if inner is not None:
            parts[-1].setdefault(f"{details} {inner[1]}", inner[2])
            continue
        head = _DETAILS.match(line)
        details = head[1] if head is not None else ""
        found = _FIELD.fullmatch(line)
        if found is None:
            continue
        if found[1] == "Slave Interface":
            parts.append({})
        parts[-1].setdefault(found[1], found[2])
    said = parts[0]
    mode = said.get("Bonding Mode", "").partition(" (fail_over_mac")[0]
    if not mode:
        raise Malformed(f"no bond: {text.strip()[:60]!r}")
    active = said.get("Currently Active Slave")
    miimon = whole(said.get("MII Polling Interval (ms)"))
    return ProcBond(
        mode=_MODES.get(mode, mode),
        hash_policy=said.get("Transmit Hash Policy", "").partition(" ")[0] or None,
        active_slave=active if active not in {None, "None"} else None,
        link=said.get("MII Status"),
        miimon=None if miimon is None else miimon / 1000,
        slaves=tuple(map(_slave, parts[1:])),
    )


def _slave(said: Mapping[str, str]) -> ProcSlave:
    failures, aggregator = whole(said.get("Link Failure Count")), whole(said.get("Aggregator ID"))
    return ProcSlave(
        said["Slave Interface"],
        said.get("MII Status"),
        failures,
        aggregator,
        said.get("partner system mac address"),
        whole(said.get("actor port state")),
    )


FORM = Form(
    key=f"{FOLDER}/bond0",
    first=r"Ethernet Channel Bonding Driver: v",
    reads="mode of a bond, its slaves and their links",
    versions="Linux 2.6 and later",
    goes_on=r"\s*[A-Z\d][\w .()/-]{1,50}:(?: .*)?|802\.3ad info|\s*details .*|\s+[a-z][a-z ]{2,30}: \S{1,40}",
)
