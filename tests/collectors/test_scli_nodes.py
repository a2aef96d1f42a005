"""Text of `scli --query_all_sds`: nodes of ScaleIO and their states."""

from __future__ import annotations

import pytest

from sdstop.collectors.powerflex.cluster import SCALEIO
from sdstop.collectors.powerflex.scli import parse
from sdstop.core.finding import Finding, Unchecked
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from tests.nodes.frames import Judged

GOOD = "Connected, Joined"


def printed(*states: str, count: int | None = None) -> str:
    rows = "".join(
        f"SDS ID: 454581a{number:09x} Name: store{number} State: {state} IP    192.0.2.{number} Port: 7072 "
        f"Version: 2.0.5014\n"
        for number, state in enumerate(states, 1)
    )
    return (
        f"Query-all-SDS returned {len(states) if count is None else count} SDS nodes.\n\n"
        f"Protection Domain 5a20702900000000 Name: pd 1\n{rows}"
    )


@pytest.mark.parametrize(
    ("states", "down"),
    [
        ((GOOD, GOOD), None),
        ((GOOD, "Disconnected, Decoupled"), "store2 is Disconnected, Decoupled."),
        ((GOOD, "Disconnected, Joined"), "store2 is Disconnected."),
        ((GOOD, "Connected, Decoupled"), "store2 is Decoupled."),
    ],
)
def test_nodes_that_are_not_connected(states: tuple[str, ...], down: str | None) -> None:
    said = Judged((SCALEIO,), [CLUSTER_DEGRADED], [(0.0, {"cmd:scli --query_all_sds": printed(*states)})])
    verdict = said.of("powerflex")
    assert (verdict.cause if isinstance(verdict, Finding) else None) == down
    assert isinstance(verdict, Finding | Unchecked)  # nodes alone say nothing of the data: never ruled out


def test_domains_nodes_and_addresses() -> None:
    said, _ = parse(printed(GOOD).replace("IP    192.0.2.1", "IP: 192.0.2.1,198.51.100.1"))
    (node,) = said["sdsList"]
    assert said["protectionDomainList"] == [{"id": "5a20702900000000", "name": "pd 1"}]
    assert (node["name"], node["protectionDomainId"]) == ("store1", "5a20702900000000")
    assert [each["ip"] for each in node["ipList"]] == ["192.0.2.1", "198.51.100.1"]


def test_nodes_of_1x_have_no_state() -> None:
    text = "Query-all-SDS returned 1 SDS nodes.\n\nProtection Domain: Name: PD-1 ID: b1a5a2ef00000000\n"
    said, _ = parse(f"{text}SDS ID: f415b57100000002 Name: n40 IP: 192.0.2.40 Port: 7072\n")
    assert [(node["name"], node["mdmConnectionState"]) for node in said["sdsList"]] == [("n40", None)]
    assert said["protectionDomainList"] == [{"id": "b1a5a2ef00000000", "name": "PD-1"}]


@pytest.mark.parametrize("text", [printed(GOOD, count=2), printed(GOOD, "Connected Joined"), printed()])
def test_a_list_that_is_cut_off_or_strange_is_not_understood(text: str) -> None:
    assert parse(text) == ({}, {})
