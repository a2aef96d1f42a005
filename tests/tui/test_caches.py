"""The view of caches: what stands in the table, over time, by size, and before and after an MTU was changed."""

from __future__ import annotations

import pytest

from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.finding import Finding, Severity
from sdstop.tui.terminal import Options
from sdstop.tui.widgets.palette import Palette
from tests.fixtures import story as story_of
from tests.nodes.block import Node
from tests.nodes.caches import CacheNode, dm_cache, flashcache, histogram, mtu_files, served, story
from tests.tui.hostile import NASTY, harmless
from tests.tui.rules import says
from tests.tui.screens import LOW, SMALL, WIDE, Screen, roles, screen

BYPASSED = Finding(
    rule="cache-bypassed", severity=Severity.WARNING, subject="cachedev", cause="62% of requests go past the cache"
)


TIMES = Palette().times


def cells_of(shown: Screen, name: str) -> dict[str, str]:
    """Return the words of a cache's row by heading; each stands below the end or the beginning of its heading."""
    lines = shown.lines()
    at = next(n for n, line in enumerate(lines) if line.startswith(" CACHE"))
    heads, row = lines[at], next(line for line in lines[at:] if line[1:].startswith(name))
    found = {}
    for head in heads.split():
        begins = heads.index(f" {head}") + 1
        ends = begins + len(head)
        word = row[begins:ends]
        while begins > 0 and row[begins - 1] != " " and word[:1] != " ":
            begins -= 1
            word = row[begins:ends]
        found[head] = row[begins:].split()[0] if word[:1] != " " else word.split()[-1]
    return found


# --- the table --------------------------------------------------------------------------------------------


async def test_a_cache_says_how_well_it_does() -> None:
    async with screen(story(before=9000).session(20, says(BYPASSED))) as shown:
        await shown.press("3")
        row = cells_of(shown, "cachedev")
        assert row["KIND"] == "flashcache"
        assert row["%USED"] == "25"
        assert row["%HIT"] == "25.0"
        assert row["%CACHBL"] == "65.8"
        assert row["%BYPASS"] == "62.0"
        assert row["EVICT/s"] == "6"
        assert row["ERR"] == "0"
        assert shown.line("cachedev ").startswith("*")  # the mark stays below the cursor
        (painted,) = [line for line in shown.segments() if "".join(s.text for s in line).startswith("*cachedev")]
        assert all("selbg" in roles(s.style) for s in painted if s.text.strip() and s.text[0].isalnum())
        assert shown.line("vg/home").startswith(" vg/home")


async def test_what_a_source_does_not_say_is_not_zero() -> None:
    async with screen(story().session(20), WIDE) as shown:
        await shown.press("3")
        row = cells_of(shown, "vg/home")
        assert (row["%BYPASS"], row["EVICT/s"], row["r/s"], row["ERR"]) == ("-", "-", "-", "-")
        assert (row["%HIT"], row["%CACHBL"], row["PROMO/s"], row["%DIRTY"]) == ("-", "86.7", "2", "0")
        assert cells_of(shown, "cachedev")["PROMO/s"] == "-"


async def test_one_frame_has_no_shares() -> None:
    async with screen(story().session(0)) as shown:
        await shown.press("3")
        row = cells_of(shown, "cachedev")
        assert (row["%HIT"], row["%CACHBL"], row["%BYPASS"]) == ("-", "-", "-")
        assert row["%USED"] == "25"


async def test_a_finding_marks_its_cache_and_what_goes_past_it() -> None:
    async with screen(story(before=9000).session(20, says(BYPASSED))) as shown:
        await shown.press("3", "j")
        assert shown.line("cachedev ").startswith("*cachedev")
        await shown.press("k")
        lit = {
            s.text.strip() for line in shown.segments() for s in line
            if "warn" in roles(s.style)
        }  # fmt: skip
        assert any(text.startswith("░") and text.endswith("░ bypass 62.0%") for text in lit), lit
        assert "60.9%" in lit
        assert not any(word in text for text in lit for word in ("hit", "miss", "68.0"))


