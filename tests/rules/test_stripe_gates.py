"""What the rules of striped arrays must not judge, and what they take for a stripe column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from sdstop.analysis.members.group_columns import columns_of
from sdstop.core.evidence import Origin
from sdstop.core.lookback import Lookback
from sdstop.core.session import Session
from tests.arrays import ArraySpec, Level, evidence, member_name
from tests.rules.stripes import (
    BASE,
    COLLECTORS,
    IDS,
    PAIRS,
    RULES,
    SIXTEEN,
    Files,
    Load,
    Second,
    crowd,
    frames,
    judged,
    made,
    one_slow,
    said,
    standing,
    unchecked,
)  # fmt: skip

RULES_OF = ("stripe-convoy", "hot-stripe-member", "slow-stripe-member")
LOADS = {"convoy": crowd(), "hot": standing(), "slow": one_slow(6.0)}


def paired(load: Second) -> Second:
    return lambda member, second: load(member // 2, second)


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("action", ["recover", "resync", "check", "repair", "reshape"])
def test_nothing_is_said_while_md_does_its_own_io(load: Second, action: str) -> None:
    judgement = judged(made(PAIRS, paired(load), files={f"{BASE}/sync_action": f"{action}\n"})).head().judgement
    assert said(judgement) == set()
    assert unchecked(judgement).keys() == IDS
    assert all(action in reason for reason in unchecked(judgement).values())


def test_a_rebuild_that_ended_a_moment_ago_still_counts() -> None:
    shown = made(PAIRS, paired(crowd()), seconds=30, files={f"{BASE}/sync_action": "recover\n"})
    shown = [(t, files | {f"{BASE}/sync_action": "recover\n" if t < 10 else "idle\n"}) for t, files in shown]
    assert unchecked(judged(shown[:19]).head().judgement).keys() == IDS
    assert said(judged(shown).head().judgement) == {("stripe-convoy", "critical", "md0")}


@pytest.mark.parametrize("action", ["idle", "frozen"])
def test_arrays_that_do_nothing_of_their_own_are_judged(action: str) -> None:
    judgement = judged(made(PAIRS, paired(crowd()), files={f"{BASE}/sync_action": f"{action}\n"})).head().judgement
    assert said(judgement) == {("stripe-convoy", "critical", "md0")}


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_members_that_are_not_accounted_for_are_no_idle_members(load: Second) -> None:
    name, off = member_name(7), {f"/sys/block/{member_name(7)}/queue/iostats": "0\n"}

    def stopped(member: int, second: int) -> Load:
        return Load(0, 0, busy=0.0) if member == 7 else load(member, second)

    judgement = judged(made(SIXTEEN, stopped, files=off)).head().judgement
    assert said(judgement) == set()
    assert unchecked(judgement).keys() == IDS
    assert all(name in reason and "iostats" in reason for reason in unchecked(judgement).values())


@pytest.mark.parametrize(("load", "rule"), list(zip(LOADS.values(), RULES_OF, strict=True)), ids=LOADS)
def test_members_whose_counters_move_are_accounted_for_whatever_iostats_says(load: Second, rule: str) -> None:
    """The file of dm, DRBD and bcache devices says 0, and the kernel counts their requests."""
    off = {f"/sys/block/{member_name(member)}/queue/iostats": "0\n" for member in range(16)}
    assert {verdict[0] for verdict in said(judged(made(SIXTEEN, load, files=off)).head().judgement)} == {rule}


@pytest.mark.parametrize("load", [crowd(), standing()], ids=["convoy", "hot"])
def test_a_pattern_of_readings_far_apart_is_not_judged(load: Second) -> None:
    judgement = judged(made(SIXTEEN, load, seconds=14, interval=5.0)).head().judgement
    assert said(judgement) == set()
    assert unchecked(judgement).keys() == IDS - {"slow-stripe-member"}
    assert all("5 s apart" in reason for reason in unchecked(judgement).values())


@pytest.mark.parametrize(("interval", "readings", "found"), [(5.0, 14, True), (20.0, 8, True), (20.0, 4, False)])
def test_a_slow_member_is_found_in_readings_far_apart(interval: float, readings: int, found: bool) -> None:  # noqa: FBT001
    session = judged(made(SIXTEEN, one_slow(6.0), seconds=readings, interval=interval))
    expected = {("slow-stripe-member", "warning", f"md0/{member_name(5)}")}
    assert said(session.head().judgement) == (expected if found else set())


def test_readings_of_two_seconds_are_judged() -> None:
    session = judged(made(SIXTEEN, crowd(), interval=2.0))
    assert said(session.head().judgement) == {("stripe-convoy", "critical", "md0")}


def test_old_readings_are_not_judged_again() -> None:
    shown = made(SIXTEEN, crowd())
    last = shown[-1][1]
    assert said(judged([*shown, (40.0, last)]).head().judgement) == set()


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_what_is_kept_of_a_reading_for_the_next_window_changes_no_verdict(load: Second) -> None:
    def sometimes(member: int, second: int) -> Load:
        return load(member, second) if second % 30 > 8 else Load()

    shown = frames(made(SIXTEEN, sometimes, seconds=70))
    session = Session(Origin("n"), COLLECTORS, RULES)
    live = [session.feed(frame).judgement for frame in shown]
    lookback = Lookback(session)
    for index in range(0, 70, 3):
        assert lookback.at(index).judgement == live[index]


@pytest.mark.parametrize("seconds", [1, 7])
def test_few_readings_are_not_judged(seconds: int) -> None:
    judgement = judged(made(SIXTEEN, crowd(), seconds=seconds)).head().judgement
    assert said(judgement) == set()
    assert unchecked(judgement).keys() == IDS


def test_a_member_without_counters_is_not_left_out_of_the_sum() -> None:
    judgement = judged(made(SIXTEEN, crowd(), without=frozenset({member_name(3)}))).head().judgement
    assert said(judgement) == set()
    assert unchecked(judgement).keys() == IDS


def test_a_member_that_answers_nothing_is_no_idle_member() -> None:
    def load(member: int, second: int) -> Load:
        if member == 4 and second > 6:
            return Load(0, 0, queue=0.0, busy=1.0, in_flight=9)
        return Load(1, 1, busy=0.05)

    judgement = judged(made(SIXTEEN, load)).head().judgement
    assert said(judgement) == set()
    assert unchecked(judgement).keys() == IDS
    assert all(member_name(4) in reason for reason in unchecked(judgement).values())


def test_three_columns_are_too_few_for_a_convoy_and_four_are_not() -> None:
    def load(member: int, second: int) -> Load:
        at = member == second % 4 % 3
        return Load(queue=12.0 if at else 0.02, busy=1.0 if at else 0.02)

    three = judged(made(ArraySpec(level=Level.RAID0, disks=3), load)).head().judgement
    assert said(three) == set()
    assert {"stripe-convoy", "hot-stripe-member"} <= unchecked(three).keys()

    four = judged(made(ArraySpec(level=Level.RAID0, disks=4), crowd(deep=12.0, rest=0.02, rest_busy=0.02, columns=4)))
    assert {verdict[0] for verdict in said(four.head().judgement)} == {"stripe-convoy"}


def test_a_slow_disk_is_found_where_columns_are_too_few_for_a_convoy() -> None:
    got = said(judged(made(ArraySpec(disks=6), one_slow(6.0))).head().judgement)
    assert got == {("slow-stripe-member", "warning", f"md0/{member_name(5)}")}


def one_of_three(wait: float, other: float = 10.0) -> Callable[[int, int], Load]:
    """Let one of three members answer in `wait` ms, one in `other` and one in 10."""
    waits = (10.0, other, wait)

    def load(member: int, second: int) -> Load:
        return Load(wait=waits[member], busy=min(1.0, 0.04 * waits[member]))

    return load


@pytest.mark.parametrize(("wait", "found"), [(39.0, False), (41.0, True)])
def test_a_slow_one_of_three_must_wait_four_times_as_long(wait: float, found: bool) -> None:  # noqa: FBT001
    judgement = judged(made(ArraySpec(level=Level.RAID5, disks=3), one_of_three(wait))).head().judgement
    assert said(judgement) == ({("slow-stripe-member", "warning", f"md0/{member_name(2)}")} if found else set())
    good = [r.summary for r in judgement.ruled_out if r.rule == "slow-stripe-member"]
    assert found or good[0].startswith("no member waits 4 times as long as its peers"), good


def test_of_three_members_that_all_differ_none_is_called_slow() -> None:
    judgement = judged(made(ArraySpec(level=Level.RAID5, disks=3), one_of_three(80.0, 15.5))).head().judgement
    assert said(judgement) == set()


def test_of_three_members_one_is_slow_beside_both_others_not_beside_their_middle() -> None:
    # Four times the mean of 10 and 14 ms, but not four times 14.
    judgement = judged(made(ArraySpec(level=Level.RAID5, disks=3), one_of_three(52.0, 14.0))).head().judgement
    assert said(judgement) == set()


def test_of_two_members_none_is_called_slow_and_none_good() -> None:
    def load(member: int, second: int) -> Load:
        return Load(wait=90.0 if member == 1 else 9.0, busy=1.0 if member == 1 else 0.4)

    judgement = judged(made(ArraySpec(level=Level.RAID0, disks=2), load)).head().judgement
    assert said(judgement) == set()
    assert "too few members (2)" in unchecked(judgement)["slow-stripe-member"]
    four = judged(made(ArraySpec(level=Level.RAID0, disks=4), load)).head().judgement
    assert {rule for rule, *_ in said(four)} == {"slow-stripe-member"}


def test_a_member_that_waits_long_and_is_not_slow_is_named_with_both_waits() -> None:
    def load(member: int, second: int) -> Load:
        return Load(wait=80.0, busy=0.45) if member == 5 else Load()

    judgement = judged(made(SIXTEEN, load)).head().judgement
    (good,) = [r.summary for r in judgement.ruled_out if r.rule == "slow-stripe-member"]
    assert good.startswith(f"{member_name(5)} 80.0 ms, its peers 10.0 ms in the last sample: ")


@pytest.mark.parametrize(("rotational", "found"), [("1", True), ("0", False), (None, False)])
def test_unknown_media_are_held_to_the_limits_of_flash(rotational: str | None, found: bool) -> None:  # noqa: FBT001
    shown = made(SIXTEEN, crowd(deep=2.0, rest=0.65, rest_busy=((1 - 0.07) * 7.028 - 1) / 15))
    files = {f"/sys/block/{member_name(m)}/queue/rotational": rotational for m in range(16)}
    if rotational is None:
        shown = [(t, {k: v for k, v in f.items() if k not in files}) for t, f in shown]
    else:
        shown = [(t, f | {k: f"{v}\n" for k, v in files.items()}) for t, f in shown]
    assert bool(said(judged(shown).head().judgement)) is found


def test_larger_members_of_raid0_are_not_hot() -> None:
    sizes = tuple(4.0 if member == 5 else 1.0 for member in range(16))
    judgement = judged(made(replace(SIXTEEN, sizes=sizes), standing(4.0))).head().judgement
    assert said(judgement) == set()
    assert "differ in size" in unchecked(judgement)["hot-stripe-member"]
    assert "differ in size" in unchecked(judgement)["stripe-convoy"]


@pytest.mark.parametrize("algorithm", [4, 5, 20])
def test_a_disk_of_parity_alone_is_not_judged(algorithm: int) -> None:
    level = Level.RAID6 if algorithm == 20 else Level.RAID5
    spec = ArraySpec(level=level, disks=16)
    mdstat = evidence.mdstat(spec, 0, 0.0).replace("algorithm 2", f"algorithm {algorithm}")
    judgement = judged(made(spec, standing(), files={"/proc/mdstat": mdstat})).head().judgement
    assert said(judgement) == set()
    assert all("parity" in reason for reason in unchecked(judgement).values())


def test_partitions_are_members_and_their_disk_says_what_they_are() -> None:
    """Members are sdb1, sdc1...; their disks are flash, sdd is not accounted for."""
    shown = []
    for time, files in made(SIXTEEN, crowd()):
        new = {}
        for key, text in files.items():
            if key.startswith(("/proc/", BASE, "link:/sys/block/md0")):
                for member in range(16):
                    key = key.replace(f"dev-{member_name(member)}/", f"dev-{member_name(member)}1/")  # noqa: PLW2901
                    text = text.replace(f" {member_name(member)}[", f" {member_name(member)}1[").replace(  # noqa: PLW2901
                        f" {member_name(member)} ", f" {member_name(member)}1 "
                    )
            new[key] = text
        for member in range(16):
            disk = member_name(member)
            major, minor = evidence.member_number(member)
            new[f"/sys/block/{disk}/{disk}1/partition"] = "1\n"
            new[f"/sys/block/{disk}/{disk}1/dev"] = f"{major}:{minor + 1}\n"
            new[f"/sys/block/{disk}/{disk}1/start"] = "2048\n"
            new[f"/sys/block/{disk}/{disk}1/size"] = "8192\n"
        shown.append((time, new))
    assert said(judged(shown).head().judgement) == {("stripe-convoy", "critical", "md0")}
    off = [(t, f | {f"/sys/block/{member_name(2)}/queue/iostats": "0\n"}) for t, f in shown]
    stopped = [(t, f | {"/proc/diskstats": _stopped(f["/proc/diskstats"], f"{member_name(2)}1")}) for t, f in off]
    assert unchecked(judged(stopped).head().judgement).keys() == IDS


def _stopped(diskstats: str, name: str) -> str:
    """Let the counters of a device stand still."""
    zero = " ".join(["0"] * 17)
    lines = (line.partition(f" {name} ") for line in diskstats.splitlines())
    return "".join(f"{head} {name} {zero}\n" if found else f"{head}\n" for head, found, _ in lines)


# --- columns ----------------------------------------------------------------------------------------------


def columns(mdstat: str, sysfs: Files) -> tuple[tuple[str, ...], ...]:
    session = judged([(0.0, {"/proc/mdstat": mdstat, **sysfs})])
    (group,) = session.head().window.topology.groups()
    return columns_of(group)


def raid10(disks: int, copies: str, slots: Sequence[int | None] = ()) -> tuple[str, Files]:
    names = [member_name(member) for member in range(disks)]
    places = list(slots) or list(range(disks))
    state = f"[{disks}/{sum(p is not None for p in places)}] [{''.join('_' if p is None else 'U' for p in places)}]"
    listed = " ".join(f"{name}[{i}]" for i, name in enumerate(names) if places[i] is not None)
    sysfs = {}
    for name, place in zip(names, places, strict=True):
        if place is not None:
            sysfs[f"{BASE}/dev-{name}/slot"] = f"{place}\n"
            sysfs[f"{BASE}/dev-{name}/state"] = "in_sync\n"
    return (
        f"Personalities : [raid10] \nmd0 : active raid10 {listed}\n      1000 blocks super 1.2 512K chunks "
        f"{copies} {state}\n      \nunused devices: <none>\n"
    ), sysfs


def test_near_copies_fold_into_one_column() -> None:
    assert columns(*raid10(4, "2 near-copies")) == (("sdb", "sdc"), ("sdd", "sde"))
    assert columns(*raid10(6, "3 near-copies")) == (("sdb", "sdc", "sdd"), ("sde", "sdf", "sdg"))


def test_slots_decide_and_not_the_order_of_names() -> None:
    assert columns(*raid10(4, "2 near-copies", [3, 0, 2, 1])) == (("sdc", "sde"), ("sdd", "sdb"))


def test_an_odd_number_of_disks_does_not_fold() -> None:
    assert columns(*raid10(5, "2 near-copies")) == (("sdb",), ("sdc",), ("sdd",), ("sde",), ("sdf",))


@pytest.mark.parametrize("copies", ["2 far-copies", "2 offset-copies", "2 near-copies 2 far-copies"])
def test_far_copies_do_not_fold(copies: str) -> None:
    assert columns(*raid10(4, copies)) == (("sdb",), ("sdc",), ("sdd",), ("sde",))


def test_a_missing_leg_leaves_its_column_the_other() -> None:
    assert columns(*raid10(4, "2 near-copies", [0, 1, None, 3])) == (("sdb", "sdc"), ("sde",))


def test_a_mirror_that_is_gone_is_no_column() -> None:
    assert columns(*raid10(4, "2 near-copies", [0, 1, None, None])) == (("sdb", "sdc"),)


def test_spares_faulty_ones_and_journals_are_no_columns() -> None:
    mdstat = (
        "Personalities : [raid5] \nmd0 : active raid5 sdg[6](J) sdf[5](S) sde[4](F) sdd[2] sdc[1] sdb[0]\n"
        "      1000 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]\n      \nunused devices: <none>\n"
    )
    states = {"sdb": (0, "in_sync"), "sdc": (1, "in_sync"), "sdd": (2, "in_sync"), "sde": ("none", "faulty"),
              "sdf": ("none", "spare"), "sdg": ("journal", "in_sync,journal")}  # fmt: skip
    sysfs = {f"{BASE}/dev-{name}/slot": f"{slot}\n" for name, (slot, _) in states.items()}
    sysfs |= {f"{BASE}/dev-{name}/state": f"{state}\n" for name, (_, state) in states.items()}
    assert columns(mdstat, sysfs) == (("sdb",), ("sdc",), ("sdd",))
