"""The three rules of striped arrays: when they fire, when they must not, and what happens near each threshold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdstop.collectors.system.processes import PROCESSES
from sdstop.core.evidence import Origin
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.core.session import Session
from sdstop.rules.arrays.stripe_convoy import STRIPE_CONVOY
from tests.arrays import NVME_FLASH, ArraySpec, Bursts, Clones, Level, Random, Rebuild, member_name
from tests.rules.stripes import (
    COLLECTORS,
    IDS,
    PAIRS,
    SIXTEEN,
    Load,
    Second,
    crowd,
    finding,
    frames,
    judged,
    made,
    one_slow,
    said,
    simulated,
    standing,
    steady,
    unchecked,
)  # fmt: skip
from tests.stories.processes import Process, answer

CLONES = ArraySpec(disks=24, random=Random(rate=150.0), clones=Clones(count=10))
HOT = ArraySpec(level=Level.RAID0, disks=6, random=Random(outstanding=24, hot_share=0.5, hot_column=2))
SLOW = ArraySpec(disks=8, random=Random(rate=80.0, writes=0.6), slow=((3, 4.0),))


@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_convoy_is_found_and_nothing_else(seed: int) -> None:
    found = finding(judged(simulated(CLONES, seed)))
    assert (found.rule, found.subject) == ("stripe-convoy", "md0")
    assert found.severity is not Severity.INFO


@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_hot_member_is_found_and_nothing_else(seed: int) -> None:
    found = finding(judged(simulated(HOT, seed)))
    assert (found.rule, found.subject) == ("hot-stripe-member", f"md0/{member_name(2)}")


@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_slow_member_is_found_and_nothing_else(seed: int) -> None:
    found = finding(judged(simulated(SLOW, seed)))
    assert (found.rule, found.subject) == ("slow-stripe-member", f"md0/{member_name(3)}")


HEALTHY = {
    "idle": ArraySpec(disks=12, random=Random(rate=3.0)),
    "random": ArraySpec(disks=12, random=Random(rate=400.0)),
    "overloaded": ArraySpec(disks=12, random=Random(outstanding=96)),
    "raid5": ArraySpec(level=Level.RAID5, disks=8, random=Random(rate=120.0)),
    "raid6": ArraySpec(level=Level.RAID6, disks=10, random=Random(rate=90.0)),
    "bursts": ArraySpec(disks=12, random=Random(rate=100.0), bursts=Bursts(count=300)),
    "one clone": ArraySpec(disks=16, random=Random(rate=150.0), clones=Clones(count=1)),
    "flash": ArraySpec(level=Level.RAID0, disks=8, media=NVME_FLASH, random=Random(rate=2000.0)),
    "mirror balanced reads": ArraySpec(disks=12, random=Random(rate=300.0, writes=0.0)),
    "degraded": ArraySpec(disks=12, random=Random(rate=200.0), missing=frozenset({5})),
    "unequal": ArraySpec(
        level=Level.RAID0, disks=6, sizes=(4.0, 2.0, 1.0, 1.0, 1.0, 1.0), random=Random(outstanding=24)
    ),
}


@pytest.mark.parametrize("spec", HEALTHY.values(), ids=HEALTHY)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_healthy_loads_are_no_finding(spec: ArraySpec, seed: int) -> None:
    assert said(judged(simulated(spec, seed)).head().judgement) == set()


def test_a_finding_quotes_its_evidence_and_says_what_to_do() -> None:
    for spec, subject in ((CLONES, "md0"), (HOT, member_name(2)), (SLOW, member_name(3))):
        found = finding(judged(simulated(spec, 1)))
        assert {"/proc/diskstats", "/proc/mdstat"} <= {cite.key for cite in found.evidence}, found.rule
        assert any(f" {subject} " in cite.excerpt for cite in found.evidence if cite.key == "/proc/diskstats")
        assert found.steps
        assert found.refuted_by
        assert all(value.title for value in found.values)
        assert any(value.compared is not None for value in found.values)


def test_what_was_found_good_is_said_with_numbers() -> None:
    good = {r.rule: r for r in judged(simulated(HEALTHY["random"], 1)).head().judgement.ruled_out}
    assert good.keys() == IDS
    assert all(any(c.isdigit() for c in r.summary) for r in good.values())


# --- seconds made by hand ------------------------------------------------------------------------------


def test_a_moving_queue_is_a_convoy() -> None:
    session = judged(made(SIXTEEN, crowd()))
    assert said(session.head().judgement) == {("stripe-convoy", "critical", "md0")}
    numbers = {value.name: value.value for value in finding(session).values}
    assert numbers["columns"] == 16
    (stays,) = (v for v in finding(session).values if v.name == "standing")
    assert isinstance(stays.value, float)
    assert stays.value < limit("standing")
    assert numbers["queue"] == pytest.approx(8 + 15 * 0.25, abs=0.05)
    assert numbers["busy"] == pytest.approx(1 + 15 * 0.25, abs=0.05)


def limit(name: str) -> float:
    """Return the limit that a convoy over sixteen columns is held against."""
    (value,) = (v.compared for v in finding(judged(made(SIXTEEN, crowd()))).values if v.name == name)
    assert value is not None
    return value


def served(members: int, driver: str = "virtio_blk") -> dict[str, str]:
    """Return what makes the first members disks of a hypervisor, and the others disks of the node."""
    return {
        f"link:/sys/block/{member_name(member)}/device/driver": f"../x/{driver if member < members else 'cciss'}"
        for member in range(16)
    }


@pytest.mark.parametrize(("times", "found"), [(1.0, False), (1.14, False), (1.18, True), (3.0, True)])
def test_members_that_a_host_may_hold_to_a_rate_each_are_no_convoy(times: float, found: bool) -> None:  # noqa: FBT001
    """With 16 columns of which one does `times` as much, it does 16 t / (t + 15) of the mean: 1.15 at 1.162."""

    def load(member: int, second: int) -> Load:
        does = crowd()(member, second)
        return replace(does, reads=does.reads * times, writes=does.writes * times) if does.busy == 1.0 else does

    judgement = judged(made(SIXTEEN, load, files=served(16))).head().judgement
    assert bool(said(judgement)) is found
    assert ("perhaps host limits" in unchecked(judgement).get("stripe-convoy", "")) is not found
    assert said(judged(made(SIXTEEN, load, files=served(15))).head().judgement)  # one of them is the node's own
    assert said(judged(made(SIXTEEN, load, files=served(16, "nvme"))).head().judgement)


@pytest.mark.parametrize(("times", "severity"), [(1.8, "warning"), (2.3, "critical")])
def test_severity_follows_the_deficit(times: float, severity: str) -> None:
    # E = 16 L / (L + 15) with L = 11 is 6.769 columns, of which the deficit is idle.
    busy = ((1 - times * limit("deficit")) * 6.769 - 1) / 15
    session = judged(made(SIXTEEN, crowd(deep=2.0, rest=0.6, rest_busy=busy)))
    assert said(session.head().judgement) == {("stripe-convoy", severity, "md0")}


@pytest.mark.parametrize(("more", "found"), [(-0.01, False), (0.01, True)])
def test_near_the_limit_of_the_deficit(more: float, found: bool) -> None:  # noqa: FBT001
    busy = ((1 - limit("deficit") - more) * 7.028 - 1) / 15
    session = judged(made(SIXTEEN, crowd(deep=1.66, rest=0.673, rest_busy=busy)))  # a top share at its limit
    assert bool(said(session.head().judgement)) is found


@pytest.mark.parametrize(("more", "found"), [(-0.1, False), (0.1, True)])
def test_near_the_limit_of_the_top_share(more: float, found: bool) -> None:  # noqa: FBT001
    # T = 16 a / (a + 15 b), with a + 15 b = 12 outstanding.
    deep = (limit("top_share") + more) * 12 / 16
    session = judged(made(SIXTEEN, crowd(deep=deep, rest=(12 - deep) / 15, rest_busy=0.2)))
    assert bool(said(session.head().judgement)) is found


def test_a_convoy_names_and_counts_the_processes_behind_it() -> None:
    shown = []
    for time, files in made(SIXTEEN, crowd()):
        copies = [Process(100 + n, "qemu-img", "qemu-img convert", int(time) * 5_000_000, 0) for n in range(10)]
        others = [Process(7, "sshd", "sshd", int(time) * 1000, 0)]
        shown.append((time, files | {"answer:psutil.processes": answer([*copies, *others], 1.0)}))
    session = Session(Origin("n"), (*COLLECTORS, PROCESSES), (STRIPE_CONVOY,))
    session.feed_all(frames(shown))
    found = finding(session)
    assert found.steps[0] == "Run fewer copies, clones or scans at once: 10 x qemu-img."
    assert {value.name: value.value for value in found.values}["processes"] == "10 x qemu-img"
    assert any("psutil.processes" in cite.key for cite in found.evidence)
    assert not any("x qemu-img" in line for line in finding(judged(made(SIXTEEN, crowd()))).steps)


def test_a_queue_that_moves_now_and_then_is_unclear_and_only_info() -> None:
    def load(member: int, second: int) -> Load:
        at = member == (5 if second % 10 < 8 else second % 4)
        return Load(queue=8.0 if at else 0.25, busy=1.0 if at else 0.25)

    session = judged(made(SIXTEEN, load))
    assert said(session.head().judgement) == {("stripe-convoy", "info", "md0")}


@pytest.mark.parametrize(("ios", "found"), [(2.4, "stripe-convoy"), (2.6, "hot-stripe-member")])
def test_near_the_limit_of_a_hot_member(ios: float, found: str) -> None:
    (verdict,) = said(judged(made(SIXTEEN, standing(ios))).head().judgement)
    assert verdict[0] == found
    assert (verdict[1] == "info") is (found == "stripe-convoy")


def test_a_hot_member_is_named() -> None:
    session = judged(made(SIXTEEN, standing()))
    assert said(session.head().judgement) == {("hot-stripe-member", "critical", f"md0/{member_name(5)}")}
    numbers = {value.name: value.value for value in finding(session).values}
    assert numbers["ios_ratio"] == pytest.approx(4.0, abs=0.05)
    (stays,) = (v for v in finding(session).values if v.name == "standing")
    assert isinstance(stays.value, float)
    assert stays.compared is not None
    assert stays.value >= stays.compared


def test_a_hot_mirror_is_named_by_both_legs() -> None:
    pairs = ArraySpec(disks=16)

    def load(member: int, second: int) -> Load:
        hot = member in {6, 7}
        return Load(80, 80, queue=8.0, busy=1.0) if hot else Load(queue=0.25, busy=0.2)

    (verdict,) = said(judged(made(pairs, load)).head().judgement)
    assert verdict[0] == "hot-stripe-member"
    assert verdict[2] == f"md0/{member_name(6)}+{member_name(7)}"


@pytest.mark.parametrize(("times", "found"), [(2.9, False), (3.1, True)])
def test_near_the_limit_of_a_slow_member(times: float, found: bool) -> None:  # noqa: FBT001
    got = said(judged(made(SIXTEEN, one_slow(times))).head().judgement)
    assert got == ({("slow-stripe-member", "warning", f"md0/{member_name(5)}")} if found else set())


def test_three_times_the_limit_is_critical() -> None:
    got = said(judged(made(SIXTEEN, one_slow(9.5))).head().judgement)
    assert got == {("slow-stripe-member", "critical", f"md0/{member_name(5)}")}


def test_a_member_that_is_asked_for_more_is_not_called_slow() -> None:
    assert said(judged(made(SIXTEEN, one_slow(4.0, share=1.6))).head().judgement) == set()


def test_a_member_that_is_slow_at_writes_alone_is_not_called_slow() -> None:
    assert said(judged(made(SIXTEEN, one_slow(4.0, reads_too=False))).head().judgement) == set()


def test_a_disk_must_stay_slow_to_be_called_so() -> None:
    def load(member: int, second: int) -> Load:
        return one_slow(6.0)(member, second) if second > 40 else Load()

    shown = made(SIXTEEN, load, seconds=70)
    assert said(judged(shown[:53]).head().judgement) == set()
    assert said(judged(shown).head().judgement) == {("slow-stripe-member", "warning", f"md0/{member_name(5)}")}


def test_a_crowd_before_one_disk_is_no_slow_disk() -> None:
    """Requests wait long before it, but each takes the usual time once its turn comes."""

    def load(member: int, second: int) -> Load:
        return Load(20, 20, 80.0, busy=0.45) if member == 5 else Load(busy=0.4)

    assert "slow-stripe-member" not in {rule for rule, *_ in said(judged(made(SIXTEEN, load)).head().judgement)}


def test_a_leg_that_reads_seldom_go_to_is_not_called_slow() -> None:
    """Streams are read from one leg of each mirror; the other seeks for its few reads."""

    def load(member: int, second: int) -> Load:
        return Load(3, 0, 12.0, busy=0.04) if member % 2 else Load(900, 0, 0.5, busy=0.5)

    assert said(judged(made(ArraySpec(disks=16), load)).head().judgement) == set()


def test_a_slow_mirror_leg_that_reads_avoid_is_found_by_its_writes() -> None:
    pairs = ArraySpec(disks=8)

    def load(member: int, second: int) -> Load:
        if member == 5:
            return Load(0, 20, 60.0, busy=1.0)
        return Load(40 if member == 4 else 20, 20, busy=0.5)

    got = said(judged(made(pairs, load)).head().judgement)
    assert got == {("slow-stripe-member", "warning", f"md0/{member_name(5)}")}


# --- config -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "rule", "threshold", "value"),
    [
        (crowd(), "stripe-convoy", "deficit", 0.9),
        (crowd(deep=3.4, rest=0.55, rest_busy=0.3), "stripe-convoy", "top_share", 4.9),
        (crowd(), "stripe-convoy", "queue", 50.0),
        (crowd(), "stripe-convoy", "ios", 5000.0),
        (crowd(), "stripe-convoy", "columns", 17.0),
        (standing(), "hot-stripe-member", "hot_ios", 4.5),
        (standing(), "hot-stripe-member", "fixed", 1.1),
        (one_slow(6.0), "slow-stripe-member", "slow_wait", 7.0),
        (one_slow(6.0), "slow-stripe-member", "slow_excess", 0.2),
        (one_slow(6.0), "slow-stripe-member", "slow_service", 2.6),
        (one_slow(6.0), "slow-stripe-member", "equal_ios", 0.9),
    ],
)
def test_config_moves_each_threshold(load: Second, rule: str, threshold: str, value: float) -> None:
    shown = made(SIXTEEN, load)
    assert {verdict[0] for verdict in said(judged(shown).head().judgement)} == {rule}
    judgement = judged(shown, {rule: {threshold: value}}).head().judgement
    assert rule not in {verdict[0] for verdict in said(judgement)}
    assert rule in {r.rule for r in judgement.ruled_out} | {u.rule for u in judgement.unchecked}


def test_a_configured_threshold_is_the_one_that_is_shown() -> None:
    session = judged(made(SIXTEEN, standing()), {"hot-stripe-member": {"hot_ios": 3.5}})
    assert {v.name: v.compared for v in finding(session).values}["ios_ratio"] == 3.5


def test_every_rule_says_something_of_every_striped_array() -> None:
    two = ArraySpec(disks=2)  # its two members are the legs of one mirror
    for spec, ids in (
        (SIXTEEN, IDS),
        (PAIRS, IDS),
        (ArraySpec(level=Level.RAID5, disks=4), IDS),
        (two, {"slow-device"}),
    ):
        judgement = judged(made(spec, steady)).head().judgement
        verdicts: list[Finding | RuledOut | Unchecked] = [
            *judgement.findings, *judgement.ruled_out, *judgement.unchecked,
        ]  # fmt: skip
        assert {verdict.rule for verdict in verdicts} == ids
        assert {verdict.subject for verdict in verdicts} == {"md0"}


def test_the_simulated_rebuild_is_silent() -> None:
    spec = ArraySpec(disks=12, random=Random(rate=100.0), rebuild=Rebuild(member=3))
    judgement = judged(simulated(spec, 1)).head().judgement
    assert said(judgement) == set()
    assert unchecked(judgement).keys() == IDS


# --- members that lag --------------------------------------------------------------------------------------


def test_a_member_that_takes_twice_as_long_for_a_minute_lags() -> None:
    session = judged(made(SIXTEEN, one_slow(2.0), seconds=70))
    found = finding(session)
    assert (found.rule, found.severity, found.subject) == ("slow-stripe-member", Severity.INFO, f"md0/{member_name(5)}")
    assert found.title == "MEMBER LAGS: 2x its slowest peer"
    assert found.cause == "Requests take 20.0 ms, 10.0 ms on its slowest peer, at an equal share."
    assert found.impact == "The array can only become as fast as this member."


@pytest.mark.parametrize(("busy", "severity"), [(0.94, Severity.WARNING), (0.88, Severity.INFO)])
def test_a_member_that_is_full_while_its_peers_have_room_is_a_warning(busy: float, severity: Severity) -> None:
    def load(member: int, second: int) -> Load:
        return Load(wait=20.0, busy=busy) if member == 5 else Load(busy=0.5)

    found = finding(judged(made(SIXTEEN, load, seconds=70)))
    assert found.severity is severity
    assert ("it limits the array" in found.impact) is (severity is Severity.WARNING)


@pytest.mark.parametrize("load", [one_slow(1.3), one_slow(2.0, share=1.3), steady], ids=["little", "busier", "even"])
def test_a_little_longer_or_for_more_requests_is_no_lag(load: Second) -> None:
    assert not judged(made(SIXTEEN, load, seconds=70)).head().judgement.findings


def test_a_minute_is_needed() -> None:
    assert said(judged(made(SIXTEEN, one_slow(2.0), seconds=40)).head().judgement) == set()


def test_a_disk_of_another_model_is_no_fault() -> None:
    models = {}
    for number in range(16):
        folder = f"/sys/block/{member_name(number)}"
        models[f"{folder}/device/model"] = "OLD\n" if number == 5 else "NEW\n"
        models[f"link:{folder}/device"] = f"../../../0:0:{number}:0"
    judgement = judged(made(SIXTEEN, one_slow(2.0), seconds=70, files=models)).head().judgement
    assert said(judgement) == set()
    passed = [each.summary for each in judgement.ruled_out if each.rule == "slow-stripe-member"]
    assert passed == [f"2 times the wait of its slowest peer; {member_name(5)} is one of another model"]


@pytest.mark.parametrize(("times", "gap"), [(6.5, Gap.SIGNS), (4.0, Gap.EARLY)])
def test_a_member_that_is_far_slower_in_the_last_ten_seconds_is_a_sign(times: float, gap: Gap) -> None:
    def load(member: int, second: int) -> Load:
        slow = times if member == 5 and second > 60 else 1.0
        return Load(reads=10.0, writes=10.0, wait=8.0 * slow, busy=min(1.0, 0.12 * slow))

    judgement = judged(made(SIXTEEN, load, seconds=70)).head().judgement
    (found,) = [each for each in judgement.unchecked if each.rule == "slow-stripe-member"]
    assert found.gap is gap
    assert found.reason.endswith(f"{member_name(5)} slower than its peers lately")
