"""RDMA ports as ibstat, ibstatus and rdma print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.fabric.rdma_text import fault_of_ibstat, parse_ibstat, parse_links
from sdstop.core.form import NOT_SHOWN
from tests.pasted.corpus import findings, judged, ruled_out


def adapter(name: str, *states: str, layer: str = "InfiniBand", physical: str = "Polling") -> str:
    ports = "".join(
        f"\tPort {at}:\n\t\tState: {state}\n\t\tPhysical state: {'LinkUp' if state != 'Down' else physical}\n"
        f"\t\tRate: 100\n\t\tBase lid: 1\n\t\tLink layer: {layer}\n"
        for at, state in enumerate(states, 1)
    )
    return f"CA '{name}'\n\tCA type: MT4119\n\tNumber of ports: {len(states)}\n{ports}"


def shown(text: str, command: str = "ibstat") -> bytes:
    return f"[root@s1 ~]# {command}\n{text}[root@s1 ~]# \n".encode()


def test_states_are_those_of_sysfs() -> None:
    text = adapter("mlx5_0", "Active", "Down", "Initializing", "Armed", "???")
    assert [row.state for row in parse_ibstat(text, "cmd:ibstat")] == ["ACTIVE", "DOWN", "INIT", "ARMED", None]


def test_a_port_alone() -> None:
    text = "CA: 'mlx5_0'\nPort 2:\nState: Down\nPhysical state: Disabled\nRate: 10\nLink layer: InfiniBand\n"
    (row,) = parse_ibstat(text, "cmd:ibstat mlx5_0 2")
    assert (row.port, row.state, row.physical) == ("mlx5_0/2", "DOWN", "Disabled")


def test_rdma_before_5_1() -> None:
    (row,) = parse_links("1/1: mlx5_0/1: state DOWN physical_state DISABLED netdev ens1 \n", "cmd:rdma link")
    assert (row.port, row.state, row.physical, row.interface) == ("mlx5_0/1", "DOWN", "Disabled", "ens1")


def test_no_port_with_a_link_is_a_finding() -> None:
    both = adapter("mlx5_0", "Down") + adapter("mlx5_1", "Down")
    assert findings(judged(shown(both))) == {f"warning storage-port-errors mlx5_{at}/1" for at in (0, 1)}


@pytest.mark.parametrize(
    "text",
    [
        adapter("mlx5_0", "Active", "Down"),
        adapter("mlx5_0", "Active") + adapter("mlx5_1", "Down"),
        adapter("mlx5_0", "Down", layer="Ethernet"),
    ],
)
def test_a_port_that_may_not_be_in_use_is_unchecked(text: str) -> None:
    session = judged(shown(text))
    assert findings(session) == set()
    down = [each for each in session.head().judgement.unchecked if "does not show whether it had a link" in each.reason]
    assert len(down) == 1
    assert not down[0].calm
    assert not any(each.startswith("storage-port-errors") for each in ruled_out(session))


def test_a_link_without_a_subnet_manager_is_a_finding() -> None:
    assert findings(judged(shown(adapter("mlx5_0", "Initializing")))) == {"warning storage-port-errors mlx5_0/1"}


def test_the_number_of_ports_shows_what_is_cut_off() -> None:
    text = adapter("mlx5_0", "Active", "Active")
    assert fault_of_ibstat(text) == NOT_SHOWN
    assert fault_of_ibstat(text.partition("\tPort 2")[0]) == "1 of 2 ports"
    assert fault_of_ibstat(text[: text.rindex("State: ")]) == "states of 1 of 2 ports"


@given(st.text("CA'mlx5_0/1 :\n\tPortSae123()X", max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for parse in (parse_ibstat, parse_links):
        for row in parse(adapter("mlx5_0", "Down") + text, "cmd:ibstat"):
            assert row.adapter
            assert row.number
