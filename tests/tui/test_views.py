"""What stands on the screen, view by view, at every size."""

from __future__ import annotations

import string
from itertools import pairwise

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Cite, Evidence, Origin, Outcome
from sdstop.core.finding import Unchecked, Value
from sdstop.core.session import Session
from sdstop.tui.terminal import Depth
from tests.fixtures import story
from tests.nodes.block import STARTED, Load, Node, raid10, refused
from tests.tui.members import BLIND, FINE, HUNG, MEMBERS, SLOW, UNRECORDED, array_node, moving, slow
from tests.tui.rules import says
from tests.tui.screens import LOOKS, LOW, SMALL, WIDE, FakeFeed, roles, screen

# --- screen ----------------------------------------------------------------------------------------------


LONG = replace(SLOW, cause=" ".join(f"word{n}" for n in range(90)))


async def test_what_nobody_recorded_is_listed_as_not_at_fault() -> None:
    async with screen(Node().session(3, says(FINE, UNRECORDED))) as shown:
        text = await shown.press("!")
        assert "?UNKN" not in text
        assert "Not applicable or not recorded  1" in text
        assert "dmcache: not recorded in this capture" in shown.line("cache-err")


async def test_the_list_of_findings_tells_what_is_under_the_cursor_whole() -> None:
    short = replace(
        HUNG, cause="sdc hangs: see what the disk says to smartctl, and whether its cable or its slot is loose"
    )
    async with screen(array_node().session(4, says(short, LONG))) as shown:
        text = await shown.press("!")
        assert " sdc: sdc hangs: see what the disk says to smartctl, and whether its cable or" in text
        assert "\n its slot is loose\n" in text
        text = await shown.press("j")
        assert " md0/sdb: word0 word1 " in text
        assert any(line.endswith("…") for line in shown.lines() if line.startswith(" word"))


async def test_the_cursor_hides_no_mark_and_no_colour() -> None:
    async with screen(array_node(slow).session(6, says(SLOW))) as shown:
        await shown.press("2", "G", "g", "j", "j")
        (row,) = [line for line in shown.segments() if "".join(s.text for s in line).startswith("*sdb")]
        name = next(s for s in row if "sdb" in s.text)
        assert {"selbg", "warn"} <= roles(name.style)


@pytest.mark.parametrize("size", [(39, 7), (39, 24), (80, 7), (10, 2), (1, 1)])
async def test_a_tiny_screen_has_one_line(size: tuple[int, int]) -> None:
    async with screen(array_node().session(4, says(HUNG, SLOW, BLIND)), size) as shown:
        assert shown.lines()[0] == "1 CRIT 1 WARN 1 ?"[: size[0]].rstrip()
        assert "".join(shown.lines()[1:]) == ""


async def test_resizing_goes_from_wide_to_tiny_and_back() -> None:
    async with screen(array_node().session(4, says(HUNG)), WIDE) as shown:
        wide = shown.text()
        for size in (LOW, (39, 7), SMALL, (120, 30), WIDE):
            await shown.pilot.resize_terminal(*size)
            text = await shown.press()
            assert len(shown.lines()) == size[1]
            assert "CRIT" in text
        assert shown.text() == wide


# --- disks ------------------------------------------------------------------------------------------------


async def test_a_moving_crowd_is_a_moving_stripe() -> None:
    async with screen(array_node().session(11), WIDE) as shown:
        text = await shown.press("2")
        strips = [shown.line(f" {slot} {member} ") for slot, member in enumerate(MEMBERS)]
        hot = [{at for at, c in enumerate(line) if c == "█"} for line in strips]
        begins = shown.line("QUEUE, last").index("QUEUE, last")
        hot = [{at for at in places if at >= begins} for places in hot]
        assert all(len(places) == 2 for places in hot[1:6]), text
        starts = [min(places) for places in hot[1:6]]
        assert [b - a for a, b in pairwise(starts)] == [2, 2, 2, 2]


