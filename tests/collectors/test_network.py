"""Interfaces, their traffic and relations, as kernels and iproute2 print them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.network.interfaces import INTERFACES, NETWORK, activity, parse_dev, stirs
from sdstop.collectors.network.links import LINKS, parse_peers
from sdstop.collectors.network.paths import (
    parse_routes,
    parse_softnet,
    parse_tables,
)
from sdstop.collectors.network.readings import (
    STATISTICS,
    Bond,
    BondSlave,
    Interface,
    InterfaceActivity,
    InterfaceLink,
    Traffic,
)
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed, TimedOut
from sdstop.core.model import Reading, schema

CLASS = "/sys/class/net"
R = TypeVar("R", bound=Reading)

DEV = (
    "Inter-|   Receive                            |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "compressed\n"
    "    lo:    3193   29    0    0    0     0          0         0     3193      29    0    0    0     0       0  0\n"
    "  eth0: 1296582117 1021387 1 12    2     3          4      3140 88120340  611202    5    6    7     8  9   10\n"
)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (DEV, False),
        (DEV.replace("3193   29", "1003193   29").replace("88120340", "89120340"), False),
        (DEV.replace("3193   29", "1003194   29"), True),
        (DEV.replace("88120340", "89120341"), True),
        (DEV.replace("88120340", "8812034"), True),
        (DEV.replace("eth0", "eth1"), True),
        (DEV.splitlines()[0], True),
        ("", True),
    ],
    ids=["the-same", "a-little", "received", "sent", "set-back", "another", "none", "empty"],
)
def test_what_keeps_a_node_from_its_rest(after: str, *, expected: bool) -> None:
    assert stirs(DEV.encode(), after.encode(), 1.0) is expected
    assert stirs(DEV.encode(), after.encode(), 0.0) is True


def test_traffic() -> None:
    lo, eth0 = parse_dev(DEV)
    assert (lo.interface, lo.rx_bytes, lo.tx_packets) == ("lo", 3193, 29)
    assert eth0 == Traffic(
        interface="eth0", rx_bytes=1296582117, rx_packets=1021387, rx_errors=1, rx_dropped=12, rx_fifo=2, rx_frame=3,
        rx_multicast=3140, tx_bytes=88120340, tx_packets=611202, tx_errors=5, tx_dropped=6, tx_fifo=7,
        tx_collisions=8, tx_carrier=9,
    )  # fmt: skip


def test_an_old_kernel_leaves_no_space_after_the_name() -> None:
    assert [row.interface for row in parse_dev(DEV.replace("eth0: ", "eth0:"))] == ["lo", "eth0"]


def test_lines_that_were_cut_are_passed_over() -> None:
    assert [row.interface for row in parse_dev(DEV[:-10])] == ["lo"]


@pytest.mark.parametrize("text", ["", "nonsense", "eth0: 1 2 3"])
def test_what_is_no_table_of_interfaces(text: str) -> None:
    with pytest.raises(Malformed):
        list(NETWORK.read(EvidenceHost.of({"/proc/net/dev": text})))


@given(st.text(), st.integers(0, 600), st.text(max_size=5))
def test_no_table_of_interfaces_raises_anything_else(text: str, at: int, put: str) -> None:
    for body in (text, DEV[:at] + put + DEV[at:], DEV + text):
        with contextlib.suppress(Malformed):
            assert all(row.interface and row.rx_bytes >= 0 for row in parse_dev(body))


def traffic(**counters: int) -> Traffic:
    names = (column.name for column in schema(Traffic).columns if column.name not in {"interface", "told"})
    fields: dict[str, Any] = dict.fromkeys(names, 1000)
    return Traffic("eth0", **{**fields, **counters})


def test_activity_by_hand() -> None:
    after = traffic(
        rx_bytes=31_000, rx_packets=1020, tx_bytes=4000, tx_packets=1001, rx_errors=1002, tx_errors=1004,
        rx_dropped=1006, tx_dropped=1008,
    )  # fmt: skip
    assert activity(traffic(), after, 2.0) == InterfaceActivity(
        interface="eth0", rx_bytes_per_second=15_000, tx_bytes_per_second=1500, rx_packets_per_second=10,
        tx_packets_per_second=0.5, rx_size=1500, tx_size=3000, rx_errors_per_second=1, tx_errors_per_second=2,
        rx_dropped_per_second=3, tx_dropped_per_second=4,
    )  # fmt: skip


def test_an_idle_interface_has_no_size_of_packets() -> None:
    row = activity(traffic(), traffic(), 1.0)
    assert row is not None
    assert (row.rx_size, row.tx_size, row.rx_bytes_per_second) == (None, None, 0)


@pytest.mark.parametrize("counter", ["rx_bytes", "tx_packets", "rx_errors", "tx_dropped"])
def test_counters_that_went_back_are_another_interfaces(counter: str) -> None:
    assert activity(traffic(), traffic(**{counter: 999}), 1.0) is None


def test_no_time_is_no_rate() -> None:
    assert activity(traffic(), traffic(), 0.0) is None


def interface(
    name: str, index: int, below: tuple[str, ...] = (), above: tuple[str, ...] = (), **attributes: str
) -> dict[str, str]:
    """Return the folder of an interface; `master` and `device` are links."""
    base = f"{CLASS}/{name}"
    given = {
        "ifindex": str(index), "iflink": str(index), "mtu": "1500", "operstate": "up", "carrier": "1",
        "flags": "0x1003", "type": "1", "speed": "10000", "duplex": "full", "uevent": f"INTERFACE={name}",
        "carrier_changes": "2", "address": "02:00:00:00:00:01",
    } | attributes  # fmt: skip
    files = {
        f"{base}/{key.replace('__', '/')}": f"{said}\n"
        for key, said in given.items()
        if key not in {"master", "device"}
    }
    files |= {f"{base}/statistics/{file}": f"{n}\n" for n, file in enumerate(STATISTICS.values())}
    if "master" in given:
        files[f"link:{base}/master"] = f"../{given['master']}"
    if "device" in given:
        files[f"link:{base}/device"] = "../../../0000:3b:00.0"
        files[f"{base}/device/vendor"] = "0x8086\n"
        files[f"link:{base}/device/driver"] = f"../../../bus/pci/drivers/{given['device']}"
    files |= {f"link:{base}/lower_{other}": f"../{other}" for other in below}
    files |= {f"link:{base}/upper_{other}": f"../{other}" for other in above}
    return files


def read(host: EvidenceHost) -> dict[str, Interface]:
    return {row.interface: row for row in INTERFACES.read(host) if isinstance(row, Interface)}


def one(**attributes: str) -> Interface:
    return read(EvidenceHost.of(interface("eth0", 2, (), (), **attributes)))["eth0"]


def test_a_physical_interface() -> None:
    row = one(device="ixgbe", mtu="9000")
    counters: dict[str, Any] = {field: n for n, field in enumerate(STATISTICS)}
    assert row == Interface(
        interface="eth0", kind="physical", operstate="up", up=True, carrier=True, carrier_changes=2, mtu=9000,
        speed=1_250_000_000, duplex="full", master=None, parent=None, driver="ixgbe", mac="02:00:00:00:00:01",
        ifindex=2, **counters,
    )  # fmt: skip
    assert row.active


@pytest.mark.parametrize("said", ["-1", "0", "4294967295", "", "unknown"])
def test_speeds_that_nobody_knows(said: str) -> None:
    assert one(device="virtio_net", speed=said, duplex="unknown").speed is None


def test_an_interface_that_is_down_refuses_to_say() -> None:
    files = [
        Evidence(key, data=text.encode())
        for key, text in interface("eth0", 2, device="igb", flags="0x1002", operstate="down").items()
    ]
    refused = [
        Evidence(f"{CLASS}/eth0/{name}", Outcome.FAILED, detail="Invalid argument")
        for name in ("carrier", "speed", "duplex")
    ]
    row = read(EvidenceHost([*files, *refused]))["eth0"]
    assert (row.up, row.carrier, row.speed, row.duplex, row.active) == (False, None, None, None, False)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"uevent": "DEVTYPE=vlan\nINTERFACE=eth0"}, "vlan"),
        ({"uevent": "DEVTYPE=bridge"}, "bridge"),
        ({"uevent": "DEVTYPE=vxlan"}, "vxlan"),
        ({"uevent": "DEVTYPE=wlan", "device": "iwlwifi"}, "wlan"),
        ({"uevent": "DEVTYPE=dsa", "device": "mv88e6xxx"}, "physical"),
        ({"bonding__mode": "802.3ad 4"}, "bond"),
        ({"bridge__stp_state": "0"}, "bridge"),
        ({"tun_flags": "0x1002"}, "tun"),
        ({"type": "772"}, "loopback"),
        ({"iflink": "7"}, "veth"),
        ({"iflink": "0"}, "virtual"),
        ({}, "virtual"),
    ],
)
def test_kinds(attributes: dict[str, str], kind: str) -> None:
    row = one(**attributes)
    assert row.kind == kind
    # A veth says 10 Gb/s, a tun 10 Mb/s, a bridge what its ports say: none of that is a wire.
    assert (row.speed is not None) is (kind in {"physical", "wlan"})


BOND = {
    **interface("eth0", 2, device="ixgbe", master="bond0", above=("bond0",), bonding_slave__state="active",
                bonding_slave__mii_status="up", bonding_slave__link_failure_count="3",
                bonding_slave__ad_aggregator_id="1"),
    **interface("eth1", 3, device="ixgbe", master="bond0", above=("bond0",)),
    **interface("bond0", 4, below=("eth0", "eth1"), above=("bond0.7", "br0"), speed="20000", uevent="DEVTYPE=bond",
                master="br0", bonding__mode="802.3ad 4", bonding__slaves="eth0 eth1", bonding__miimon="100",
                bonding__xmit_hash_policy="layer3+4 1", bonding__mii_status="up", bonding__active_slave=""),
    **interface("bond0.7", 5, below=("bond0",), uevent="DEVTYPE=vlan", iflink="4"),
    **interface("br0", 6, below=("bond0",), uevent="DEVTYPE=bridge", speed="20000"),
    **interface("mac0", 7, below=("eth1",), iflink="3"),
    f"{CLASS}/bonding_masters": "bond0\n",
}  # fmt: skip


def test_what_is_built_upon_what() -> None:
    rows = read(EvidenceHost.of(BOND))
    assert set(rows) == {"eth0", "eth1", "bond0", "bond0.7", "br0", "mac0"}
    assert {name: row.kind for name, row in rows.items() if not name.startswith("eth")} == {
        "bond0": "bond", "bond0.7": "vlan", "br0": "bridge", "mac0": "macvlan"
    }  # fmt: skip
    assert {name: row.master for name, row in rows.items() if row.master} == {
        "eth0": "bond0",
        "eth1": "bond0",
        "bond0": "br0",
    }
    assert {name: row.parent for name, row in rows.items() if row.parent} == {"bond0.7": "bond0", "mac0": "eth1"}
    assert rows["bond0"].speed == 2_500_000_000
    assert rows["mac0"].speed == 1_250_000_000
    assert rows["br0"].speed is None


def links(host: EvidenceHost, family: type[R]) -> list[R]:
    return [row for row in LINKS.read(host) if isinstance(row, family)]


def test_relations_bonds_and_slaves() -> None:
    host = EvidenceHost.of(BOND)
    assert {(row.interface, row.upper, row.relation) for row in links(host, InterfaceLink)} == {
        ("eth0", "bond0", "bond"), ("eth1", "bond0", "bond"), ("bond0", "bond0.7", "vlan"), ("bond0", "br0", "bridge")
    }  # fmt: skip
    assert links(host, Bond) == [Bond("bond0", "802.3ad", "layer3+4", None, "up", 2, 0.1)]
    assert links(host, BondSlave) == [
        BondSlave("bond0", "eth0", "active", "up", 3, 1), BondSlave("bond0", "eth1", None, None, None, None)
    ]  # fmt: skip


VETHS = {
    **interface("v0", 4, iflink="3"), **interface("v1", 3, iflink="4"), **interface("far0", 9, iflink="8"),
    **interface("dummy", 8),
}  # fmt: skip
LINK_SHOW = "cmd:ip -j -d link show"


def pairs(files: dict[str, str]) -> set[tuple[str, str]]:
    return {
        (row.interface, row.upper) for row in links(EvidenceHost.of(files), InterfaceLink) if row.relation == "veth"
    }


def ip_link(**peers: str | int) -> str:
    rows = [
        {"ifname": name, "linkinfo": {"info_kind": "veth"}}
        | ({"link": peer} if isinstance(peer, str) else {"link_index": peer, "link_netnsid": 0})
        for name, peer in peers.items()
    ]
    return json.dumps([{"ifname": "lo", "ifindex": 1}, *rows])


def test_pairs_that_ip_knows() -> None:
    assert pairs({**VETHS, LINK_SHOW: ip_link(v0="v1", v1="v0", far0=8)}) == {("v0", "v1")}


def test_ends_whose_numbers_match_by_chance_are_no_pair_for_ip() -> None:
    assert pairs({**VETHS, LINK_SHOW: ip_link(v0=3, v1=4, far0=8)}) == set()


@pytest.mark.parametrize("said", [None, 'Object "-j" is unknown', "{}"])
def test_pairs_without_a_word_of_ip(said: str | None) -> None:
    assert pairs(VETHS if said is None else {**VETHS, LINK_SHOW: said}) == {("v0", "v1")}


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        (VETHS, True),
        ({**interface("v0", 4, iflink="3"), **interface("far0", 9, iflink="8"), **interface("dummy", 8)}, False),
        ({key: text for key, text in VETHS.items() if key != "/sys/class/net/v1/ifindex"}, True),
    ],
    ids=["two-refer-to-each-other", "none-do", "unknown"],
)
def test_ip_is_run_only_where_two_ends_may_be_a_pair(files: dict[str, str], *, asked: bool) -> None:
    host = EvidenceHost.of(files)
    list(LINKS.read(host))
    assert (LINK_SHOW in host.touched) is asked


def test_an_ip_that_hangs_is_not_passed_over() -> None:
    files = [Evidence(key, data=text.encode()) for key, text in VETHS.items()]
    with pytest.raises(TimedOut):
        list(LINKS.read(EvidenceHost([*files, Evidence(LINK_SHOW, Outcome.TIMEOUT)])))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["ifname", "link", "linkinfo", "info_kind", "dst", "metrics", "mtu", "dev", "gateway", "expires"]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=20,
    )
)
def test_no_json_of_ip_breaks_it(said: object) -> None:
    text = json.dumps(said)
    found = parse_peers(text)
    assert found is None or all(isinstance(peer, str) for peer in found.values())
    with contextlib.suppress(Malformed):
        assert all(route.mtu > 0 for route in parse_routes(text).values())


@given(st.text(max_size=60))
def test_no_text_of_ip_breaks_it(text: str) -> None:
    parse_peers(text)
    for parse in (parse_routes, parse_tables):
        with contextlib.suppress(Malformed):
            parse(text)
    parse_softnet(text)


def test_an_interface_that_changes_state_is_read_at_once() -> None:
    assert INTERFACES.fingerprint is not None
    assert LINKS.fingerprint is not None
    before = EvidenceHost.of(BOND)
    for changed in (
        {**BOND, f"{CLASS}/eth1/operstate": "down\n"},
        {**BOND, **interface("eth9", 9)},
        {key: text for key, text in BOND.items() if "/mac0/" not in key},
    ):
        after = EvidenceHost.of(changed)
        assert INTERFACES.fingerprint(before) != INTERFACES.fingerprint(after)
        assert LINKS.fingerprint(before) != LINKS.fingerprint(after)
    freed = EvidenceHost.of({key: text for key, text in BOND.items() if key != f"link:{CLASS}/eth1/master"})
    assert LINKS.fingerprint(before) != LINKS.fingerprint(freed)
    assert LINKS.fingerprint(before) == LINKS.fingerprint(EvidenceHost.of({**BOND, f"{CLASS}/eth1/mtu": "9000\n"}))
    assert INTERFACES.fingerprint(before) != INTERFACES.fingerprint(
        EvidenceHost.of({**BOND, f"{CLASS}/eth1/mtu": "9000\n"})
    )


def test_no_network_is_absent() -> None:
    for collector in (NETWORK, INTERFACES, LINKS):
        with pytest.raises(Absent):
            list(collector.read(EvidenceHost()))


CASES: list[tuple[Callable[[EvidenceHost], object], dict[str, str]]] = [
    (NETWORK.read, {"/proc/net/dev": DEV}),
    (INTERFACES.read, BOND),
    (LINKS.read, BOND),
]


@pytest.mark.parametrize(("reader", "files"), CASES)
def test_every_field_says_where_it_stands(
    reader: Callable[[EvidenceHost], list[Reading]], files: dict[str, str]
) -> None:
    host = EvidenceHost.of(files)
    rows = list(reader(host))
    assert rows
    for row in rows:
        for column in schema(type(row)).columns:
            source = row.source(column.name)
            if getattr(row, column.name) is None or source is None:
                continue
            if source.key.startswith("list:"):
                assert source.needle in host.entries(source.key.removeprefix("list:"))
            else:
                known = host.evidence(source.key)
                assert known is not None, (row, column.name, source)
                assert source.needle.encode() in known.data
