"""Causes of lost frames: the meaning of each counter that grew, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter

from msgspec import Struct

from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.rules.network.frames_dropped.losses import Losses

Steps = Callable[[str], tuple[Advice, ...]]
"""Function of an interface's name that returns advice."""


class LossCause(Struct, frozen=True):
    """Meaning of a counter that grew, the advice, and the field that shows it; "" for none."""

    text: str
    steps: Steps
    field: str


def causes_of(losses: Losses, known: Interface | None, softnet: int) -> Iterator[LossCause]:
    """Yield the meaning of each counter that grew, worst first."""
    detail = losses.detail
    if detail is None:
        yield LossCause("The kind of loss needs a second sample of the detailed counters.", _counter_steps, "")
        return
    mtu = f"{known.mtu} bytes" if known is not None and known.mtu else "the MTU"
    explained = set()
    found = []
    for fields, words, steps in _MEANINGS:
        grown = [field for field in fields if field in detail]
        if grown:
            count = sum([detail[field] for field in grown])
            explained.add(grown[0][:2])
            text = f"{human.number(count)} {words}".replace("{mtu}", mtu)
            found.append((count, LossCause(text, steps, grown[0])))
    dropped = detail.get("rx_dropped")
    if dropped and softnet:
        explained.add("rx")
        text = f"{human.number(softnet)} drops in the CPUs' receive queues."
        found.append((dropped, LossCause(text, _softnet_steps, "rx_dropped")))
    found.sort(key=itemgetter(0), reverse=True)
    yield from [each for _, each in found]
    if dropped and not softnet:
        explained.add("rx")
        text = f"{human.number(dropped)} frames of an unknown protocol or unconfigured VLAN."
        yield LossCause(text, _unwanted_steps, "rx_dropped")
    for way, count, steps in (
        ("rx", losses.rx_bad, _rx_steps),
        ("tx", losses.tx_lost, _tx_steps),
    ):
        if count and way not in explained:
            yield LossCause(f"No counter gives the reason ({way}).", steps, "")


def _counter_steps(name: str) -> tuple[Advice, ...]:
    return (run("ip", "-s", "-s", "link", "show", "dev", name, note="all counters"),)


def _softnet_steps(_: str) -> tuple[Advice, ...]:
    return (
        run("sysctl", "net.core.netdev_max_backlog", "net.core.netdev_budget", note="queue lengths"),
        "Spread its interrupts over more CPUs (RSS, RPS).",
    )


def _unwanted_steps(name: str) -> tuple[Advice, ...]:
    return (run("tcpdump", "-ni", name, "-c", "200", "-e", note="LLDP and STP are harmless"),)


def _rx_steps(name: str) -> tuple[Advice, ...]:
    return _driver_steps(name, "rx")


def _tx_steps(name: str) -> tuple[Advice, ...]:
    return _driver_steps(name, "tx")


def _driver_steps(name: str, way: str) -> tuple[Advice, ...]:
    return (run("ethtool", "-S", *operands(name)).pipe("grep", "-i", "-E", f"{way}.*(err|drop|miss|disc)"),)


def _mtu_steps(name: str) -> tuple[Advice, ...]:
    return (
        "Compare the MTU with every peer and the switch.",
        run("ip", "link", "show", "dev", name, note="MTU here"),
        run("ping", "-M", "do", "-s", "SIZE", "PEER", note="from the peers; SIZE is the MTU less 28"),
    )


def _ring_steps(name: str) -> tuple[Advice, ...]:
    return (
        run("ethtool", "-g", *operands(name), note="ring size and its maximum"),
        run("ethtool", "-G", *operands(name), "rx", "4096", note="larger ring"),
        "Then check whether one CPU takes all interrupts.",
    )


def _wire_steps(name: str) -> tuple[Advice, ...]:
    return (
        run("ethtool", "-m", *operands(name), note="light of the module"),
        run("ethtool", "-S", *operands(name)).pipe("grep", "-i", "crc"),
        "Then replace the cable or transceiver.",
    )


def _log_steps(name: str) -> tuple[Advice, ...]:
    return (run("journalctl", "-k", note="link down and up").pipe("grep", "-w", *operands(name)),)


def _duplex_steps(name: str) -> tuple[Advice, ...]:
    return (run("ethtool", *operands(name), note="negotiated mode"), "Configure both ends alike.")


def _queue_steps(name: str) -> tuple[Advice, ...]:
    return (
        run("tc", "-s", "qdisc", "show", "dev", name, note="drops of the queue"),
        run("ethtool", "-g", *operands(name), note="ring size"),
    )


_MEANINGS: tuple[tuple[tuple[str, ...], str, Steps], ...] = (
    (("rx_length",), "length errors: a peer sends frames larger than {mtu}.", _mtu_steps),
    (("rx_over",), "overruns: frames larger than {mtu}, or RX ring full.", _ring_steps),
    (("rx_crc", "rx_frame"), "CRC errors: cable, connector, transceiver or port.", _wire_steps),
    (("rx_missed", "rx_fifo"), "missed: RX ring full (too small, or CPU too slow).", _ring_steps),
    (("tx_carrier",), "carrier losses: the link is flapping.", _log_steps),
    (("collisions",), "collisions: half duplex.", _duplex_steps),
    (("tx_dropped", "tx_fifo"), "transmit drops: TX queue full.", _queue_steps),
)
"""Counters, what follows their number in the cause, and the advice; `{mtu}` is the MTU."""
