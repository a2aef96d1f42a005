"""The two ScaleIO stories with captures of further nodes: names of devices, and what limits four nodes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from sdstop.core.evidence import Frame
from sdstop.core.finding import Damage, Severity
from sdstop.core.site_session import SiteSession
from tests.fixtures import opened
from tests.nodes.frames import Files, frames
from tests.nodes.site import HOSTNAME, finding, found, ruled_out, together, unchecked
from tests.nodes.system import Node, Shape
from tests.stories.interfaces import LOOPBACK, Interfaces, Nic

STARTED = 1_795_359_600.0
"""Of both stories."""


def disks(names: Sequence[str]) -> Files:
    """Return the disks of a node, in the order of its slots."""
    files: dict[str, str] = {}
    for slot, name in enumerate(names):
        minor = 16 * "abcdefg".index(name[2])
        files |= {
            f"/sys/block/{name}/dev": f"8:{minor}\n",
            f"/sys/block/{name}/size": "3515625000\n",
            f"/sys/block/{name}/queue/rotational": "1\n",
            f"/run/udev/data/b8:{minor}": f"S:disk/by-path/pci-0000:02:00.0-scsi-0:2:{slot}:0\nE:ID_BUS=scsi\n",
        }
    return files


def node(name: str, files: Files, at: float = 30.0) -> list[Frame]:
    shown = [(10.0 * n, {HOSTNAME: f"{name}\n", **files}) for n in range(3)]
    return [replace(frame, taken=STARTED + at + 10 * n) for n, frame in enumerate(frames(shown))]


def cloud(**nodes: list[Frame]) -> SiteSession:
    return together({"sds07": list(opened("scaleio-cloud")[1]), **nodes})


EVEN = ("sda", "sdb", "sdc", "sdd", "sde")
MOVED = ("sda", "sdb", "sdc", "sdd", "sdf")


def test_a_device_that_has_another_name_on_its_node_is_named_with_a_stable_one() -> None:
    """The gateway has not noticed yet that /dev/sde of sds03 is /dev/sdf there."""
    made = cloud(sds03=node("sds03", disks(MOVED)), sds05=node("sds05", disks(EVEN)))
    names = finding(made, "unstable-device-path")
    assert (names.severity, names.damage, names.host) == (Severity.WARNING, Damage.DATA, "")
    assert names.title == "2 DEVICES NOT UNDER THEIR NAMES"
    assert names.cause == "/dev/sde of sds03 is not found now; 12 of 12 names can change."
    moved = {value.title: value.value for value in names.values if value.name.startswith("moved") and value.unit == ""}
    assert moved["on sds03"] == "added as /dev/sde, now not found"
    assert moved["on sds07"] == "added as /dev/sde, now /dev/sdf"
    assert any("--sds_name sds05" in step and "by-path" in step for step in names.steps)
    assert "sds07:unstable-device-path:cloud1" in names.explains
    first = made.episodes()[0].finding
    assert first.id == names.id  # what hurts stands first


def test_nodes_whose_names_hold_still_can_lose_them() -> None:
    first = list(opened("scaleio-cloud")[1])
    made = together({"sds07": first, "sds05": node("sds05", disks(EVEN))})
    names = finding(made, "unstable-device-path")
    assert "sds05" not in {value.title for value in names.values if value.name.startswith("moved")}


def test_without_another_node_it_is_unchecked() -> None:
    made = cloud(other=node("other", {}))
    assert unchecked(made, "unstable-device-path", "cloud1") == "no capture of another of its nodes"


def test_names_of_another_day_are_not_compared() -> None:
    made = cloud(sds03=node("sds03", disks(MOVED), at=86_400.0))
    assert found(made, "unstable-device-path") == []
    assert "23h58 apart" in unchecked(made, "unstable-device-path", "cloud1")


def test_stable_names_are_ruled_out() -> None:
    made = four(0.5e9)
    assert ruled_out(made, "unstable-device-path", "flash4") == "all 16 devices of 4 other nodes use stable names"


@functools.cache
def busy(name: str, rate: float) -> tuple[Frame, ...]:
    """Return a storage node with a link of 100 Gb/s that carries `rate` bytes a second."""
    system = Node(Shape(name, cpus=32, load=9.0), STARTED)
    link = Nic("eth0", 2, speed=100_000, rates=(rate, rate / 2), size=9000, driver="mlx5_core")
    links = Interfaces(name, (LOOPBACK, link))
    shown: list[tuple[float, Files]] = []
    for second in range(131):
        files = system.files(second) | links.files(second)
        if not second % 10:
            shown.append((float(second), {**(shown[-1][1] if shown else {}), **files}))
    made = frames(shown)
    return tuple(replace(frame, taken=STARTED + at) for frame, (at, _) in zip(made, shown, strict=True))


def four(*rates: float, extra: float = 0.5e9) -> SiteSession:
    every = [*rates, *[extra] * (4 - len(rates))]
    nodes = {f"sds{n:02d}": list(busy(f"sds{n:02d}", rate)) for n, rate in enumerate(every, 1)}
    return together({"ops1": list(opened("scaleio-4node")[1]), **nodes})


def test_four_nodes_reach_30_percent_because_two_links_are_full() -> None:
    made = four(12.1e9, 12.1e9)
    poor = finding(made, "scaling-poor")
    assert poor.title == "POOR SCALING: 30.5% of 4 x 1"
    assert poor.cause == "30.5% of 4 x 1: because of a saturated link on 2 of 4 nodes seen."
    assert poor.host == ""
    assert {"ops1:scaling-poor:flash4", "sds01:link-saturated:eth0", "sds02:link-saturated:eth0"} <= set(poor.explains)
    suspects = {value.title for value in poor.values if value.name.startswith("suspect")}
    assert suspects == {"on sds01", "on sds02", "on ops1"}
    assert poor.steps[0] == "Fix a saturated link on sds01, sds02 first; then measure again."
    assert made.episodes()[0].finding.id == poor.id


def test_one_full_link_is_the_side_that_is_wrong() -> None:
    poor = finding(four(12.1e9), "scaling-poor")
    assert poor.host == "sds01"
    assert poor.cause.endswith("because of a saturated link on 1 of 4 nodes seen.")


def test_where_no_node_is_at_a_limit_the_cluster_itself_is_left() -> None:
    poor = finding(four(0.5e9), "scaling-poor")
    assert poor.cause == "Because of RAM read cache on flash; no node seen is at a limit."
    assert not any(key.startswith("sds") for key in poor.explains)


def test_nodes_without_a_capture_leave_it_unchecked() -> None:
    made = together({"ops1": list(opened("scaleio-4node")[1]), "other": list(busy("other", 1e9))})
    assert found(made, "scaling-poor") == []
    assert unchecked(made, "scaling-poor", "flash4") == "no capture of its nodes and clients"
    assert any(f.rule == "scaling-poor" for f in made.whole().findings)  # that of the node itself stays


@pytest.mark.parametrize("rate", [9.5e9, 12.1e9])
def test_near_the_threshold_of_a_link(rate: float) -> None:
    """Rates vary by 7 %, and a link counts as full above 85 %: 9.5 of 12.5 GB/s are at most 81 %."""
    assert ("link" in finding(four(rate), "scaling-poor").cause) is (rate > 12e9)
