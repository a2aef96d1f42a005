"""Slaves of bonds in text of `ip -br link`, which prints no master."""

from __future__ import annotations

import pytest

from sdstop.collectors.network.interfaces_text import INTERFACES_TEXT
from sdstop.collectors.network.readings import Interface
from sdstop.core.evidence_host import EvidenceHost


def brief(name: str, mac: str, *flags: str) -> str:
    return f"{name:<16} {'UP' if 'LOWER_UP' in flags else 'DOWN':<14} {mac} <{','.join(('BROADCAST', *flags))}> \n"


ONE, TWO = "02:00:00:00:00:01", "02:00:00:00:00:02"
LOOPBACK = "lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP> \n"
UP, SLAVE = ("UP", "LOWER_UP"), ("NO-CARRIER", "SLAVE", "UP")


@pytest.mark.parametrize(
    ("text", "master"),
    [
        (brief("bond0", ONE, "MASTER", *UP) + brief("eno2", TWO, *SLAVE), "bond0"),  # fail_over_mac
        (brief("bond0", ONE, "MASTER", *UP) + brief("bond1", TWO, "MASTER", *UP) + brief("eno2", TWO, *SLAVE), "bond1"),
        (brief("bond0", ONE, "MASTER", *UP) + brief("bond1", ONE, "MASTER", *UP) + brief("eno2", TWO, *SLAVE), None),
        (brief("bond0", ONE, "MASTER", *UP) + brief("eno2", TWO, "NO-CARRIER", "UP"), None),
    ],
)
def test_the_bond_of_a_slave_in_brief_output(text: str, master: str | None) -> None:
    rows = INTERFACES_TEXT.read(EvidenceHost.of({"cmd:ip -br link": f"{LOOPBACK}{text}"}))
    assert [row.master for row in rows if isinstance(row, Interface) and row.interface == "eno2"] == [master]
