"""Network cards and their error counters from recorded output of ethtool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from sdstop.collectors.network import ethtool
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source
from sdstop.core.text import whole

FORMS = (ethtool.SETTINGS, ethtool.DRIVER, ethtool.OTHERS)
_FAULTS = expression(r"err|drop|discard|crc|miss|fifo|timeout|pause|nobuf|no_buf|out_of_buffer|symbol|jabber|collision")


class InterfaceCard(Reading, frozen=True, kw_only=True):
    """Settings of a network card, from recorded output of ethtool: -i, -g, -k."""

    family: ClassVar[str] = "interface_card"
    title: ClassVar[str] = "Network cards"
    rows_of = Source("{told}", "{interface}")
    things: ClassVar = {
        "interface": Identity(ThingKind.NIC, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    driver: Annotated[str | None, Fact("Driver", "Kernel driver", plain=True)]
    firmware: Annotated[str | None, Fact("Firmware", "Firmware version", plain=True)]
    bus: Annotated[str | None, Fact("Bus", "PCI address", plain=True)]
    autoneg: Annotated[str | None, Fact("Autoneg.", "Whether speed and duplex are negotiated: on, off", plain=True)]
    rx_ring: Annotated[int | None, Metric("RX ring", "Descriptors of the receive ring", setting=True)]
    rx_ring_maximum: Annotated[int | None, Metric("RX max.", "Maximum descriptors of the receive ring")]
    tx_ring: Annotated[int | None, Metric("TX ring", "Descriptors of the send ring", setting=True)]
    tx_ring_maximum: Annotated[int | None, Metric("TX max.", "Maximum descriptors of the send ring")]
    off: Annotated[
        str | None,
        Fact("Off", "Offloads that are off: segmentation and checksums, separated by commas", plain=True),
    ]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]


class InterfaceFault(Reading, frozen=True):
    """A counter of errors, drops or pauses of a network card's driver that is not 0, from recorded `ethtool -S`."""

    family: ClassVar[str] = "interface_fault"
    title: ClassVar[str] = "Error counters of network cards"
    crowded: ClassVar[bool] = True
    rows_of = Source("{told}", "{counter}:")
    things: ClassVar = {
        "interface": Identity(ThingKind.NIC, Naming.NET),
    }

    interface: Annotated[str, Label("Interface", "Kernel name of the interface", names=Name.INTERFACE)]
    counter: Annotated[str, Label("Counter", "Name that the driver gives it", plain=True)]
    count: Annotated[int, Metric("Count", "Value of the counter", kind=Kind.COUNTER)]
    told: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)]


def read(host: Host) -> Iterator[Reading]:
    """Yield the cards, and their counters of errors that are not 0. Raises Absent without an output."""
    parts = ethtool.parts(host, FORMS)
    if not parts:
        raise Absent("cmd:ethtool", "not recorded", recorded=False)
    cards: dict[str, dict[str, ethtool.EthtoolPart]] = {}
    keys: dict[str, str] = {}
    for part, key in parts:
        if part.interface is None:
            continue
        cards.setdefault(part.interface, {})[part.kind] = part
        keys.setdefault(part.interface, key)
        if part.kind == "counts":
            for name, value in part.said.items():
                count = whole(value)
                if count and _FAULTS.search(name.lower()):
                    yield InterfaceFault(part.interface, name, count, key)
    for name, by_kind in cards.items():
        yield _card(name, by_kind, keys[name])


def _card(name: str, by_kind: Mapping[str, ethtool.EthtoolPart], key: str) -> InterfaceCard:
    nothing = ethtool.EthtoolPart("", None)
    driver, rings, settings = (by_kind.get(kind, nothing) for kind in ("driver", "rings", "settings"))
    features = by_kind.get("features", nothing).said
    off = [label for label, value in features.items() if label in _OFFLOADS and value.startswith("off")]
    return InterfaceCard(
        interface=name,
        driver=driver.said.get("driver") or None,
        firmware=driver.said.get("firmware-version") or None,
        bus=driver.said.get("bus-info") or None,
        autoneg=settings.said.get("Auto-negotiation") or None,
        rx_ring=rings.number("RX"),
        rx_ring_maximum=whole(rings.maximum.get("RX")),
        tx_ring=rings.number("TX"),
        tx_ring_maximum=whole(rings.maximum.get("TX")),
        off=",".join(off) or None,
        told=key,
    )


_OFFLOADS = frozenset({
    "rx-checksumming", "tx-checksumming", "scatter-gather", "tcp-segmentation-offload", "generic-segmentation-offload",
    "generic-receive-offload",
})  # fmt: skip

CARDS_TEXT = Collector(
    "ethtool",
    "Network cards in recorded output of ethtool",
    read,
    (InterfaceCard, InterfaceFault),
    (Need("cmd:ethtool*", "rings, offloads and counters of network cards, from captures only; never run"),),
    SLOW,
    forms=FORMS,
)