async def test_a_slow_disk_is_a_steady_line_and_its_multiple_is_shown() -> None:
    async with screen(array_node(slow).session(14), WIDE) as shown:
        await shown.press("2")
        begins = shown.line("QUEUE, last").index("QUEUE, last")
        assert "█" * 14 in shown.line(" 2 sdc ")[begins:]
        assert "█" not in shown.line(" 1 sdb ")[begins:]
        assert shown.line(" 2 sdc ").count("x12") == 2


async def test_members_stand_under_their_array_in_slot_order() -> None:
    async with screen(array_node().session(3), SMALL) as shown:
        text = await shown.press("2")
        assert "raid10 near=2  6 disks  512K chunk  1G  active" in shown.line("▸md0")
        at = [text.index(f"\n {member} ") for member in MEMBERS]
        assert at == sorted(at)
        assert "Disks outside arrays" not in text


async def test_a_rebuild_has_a_bar() -> None:
    progress = "[=>...]  recovery = 25.0% (131072/524288) finish=0.5min speed=12345K/sec"
    node = Node((*MEMBERS, "md0"), moving, raid10("md0", MEMBERS, progress=progress))
    async with screen(node.session(3), (120, 30)) as shown:
        await shown.press("2")
        line = shown.line("recovery ")
        assert "██████                    25.0%  128M of 512M  12.1 MiB/s  mdstat: 30s left" in line


async def test_many_members_fit_one_line_each() -> None:
    members = [f"sd{a}{b}" for a in "ab" for b in "abcdefghijklmnopqrstuvw"]
    node = Node((*members, "md2"), lambda *_: Load(10, 10), raid10("md2", members))
    async with screen(node.session(3), (200, 70)) as shown:
        text = await shown.press("2")
        assert all(f" {member} " in text for member in members)


async def test_the_disk_under_the_cursor_is_described() -> None:
    files = {
        "/sys/block/sda/queue/scheduler": "[mq-deadline] none\n",
        "/sys/block/sda/queue/nr_requests": "64\n",
        "link:/sys/block/sda/device": "../../devices/host0/0:0:0:0",
        "/sys/devices/host0/0:0:0:0/model": "SPEEDY 9000\n",
        "/sys/block/sda/size": "2097152\n",
        "/sys/block/sda/dev": "8:0\n",
        "/run/udev/data/b8:0": "S:disk/by-path/pci-0000:03:00.0-sas-phy4-lun-0\n",
        "/sys/block/dm-3/dm/name": "vg-data\n",
        "/sys/block/dm-3/slaves/sda/size": "2097152\n",
    }
    async with screen(Node(("sda", "dm-3"), files=files).session(3), WIDE) as shown:
        text = await shown.press("2")
        assert "SPEEDY 9000" in text
        assert "pci-0000:03:00.0-sas-phy4-lun-0" in text
        assert "mq-deadline" in text
        assert "used by dm-3" in text


async def test_volumes_have_the_name_that_people_gave_them() -> None:
    files = {
        "/sys/block/dm-3/dm/name": "vg--a-data\n",
        "/sys/block/dm-3/dm/uuid": "LVM-abc\n",
        "/sys/block/dm-4/dm/name": "crypt-home\n",
    }
    async with screen(Node(("sda", "dm-3", "dm-4"), files=files).session(3), WIDE) as shown:
        text = await shown.press("2")
        assert "vg-a/data dm-3 " in text
        assert "crypt-home" in text


async def test_partitions_and_idle_loops_are_not_listed() -> None:
    devices = ("sda", "sda1", "nvme0n1", "nvme0n1p2", "loop0", "loop1", "dm-0", "sr0")
    node = Node(devices, lambda device, _: Load(5) if device == "loop1" else Load())
    async with screen(node.session(3), WIDE) as shown:
        text = await shown.press("2")
        listed = {line.strip("▸ ").split()[0] for line in text.splitlines()[4:50] if line.strip("▸ ")}
        assert {"sda", "nvme0n1", "loop1", "dm-0"} <= listed
        assert not {"sda1", "nvme0n1p2", "loop0", "sr0"} & listed