async def test_a_wide_screen_says_why_and_names_the_cause() -> None:
    async with screen(story(before=9000).session(20, says(BYPASSED)), WIDE) as shown:
        text = await shown.press("3")
        assert "62% of requests go past the cache" in text
        await shown.press("j")
        assert "62% of requests go past the cache" not in shown.text()
    cause = Finding(
        rule="mtu-misaligned",
        severity=Severity.WARNING,
        subject="p1p1",
        cause="frames cut blocks",
        explains=(BYPASSED.id,),
    )
    async with screen(story(before=9000).session(20, says(BYPASSED, cause)), WIDE) as shown:
        await shown.press("3")
        assert "frames cut blocks" in shown.text()
        assert shown.line("Consequences") != ""


async def test_caches_of_several_sources_stand_side_by_side_and_a_failing_one_is_stale() -> None:
    refused = Evidence("/told/more", Outcome.DENIED, detail="needs root")
    node = CacheNode(
        lambda second: [flashcache(second, lambda _: 8700)],
        lambda second: [dm_cache(min(second, 5), cache="vg/more")],
        later={6: [refused]},
    )
    async with screen(node.session(5)) as shown:
        text = await shown.press("3")
        assert "2 caches" in text
        assert cells_of(shown, "vg/more")["%CACHBL"] == "86.7"
    async with screen(node.session(8)) as shown:
        await shown.press("3")
        assert cells_of(shown, "~vg/more")["%USED"] == "90"
        assert shown.line("cachedev ").startswith("▸cachedev")


async def test_rows_are_sorted_and_filtered_as_elsewhere() -> None:
    async with screen(story(before=9000).session(10)) as shown:
        await shown.press("3")
        table = shown.app.main.table()
        table.sort_by("cacheable")
        await shown.settled()
        lines = shown.lines()
        assert [line[1:9].strip() for line in lines[4:6]] == ["vg/home", "cachedev"]
        await shown.press("slash")
        text = await shown.type("dm-cache")
        assert "cachedev " not in text
        assert "vg/home · writethrough · 256K blocks" in text


async def test_a_choice_leads_to_every_field_and_on_to_the_evidence() -> None:
    async with screen(story().session(10)) as shown:
        await shown.press("3", "enter", "enter")
        text = shown.text()
        assert "Cache activity" in text
        assert "Hit of cacheable" in text
        await shown.press("G")
        text = await shown.press("enter")
        assert "/told/caches" in text
        assert "marked" in text


async def test_errors_are_counted() -> None:
    node = CacheNode(lambda second: [dm_cache(second, fast_errors=3, slow_errors=None)])
    async with screen(node.session(4)) as shown:
        await shown.press("3")
        assert cells_of(shown, "vg/home")["ERR"] == "3"


# --- nothing there ----------------------------------------------------------------------------------------


async def test_a_view_without_caches_says_why_in_one_line() -> None:
    node = CacheNode(later={0: [Evidence("/told/caches", Outcome.DENIED, detail="needs root")]})
    async with screen(node.session(3)) as shown:
        text = await shown.press("3")
        assert "no cache found; told: denied: /told/caches: needs root" in text
        assert "Request sizes" not in text
        assert "last 4" not in text
        await shown.press("enter", "j", "s")
        assert "no cache found" in shown.text()


async def test_a_node_without_caches_is_told_so() -> None:
    async with screen(CacheNode(lambda _: [], lambda _: []).session(3)) as shown:
        assert "no cache on this node" in await shown.press("3")


async def test_what_nobody_recorded_is_told_by_name() -> None:
    async with screen(CacheNode(lambda _: []).session(3)) as shown:
        assert "no cache found; not recorded: second" in await shown.press("3")


async def test_any_node_has_the_view() -> None:
    async with screen(Node().session(2)) as shown:
        assert "no cache found" in await shown.press("3")


