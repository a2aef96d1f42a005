"""iSCSI initiator and target, NVMe controller and port: the end that is at fault."""

from __future__ import annotations

import pytest

from sdstop.core.finding import Severity
from sdstop.core.site_session import SiteSession
from tests.nodes.frames import Files
from tests.nodes.site import Shown, finding, found, ruled_out, site, unchecked

IQN = "iqn.2026-01.org.example:vault"
NQN = "nqn.2026-01.org.example:fast"
ROUTE = (
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    "eth1\t0000140A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)


NO_ROUTE = {"/proc/net/route": ROUTE.partition("eth1")[0]}
"""As of a port that is shut down: the kernel keeps its address in /proc/net/fib_trie (seen on Linux 6.1)."""


def network(address: str, *, carrier: bool = True) -> dict[str, str]:
    base = "/sys/class/net/eth1"
    return {
        "/proc/net/fib_trie": f"Main:\n  +-- 0.0.0.0/0 3 0 5\n        |-- {address}\n           /32 host LOCAL\n",
        "/proc/net/route": ROUTE,
        f"{base}/uevent": "INTERFACE=eth1\nIFINDEX=3\n", f"{base}/type": "1\n", f"{base}/flags": "0x1003\n",
        f"{base}/operstate": "up\n" if carrier else "down\n", f"{base}/carrier": f"{int(carrier)}\n",
        f"{base}/mtu": "9000\n", f"{base}/device/uevent": "DRIVER=ixgbe\n",
    }  # fmt: skip


def address(other: str) -> dict[str, str]:
    """Return another address instead of that in the network of the portal."""
    return {"/proc/net/fib_trie": f"Main:\n  +-- 0.0.0.0/0 3 0 5\n        |-- {other}\n           /32 host LOCAL\n"}


def shut(other: str) -> dict[str, str]:
    """Return a port that an administrator shut down, whose address the kernel no longer lists."""
    return address(other) | {
        "/sys/class/net/eth1/flags": "0x1002\n", "/sys/class/net/eth1/operstate": "down\n",
        "/sys/class/net/eth1/carrier": "",
    }  # fmt: skip


def initiator(state: str = "FAILED", *, carrier: bool = True) -> Files:
    session, connection = "/sys/class/iscsi_session/session1", "/sys/class/iscsi_connection/connection1:0"
    return network("10.20.0.31", carrier=carrier) | {
        f"{session}/state": f"{state}\n", f"{session}/targetname": f"{IQN}\n",
        f"{session}/device/target0:0:0/0:0:0:0/block/sdc/dev": "8:32\n", "/sys/block/sdc/dev": "8:32\n",
        f"{connection}/address": "10.20.0.7\n", f"{connection}/port": "3260\n",
    }  # fmt: skip


def target(enable: int | None = 1, *, portal: str = "10.20.0.7:3260", carrier: bool = True) -> Files:
    base = f"/sys/kernel/config/target/iscsi/{IQN}/tpgt_1"
    names = ["discovery_auth", *([IQN] if enable is not None else [])]
    listed = {"list:/sys/kernel/config/target/iscsi": "".join(f"{name}\n" for name in names)}
    made = {f"{base}/enable": f"{enable}\n", f"{base}/np/{portal}/iser": "0\n"} if enable is not None else {}
    return network("10.20.0.7", carrier=carrier) | made | listed


def shown(files: Files, start: float = 0.0) -> Shown:
    return [(start + 5.0 * n, files) for n in range(4)]


def pair(one: Files, other: Files, later: float = 1.0) -> SiteSession:
    return site({"hyper3": shown(one), "vault1": shown(other, later)})


@pytest.mark.parametrize(
    ("one", "other", "host", "title"),
    [
        (initiator(), target(0), "vault1", "TARGET DISABLED"),
        (initiator(), target(None), "vault1", "TARGET NOT EXPORTED"),
        (initiator(), target(portal="10.20.9.9:3260"), "vault1", "TARGET NOT EXPORTED"),
        (initiator(), target(carrier=False), "vault1", "LINK DOWN AT THE TARGET"),
        (initiator(carrier=False), target(), "hyper3", "LINK DOWN AT THE INITIATOR"),
        (initiator(), target(), "", "SESSION DOWN: BOTH ENDS LOOK READY"),
        (initiator(), target(portal="0.0.0.0:3260"), "", "SESSION DOWN: BOTH ENDS LOOK READY"),
        (initiator(), target(portal="0.0.0.0:3261"), "vault1", "TARGET NOT EXPORTED"),
        ({**initiator(), **shut("10.9.9.9")}, target(carrier=False), "hyper3", "LINK SHUT DOWN AT THE INITIATOR"),
        (
            {**initiator(), **shut("10.20.0.31"), **NO_ROUTE},
            target(carrier=False),
            "hyper3",
            "LINK SHUT DOWN AT THE INITIATOR",
        ),
        (
            {**initiator(), **address("10.20.0.31"), **NO_ROUTE},
            target(carrier=False),
            "vault1",
            "LINK DOWN AT THE TARGET",
        ),
        (initiator(carrier=False), {**target(), **shut("10.9.9.9")}, "vault1", "LINK SHUT DOWN AT THE TARGET"),
        (initiator(), {**target(), **address("10.9.9.9")}, "vault1", "PORTAL ADDRESS MISSING"),
    ],
)
def test_the_end_that_is_at_fault_is_named(one: Files, other: Files, host: str, title: str) -> None:
    made = pair(one, other)
    down = finding(made, "session-down")
    assert (down.host, down.title, down.between) == (host, title, ("hyper3", "vault1"))
    assert down.severity is Severity.CRITICAL
    assert down.explains == ("hyper3:session-down:session1",)
    assert made.episodes()[0].finding.id == down.id


def test_a_session_that_is_up_is_ruled_out() -> None:
    made = pair(initiator("LOGGED_IN"), target())
    assert found(made, "session-down") == []
    assert ruled_out(made, "session-down", "hyper3/session1") == "all up: LOGGED_IN; target on vault1"


def test_a_target_without_a_capture_is_unchecked() -> None:
    made = site({"hyper3": shown(initiator()), "other": shown(network("10.20.0.99"), 1)})
    assert found(made, "session-down") == []
    assert unchecked(made, "session-down", "hyper3/session1") == "no capture of its target, 10.20.0.7:3260"


def test_a_target_whose_exports_were_not_recorded_is_not_accused() -> None:
    down = finding(pair(initiator(), network("10.20.0.7")), "session-down")
    assert (down.host, down.title) == ("", "SESSION DOWN: BOTH ENDS LOOK READY")
    assert "its exports are unknown" in down.cause


@pytest.mark.parametrize(("later", "judged"), [(599.0, True), (601.0, False)])
def test_captures_of_different_times_are_not_joined(later: float, *, judged: bool) -> None:
    made = pair(initiator(), target(0), later)
    assert bool(found(made, "session-down")) is judged
    if not judged:
        assert "10m01 apart" in unchecked(made, "session-down", "hyper3/session1")


def test_an_nvme_controller_leads_to_its_port() -> None:
    nvme = "/sys/class/nvme/nvme1"
    host = network("10.20.0.31") | {
        f"{nvme}/state": "connecting\n", f"{nvme}/transport": "tcp\n", f"{nvme}/subsysnqn": f"{NQN}\n",
        f"{nvme}/address": "traddr=10.20.0.7,trsvcid=4420\n", f"{nvme}/nvme1n1/x": "\n",
    }  # fmt: skip
    base = "/sys/kernel/config/nvmet"
    other = network("10.20.0.7") | {
        f"{base}/ports/1/addr_traddr": "10.20.0.7\n", f"{base}/ports/1/addr_trsvcid": "4420\n",
        f"{base}/ports/1/addr_trtype": "tcp\n", f"{base}/ports/1/subsystems/{NQN}/attr_model": "x\n",
        f"{base}/subsystems/{NQN}/namespaces/1/enable": "0\n",
        f"{base}/subsystems/{NQN}/namespaces/1/device_path": "/dev/sdb\n",
    }  # fmt: skip
    down = finding(pair(host, other), "session-down")
    assert (down.host, down.title) == ("vault1", "TARGET DISABLED")