# --- network ----------------------------------------------------------------------------------------------

_NET = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier\n"
)


def _net(second: int) -> str:
    rows = (
        f"  {name}: {second * rx} {second * 100} 0 {second * drops} 0 0 0 0 {second * tx} {second * 50} 0 0 0 0 0 0\n"
        for name, rx, tx, drops in (
            ("eth0", 625_000_000, 1000, 3),
            ("eth1", 0, 0, 0),
            ("bond0", 0, 0, 0),
            ("br0", 0, 0, 0),
        )
    )
    return _NET + "".join(rows)


def network_node() -> Node:
    files: dict[str, str] = {}
    for name, speed in (("eth0", "10000"), ("eth1", "10000")):
        files |= {
            f"/sys/class/net/{name}/speed": speed, f"/sys/class/net/{name}/mtu": "9000",
            f"/sys/class/net/{name}/duplex": "full", f"/sys/class/net/{name}/operstate": "up",
            f"/sys/class/net/{name}/flags": "0x1003", f"/sys/class/net/{name}/carrier": "1",
            f"/sys/class/net/{name}/type": "1", f"link:/sys/class/net/{name}/device": "../../../0000:01:00.0",
            f"link:/sys/class/net/{name}/upper_bond0": "../bond0", f"link:/sys/class/net/{name}/master": "../bond0",
            f"/sys/class/net/{name}/statistics/rx_dropped": "77",
        }  # fmt: skip
    files |= {
        "/sys/class/net/bond0/mtu": "9000", "/sys/class/net/bond0/operstate": "up", "/sys/class/net/bond0/type": "1",
        "/sys/class/net/bond0/bonding/mode": "802.3ad 4", "/sys/class/net/bond0/bonding/slaves": "eth0 eth1",
        "link:/sys/class/net/bond0/lower_eth0": "../eth0", "link:/sys/class/net/bond0/lower_eth1": "../eth1",
        "link:/sys/class/net/bond0/upper_br0": "../br0", "link:/sys/class/net/br0/lower_bond0": "../bond0",
        "/sys/class/net/br0/bridge/bridge_id": "8000", "/sys/class/net/br0/mtu": "1500",
        "/sys/class/net/br0/operstate": "up", "/sys/class/net/br0/type": "1",
    }  # fmt: skip
    later = {n: [Evidence("/proc/net/dev", data=_net(n).encode())] for n in range(1, 6)}
    return Node(files=files, later=later)


async def test_interfaces_hang_on_what_is_built_upon_them() -> None:
    async with screen(network_node().session(4), WIDE) as shown:
        text = await shown.press("4")
        order = [line.split()[0].lstrip("▸") for line in text.splitlines()[4:8]]
        assert order == ["br0", "└", "├", "└"]
        line = shown.line("eth0")
        assert " 10 " in line
        assert " 9000 " in line
        assert "50 ███" in line
        assert "596.0" in line
        assert " 3 " in line
        assert " 77 " in line


async def test_a_small_screen_keeps_what_matters_of_the_network() -> None:
    async with screen(network_node().session(4)) as shown:
        await shown.press("4")
        head = shown.line("INTERFACE")
        assert all(
            title in head for title in ("STATE", "MTU", "Gb/s", "rxMiB/s", "txMiB/s", "%LINE", "DROP/s", "ERR/s")
        )


async def test_a_network_that_was_not_recorded_says_so_in_both_panes() -> None:
    async with screen(story("scaleio-cloud").session) as shown:
        text = await shown.press("4")
        assert "interfaces: not recorded" in text
        assert "TCP and path MTU: not recorded" in text


