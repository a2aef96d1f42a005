"""The pictures of findings: what each draws of its story, and what gives way on a small screen."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence
from sdstop.core.finding import Finding, Severity, Value
from sdstop.core.later import Later
from sdstop.core.session import Session
from sdstop.rules import RULES
from sdstop.tui.pictures import choice
from sdstop.tui.pictures.pool import pool_picture
from sdstop.tui.terminal import Depth
from sdstop.tui.views.measured import measures
from tests.fixtures import opened, story
from tests.tui.first_screen import panes
from tests.tui.screens import LOOKS, Screen, roles, screen

GREY = replace(LOOKS, depth=Depth.NONE, no_color=True, ascii=True)


def picture(shown: Screen) -> list[str]:
    """Return the lines of the picture."""
    return panes(shown)["picture"][3]


@pytest.mark.parametrize(
    ("name", "title", "inside"),
    [
        ("md-degraded", "md0: 8 slots, mirrored pairs", ["4 missing", "sdf!", "faulty: sde   no spare"]),
        ("disk-gone-mirrored", "md0: 2 slots", ["raid1       sdb            sdc gone"]),
        ("md-rebuild-running", "md0: 8 slots", ["rebuilding: sdf", "31.2%", "8h01 left"]),
        ("bond-one-slave", "Traffic, 30s", ["ens1f0  rx", "97% 10 Gb/s", "ens1f1  rx", "bond0  48% of 20 Gbit/s"]),
        ("bcache-drains-slowly", "bcache0: dirty data of the cache", ["8.7G of 20G dirty", "dirty 43.5%"]),
        ("dm-caches-failing", "Evidence", ["dmsetup status", "needs_check"]),
        ("ceph-drain", "15 OSDs by node", ["osd.10 40%   osd.11 40%", "osd.12 40%   osd.13 40%   osd.14 40%"]),
        ("server-lopsided", "Memory channels", [" A 16G ", "A empty", "H empty"]),
        (
            "nfs-server-dead",
            "256 tasks waiting for /srv/projects",
            ["php-fpm             250 ██", "rpc_wait_bit_killable"],
        ),
        ("pacemaker-unclean", "Clusters", ["1 of 2 nodes online, led by store1", "failed store1"]),
        (
            "disks-failing",
            "Health, as the disks report it",
            ["!sdb     FAILING", "*sdc     passed          16", "412", "63C", "2 disks without a sign of failure"],
        ),
        (
            "raid-no-battery",
            "RAID controller and its disks",
            ["battery Failed", "write cache OFF", "!c0/e32/s2 Offln", "1 disk without a sign"],
        ),
        ("kernel-medium-error", "Kernel log: ", ["critical medium error, dev sda, sector 4656"]),
        (
            "kernel-hung",
            "Kernel log: 2 messages about hung-task",
            ["\u00d72 INFO: task rsync:4711 blocked", "Killed process 5120 (java)", "server nas1 not responding"],
        ),
        ("vm-filesystem-full", "Space in use", ["/srv/data   ext4 ", "100%", "/srv/mail   ext4 inodes ", "1984"]),
        (
            "lvm-physical-volume-missing",
            "Space in use",
            ["backup/pool thin pool ██", "out of data space", "refresh needed", "partial"],
        ),
        ("vm-lvm-out-of-space", "Space in use", ["vg1/backup  snapshot", "invalid", "vg0/pool    thin pool ██"]),
        ("vm-lvm-raid1-degraded", "vg0/vol: 2 slots", ["raid1       vda", "vdd failed"]),
        ("mtu-mismatch", "Largest packets, in bytes", ["bond0  ██", "1500  loses larger frames"]),
        ("path-mtu", "Largest packets, in bytes", ["ens1f0        ██", "to 10.40.0.21 ", "1500  via 10.20.0.254"]),
        ("zfs-neglected", "Pool tank: ", ["*  ata-ST4000NM0035_ZC1A1", "512B configured, 4096B native"]),
        ("nvme-target-dead", "Path of nvme1n1", ["! target nqn", "SESSION DOWN"]),
        ("tasks-stalled", "6 tasks waiting", ["postgres              6 ██"]),
    ],
)
async def test_a_picture_proves_its_finding_on_80_columns(name: str, title: str, inside: list[str]) -> None:
    async with screen(story(name).session) as shown:
        lines = picture(shown)
        assert title in lines[0]
        missing = [part for part in inside if part not in "\n".join(lines[1:])]
        assert not missing, (missing, shown.text())


async def test_the_only_copy_is_marked_without_color() -> None:
    async with screen(story("md-degraded").session, options=GREY) as shown:
        line = next(line for line in picture(shown) if "missing" in line)
        assert "(4 missing" in line
        assert "[sdf!" in line
        assert "!" not in next(line for line in picture(shown) if "[sda" in line)


async def test_errors_of_a_module_accuse_no_empty_slot() -> None:
    async with screen(story("server-lopsided").session) as shown:
        (line,) = [line for line in shown.segments() if any("A empty" in s.text for s in line)]
        used = {role for s in line if "empty" in s.text for role in roles(s.style)}
        assert not used & {"crit", "warn"}


async def test_a_module_with_errors_is_accused_if_its_slot_has_the_name_of_the_counter() -> None:
    kept = story("server-lopsided").session
    session = Session(kept.origin, BUILTIN, RULES)
    for frame in opened("server-lopsided")[1]:
        session.feed(replace(frame, evidence=tuple(map(_labelled, frame.evidence))))
    async with screen(session) as shown:
        line = next(line for line in shown.segments() if any("A 16G" in s.text for s in line))
        accused = {s.text.strip() for s in line if roles(s.style) & {"warnbg"}}
        assert accused == {"B 16G"}


def _labelled(item: Evidence) -> Evidence:
    return replace(item, data=b"P1-DIMMB1\n") if item.key.endswith("mc0/dimm0/dimm_label") else item


async def test_a_cache_without_requests_is_no_empty_chart() -> None:
    async with screen(story("vm-bcache-no-cache").session) as shown:
        assert "Path of bcache0" in picture(shown)[0]
        assert "-%" not in shown.text()


async def test_a_short_recording_fills_the_heat() -> None:
    async with screen(story("vm-md-clones").session) as shown:
        assert "queue per mirror pair, 20 s" in picture(shown)[0]
        assert "-20s" in picture(shown)[1]


async def test_headings_of_a_heat_without_a_line_for_them_are_on_its_rule() -> None:
    async with screen(story("clone-convoy").session) as shown:
        assert picture(shown)[0].endswith("w ms util ─")
        await shown.pilot.resize_terminal(120, 40)
        await shown.settled()
        assert "bright = long queue" in picture(shown)[0]
        assert "w ms util" in picture(shown)[1]


async def test_lines_that_would_be_empty_show_further_steps() -> None:
    async with screen(story("drbd-split-brain").session) as shown:
        text = shown.text()
        assert "cs:StandAlone" in text
        assert sum(not line.strip() for line in shown.lines()) <= 3, text
    async with screen(story("offline-disk").session) as shown:
        assert "smartctl -x /dev/sdb" in shown.text()
        assert "─ Time" not in shown.text()  # one sample has no course


async def test_a_node_without_findings_says_what_passed_beside_what_was_not_checked() -> None:
    async with screen(story("aoe-flashcache-8700").session) as shown:
        text = shown.text()
        assert "   ?    2 rules: samples are 5 s apart" in text
        assert "   pass md2: all 4 members in sync" in text
        assert re.search(r"   all +\d+ checks passed", text)


async def test_a_file_server_with_idle_disks_shows_the_traffic_of_its_network() -> None:
    async with screen(story("bond-both-slaves").session) as shown:
        assert "bond0  49% of 20 Gbit/s" in picture(shown)[1]
        await shown.pilot.resize_terminal(160, 48)
        await shown.settled()
        assert "nvme0n1  1% busy" in picture(shown)[1]


async def test_an_osd_has_its_name_with_the_latency_that_a_finding_compares() -> None:
    async with screen(story("ceph-slow-osd").session) as shown:
        lines = "\n".join(picture(shown))
        assert "3 OSDs by node" in lines
        assert "osd.2 4224 ms" in lines
    async with screen(story("ceph-osd-down").session) as shown:
        assert "osd.2 down" in "\n".join(picture(shown))


async def test_a_calm_node_without_disks_shows_its_cluster_and_more_of_what_passed() -> None:
    async with screen(story("gluster-clean").session) as shown:
        assert picture(shown)[0].startswith("─ Clusters ─")
        assert "3 of 3 bricks, 0 to heal Replicate" in "\n".join(picture(shown))
        assert "pair: 2 of 2 bricks online" in shown.text()


async def test_what_is_not_checked_takes_one_line() -> None:
    async with screen(story("hba-lost").session) as shown:
        assert shown.text().count("?UNKN") == 0
        assert "+2 not checked   ! shows all" in shown.text()
        await shown.pilot.resize_terminal(160, 48)
        await shown.settled()
        assert shown.text().count("?UNKN") >= 2


async def test_a_path_names_the_disk_that_is_accused_and_the_fullest_stage() -> None:
    async with screen(story("device-hung").session) as shown:
        assert "Stuck: 16 requests in sdf." in shown.text()
    async with screen(story("draid-one-hba").session) as shown:
        assert "Closest to its limit: HBA 02:00.0, 81.6% used." in shown.text()
        assert "Suspect" not in shown.text()


@pytest.mark.parametrize("size", [(160, 48), (200, 60)])
@pytest.mark.parametrize("name", ["clone-convoy", "aoe-flashcache", "draid-one-dimm", "scaleio-tight"])
async def test_no_name_of_a_measured_number_is_cut(name: str, size: tuple[int, int]) -> None:
    async with screen(story(name).session, size) as shown:
        measured = panes(shown)["measured"][3][1:]
        assert measured
        for line in measured:
            assert "…" not in line[:40], line


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("bcache-detaching", "all disks  together"), ("lvm-mended", "4 disks together  median 6% busy"),
        ("vm-dm-cache", "4 disks together  median 1% busy"), ("busy-but-healthy", "md0 raid10  100% busy"),
    ],
)  # fmt: skip
async def test_the_load_of_a_calm_node_has_the_name_of_what_is_drawn(name: str, head: str) -> None:
    async with screen(story(name).session) as shown:
        assert picture(shown)[1].strip() == head
        assert shown.line("QUEUE")


@pytest.mark.parametrize("name", ["kernel-medium-error", "raid-no-battery", "disks-failing"])
async def test_a_finding_that_no_path_is_about_has_no_path_for_a_picture(name: str) -> None:
    async with screen(story(name).session) as shown:
        assert not picture(shown)[0].startswith("─ Path of ")


async def test_a_screen_without_devices_shows_the_pool_and_what_passed() -> None:
    async with screen(story("zfs-tended").session) as shown:
        text = shown.text()
        assert "Pool tank: errors of reads, writes, checksums" in text
        assert re.search(r"   all +\d+ checks passed", text)
        assert "tank: last scrub 3 days ago" in text
        assert "4 devices             tank/" in text
    async with screen(story("lvm-physical-volume-back").session) as shown:
        assert "vg0/wide       striped" in "\n".join(picture(shown))


async def test_like_leaves_of_a_pool_without_a_fault_are_one_line() -> None:
    async with screen(story("draid-mended").session, (160, 48)) as shown:
        scene = shown.app.scene
        assert scene is not None
        drawn = pool_picture(None, scene)
        assert drawn is not None
        lines = ["".join(part.text for part in line) for line in drawn.draw(100, 14)]
        assert any("58 disks" in line and "ONLINE" in line for line in lines), lines


async def test_messages_around_those_of_a_finding_are_drawn_in_the_order_of_time() -> None:
    async with screen(story("vm-kernel-ext4").session, (160, 48)) as shown:
        lines = picture(shown)[1:]
        times = [line[1:9] for line in lines if line.strip()]
        assert times == sorted(times)
        assert any("\u00d720 Buffer I/O error" in line for line in lines)
        assert any("Aborting journal on device dm-0-8." in line for line in lines)


@pytest.mark.parametrize(
    ("number", "above", "unit", "shown"),
    [
        (10.2, 10, "seconds", "10.2s"),
        (0.0502, 0.05, "ratio", "5.02%"),
        (3.004, 3, "", "3.004"),
        (45, 10, "seconds", "45s"),
    ],
)
def test_a_number_beyond_its_threshold_does_not_look_like_it(
    number: float, above: float, unit: str, shown: str
) -> None:
    value = Value("x", "x", number, unit, above=above)
    (measure,) = measures(Finding(severity=Severity.WARNING, subject="sda", cause="Odd.", values=(value,)))
    assert measure.value == shown


async def test_no_device_is_busy_for_more_than_all_of_the_time() -> None:
    async with screen(story("vm-swap-storm").session, (160, 48)) as shown:
        assert "vda at limit" in shown.text()
        assert " 100% " in shown.line("vda at limit")
        assert "107" not in [word for line in (await shown.press("2")).splitlines() for word in line.split()]


async def test_a_capture_of_one_frame_shows_its_things_and_sources_in_free_lines() -> None:
    async with screen(story("offline-disk").session, (160, 48)) as shown:
        text = shown.text()
        for part in ("Would be disproved by", "Passed: 3 checks", "3 devices             md0 sda sdb",
                     "6 sources with data", "view 6 has all sources"):  # fmt: skip
            assert part in text
        assert "0.0s" not in text


async def test_latency_is_drawn_of_devices_in_use() -> None:
    async with screen(story("vm-md-hot-region").session, (160, 48)) as shown:
        drawn = shown.text().split("─ Latency")[1].split("─ Path")[0]
        assert "md0 raid0" in drawn
        assert "r -  w - ms now" not in drawn


async def test_devices_that_a_finding_accuses_are_never_among_those_alike() -> None:
    """Of a group of which most are accused, too: the color leads from the title to the row."""
    async with screen(story("hba-lost").session, (160, 48)) as shown:
        assert shown.line("sda-sdl 12 hung!").startswith("!")
        assert shown.line("sdm-sdx 12 hung!").startswith("!")
        assert "12 disks alike" in shown.text()
    async with screen(story("disks-failing").session, (160, 48)) as shown:
        assert shown.line("sdb failing!").startswith("!")
        assert shown.line("sdf too hot").startswith("*")
        assert shown.line("2 disks alike")


async def test_the_accused_devices_have_the_only_line() -> None:
    async with screen(story("hba-lost").session) as shown:
        assert shown.line("12 hung!").startswith("!")
        assert "md0 raid10" not in shown.text().split("─ Disks")[1]


async def test_an_array_with_all_members_is_not_called_degraded() -> None:
    async with screen(story("vm-md-reshape-interrupted").session) as shown:
        assert shown.line("md0 raid5 halted!").startswith("*")
        assert "degraded" not in shown.text()


async def test_what_one_frame_recorded_fills_a_large_screen() -> None:
    async with screen(story("bond-slave-down").session, (160, 48)) as shown:
        interfaces = shown.text().split(" Network interfaces\n")[1]
        assert re.search(r"^   ens1f1 +physical +down +no ", interfaces, re.MULTILINE)
        assert "No data:" not in interfaces
    async with screen(story("bond-slave-down").session) as shown:
        assert "Readings" not in shown.text().split("─ Would be")[1]


async def test_long_words_that_were_measured_are_wrapped() -> None:
    async with screen(story("dropping-link").session, (160, 48)) as shown:
        said = shown.lines()
        at = next(i for i, line in enumerate(said) if "8400 length errors: a peer sends" in line)
        assert "frames larger than 1500 bytes." in said[at + 1]


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (160, 48), (200, 60)], ids=str)
async def test_every_memory_channel_is_drawn_and_those_of_all_sockets_are_aligned(size: tuple[int, int]) -> None:
    async with screen(story("server-lopsided").session, size) as shown:
        filled, empty = (shown.line(f" socket {number}   ") for number in (0, 1))
        word = "none" if size == (60, 15) else "empty"
        letters = [filled.index(f"{letter} 16G") for letter in "ABCDEFGH"] if word == "empty" else []
        assert filled.count("16G") == 8
        assert empty.partition("GB/s")[0].count(word) == 8
        assert all(
            abs(empty.index(f"{letter} {word}") - at) <= 1 for letter, at in zip("ABCDEFGH", letters, strict=False)
        )


async def test_pressures_are_whole_on_a_narrow_screen() -> None:
    async with screen(story("vm-swap-storm").session, (60, 15)) as shown:
        assert re.search(r"memory PSI % some +20.3 +12.2 +3.1 +full +9.2 +5.8 +1.5", shown.text())


async def test_citations_of_one_source_have_one_heading() -> None:
    async with screen(story("drbd-split-brain").session) as shown:
        assert shown.text().count("/proc/drbd") == 1


async def test_where_the_load_looks_high_the_check_of_it_is_named_first() -> None:
    async with screen(story("busy-but-healthy").session) as shown:
        assert shown.line("pass load: all tasks stalled on I/O ")
    async with screen(story("quiet-node").session) as shown:
        assert "load:" not in shown.text()


async def test_a_finding_about_the_network_has_its_traffic_and_no_latency_of_idle_disks() -> None:
    async with screen(story("mtu-mismatch").session, (160, 48)) as shown:
        assert "─ Traffic, 30s ─" in shown.text()
        assert "─ Latency" not in shown.text()
    async with screen(story("tasks-stalled").session, (160, 48)) as shown:
        assert "─ Evidence ─" in shown.text()
        assert " growing context switches of these tasks" in shown.text()
        assert "─ Latency" not in shown.text()


async def test_what_is_over_is_named_without_a_color_of_severity() -> None:
    async with screen(story("vm-volume-suspended").session) as shown:
        assert shown.line("   over SUSPENDED: every request waits dm-0: 30s, until 20:50:11Z")


async def test_the_first_span_is_of_a_fault_that_lasts() -> None:
    async with screen(story("vm-md-reshape-interrupted").session) as shown:
        assert shown.line("*RESHAPE INTERRUPTED")
        assert "RANGE SUSPENDED md0  " not in shown.text()


async def test_padding_of_evidence_is_cut() -> None:
    async with screen(story("pacemaker-stopped").session) as shown:
        assert "@cfg@@@…" in shown.text()
        assert "@@@@" not in shown.text()


async def test_the_socket_of_errors_is_marked_where_no_counter_names_the_module() -> None:
    async with screen(story("server-lopsided").session) as shown:
        line = next(line for line in shown.segments() if "socket 0" in "".join(part.text for part in line))
        assert "warn" in {name for part in line if "socket 0" in part.text for name in roles(part.style)}


async def test_rows_that_devices_leave_on_a_large_screen_show_the_evidence() -> None:
    async with screen(story("ceph-slow-osd").session, (200, 60)) as shown:
        lines = shown.lines()
        text = shown.text()
        assert "similar latencies of all OSDs of its class in ceph osd perf" in text
        assert sum(not line.strip() for line in lines) <= 6, text


async def test_what_is_stuck_has_the_color_of_the_finding() -> None:
    async with screen(story("device-hung").session) as shown:
        line = next(line for line in shown.segments() if "Stuck: " in "".join(part.text for part in line))
        assert "crit" in {name for part in line if "Stuck" in part.text for name in roles(part.style)}


async def test_a_narrow_state_is_not_cut() -> None:
    async with screen(story("quiet-node").session, (60, 15)) as shown:
        assert re.search(r"   all +\d+ checks passed; press !", shown.text())
        assert "…" not in shown.text()


async def test_an_interface_at_rest_is_not_drawn_below_a_session_that_is_down() -> None:
    async with screen(story("nvme-target-dead").session, (160, 48)) as shown:
        assert "─ Traffic" not in shown.text()
        await shown.press("enter")
        assert "TASKS STUCK: 5 in D state  nvme1n1: " in shown.text()


async def test_the_latency_of_several_disks_is_the_mean_that_its_graph_shows() -> None:
    async with screen(story("san-path-failed").session, (160, 48)) as shown:
        drawn = shown.text().split("─ Latency")[1].split("─ Disks")[0]
        read = drawn.split("6 disks, mean  r ")[1].split()[0]
        assert f"r {float(read):.1f} " in drawn


def test_each_picture_that_is_imported_later_exists() -> None:
    named = {name: value for name, value in vars(choice).items() if isinstance(value, Later)}
    assert len(named) > 15
    assert {name: value.imported().__name__ for name, value in named.items()} == {name: name for name in named}