# --- over time --------------------------------------------------------------------------------------------


async def test_the_stack_is_as_high_as_the_shares() -> None:
    async with screen(story(before=9000).session(70), WIDE) as shown:
        await shown.press("3")
        columns = [line[7:66] for line in shown.lines() if line[6:7] in {"░", "▒", "█"}]
        assert len(columns) == 20
        assert {len(set(line)) for line in columns} == {1}
        assert [columns[at][0] for at in range(20)] == ["░"] * 12 + ["▒"] * 3 + ["█"] * 5
        assert "bypass  62.0%      62/s" in shown.line("░ bypass")
        assert "hit     25.0%      25/s" in shown.line("█ hit")
        assert "210M, 0.4% of 55.7G" in shown.line("dirty ")


async def test_the_moment_of_a_change_is_seen() -> None:
    async with screen(story(50).session(70)) as shown:
        await shown.press("3")
        top = shown.line("100% ")
        assert top[6:50] == "░" * 24 + "▒" * 20
        bottom = next(line for line in shown.lines() if line.startswith("   0% "))
        assert bottom[6:50] == "░" * 24 + "█" * 20


async def test_what_is_not_counted_takes_no_part() -> None:
    async with screen(story().session(30)) as shown:
        await shown.press("3", "j")
        assert "bypass     -%       -/s" in shown.line("░ bypass")
        assert "hit     86.7%     130/s" in shown.line("█ hit")


async def test_a_reset_counter_is_a_gap() -> None:
    node = CacheNode(lambda second: [dm_cache(second if second < 20 else second - 20, kind="bcache")])
    async with screen(node.session(30)) as shown:
        await shown.press("3")
        assert shown.line("   0% ")[6:50] == " " * 14 + "█" * 19 + " " + "█" * 10


# --- sizes ------------------------------------------------------------------------------------------------


async def test_sizes_stand_beside_what_frames_make_of_long_requests() -> None:
    async with screen(story(before=9000).session(30), WIDE) as shown:
        text = await shown.press("3")
        assert "all flashcaches together" in text
        assert "last 30s" in text
        assert "60.9% of requests are not a whole 4K block of the cache" in text
        assert "MTU 9000 of p1p1 (8228-8739 fit): frames of 8704 bytes split 128K requests as marked" in text
        block = shown.line(" 4096 ")
        assert "39.1" in block
        assert f"◂ cache block  {TIMES}18" in block
        assert "│" in block
        assert shown.line(" 3584 ").endswith(f"{TIMES}4")


async def test_totals_are_called_totals() -> None:
    async with screen(story().session(0), WIDE) as shown:
        text = await shown.press("3")
        assert "totals since the counter started" in text
        assert "9.0M" in shown.line("     512 ")

    def idle(second: int) -> list[object]:
        return [flashcache(0, lambda _: 4000), histogram(0, lambda _: 4000)]

    async with screen(CacheNode(idle).session(9)) as shown:  # type: ignore[arg-type]
        assert "totals: no recent requests" in await shown.press("3")


async def test_a_path_in_whole_blocks_marks_the_block_alone() -> None:
    async with screen(story(before=8700).session(30)) as shown:
        text = await shown.press("3")
        assert "0% of requests are not a whole 4K block" in text
        assert f"◂ cache block  {TIMES}32" in text
        assert text.count(TIMES) == 1


async def test_without_aoe_nothing_is_cut() -> None:
    node = CacheNode(lambda second: [flashcache(second, lambda _: 4000), histogram(second, lambda _: 4000)])
    async with screen(node.session(20)) as shown:
        text = await shown.press("3")
        assert "frames of" not in text
        assert TIMES not in text
        assert "100% of requests are not a whole 4K block" in text