async def test_shares_stand_above_the_ip_stack() -> None:
    async with screen(story("vm-nfs-server-threads").session, WIDE) as shown:
        text = await shown.press("4")
        assert "Shares, TCP and path MTU" in text
        assert "nfsd  1 thread, " in shown.line("nfs server")
        assert "% of requests found no idle thread" in shown.line("nfs server")
        assert "requests/s, " in shown.line("nfs mount  /mnt/home")
        text = await shown.press("tab", "g", "enter")
        assert "Threads" in text


async def test_a_low_screen_shows_shares_but_not_the_ip_stack() -> None:
    async with screen(story("smb-unreachable").session, SMALL) as shown:
        text = await shown.press("4")
        assert "//filer1/invoices  connection lost, 7 requests in flight" in text
        assert "//filer2/scans  connection up, 1 request in flight" in text
        assert " tcp  " not in text


# --- host -------------------------------------------------------------------------------------------------


async def test_sources_tell_their_outcome_and_reason() -> None:
    node = Node(later={2: [refused("/proc/mdstat", Outcome.DENIED, "needs root")]})
    async with screen(node.session(3), (120, 140)) as shown:
        await shown.press("6")
        assert shown.line("mdraid ").split()[1] == "?failed"
        assert "denied, although every user can read it" in shown.line("mdraid ")
        assert shown.line(" diskstats").split()[1] == "ok"
        assert "not recorded" in shown.line(" processes  ")


async def test_processors_memory_and_pressure() -> None:
    stat = "cpu  {0} 0 0 {1} 0 0 0 0 0 0\ncpu0 {0} 0 0 {1} 0 0 0 0 0 0\n"
    files = {
        "/proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 262144 kB\nDirty: 1024 kB\nWriteback: 0 kB\n",
        "/proc/pressure/io": "some avg10=12.50 avg60=1.00 avg300=0.00 total=5\n",
        "/proc/loadavg": "1.50 2.50 3.50 1/100 1234\n",
    }
    later = {n: [Evidence("/proc/stat", data=stat.format(n * 60, n * 40).encode())] for n in range(1, 5)}
    async with screen(Node(files=files, later=later).session(3), (120, 40)) as shown:
        text = await shown.press("6")
        assert "60.0" in shown.line(" cpu 0 ")
        assert " memory  75.0 " in text
        assert "1.50 2.50 3.50" in text
        assert "some  12.5" in text


# --- findings, why, evidence ------------------------------------------------------------------------------


async def test_all_findings_good_unknown_and_ended() -> None:
    session = Node().session(3, says(HUNG, FINE, BLIND))
    async with screen(session, (120, 30)) as shown:
        text = await shown.press("!")
        assert [text.index(t) for t in ("Active", "Not checked", "Passed")] == sorted(
            text.index(t) for t in ("Active", "Not checked", "Passed")
        )
        assert "stripe-convoy: queue is even over 3 columns" in text
        assert "14:13:20" in shown.line("!CRIT")


async def test_a_finding_leads_to_why_and_to_the_marked_evidence() -> None:
    session = Node(("sda", "sdb", "sdc"), slow).session(3, says(HUNG))
    async with screen(session) as shown:
        text = await shown.press("enter")
        assert "Why !CRIT sdc" in text
        for part in ("sdc has 12 requests", "since 14:13:20Z", "rule device-hung, confidence 87.0%", "in flight",
                     "> 20s", "cat /sys/block/sdc/device/state", "a completed request"):  # fmt: skip
            assert part in text
        assert "/proc/diskstats" in shown.line("▸")
        text = await shown.press("enter")
        assert "file     /proc/diskstats" in text
        assert "frame 3" in text
        assert "2026-09-21 14:13:22Z" in text
        assert "outcome  ok" in text
        marked = [s.text for line in shown.segments() for s in line if "tabbg" in roles(s.style) and "sdc" in s.text]
        assert marked
        await shown.press("escape")
        assert "Why !CRIT" in shown.text()
        await shown.press("backspace")
        assert "!CRIT DEVICE HUNG" in shown.text()


