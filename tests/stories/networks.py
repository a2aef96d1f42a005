"""Stories of the network: MTUs that do not fit each other, and an interface that loses frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.nodes.system import Shape
from tests.stories.interfaces import LOOPBACK, OFFICE, Nic
from tests.stories.scene import Scene, Stories

_STARTED = 1_795_273_200.0


def _slave(bond: str, aggregator: int) -> dict[str, str]:
    return {
        "bonding_slave/state": "active", "bonding_slave/mii_status": "up", "bonding_slave/link_failure_count": "0",
        "bonding_slave/ad_aggregator_id": str(aggregator), f"upper_{bond}/ifindex": "10",
    }  # fmt: skip


def _mtu_mismatch(slow: int = 1500, began: float = 0.0, routes: Mapping[str, str] | None = None) -> Scene:
    """Show a bond, its VLAN, a bridge and a pair of veth; a slave and an end of the pair have the MTU `slow`."""
    fast = Nic("ens1f0", 3, mtu=9000, speed=10000, rates=(60e6, 55e6), size=6000, driver="ixgbe", flags=0x1803)
    nics = (
        LOOPBACK,
        OFFICE,
        replace(fast, extra=_slave("bond0", 1)),
        replace(fast, name="ens1f1", index=4, mtu=slow, size=1400, rates=(40e6, 8e6), extra=_slave("bond0", 1)),
        Nic("bond0", 10, mtu=9000, speed=20000, rates=(100e6, 63e6), size=6000, devtype="bond", flags=0x1403, extra={
            "bonding/mode": "802.3ad 4", "bonding/slaves": "ens1f0 ens1f1", "bonding/xmit_hash_policy": "layer3+4 1",
            "bonding/mii_status": "up", "bonding/miimon": "100", "bonding/active_slave": "",
        }),
        Nic("bond0.120", 11, mtu=9000, speed=20000, rates=(100e6, 63e6), size=6000, devtype="vlan", iflink=10),
        Nic("br0", 12, mtu=9000, speed=10000, rates=(2e6, 1e6), size=5000, devtype="bridge", extra={
            "bridge/stp_state": "0", "bridge/bridge_id": "8000.021b219a400c",
        }),
        Nic("veth7a", 13, mtu=9000, speed=10000, rates=(2e6, 1e6), size=5000, iflink=14, extra={
            "brport/port_no": "0x1",
        }),
        Nic("veth7b", 14, mtu=slow, speed=10000, rates=(1e6, 2e6), size=1400, iflink=13),
    )  # fmt: skip
    extra = {} if routes is None else {0: routes}
    return Scene(Shape("gate2", cpus=4), _STARTED + began, 30, nics=nics, links=_LINKS, extra=extra)


_LINKS = {
    "/sys/class/net/ens1f0/master": "../bond0",
    "/sys/class/net/ens1f1/master": "../bond0",
    "/sys/class/net/ens1f0/upper_bond0": "../bond0",
    "/sys/class/net/ens1f1/upper_bond0": "../bond0",
    "/sys/class/net/bond0/lower_ens1f0": "../ens1f0",
    "/sys/class/net/bond0/lower_ens1f1": "../ens1f1",
    "/sys/class/net/bond0/upper_bond0.120": "../bond0.120",
    "/sys/class/net/bond0.120/lower_bond0": "../bond0",
    "/sys/class/net/veth7a/master": "../br0",
    "/sys/class/net/veth7a/upper_br0": "../br0",
    "/sys/class/net/br0/lower_veth7a": "../veth7a",
}


def _dropping() -> Scene:
    nics = (
        LOOPBACK,
        replace(OFFICE, rates=(41_000.0, 22_000.0), counted={"rx_dropped": 8123}),
        Nic("ens1f0", 3, speed=10000, rates=(240e6, 31e6), driver="ixgbe",
            growing={"rx_missed_errors": 900, "rx_length_errors": 140, "rx_errors": 140},
            counted={"rx_missed_errors": 40_112, "rx_length_errors": 9_100, "rx_errors": 9_100}),
    )  # fmt: skip
    return Scene(Shape("gate1", cpus=4, system=0.12), _STARTED + 4_000, 60, nics=nics)


def _path_mtu() -> Scene:
    """Show a router on the way to an iSCSI target that lets 1500 bytes pass, and one to a server on the internet."""
    nics = (LOOPBACK, OFFICE, Nic("ens1f0", 3, mtu=9000, speed=10000, rates=(60e6, 55e6), size=1480, driver="ixgbe"))
    learnt = {"dst": "10.40.0.21", "gateway": "10.20.0.254", "dev": "ens1f0", "expires": 411,
              "metrics": [{"mtu": 1500}]}  # fmt: skip
    far = {"dst": "8.8.8.8", "gateway": "192.168.1.1", "dev": "eno1", "expires": 80, "metrics": [{"mtu": 1492}]}
    files = _learnt(learnt, far) | _session(1, "10.40.0.21") | _session(2, "10.40.0.21")
    return Scene(Shape("gate3", cpus=4), _STARTED + 9_000, 30, nics=nics, extra={0: files})


def _session(number: int, address: str) -> dict[str, str]:
    """Return an iSCSI session that is logged in."""
    session, connection = (
        f"/sys/class/iscsi_session/session{number}",
        f"/sys/class/iscsi_connection/connection{number}:0",
    )
    return {
        f"{session}/state": "LOGGED_IN\n", f"{session}/targetname": f"iqn.2010-01.org.example:t{number}\n",
        f"{connection}/address": f"{address}\n", f"{connection}/port": "3260\n", f"{connection}/state": "up\n",
    }  # fmt: skip


def _learnt(*routes: Mapping[str, Any]) -> dict[str, str]:
    """Return the exceptions that the kernel keeps of its routes."""
    return {"commands/ip_-j_-s_route_show_cache/stdout": json.dumps(routes) + "\n"}


def _mtu_mended() -> Scene:
    """Show the same node where all ends agree, and a target that was redirected and takes what the bond sends."""
    whole = {"dst": "10.40.0.21", "gateway": "10.20.0.253", "dev": "bond0.120", "expires": 290,
             "metrics": [{"mtu": 9000}]}  # fmt: skip
    return _mtu_mismatch(9000, 4_000.0, _learnt(whole))


def _bond(rates: tuple[tuple[float, float], tuple[float, float]], began: float, policy: str) -> Scene:
    """Show a bond of two slaves (sent, received per second) whose hash `policy` spreads what is sent."""
    nics = [LOOPBACK, OFFICE]
    for index, (received, sent) in enumerate(rates):
        nics.append(Nic(f"ens1f{index}", 3 + index, mtu=9000, speed=10000, rates=(received, sent), size=8000,
                        driver="ixgbe", flags=0x1803, extra=_slave("bond0", 1)))  # fmt: skip
    both = sum(received for received, _ in rates), sum(sent for _, sent in rates)
    nics.append(Nic("bond0", 10, mtu=9000, speed=20000, rates=both, size=8000, devtype="bond", flags=0x1403, extra={
        "bonding/mode": "802.3ad 4", "bonding/slaves": "ens1f0 ens1f1", "bonding/xmit_hash_policy": policy,
        "bonding/mii_status": "up", "bonding/miimon": "100", "bonding/active_slave": "",
    }))  # fmt: skip
    links = {key: value for key, value in _LINKS.items() if "ens1f" in key}
    return Scene(Shape("filer4", cpus=8), _STARTED + began, 30, nics=tuple(nics), links=links)


STORIES: Stories = {
    "bond-one-slave": lambda: _bond(((31e6, 1.19e9), (24e6, 900.0)), 12_000.0, "layer2 0"),
    "bond-both-slaves": lambda: _bond(((31e6, 640e6), (24e6, 552e6)), 15_000.0, "layer3+4 1"),
    "mtu-mismatch": _mtu_mismatch,
    "mtu-mended": _mtu_mended,
    "path-mtu": _path_mtu,
    "dropping-link": _dropping,
}
