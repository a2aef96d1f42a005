"""Bonds whose slaves do not share the load: a link down, outside the LACP group, of another speed, or unused."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.network.readings import Bond, BondSlave
from sdstop.core import format as human
from sdstop.core.finding import RuledOut, Severity, Unchecked, Verdict
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.rules.network.bond_unbalanced.links import (
    cut_off,
    fewer_left,
    is_silent,
    links_down,
    split_group,
    unmonitored,
    without_partner,
)
from sdstop.rules.network.bond_unbalanced.load import EVEN, shared_load

_UP = frozenset({"up", "going down", "going back"})
_ONE = frozenset({"active-backup", "broadcast"})
"""Modes in which all frames go through one slave, or each through all."""
_LACP = "802.3ad"
_SENDING = frozenset({EVEN, "balance-xor", _LACP, "balance-tlb", "balance-alb"})


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for bond in window.rows(Bond).values():
        slaves = window.where(BondSlave, "bond", bond.interface)
        unknown = [slave.interface for slave in slaves if slave.link is None]
        standby = [slave for slave in slaves if slave.state == "backup"] if bond.mode in _SENDING else []
        down = [slave for slave in slaves if slave.link is not None and slave.link not in _UP]
        if not slaves:
            yield Unchecked("no slaves", bond.interface, calm=True)
        elif down:
            yield links_down(window, bond, slaves, down)
        elif bond.link == "down":
            yield cut_off(window, bond, slaves)
        elif unknown:
            yield Unchecked(f"link of {', '.join(map(human.safe, unknown[:4]))} unknown", bond.interface)
        elif bond.mode is None:
            yield Unchecked("mode unknown", bond.interface)
        elif bond.mode == _LACP and (silent := [slave for slave in slaves if is_silent(slave)]):
            yield without_partner(window, bond, slaves, silent)
        elif bond.mode == _LACP and len({slave.aggregator for slave in slaves} - {None}) > 1:
            yield split_group(window, bond, slaves)
        elif fewer := fewer_left(window, bond, slaves, standby):
            yield fewer
        elif bond.miimon == 0 and len(slaves) > 1:
            yield unmonitored(bond, window, slaves)
        elif len(slaves) == 1 or bond.mode in _ONE:
            yield RuledOut(bond.interface, f"{len(slaves)} of {len(slaves)} links up, {human.safe(bond.mode)}")
        else:
            yield shared_load(window, bond, slaves, limits)


BOND_UNBALANCED = Rule(
    "bond-unbalanced",
    "bond with a link that is down, outside the LACP group, slower or unused",
    Severity.CRITICAL,
    _check,
    (Bond,),
    (
        Threshold("idle", 0.05, "part of an even share below which a slave is unused", "ratio"),
        Threshold("full", 0.85, "utilization above which a slave is full", "ratio"),
        Threshold("rate", 10e6, "minimum traffic of the bond in one direction", "bytes_per_second"),
        Threshold("seconds", 10.0, "minimum time over which traffic is compared", "seconds"),
    ),
    covers=(Covers(Bond),),
    view="network",
    advice="Use a hash over ports (layer3+4) to spread connections to one peer.",
)