@pytest.mark.parametrize("key", ["3", "5", "7", "8"])
async def test_a_view_without_content_shows_its_sources_and_the_node(key: str) -> None:
    async with screen(story("clone-convoy").session, (160, 48)) as shown:
        text = await shown.press(key)
        assert "Sources of this view" in text
        assert "not recorded: not recorded" not in text
        assert "!CRIT CONVOY: queue moving between members md0" in text
        assert "md0 raid10  100% busy" in text
        blank = [line for line in text.splitlines() if not line.strip()]
        assert len(blank) < 18


@pytest.mark.parametrize("key", ["2", "4", "9"])
async def test_a_capture_without_disks_and_interfaces_shows_why(key: str) -> None:
    async with screen(story("kernel-hung").session, (160, 48)) as shown:
        text = await shown.press(key)
        assert "Sources of this view" in text
        assert "*WARN KERNEL LOG: 2 HUNG TASKS hung-task" in text


async def test_why_has_the_numbers_and_the_picture_beside_the_text_of_a_wide_screen() -> None:
    async with screen(story("clone-convoy").session, (160, 48)) as shown:
        text = await shown.press("enter")
        assert "!CRIT CONVOY: queue moving between members  md0" in text
        assert "   why  4.69 of 23 columns busy" in text
        assert "8.08 > 2.30" in shown.line("longest queue, times the mean")
        assert "md0: queue per mirror pair, 60 s" in text
        assert "79.2 100%" in shown.line(" sdac sdad ")
        await shown.press("y")
        assert "longest queue, times the mean" in shown.app.clipboard


async def test_why_has_the_numbers_below_the_text_of_a_narrow_screen() -> None:
    async with screen(story("clone-convoy").session) as shown:
        text = await shown.press("enter")
        assert "─ Measured" not in text
        assert "8.08 > 2.30" in text


@pytest.mark.parametrize(("size", "lines"), [(WIDE, 4), (SMALL, 4), ((60, 12), 4), ((60, 8), 2)])
async def test_what_evidence_is_and_how_it_was_read_stays_in_sight(size: tuple[int, int], lines: int) -> None:
    disks = tuple(f"sd{a}{b}" for a in "ab" for b in string.ascii_lowercase)
    session = Node(disks, slow).session(3, says(replace(HUNG, evidence=(Cite("/proc/diskstats", 3, "sdbz", "sdbz"),))))
    head = [" file     /proc/diskstats", " read     frame 3", " outcome  ok", " marked   sdbz"][:lines]
    async with screen(session, size) as shown:
        await shown.press("enter", "enter")
        for keys in ((), ("g",), ("pagedown", "pagedown"), ("G",)):
            seen = (await shown.press(*keys)).splitlines()
            assert [line[: len(said)] for line, said in zip(seen[2:], head, strict=False)] == head
            assert seen[2 + lines].startswith("─ Raw evidence ")
            assert len(seen) == size[1]
        assert any("sdbz" in line for line in shown.lines()[2 + lines :])
        await shown.press("y")
        assert "/proc/diskstats" in shown.app.clipboard
        assert "sdaa" in shown.app.clipboard


async def test_a_long_name_among_what_was_compared_cuts_no_number() -> None:
    long = Value("x", "a name of a number that goes on and on until nobody remembers how it began", 1.7e9,
                 "bytes_per_second", above=4.2e9)  # fmt: skip
    async with screen(Node().session(3, says(replace(HUNG, values=(long,))))) as shown:
        await shown.press("enter")
        assert shown.line("a name of a number").endswith("1.6 GiB/s > 3.9 GiB/s")
        assert "…" in shown.line("a name of a number")


async def test_evidence_of_a_forgotten_frame_shows_what_was_quoted() -> None:
    session = Node(("sda", "sdb", "sdc"), slow).session(3, says(HUNG))
    for _ in range(3):
        session.timeline.frames.popleft()
    async with screen(session) as shown:
        text = await shown.press("enter", "enter")
        assert "frame 3 is no longer in memory" in text
        assert "8       2 sdc 0 0 0" in text


