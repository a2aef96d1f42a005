"""Network cards and their error counters from recorded output of ethtool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sdstop.collectors.network import ethtool
from sdstop.collectors.network.readings import InterfaceCard, InterfaceFault
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.core.text import whole

FORMS = (ethtool.SETTINGS, ethtool.DRIVER, ethtool.OTHERS)
_FAULTS = expression(r"err|drop|discard|crc|miss|fifo|timeout|pause|nobuf|no_buf|out_of_buffer|symbol|jabber|collision")


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
