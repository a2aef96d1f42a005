"""An AoE target and its initiators: whose MTU limits the frames."""

from __future__ import annotations

import pytest

from sdstop.core.finding import Severity
from sdstop.core.site_session import SiteSession
from tests.nodes.frames import Files
from tests.nodes.site import Shown, finding, found, ruled_out, site

MAC = "02:00:00:00:00:0{}"


def nic(mtu: int, number: int = 1) -> dict[str, str]:
    base = "/sys/class/net/eth1"
    return {
        f"{base}/uevent": "INTERFACE=eth1\nIFINDEX=3\n", f"{base}/type": "1\n", f"{base}/flags": "0x1003\n",
        f"{base}/operstate": "up\n", f"{base}/carrier": "1\n", f"{base}/mtu": f"{mtu}\n",
        f"{base}/address": f"{MAC.format(number)}\n", f"{base}/device/uevent": "DRIVER=ixgbe\n",
        "/proc/net/packet": "sk RefCnt Type Proto  Iface R Rmem   User   Inode\n0 3 3 88a2 3 1 0 0 471621\n",
    }  # fmt: skip


def target(mtu: int) -> Files:
    return nic(mtu) | {
        "/proc/77/comm": "vblade\n",
        "/proc/77/cmdline": "vblade\x00-d\x000\x001\x00eth1\x00/dev/sdb\x00",
    }


def initiator(mtu: int, payload: int, mac: str = "020000000001", disk: str = "e0.1") -> Files:
    base = f"/sys/block/etherd!{disk}"
    said = {"dev": "152:16", "size": "1000", "state": "up", "mac": mac, "netif": "eth1", "payload": str(payload)}
    return nic(mtu, 2) | {f"{base}/{name}": f"{value}\n" for name, value in said.items()}


def shown(files: Files, start: float = 0.0) -> Shown:
    return [(start + 10.0 * n, files) for n in range(3)]


def pair(one: Files, other: Files, later: float = 1.0) -> SiteSession:
    return site({"san1": shown(one), "hyper3": shown(other, later)})


@pytest.mark.parametrize(
    ("target_mtu", "mtu", "payload", "host"),
    [
        (4000, 9000, 3584, "san1"),
        (9000, 4000, 3584, "hyper3"),
        (4000, 4000, 3584, "san1"),  # both; the target's is the one that all initiators meet
        (9000, 9000, 3584, ""),  # a switch between them
        (9000, 9000, 8704, "san1"),  # 8192 and a rest of 512
    ],
)
def test_the_side_whose_mtu_limits_the_frames_is_named(target_mtu: int, mtu: int, payload: int, host: str) -> None:
    made = pair(target(target_mtu), initiator(mtu, payload))
    split = finding(made, "mtu-misaligned")
    assert (split.host, split.between) == (host, ("san1", "hyper3"))
    assert split.severity is Severity.WARNING
    assert {"san1:mtu-misaligned:eth1", "hyper3:mtu-misaligned:eth1"} == set(split.explains)
    if not host:
        assert split.cause == "Frames carry 3584 bytes; both ends allow more: MTU 3620-4131 between."
    commands = [step for step in split.steps if step.startswith("ip link set")]
    assert all(step.endswith(("# on san1", "# on hyper3")) for step in commands)


@pytest.mark.parametrize(("target_mtu", "mtu", "payload"), [(8700, 8700, 8192), (4200, 9000, 4096), (8228, 9000, 8192)])
def test_frames_of_whole_blocks_are_ruled_out(target_mtu: int, mtu: int, payload: int) -> None:
    made = pair(target(target_mtu), initiator(mtu, payload))
    assert found(made, "mtu-misaligned") == []
    said = ruled_out(made, "mtu-misaligned", "san1/eth1")
    assert said == f"frames to 1 initiator carry {payload} bytes, whole blocks of 4096"


def test_a_target_with_another_address_is_another_one() -> None:
    made = pair(target(4000), initiator(9000, 3584, mac="020000000009"))
    assert found(made, "mtu-misaligned") == []


def test_another_shelf_is_another_target() -> None:
    assert found(pair(target(4000), initiator(9000, 3584, disk="e7.1")), "mtu-misaligned") == []


def test_several_initiators_are_one_finding() -> None:
    made = site(
        {"san1": shown(target(4000))} | {f"hyper{n}": shown(initiator(9000, 3584), n / 10) for n in range(1, 6)}
    )
    split = finding(made, "mtu-misaligned")
    assert split.cause == "eth1 of san1 (MTU 4000) limits 5 disks of 5 initiators to 3584 bytes."
    assert len(split.between) == 6


def test_the_mtu_outlasts_the_time_between_captures() -> None:
    made = pair(target(4000), initiator(9000, 3584), later=7200.0)
    split = finding(made, "mtu-misaligned")
    assert next(value.value for value in split.values if value.name == "apart") == 7200.0