async def test_a_source_that_was_refused_can_be_opened() -> None:
    node = Node(later={2: [refused("/proc/mdstat", Outcome.DENIED, "needs root")]})
    async with screen(node.session(3)) as shown:
        await shown.press("!")
        shown.app.main.shown.main.point("run:mdraid")
        text = await shown.press("enter")
        assert "Why ?UNKN mdraid" in text
        assert "failed: /proc/mdstat: denied, although every user can read it" in text
        shown.app.screen.query_one("Pane:focus").point("raw:/proc/mdstat")  # type: ignore[attr-defined]
        text = await shown.press("enter")
        assert "outcome  denied: needs root" in text


async def test_a_disk_leads_to_its_facts_and_to_the_line_they_come_from() -> None:
    async with screen(Node(loads=slow).session(3)) as shown:
        text = await shown.press("2", "enter", "enter")
        assert "Disk activity" in text
        assert "50/s" in shown.line("  r/s")
        text = await shown.press("j", "enter")
        assert "marked   sda" in text


async def test_the_ring_may_be_empty_at_first() -> None:
    node = Node()
    session = node.session(0, live=True)
    session.timeline.frames.clear()
    fresh = type(session)(session.origin, session.collectors, [], remember=900)
    feed = FakeFeed(node.frames(3))
    async with screen(fresh, frames=feed) as shown:
        await shown.press(
            "1", "2", "4", "6", "!", "t", "T", "e", "b", "escape", "w", "L", "space", "enter", "?", "escape"
        )
        await shown.arrive()
        await shown.press("1")
        assert "LIVE 14:13:20Z" in shown.lines()[0] or "PAUSED" in shown.lines()[0]


def test_time_of_the_nodes_is_as_documented() -> None:
    assert STARTED == 1_790_000_000.0


async def test_a_strip_under_the_cursor_is_not_turned_into_its_opposite() -> None:
    async with screen(array_node(slow).session(14), WIDE, options=replace(LOOKS, depth=Depth.NONE)) as shown:
        await shown.press("2", "j", "j", "j")
        row = next(line for line in shown.segments() if "▸" in line[0].text)
        assert not [s for s in row if "█" in s.text and s.style and s.style.reverse]
        assert [s for s in row if "sdc" in s.text and s.style and s.style.reverse]


async def test_severity_is_seen_without_colour() -> None:
    async with screen(array_node(slow).session(3, says(HUNG, SLOW)), SMALL) as shown:
        await shown.press("2")
        assert shown.line("sdc ").startswith("!sdc")
        assert shown.line("sdb ").startswith("*sdb")
        assert shown.line("sda ").startswith(" sda")


@pytest.mark.parametrize(("live", "said"), [(True, "absent"), (False, "not recorded")])
async def test_what_nobody_recorded_is_simply_absent_of_a_live_node(live: bool, said: str) -> None:  # noqa: FBT001
    made = Session(Origin("n", live=live), BUILTIN, (), remember=900 if live else None)
    made.feed_all(Node().frames(3))
    async with screen(made, WIDE) as shown:
        await shown.press("6")
        assert said in shown.line("mounts")
        assert ("iostat" in shown.text()) is not live  # it only reads recorded output


async def test_the_first_line_counts_what_the_list_of_unknown_things_has_lines_of() -> None:
    reason = "readings lie 5 s apart"
    blind = [Unchecked(reason, rule=rule) for rule in ("stripe-convoy", "hot-stripe-member")]
    same = [Unchecked(why, rule="volume-below-promise") for why in ("nobody waits", "told together")]
    async with screen(Node().session(3, says(*blind, *same, UNRECORDED))) as shown:
        assert shown.lines()[0].endswith(" 3 ?  0 pass  1 n/a")
        assert "Not checked  3" in await shown.press("!")
