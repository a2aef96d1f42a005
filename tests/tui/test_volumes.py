"""The view of volumes: used shares of limits, time at them, and waits split into the limit's and the disks'."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from rich.segment import Segment

from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.session import Session
from sdstop.readings.limit import Limit
from sdstop.rules.limits.volume_qos_saturated import VOLUME_QOS_SATURATED
from sdstop.tui.terminal import Options
from sdstop.tui.views.volumes import split_bar
from sdstop.tui.widgets.palette import Palette, plain
from tests.fixtures import story
from tests.nodes.block import Node
from tests.nodes.cluster import TOLD, cluster, session
from tests.tui.hostile import NASTY, harmless
from tests.tui.screens import LOW, SMALL, WIDE, Screen, roles, screen

MIB = 1 << 20


def held(volume: str, requests: float, moved: float, **more: Any) -> dict[str, Any]:
    """Return a mapping held to 500 IOPS and 26 MiB/s, of which so much was used."""
    return {
        "is": "Limit", "volume": volume, "owner": "10.0.0.9", "kind": "powerflex", "direction": "total",
        "limited": "both", "iops": 500.0, "bandwidth": 26.0 * MIB, "requests_rate": requests, "bytes_rate": moved,
        "sharers": 1, "origin": TOLD, "used_origin": TOLD,
    } | more  # fmt: skip


def volume(name: str, **more: Any) -> dict[str, Any]:
    return {
        "is": "ClusterVolume", "cluster": "c1", "volume": name, "pool": "fast", "provisioning": "thin",
        "size": 104 << 30, "clients": 1, "mapped": "10.0.0.9", "reads": 20.0, "writes": 30.0, "read": 1e6,
        "write": 2e6, "read_wait": 0.004, "write_wait": 0.009, "origin": TOLD,
    } | more  # fmt: skip


ROWS = (
    cluster(),
    held("calm", 50, 2 * MIB),
    held("web", 416, 26 * MIB, wait=0.048, disk_wait=0.006),
    held("canary", 498, 2 * MIB, wait=0.021, disk_wait=0.005),
    held("shared", 600, 30 * MIB, sharers=2),
    held("open", 90, MIB, limited="none", iops=None, bandwidth=None),
    volume("web"),
    volume("free"),
)


@functools.cache
def told() -> Session:
    return session(ROWS, [VOLUME_QOS_SATURATED], seconds=20)


def listed(shown: Screen) -> list[str]:
    return [row.item.name for row in shown.app.main.shown.main.rows]


async def test_the_most_painful_volume_stands_first_and_those_without_a_limit_last() -> None:
    async with screen(told()) as shown:
        await shown.press("8")
        assert listed(shown)[:2] == ["web", "canary"]
        assert set(listed(shown)[2:4]) == {"shared", "calm"}
        assert set(listed(shown)[4:]) == {"open", "free"}


async def test_used_shares_of_both_limits_time_at_them_and_the_two_parts_of_a_wait() -> None:
    async with screen(told()) as shown:
        await shown.press("8")
        words = shown.line("*canary").split()
        assert words[1] == "10.0.0.9"
        assert words[2:8] == ["498", "100", "2.0", "8", "100", "21.0"]
        assert words[8:10] == ["16.0", "5.0"]
        line = shown.line("web  ")
        assert " 83 " in line
        assert " 100 " in line
        assert " 42.0 " in line
        assert " 6.0" in line
        free = shown.line(" free ")
        assert "no limit" in free
        assert " 50 " in free
        assert " 7.0" in free


async def test_the_volume_under_the_cursor_has_its_limit_use_and_finding() -> None:
    async with screen(told(), WIDE) as shown:
        text = await shown.press("8")
        assert "*WARN volume-qos-saturated 100% of 26.0 MiB/s" in text
        assert "powerflex, total · 500 IOPS · 26.0 MiB/s · break-even 53.2K per request: bandwidth binds above" in text
        assert "100% of its bandwidth limit · at limit 100%" in text
        assert "await 48.0 ms = limit 42.0 + disks 6.00" in text
        assert "thin 104 GiB · pool fast of c1 · mapped to 10.0.0.9" in text
        await shown.press("tab")
        assert "rule volume-qos-saturated" in await shown.press("enter")


async def test_what_is_told_for_several_together_is_a_range() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("8")
        shown.app.main.shown.point(("shared", "10.0.0.9", "powerflex", "total"))
        text = await shown.press()
        assert "60.0 to 100% of its IOPS limit · sum of 2 mappings" in text


async def test_a_row_leads_to_its_facts() -> None:
    async with screen(told(), WIDE) as shown:
        await shown.press("8")
        text = await shown.press("enter")
        assert "Throughput, MiB/s" in text
        text = await shown.press("enter")
        assert Limit.title in text
        assert "Use of limits" in text
        assert "Cluster volumes" in text


@pytest.mark.parametrize(("ascii_only", "most"), [(False, "≤"), (True, "<")])
async def test_what_is_told_of_several_mappings_is_marked_as_the_most_that_one_has(
    *, ascii_only: bool, most: str
) -> None:
    async with screen(story("scaleio-cloud").session, options=Options(ascii=ascii_only)) as shown:
        await shown.press("8")
        lines = shown.lines()
        shared = [line for line in lines if line[1:].startswith("shared-vmfs")]
        assert len(shared) == 3
        for line in shared:
            assert line[0] == "*"  # of the volume as a whole something is said
            assert [f"{most}{value}" for value in ("640", "100", "15.0", "3", "100")] == line.split()[2:7]
        own = next(line for line in lines if "web-data" in line)
        assert own.split()[2:7] == ["416", "83", "26.0", "100", "100"]
        assert lines.index(own) < lines.index(shared[0])  # what is proven comes first


async def test_without_volumes_a_line_says_so() -> None:
    asked = ("http:GET /api/instances", "answer:cgroup.limited", "answer:qemu.drives", "list:/etc/ceph")
    here = [Evidence(key, Outcome.ABSENT) for key in asked]
    here.append(Evidence("list:/sys/bus/rbd/devices"))
    async with screen(Node(later={1: here}).session(2)) as shown:
        text = await shown.press("8", "j", "enter", "s", "tab")
        assert "no cluster volumes, no I/O limits" in text


def test_a_wait_is_split_on_one_scale() -> None:
    palette = Palette(ascii=True)
    assert plain(split_bar(0.005, 0.015, 0.02, 0.02, 20, palette)) == "#####==============="
    assert plain(split_bar(0.005, 0.005, 0.01, 0.02, 20, palette)) == "#####====="
    assert plain(split_bar(None, None, 0.01, 0.02, 20, palette)) == ".........."
    assert plain(split_bar(0.02, 0.02, 0.04, 0.02, 20, palette)) == "#" * 20
    assert plain(split_bar(0.00001, 0.02, 0.02, 0.02, 4, palette)) == "#==="


@pytest.mark.parametrize(("size", "ascii_only"), [(LOW, True), (SMALL, True), (WIDE, False), ((40, 8), True)])
async def test_it_fits_every_screen(size: tuple[int, int], *, ascii_only: bool) -> None:
    async with screen(told(), size, options=Options(ascii=ascii_only)) as shown:
        await shown.press("8")
        lines = shown.lines()
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        harmless(shown, ascii_only=ascii_only)


async def test_hostile_names_do_no_harm() -> None:
    names = [name.encode("utf-8", "replace").decode() for name in NASTY]
    rows = [held(name, 490, MIB, owner=names[-at], group=name, unheld=None) for at, name in enumerate(names)]
    rows += [volume(name, pool=name, mapped=name) for name in names[:4]]
    made = session([cluster(), *rows], [VOLUME_QOS_SATURATED], seconds=6)
    for ascii_only in (False, True):
        async with screen(made, WIDE, options=Options(ascii=ascii_only)) as shown:
            for keys in (("8",), ("j", "j"), ("tab", "enter"), ("escape", "escape")):
                await shown.press(*keys)
                harmless(shown, ascii_only=ascii_only)


# --- strips ---------------------------------------------------------------------------------------------------


def strip_of(shown: Screen, name: str) -> list[list[Segment]]:
    """Return the lines of a volume's strips."""
    lines = shown.segments()
    texts = ["".join(s.text for s in line) for line in lines]
    title = next(at for at, line in enumerate(texts) if "Use against limits" in line)
    first = next(at for at in range(title, len(texts)) if texts[at][2:].startswith(name))
    return lines[first : first + 4]