async def test_an_initiator_does_not_see_what_its_frames_become() -> None:
    target = {"is": "target", "device": "etherd/e0.1", "state": "up", "payload": 8704, "interfaces": "eth0",
              "mac": None, "firmware": None}  # fmt: skip
    node = CacheNode(
        lambda second: [flashcache(second, lambda _: 8700, slow="etherd/e0.1"), histogram(second, lambda _: 8700)],
        aoe=lambda _: [target],
    )
    async with screen(node.session(20)) as shown:
        text = await shown.press("3")
        assert "etherd/e0.1: frames of 8704 bytes split 128K requests as marked, at the target" in text
        assert "│" not in text


async def test_a_path_that_leads_elsewhere_marks_nothing() -> None:
    node = CacheNode(
        lambda second: [dm_cache(second), histogram(second, lambda _: 9000, counter="queue", device="dm-3")],
        aoe=lambda _: [{**served(), "device": "/dev/md9", "kernel": "md9"}],
        files=lambda second: mtu_files(9000 if second < 5 else 8700),
    )
    async with screen(node.session(20), WIDE) as shown:
        text = await shown.press("3")
        assert "Request sizes of dm-3" in text
        assert TIMES not in text
        assert "before," not in text


async def test_a_device_that_is_no_cache_has_its_sizes_too() -> None:
    sizes = {4096: 10, 65536: 30, 69632: 50, 131072: 100}
    row = {"is": "sizes", "counter": "queue", "device": "sda", "direction": "write", "where": "/told/caches"}

    def told(second: int) -> list[object]:
        grown = {size: count * (second + 1) for size, count in sizes.items()}
        return [row | {"sizes": grown}, row | {"sizes": {512: second}, "direction": "discard"}]

    async with screen(CacheNode(told).session(10)) as shown:  # type: ignore[arg-type]
        text = await shown.press("3", "j")
        assert "no cache found" in text
        assert "Request sizes of sda" in text
        assert "20.0%     200" in shown.line(" 64K ")
        assert "70.0%     700" in shown.line(" 68K-128K ")
        assert " 512 " not in text
        assert "Request sizes" in await shown.press("enter")


async def test_where_nothing_counts_sizes_it_is_said() -> None:
    node = CacheNode(lambda second: [dm_cache(second)])
    async with screen(node.session(10)) as shown:
        assert "no request sizes; --io-sizes counts them" in await shown.press("3")


async def test_the_arc_leads_to_the_sizes_of_the_pools_below_it() -> None:
    for size in (SMALL, WIDE):
        async with screen(story_of("vm-zfs-draid").session, size) as shown:
            text = await shown.press("3")
            assert "arc reports no sizes; for I/O to the pool see tank" in text
            assert "no request sizes" not in text
            assert "Request sizes of tank" in await shown.press("j")


async def test_a_size_leads_to_its_evidence() -> None:
    async with screen(story().session(10), WIDE) as shown:
        await shown.press("3", "tab", "j")
        text = await shown.press("enter")
        assert "/told/caches" in text
        assert "frame 11" in text


# --- before and after -------------------------------------------------------------------------------------


async def test_a_changed_mtu_is_compared_with_what_was_before() -> None:
    async with screen(story(45, before=9000).session(70), WIDE) as shown:
        text = await shown.press("3")
        assert "MTU of p1p1 9000 -> 8700 at 14:14:05Z; payload 8704 -> 8192" in text
        assert "before, 44s" in text
        assert "since, 25s" in text
        assert shown.line(" bypassed ").split()[1::2][:2] == ["62.0", "0"]
        assert shown.line(" cacheable hits     6").split()[2::2][:2] == ["65.8", "68.0"]
        assert shown.line(" not whole 4K ").split()[3::2][:2] == ["60.9", "0"]
        assert "since the change 25s" in text


async def test_it_is_remembered_beyond_the_window_and_not_known_before_it_was() -> None:
    async with screen(story(20, before=9000).session(150), WIDE) as shown:
        text = await shown.press("3")
        assert "since, 2m10" in text
        assert shown.line(" bypassed ").split()[1::2][:2] == ["62.0", "0"]
        assert "since the change" not in text
        await shown.press("b")
        text = await shown.type("-140s")
        assert "MTU of p1p1" not in text
        assert "bypass  62.0%" in text


