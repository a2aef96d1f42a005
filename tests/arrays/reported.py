"""Simulated peer groups whose members are no disks of this node: slaves of a bond, and OSDs by the latencies of Ceph.

A slave that carries next to nothing while another one is full is the sick member of a bond; a bond of which one
connection takes all is healthy. Ceph prints a mean per OSD in whole milliseconds, at each look another one; a recovery
slows all of them, and larger ones are busier.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.osds import CEPH_OSDS
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.links import LINKS
from sdstop.collectors.network.readings import CLASS
from sdstop.core.collector import Collector
from sdstop.core.evidence import Origin
from sdstop.core.finding import Severity
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.rules.ceph.osd_slow import OSD_SLOW
from sdstop.rules.disks.slow_device import SLOW_DEVICE
from sdstop.rules.network.bond_unbalanced import BOND_UNBALANCED
from tests.arrays.measure import Score
from tests.nodes import ceph
from tests.nodes.frames import Files, frames
from tests.nodes.network import Nic, files

_SECONDS = 40
_GIGABIT = 125_000_000
_MODES = ("802.3ad 4", "balance-rr 0", "balance-xor 2")
OSDS = 12


@dataclass(frozen=True, slots=True)
class Reported:
    """One group: `load` is the share of a line, or the milliseconds of an OSD at rest; a sick member is the first."""

    kind: str
    members: int
    load: float
    unequal: float
    bursts: bool
    sick: bool
    mode: str = ""


def shapes(seed: int) -> Iterator[Reported]:
    """Yield healthy, bursting, unequal and sick groups of both kinds."""
    draw = random.Random(seed)
    for bursts, unequal, sick in (
        (False, 1.0, False),
        (True, 1.3, False),
        (False, 4.0, False),
        (False, 1.3, True),
        (True, 1.3, True),
    ):
        members = draw.choice((2, 3, 4))
        load = 0.95 if sick else draw.choice((0.05, 0.4, 0.8))
        mode = draw.choice(_MODES if unequal < 2 else _MODES[::2])  # balance-rr sends evenly whatever connects
        yield Reported("bond slaves", members, load, unequal, bursts, sick, mode)
        rest = draw.choice((12.0, 20.0) if sick else (1.0, 8.0, 20.0))
        yield Reported("OSDs of Ceph", OSDS, rest, unequal, bursts, sick)


def _bond(shape: Reported, draw: random.Random) -> Iterator[Mapping[str, str]]:
    names = [f"eth{place}" for place in range(shape.members)]
    base = f"{CLASS}/bond0/bonding"
    more = {f"{base}/mode": f"{shape.mode}\n", f"{base}/slaves": f"{' '.join(names)}\n", f"{base}/mii_status": "up\n",
            f"{base}/miimon": "100\n"}  # fmt: skip
    for name in names:
        own = f"{CLASS}/{name}/bonding_slave"
        more |= {f"{own}/mii_status": "up\n", f"{own}/link_failure_count": "0\n", f"{own}/state": "active\n",
                 f"{own}/ad_aggregator_id": "1\n", f"{own}/ad_actor_oper_port_state": "61\n"}  # fmt: skip
    weights = [1.0 / (1.0 + (shape.unequal - 1.0) * place / shape.members) for place in range(shape.members)]
    totals = [0] * shape.members
    for second in range(_SECONDS):
        now = shape.load * (draw.uniform(0.9, 1.0) if not shape.bursts or second % 5 < 4 else 1.0)
        for place, weight in enumerate(weights):
            share = weight if not shape.sick else 1.0 if place else 0.01
            totals[place] += int(_GIGABIT * min(now * share * draw.uniform(0.95, 1.0), 0.99))
        nics = [
            Nic(name, speed=1000, master="bond0", rx_bytes=total, tx_bytes=total, rx_packets=total // 1400,
                tx_packets=total // 1400)
            for name, total in zip(names, totals, strict=True)
        ]  # fmt: skip
        whole = sum(totals)
        top = Nic("bond0", kind="bond", lower=tuple(names), speed=1000 * shape.members, rx_bytes=whole, tx_bytes=whole)
        yield files(top, *nics, more=more)


def _osds(shape: Reported, draw: random.Random) -> Iterator[Mapping[str, str]]:
    known = {**ceph.HERE, ceph.STATUS: ceph.status(), ceph.TREE: ceph.tree(), ceph.DUMP: ceph.osd_dump(),
             ceph.RULES: ceph.crush_rules()}  # fmt: skip
    for second in range(_SECONDS):
        slower = 10.0 if shape.bursts and second % 20 < 5 else 1.0
        waits = {}
        for osd in range(OSDS):
            weight = 1.0 + (shape.unequal - 1.0) * osd / OSDS
            wait = shape.load * slower * weight * draw.lognormvariate(0.0, 0.35)
            waits[osd] = round(wait * 30.0 if shape.sick and not osd else wait)
        yield known | {ceph.PERF: ceph.perf(waits)}


def judged(shape: Reported, seed: int) -> tuple[bool, tuple[str, ...]]:
    """Return whether the sick member was named above info in any second, and the other subjects that were."""
    draw = random.Random(f"{seed} {shape}")
    bond = shape.kind == "bond slaves"
    collectors: tuple[Collector, ...] = (NETWORK, INTERFACES, LINKS) if bond else (CEPH, CEPH_OSDS)
    made: Iterator[Files] = _bond(shape, draw) if bond else _osds(shape, draw)
    # A full slave is a saturated link, too: that is right, and not what is measured.
    session = Session(Origin("n"), collectors, (BOND_UNBALANCED, OSD_SLOW, SLOW_DEVICE) if shape.sick else RULES)
    session.feed_all(frames([(float(second), each) for second, each in enumerate(made)]))
    said = {e.finding.subject for e in session.episodes() if e.finding.severity is not Severity.INFO}
    wanted = {subject for subject in said if shape.sick and (subject == "bond0" or subject.endswith("/osd.0"))}
    return bool(wanted), tuple(sorted(said - wanted))


def score(every: list[tuple[Reported, bool, tuple[str, ...]]]) -> Score:
    """Count the groups whose sick member was named, those whose was not, and those of which another one was."""
    result = Score()
    for shape, right, wrong in every:
        result.found += shape.sick and right
        result.missed += shape.sick and not right
        result.false += bool(wrong)
    return result