async def test_the_strip_that_binds_wears_the_severity_and_the_others_do_not() -> None:
    async with screen(story("scaleio-cloud").session, (160, 48)) as shown:
        await shown.press("8")
        for name, binds, of in (("canary", 0, "498 of"), ("web-data", 1, "26.0 of")):
            drawn = [[s for s in line if "⣿" in s.text] for line in strip_of(shown, name)]
            full = next(line for line in drawn if len(line) == 2)
            assert "warn" in roles(full[binds].style)
            assert "other" in roles(full[1 - binds].style)
            assert of in "".join(s.text for line in strip_of(shown, name) for s in line)
        calm = {role for line in strip_of(shown, "mail-spool") for s in line for role in roles(s.style)}
        assert "warn" not in calm


async def test_a_limit_that_each_client_has_is_drawn_against_the_sum() -> None:
    async with screen(story("scaleio-cloud").session, (160, 48)) as shown:
        await shown.press("8")
        said = "".join(s.text for line in strip_of(shown, "shared-vmfs") for s in line)
        for part in ("3 clients", "limit per client, x3", "633 of", "1500 IOPS", "42.2%"):
            assert part in said


async def test_the_strips_of_the_volume_under_the_cursor_are_shown_where_not_all_fit() -> None:
    async with screen(story("scaleio-cloud").session, (80, 32)) as shown:
        text = await shown.press("8", "G")
        assert text.count(" a request") >= 1
        assert "db-log" in "".join(s.text for line in strip_of(shown, "db-log") for s in line)