async def test_without_a_change_nothing_is_compared() -> None:
    async with screen(story().session(70), WIDE) as shown:
        assert "before," not in await shown.press("3")


async def test_another_interface_is_no_matter() -> None:
    node = CacheNode(
        lambda second: [flashcache(second, lambda _: 8700)],
        aoe=lambda _: [served()],
        files=lambda second: mtu_files(8700) | mtu_files(1500 if second < 10 else 9000, "eth9"),
    )
    async with screen(node.session(20), WIDE) as shown:
        assert "before," not in await shown.press("3")


async def test_a_measured_payload_is_compared_too() -> None:
    key = "/sys/block/etherd!e0.1/payload"

    def target(second: int) -> list[object]:
        return [{"is": "target", "device": "etherd/e0.1", "state": "up", "interfaces": "eth0", "mac": None,
                 "firmware": None, "payload": 8704 if second < 10 else 8192}]  # fmt: skip

    node = CacheNode(
        lambda second: [flashcache(second, lambda _: 8700, slow="etherd/e0.1")],
        aoe=target,  # type: ignore[arg-type]
        files=lambda second: {key: "8704\n" if second < 10 else "8192\n"},
    )
    async with screen(node.session(20), WIDE) as shown:
        assert "Payload of etherd/e0.1 8704 -> 8192 at 14:13:30Z" in await shown.press("3")


# --- sizes of screens, colors, names -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [LOW, SMALL, (120, 30), WIDE, (40, 8)])
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_it_fits_every_screen(size: tuple[int, int], *, ascii_only: bool) -> None:
    async with screen(story(45, before=9000).session(70), size, options=Options(ascii=ascii_only)) as shown:
        text = await shown.press("3")
        lines = shown.lines()
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        assert "%HIT" in text
        assert "68.0" in text
        harmless(shown, ascii_only=ascii_only)
        assert "q quit" in lines[-1] or "help" in lines[-1]


async def test_the_smallest_screen_has_the_numbers_and_what_they_mean() -> None:
    async with screen(story(before=9000).session(30), LOW) as shown:
        text = await shown.press("3")
        for words in ("bypass 62.0%", "miss 13.0%", "hit 25.0%", "60.9% of requests", "frames of 8704"):
            assert words in text


async def test_many_caches_leave_room_for_the_one_that_is_chosen() -> None:
    node = CacheNode(lambda second: [dm_cache(second, cache=f"vg/c{n:02d}") for n in range(40)])
    async with screen(node.session(5)) as shown:
        text = await shown.press("3", "G")
        assert "of 40" in text
        assert "vg/c39 · writethrough" in text
        assert "100% " in text


@pytest.mark.parametrize(
    "names", [NASTY[9:], *(pytest.param(names, marks=pytest.mark.slow) for names in (NASTY[:4], NASTY[4:9]))]
)
async def test_hostile_names_do_no_harm(names: tuple[str, ...]) -> None:
    name = " ".join(names)
    told = [
        dm_cache(5, cache=name, mode=name, state=name, policy=name, fast=name, slow=name, device=name, kind=name),
        histogram(3, lambda _: 9000, counter=name, device=name, direction=""),
        histogram(3, lambda _: 9000, counter="queue", device=name, where=name, needle=name),
    ]
    node = CacheNode(
        lambda _: told, aoe=lambda _: [{**served("x"), "device": name}], files=lambda _: mtu_files(9000, "x")
    )
    for ascii_only in (False, True):
        async with screen(node.session(3, name=name), WIDE, options=Options(ascii=ascii_only)) as shown:
            for keys in (("3",), ("j",), ("enter",), ("G", "enter"), ("escape", "escape"), ("tab", "j"), ("enter",)):
                await shown.press(*keys)
                harmless(shown, ascii_only=ascii_only)
