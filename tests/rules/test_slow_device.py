"""slow-device, and slow-stripe-member beyond md: each kind of group, near the thresholds, and what must be silent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sdstop.collectors.block.iostat import IOSTAT
from sdstop.core.evidence import Frame, Origin
from sdstop.core.finding import Finding, Gap, Severity
from sdstop.core.lookback import Lookback
from sdstop.core.session import Session
from sdstop.rules.arrays.slow_stripe_member import SLOW_STRIPE_MEMBER
from sdstop.rules.disks.slow_device import SLOW_DEVICE
from tests.nodes import peers
from tests.nodes.peers import DISKS, GROUPS, Loads
from tests.rules.stripes import Files, Load, frames

RULES = (SLOW_DEVICE, SLOW_STRIPE_MEMBER)


def judged(shown: Sequence[tuple[float, Files]], config: Mapping[str, Mapping[str, float]] | None = None) -> Session:
    session = Session(Origin("n"), peers.COLLECTORS, RULES, config)
    session.feed_all(frames(shown))
    return session


def found(session: Session) -> set[tuple[str, str, str]]:
    return {(f.rule, f.severity.value, f.subject) for f in session.head().judgement.findings}


def finding(session: Session) -> Finding:
    (one,) = session.head().judgement.findings
    return one


def one_slow(name: str, times: float, *, wait: float = 10.0, rate: float = 20.0) -> Loads:
    def load(device: str, second: int) -> Load:
        factor = times if device == name else 1.0
        return Load(rate, rate, wait * factor, busy=min(1.0, 0.2 * factor))

    return load


def node(kind: str, names: Sequence[str] = DISKS) -> Files:
    return peers.disks(names) | GROUPS[kind](names)


SUBJECTS = {
    "mirror of md": ("slow-device", "md1/sdd"),
    "raidz2": ("slow-device", "tank/sdd"),
    "dRAID": ("slow-device", "tank/sdd"),
    "ZFS mirror": ("slow-device", "tank/sdd"),
    "LVM stripe": ("slow-stripe-member", "vg0/data/sdd"),
    "multipath": ("slow-device", "mpatha/sdd"),
    "like disks": ("slow-device", "sdd"),
}


@pytest.mark.parametrize("kind", GROUPS)
def test_a_slow_member_of_any_group_is_found(kind: str) -> None:
    session = judged(peers.shown(node(kind), DISKS, one_slow("sdd", 10.0)))
    rule, subject = SUBJECTS[kind]
    assert found(session) == {(rule, "critical", subject)}
    topology = session.head().window.topology
    thing = topology.find(subject)
    assert thing is not None
    assert [disk.device for disk in topology.disks(thing)] == ["sdd"]
    assert {"/proc/diskstats"} <= {cite.key for cite in finding(session).evidence}


@pytest.mark.parametrize("kind", GROUPS)
def test_members_that_are_alike_are_good(kind: str) -> None:
    session = judged(peers.shown(node(kind), DISKS, one_slow("sdd", 1.3)))
    assert found(session) == set()
    assert {good.rule for good in session.head().judgement.ruled_out} & {rule.id for rule in RULES}


@pytest.mark.parametrize(("times", "is_found"), [(2.9, False), (3.2, True)])
@pytest.mark.parametrize("kind", GROUPS)
def test_near_the_threshold(kind: str, times: float, is_found: bool) -> None:  # noqa: FBT001
    session = judged(peers.shown(node(kind), DISKS, one_slow("sdd", times, rate=8.0)))
    assert {severity for _, severity, _ in found(session)} == ({"warning"} if is_found else set())


@pytest.mark.parametrize("kind", ["mirror of md", "ZFS mirror", "multipath"])
@pytest.mark.parametrize(("times", "is_found"), [(3.8, False), (4.2, True)])
def test_one_of_two_legs_needs_four_times_the_other_s_wait(kind: str, times: float, is_found: bool) -> None:  # noqa: FBT001
    two = DISKS[:2]
    session = judged(peers.shown(node(kind, two), two, one_slow("sdc", times, rate=8.0)))
    assert bool(found(session)) is is_found


def test_the_commonest_array_with_one_bad_leg() -> None:
    """Seen on a real kernel: 315 ms and 100 % busy beside 1.1 ms and 8 %, the same writes, reads avoid the slow leg."""

    def load(device: str, second: int) -> Load:
        if device == "sdc":
            return Load(0, 70, 315.0, busy=1.0)
        return Load(60, 70, 1.1, busy=0.08)

    session = judged(peers.shown(node("mirror of md", DISKS[:2]), DISKS[:2], load))
    assert found(session) == {("slow-device", "critical", "md1/sdc")}
    assert any("mdadm /dev/md1 --replace /dev/sdc" in line for line in finding(session).steps)


def test_a_leg_that_serves_all_reads_is_not_slow() -> None:
    """Md reads a stream from one leg: its writes wait behind the reads."""

    def load(device: str, second: int) -> Load:
        if device == "sdc":
            return Load(400, 20, 40.0, busy=1.0, read_wait=20.0)
        return Load(0, 20, 5.0, busy=0.1)

    assert found(judged(peers.shown(node("mirror of md", DISKS[:2]), DISKS[:2], load, seconds=70))) == set()


@pytest.mark.parametrize("kind", ["mirror of md", "ZFS mirror", "multipath"])
@pytest.mark.parametrize(
    ("work", "rate", "is_found"), [(22.0, 20.0, True), (18.0, 20.0, False), (22.0, 44.0, True), (22.0, 46.0, False)]
)
def test_reads_of_two_legs_need_more_than_a_seek_each(kind: str, work: float, rate: float, is_found: bool) -> None:  # noqa: FBT001
    """One leg may get the stream and the other the seeks: only work that no seek explains names one of two.

    `work` is the busy time of a read on sdc in ms, and `rate` its reads per second, 20 on the other leg.
    """

    def load(device: str, second: int) -> Load:
        if device == "sdc":
            return Load(rate, 0, 2 * work, busy=rate * work / 1000)
        return Load(20, 0, 6.0, busy=0.1)

    session = judged(peers.shown(node(kind, DISKS[:2]), DISKS[:2], load, seconds=75))
    assert {subject.rpartition("/")[2] for _, _, subject in found(session)} == ({"sdc"} if is_found else set())


def test_two_like_disks_prove_nothing_of_each_other() -> None:
    session = judged(peers.shown(node("like disks", DISKS[:2]), DISKS[:2], one_slow("sdc", 20.0)))
    assert found(session) == set()
    assert "too few" in session.head().judgement.unchecked[0].reason


def test_a_wait_that_nobody_notices_is_never_critical() -> None:
    session = judged(peers.shown(peers.disks(DISKS, rotational=0), DISKS, one_slow("sdd", 12.0, wait=0.2)))
    assert found(session) == {("slow-device", "warning", "sdd")}


def test_like_disks_with_different_loads_are_not_compared() -> None:
    def load(device: str, second: int) -> Load:
        return Load(150, 150, 60.0, busy=1.0) if device == "sdd" else Load(5, 5, 6.0, busy=0.05)

    assert found(judged(peers.shown(node("like disks"), DISKS, load, seconds=70))) == set()


def test_disks_of_other_models_are_no_peers() -> None:
    files = peers.disks(DISKS[:3]) | peers.disks(DISKS[3:4], model="HUS72") | peers.disks(DISKS[4:], model="WD80")
    assert found(judged(peers.shown(files, DISKS, one_slow("sde", 20.0)))) == set()


@pytest.mark.parametrize(("rate", "is_found"), [(0.6, True), (0.03, False)])
def test_a_request_a_second_is_enough(rate: float, is_found: bool) -> None:  # noqa: FBT001
    session = judged(peers.shown(node("raidz2"), DISKS, one_slow("sdd", 15.0, rate=rate), seconds=70))
    assert bool(found(session)) is is_found


def test_two_slow_members_are_both_named() -> None:
    def load(device: str, second: int) -> Load:
        factor = {"sdd": 12.0, "sdf": 9.0}.get(device, 1.0)
        return Load(20, 20, 10.0 * factor, busy=min(1.0, 0.2 * factor))

    assert {subject for *_, subject in found(judged(peers.shown(node("raidz2"), DISKS, load)))} == {
        "tank/sdd",
        "tank/sdf",
    }


# --- members that lag -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["raidz2", "dRAID"])
@pytest.mark.parametrize(("busy", "severity"), [(0.94, "warning"), (0.5, "info")])
def test_a_leaf_that_takes_twice_as_long_for_a_minute_lags(kind: str, busy: float, severity: str) -> None:
    def load(device: str, second: int) -> Load:
        return Load(20, 20, 20.0, busy=busy) if device == "sdd" else Load(20, 20, 10.0, busy=busy / 2)

    session = judged(peers.shown(node(kind), DISKS, load, seconds=70))
    assert found(session) == {("slow-device", severity, "tank/sdd")}
    one = finding(session)
    assert one.title == "MEMBER LAGS: 2x its slowest peer"
    assert ("limits the pool" in one.impact) is (severity == "warning")
    assert any("zpool replace tank sdd NEW" in line for line in one.steps)


@pytest.mark.parametrize("kind", ["raidz2", "dRAID", "LVM stripe"])
@pytest.mark.parametrize(("times", "is_found"), [(1.45, True), (1.35, False)])
def test_the_lag_of_a_member_near_its_threshold(kind: str, times: float, is_found: bool) -> None:  # noqa: FBT001
    session = judged(peers.shown(node(kind), DISKS, one_slow("sdd", times), seconds=70))
    assert bool(found(session)) is is_found


@pytest.mark.parametrize("kind", ["ZFS mirror", "multipath", "like disks"])
def test_a_little_longer_is_no_lag_where_shares_are_equal_by_chance(kind: str) -> None:
    assert found(judged(peers.shown(node(kind, DISKS[:3]), DISKS[:3], one_slow("sdd", 2.0), seconds=70))) == set()


@pytest.mark.parametrize("kind", ["multipath", "like disks"])
def test_paths_and_like_disks_do_not_lag(kind: str) -> None:
    assert found(judged(peers.shown(node(kind), DISKS, one_slow("sdd", 2.0), seconds=70))) == set()


# --- pasted rates -----------------------------------------------------------------------------------------


def pasted(waits: Mapping[str, float], rates: Mapping[str, float] | None = None) -> Session:
    """Judge the output of iostat, one report for each of six frames, and nothing else."""
    head = "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util"
    rows = []
    for name, wait in waits.items():
        rate = (rates or {}).get(name, 20.0)
        size, busy = 8 * rate, min(100.0, 10 * wait / 10)
        rows.append(f"{name} {rate} {size} 0 0 {wait} 8 {rate} {size} 0 0 {wait} 8 {rate * wait / 500} {busy}")
    text = "\n".join(["Linux 6.1.0 (n) 11/22/26 _x86_64_ (4 CPU)", "", head, *rows, ""])
    session = Session(Origin("n"), (*peers.COLLECTORS, IOSTAT), RULES)
    shown = [(float(second), {"cmd:iostat -y -x 1 1": f"{text}{' ' * second}\n"}) for second in range(6)]
    session.feed_all(frames(shown))
    return session


def test_pasted_disks_under_equal_load_are_peers_and_a_slow_one_is_a_warning() -> None:
    session = pasted({"sda": 9.0, "sdb": 212.0, "sdc": 10.0, "sdd": 9.5})
    assert found(session) == {("slow-device", "warning", "sdb")}
    assert "group inferred from equal load" in finding(session).summary
    assert finding(session).confidence == 0.7


@pytest.mark.parametrize(("rate", "is_found"), [(29.0, True), (31.0, False)])
def test_pasted_disks_are_peers_up_to_half_as_many_requests_more(rate: float, is_found: bool) -> None:  # noqa: FBT001
    session = pasted({"sda": 9.0, "sdb": 212.0, "sdc": 10.0}, {"sdb": rate})
    assert bool(found(session)) is is_found


def pasted_old(waits: Mapping[str, float], reads: Mapping[str, float] | None = None) -> Session:
    """Judge the output of iostat of sysstat 9.0, which prints one wait for 20 requests/s, half of them reads."""
    head = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util"
    rows = []
    for name, wait in waits.items():
        read = (reads or {}).get(name, 10.0)
        rows.append(
            f"{name} 0 0 {read} {20 - read} {16 * read} {16 * (20 - read)} 16 {wait / 50} {wait} {wait / 2} "
            f"{min(100.0, wait)}"
        )
    text = "\n".join(["Linux 2.6.32 (n) 11/22/26 _x86_64_ (4 CPU)", "", head, *rows, ""])
    session = Session(Origin("n"), (*peers.COLLECTORS, IOSTAT), RULES)
    shown = [(float(second), {"cmd:iostat -y -x 1 1": f"{text}{' ' * second}\n"}) for second in range(6)]
    session.feed_all(frames(shown))
    return session


def test_one_wait_for_reads_and_writes_is_compared_and_called_that_of_requests() -> None:
    session = pasted_old({"sda": 9.0, "sdb": 212.0, "sdc": 10.0, "sdd": 9.5})
    assert found(session) == {("slow-device", "warning", "sdb")}
    assert finding(session).cause == "Requests take 212 ms, 9.50 ms on its peers, at an equal share."
    good = pasted_old({"sda": 9.0, "sdb": 26.0, "sdc": 10.0, "sdd": 9.5})
    assert found(good) == set()
    (passed,) = [verdict for verdict in good.head().judgement.ruled_out if verdict.rule == "slow-device"]
    assert "longest wait 26.0 ms (sdb)" in passed.summary


@pytest.mark.parametrize(("reads", "is_found"), [(14.9, True), (15.1, False), (5.1, True), (4.9, False)])
def test_disks_with_other_shares_of_reads_are_not_compared_by_one_wait(reads: float, is_found: bool) -> None:  # noqa: FBT001
    """Writes end in the cache of a disk, reads do not."""
    session = pasted_old({"sda": 1.0, "sdb": 12.0, "sdc": 1.0, "sdd": 1.0}, {"sdb": reads})
    assert bool(found(session)) is is_found


def test_two_pasted_disks_and_disks_of_several_classes_are_no_group() -> None:
    assert found(pasted({"sda": 9.0, "sdb": 212.0})) == set()
    assert found(pasted({"sda": 9.0, "sdb": 10.0, "nvme0n1": 212.0})) == set()
    assert found(pasted({"sda": 9.0, "sda1": 9.0, "sda2": 212.0, "dm-0": 10.0, "md0": 9.0})) == set()


def test_pasted_disks_are_not_grouped_where_the_structure_is_known() -> None:
    names = ("sda", "sdb", "sdc", "sdd")
    files = peers.disks(names[:1]) | peers.disks(names[1:2], model="X") | peers.disks(names[2:3], model="Y")
    load = one_slow("sdb", 20.0)
    assert found(judged(peers.shown(files, names[:3], load))) == set()


def test_of_a_slow_mapping_the_disk_below_is_named_and_checked() -> None:
    """Seen on a real kernel below LVM's raid5: the advice was smartctl and lvconvert --replace of dm-5."""
    mappings = [f"dm-{n}" for n in range(1, 5)]
    files = peers.disks(DISKS) | peers.raid1(mappings)
    for mapping, disk in zip(mappings, DISKS, strict=False):
        files |= {f"/sys/block/{mapping}/dev": f"253:{mapping[3:]}\n",
                  f"link:/sys/block/{mapping}/slaves/{disk}": f"../../{disk}"}  # fmt: skip
    one = finding(judged(peers.shown(files, mappings, one_slow("dm-3", 10.0))))
    assert one.subject == "md1/dm-3"
    assert one.cause.startswith("Writes take 100 ms on sdd, 10.0 ms on its peers")
    assert one.steps[1].startswith("smartctl -x /dev/sdd ")
    assert "mdadm /dev/md1 --replace /dev/dm-3" in one.steps[3]


LATELY = [(10.0, 5, "good"), (10.0, 12, "needs 18 s"), (10.0, 17, "found"),
          (4.0, 12, "needs 22 s"), (4.0, 17, "needs 22 s"), (4.0, 22, "found")]  # fmt: skip


@pytest.mark.parametrize("kind", ["mirror of md", "raidz2", "LVM stripe"])
@pytest.mark.parametrize(("times", "slow_for", "verdict"), LATELY)
def test_a_member_that_is_slow_only_lately_is_neither_good_nor_found(
    kind: str, times: float, slow_for: int, verdict: str
) -> None:
    """On a real kernel a mirror's leg at 316 ms was ruled out for 24 s, because a crowd may stay on a disk so long."""
    seconds = 60

    def load(device: str, second: int) -> Load:
        factor = times if device == "sdd" and second > seconds - slow_for else 1.0
        return Load(20, 20, 10.0 * factor, busy=min(1.0, 0.2 * factor))

    session = judged(peers.shown(node(kind), DISKS, load, seconds=seconds))
    judgement, (rule, subject) = session.head().judgement, SUBJECTS[kind]
    group = subject.removesuffix("/sdd")
    reasons = {u.reason: u.gap for u in judgement.unchecked if (u.rule, u.subject) == (rule, group)}
    good = [r for r in judgement.ruled_out if (r.rule, r.subject) == (rule, group)]
    named = {(rule, "critical" if times > 9 else "warning", subject)}
    early = {f"collecting data: {verdict}; sdd slower than its peers lately": Gap.EARLY}
    assert (bool(good), reasons, found(session)) == {
        "good": (True, {}, set()),
        "found": (False, {}, named),
    }.get(verdict, (False, early, set()))


def seconds_until_named(kind: str, load: Loads, *, rotational: int, seconds: int = 75) -> tuple[float, str] | None:
    """Return when a member is first named that has its load from second 40 on, and the severity."""
    files = peers.disks(DISKS, rotational=rotational) | GROUPS[kind](DISKS)
    session = Session(Origin("n"), peers.COLLECTORS, RULES)
    for frame in frames(peers.shown(files, DISKS, load, seconds=seconds)):
        session.feed(frame)
        named = session.head().judgement.findings
        if named:
            return frame.monotonic - 40, named[0].severity.value
    return None


@pytest.mark.parametrize("kind", ["mirror of md", "raidz2", "LVM stripe"])
@pytest.mark.parametrize(("rotational", "reads", "writes"), [(0, 20.0, 20.0), (1, 0.0, 3.0)])
def test_the_slower_a_member_is_the_sooner_it_is_named(kind: str, rotational: int, reads: float, writes: float) -> None:
    """A member 50 times as slow as its peers was named after 24 s, one 3.3 times as slow after 24 s, too."""

    def slow(times: float) -> Loads:
        def load(device: str, second: int) -> Load:
            factor = times if device == "sdd" and second >= 40 else 1.0
            return Load(reads, writes, 10.0 * factor, busy=0.02 * factor)

        return load

    found = {times: seconds_until_named(kind, slow(times), rotational=rotational) for times in (3.3, 8.0, 20.5, 50.0)}
    assert found == {
        3.3: (22.0, "warning"), 8.0: (9.0, "warning"), 20.5: (4.0, "warning"), 50.0: (4.0, "warning"),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["mirror of md", "raidz2", "LVM stripe"])
@pytest.mark.parametrize("rotational", [0, 1])
def test_a_crowd_on_a_member_is_not_named_sooner(kind: str, rotational: int) -> None:
    """Requests wait 50 times as long because many came at once; the disk works on each of them as fast as its peers."""

    def load(device: str, second: int) -> Load:
        crowded = device == "sdd" and 40 <= second < 52
        return Load(20, 20, 500.0 if crowded else 10.0, busy=0.25 if crowded else 0.2)

    assert seconds_until_named(kind, load, rotational=rotational) is None


@pytest.mark.parametrize("kind", ["mirror of md", "raidz2", "LVM stripe"])
def test_a_few_seconds_prove_nothing_where_one_of_them_is_normal(kind: str) -> None:
    def load(device: str, second: int) -> Load:
        factor = 50.0 if device == "sdd" and second >= 40 and second % 5 else 1.0
        return Load(20, 20, 10.0 * factor, busy=0.02 * factor)

    named = seconds_until_named(kind, load, rotational=0)
    assert named is None or named[0] >= 9


# --- standstills ------------------------------------------------------------------------------------------


def stalls(name: str, still: int, every: int, *, together: bool = False) -> Loads:
    """Let a disk stand still for some seconds of every so many; the others have nothing to do meanwhile."""

    def load(device: str, second: int) -> Load:
        at = second % every
        if at < still and (device == name or together):
            return Load(0, 0, busy=1.0, queue=0.0, in_flight=8)
        if at < still:
            return Load(0, 0, busy=0.0)
        wait = 1000.0 * still / 8 if (device == name or together) and at == still else 5.0
        return Load(20, 20, wait, busy=0.3, in_flight=8 if at == every - 1 else 1)

    return load


@pytest.mark.parametrize(("still", "every", "severity"), [(3, 9, "critical"), (2, 15, "warning"), (1, 30, None)])
def test_a_disk_that_stands_still_now_and_then(still: int, every: int, severity: str | None) -> None:
    session = judged(peers.shown(node("raidz2"), DISKS, stalls("sdd", still, every), seconds=72))
    assert found(session) == ({("slow-device", severity, "tank/sdd")} if severity else set())


def test_disks_that_stand_still_together_are_held_up_by_something_else() -> None:
    session = judged(peers.shown(node("raidz2"), DISKS, stalls("sdd", 3, 9, together=True), seconds=72))
    assert found(session) == set()


def test_a_disk_that_stood_still_once_was_reset() -> None:
    session = judged(peers.shown(node("raidz2"), DISKS, stalls("sdd", 8, 200), seconds=60))
    assert found(session) == set()


def test_a_request_that_the_kernel_lost_is_no_standstill() -> None:
    def load(device: str, second: int) -> Load:
        if device == "sdd":
            return Load(0, 0, busy=1.0, in_flight=1) if second % 3 else Load(3, 3, 5.0, busy=1.0, in_flight=1)
        return Load(2, 2, 5.0, busy=0.1)

    assert found(judged(peers.shown(node("raidz2"), DISKS, load, seconds=72))) == set()


# --- half of a group --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["LVM stripe", "raidz2", "like disks"])
def test_half_of_a_group_can_be_slow(kind: str) -> None:
    """Both legs of one mirror in a RAID10 of four: the faster half is the reference."""
    four, slow = DISKS[:4], ("sdb", "sdc")

    def load(device: str, second: int) -> Load:
        factor = 10.0 if device in slow else 1.0
        return Load(20, 20, 10.0 * factor, busy=min(1.0, 0.2 * factor))

    said = found(judged(peers.shown(node(kind, four), four, load)))
    assert {subject.rpartition("/")[2] for _, _, subject in said} == set(slow)


def test_more_than_half_is_the_reference_itself() -> None:
    four = DISKS[:4]

    def load(device: str, second: int) -> Load:
        return Load(20, 20, 10.0, busy=0.2) if device == "sdb" else Load(20, 20, 100.0, busy=1.0)

    assert found(judged(peers.shown(node("raidz2", four), four, load))) == set()


def test_a_member_that_holds_up_its_peers_has_no_equal_share() -> None:
    def load(device: str, second: int) -> Load:
        return Load(2, 2, 400.0, busy=1.0) if device == "sdd" else Load(20, 20, 8.0, busy=0.2)

    one = finding(judged(peers.shown(node("raidz2"), DISKS, load)))
    assert one.cause.endswith("at 10.0% of their rate.")


# --- slow at times ----------------------------------------------------------------------------------------


def at_times(slow: int, every: int, *, names: Sequence[str] = ("sdd",), rate: float = 20.0, until: int = 99) -> Loads:
    """Let members wait 400 ms in `slow` of `every` seconds, at a rate of their own then."""

    def load(device: str, second: int) -> Load:
        if device in names and (second - 1) % every < slow and second <= until:
            return Load(rate, rate, 400.0, busy=1.0)
        return Load(20, 20, 10.0, busy=0.2)

    return load


@pytest.mark.parametrize("kind", GROUPS)
def test_a_member_that_is_slow_at_times_is_a_warning(kind: str) -> None:
    rule, subject = SUBJECTS[kind]
    one = finding(judged(peers.shown(node(kind), DISKS, at_times(4, 12), seconds=72)))
    assert (one.rule, one.severity, one.subject) == (rule, Severity.WARNING, subject)
    assert "SLOW AT TIMES: 5 spells" in one.title
    assert "400 ms for 20s of 1m0" in one.cause


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(at_times(1, 15), id="four seconds of a minute"),
        pytest.param(at_times(6, 12, until=28), id="two spells"),
        pytest.param(at_times(4, 12, names=DISKS), id="all at once"),
        pytest.param(at_times(4, 12, names=DISKS[:4]), id="most of them"),
        pytest.param(at_times(4, 12, rate=60.0), id="more requests"),
    ],
)
def test_seconds_that_are_few_shared_or_due_to_load_are_not_relapses(load: Loads) -> None:
    assert found(judged(peers.shown(node("raidz2"), DISKS, load, seconds=72))) == set()


def test_members_that_are_slow_in_turns_are_not_relapsing() -> None:
    def load(device: str, second: int) -> Load:
        slow = device == DISKS[second // 3 % len(DISKS)]
        return Load(20, 20, 400.0, busy=1.0) if slow else Load(20, 20, 10.0, busy=0.2)

    assert found(judged(peers.shown(node("raidz2"), DISKS, load, seconds=72))) == set()


# --- slow without a comparison ----------------------------------------------------------------------------


def alone(rate: float, wait: float, *, busy: float = 1.0, seconds: int = 40, interval: float = 1.0) -> Session:
    """Judge a single disk, which has no peers."""
    files = peers.disks(DISKS[:1])
    shown = peers.shown(files, DISKS[:1], lambda *_: Load(rate, 0.0, wait, busy=busy), seconds=seconds,
                        interval=interval)  # fmt: skip
    return judged(shown)


@pytest.mark.parametrize(("rate", "is_found"), [(4.5, True), (5.5, False)])
def test_a_full_disk_with_few_requests_is_slow_without_peers(rate: float, is_found: bool) -> None:  # noqa: FBT001
    """At the threshold a request takes 0.2 s of the disk's time, beyond what its 8 KiB take."""
    said = found(alone(rate, 3000.0))
    assert said == ({("slow-device", "warning", "sdb")} if is_found else set())


@pytest.mark.parametrize(
    ("wait", "busy"),
    [
        pytest.param(3000.0, 0.9, id="not full"),
        pytest.param(5.0, 1.0, id="a lost request keeps an idle disk busy"),
    ],
)
def test_a_disk_that_is_not_full_or_answers_at_once_is_not_slow(wait: float, busy: float) -> None:
    assert found(alone(2.0, wait, busy=busy)) == set()


@pytest.mark.parametrize(("seconds", "interval"), [(9, 1.0), (6, 5.0), (4, 60.0)])
def test_a_slow_disk_is_found_in_short_and_in_coarse_recordings(seconds: int, interval: float) -> None:
    assert found(alone(2.0, 1500.0, seconds=seconds, interval=interval)) == {("slow-device", "warning", "sdb")}


def early(session: Session) -> set[str]:
    """Return the things of which a sign of slowness is seen for too short a time."""
    unchecked = session.head().judgement.unchecked
    return {
        name for each in unchecked if each.gap is Gap.SIGNS and each.rule == "slow-device" for name in each.subjects
    }


@pytest.mark.parametrize(
    ("rate", "seconds", "seen"), [(2.0, 2, True), (2.0, 7, True), (5.5, 7, False), (2.0, 40, False)]
)
def test_a_slow_disk_in_a_check_of_seconds_is_not_good(rate: float, seconds: int, seen: bool) -> None:  # noqa: FBT001
    """A check that watches for itself has seven samples; below 0.2 s of work a request there is no sign."""
    assert early(alone(rate, 3000.0, seconds=seconds)) == ({"sdb"} if seen else set())


def test_a_disk_that_spins_up_in_a_check_of_seconds_shows_no_sign() -> None:
    def load(device: str, second: int) -> Load:
        return Load(0, 0, busy=1.0, in_flight=3, queue=3) if second < 6 else Load(3, 0, 6000.0, busy=1.0)

    assert early(judged(peers.shown(peers.disks(DISKS[:1]), DISKS[:1], load, seconds=7))) == set()


def test_a_disk_that_spins_up_is_not_slow() -> None:
    files = peers.disks(DISKS[:1])

    def load(device: str, second: int) -> Load:
        if second < 30:
            return Load(0, 0, busy=0.0)
        return Load(0, 0, busy=1.0, in_flight=20, queue=20) if second < 39 else Load(20, 0, 8000.0, busy=1.0)

    session = Session(Origin("n"), peers.COLLECTORS, RULES)
    session.feed_all(frames(peers.shown(files, DISKS[:1], load, seconds=60)))
    assert list(session.episodes()) == []


def test_large_requests_of_a_limited_disk_are_not_slow() -> None:
    """Seen on a real kernel: 1 MiB each, at a limit of 1 MB/s."""
    rows = []
    for second in range(41):
        sectors, busy = second * 2048, second * 1000
        text = f"   8      16 sdb {second} 0 {sectors} {second * 3100} 0 0 0 0 3 {busy} {second * 3100} 0 0 0 0 0 0\n"
        rows.append((float(second), peers.disks(DISKS[:1]) | {"/proc/diskstats": text}))
    assert found(judged(rows)) == set()


def test_disks_that_are_all_slow_have_no_peers_to_be_compared_with() -> None:
    session = judged(peers.shown(node("raidz2"), DISKS, lambda *_: Load(1, 1, 2000.0, busy=1.0), seconds=40))
    said = [(f.rule, f.severity.value, f.title) for f in session.head().judgement.findings]
    assert said == [("slow-device", "warning", "6 DISKS ARE SLOW")]


def test_a_device_on_top_of_others_is_not_judged_alone() -> None:
    files = peers.disks(DISKS[:1]) | {"/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/dm/name": "vg0-data\n"}
    names = ("dm-0",)
    assert found(judged(peers.shown(files, names, lambda *_: Load(2, 0, 3000.0, busy=1.0)))) == set()


# --- neighbors -------------------------------------------------------------------------------------------


def test_a_busy_neighbour_partition_is_named_and_the_disk_is_not_to_be_replaced() -> None:
    """Seen on a real kernel: 162 of 200 requests per second on the member's disk were another partition's."""
    names = [name for disk in DISKS for name in (disk, f"{disk}1", f"{disk}2")]

    def load(device: str, second: int) -> Load:
        slow = device.startswith("sdd")
        if device.endswith("2"):
            return Load(81, 81, 90.0, busy=0.95) if slow else Load(0, 0, busy=0.0)
        if device.endswith("1"):
            return Load(19, 19, 100.0, busy=0.98) if slow else Load(19, 19, 9.0, busy=0.2)
        return Load(100, 100, 92.0, busy=1.0) if slow else Load(19, 19, 9.0, busy=0.2)

    members = [f"{disk}1" for disk in DISKS]
    files = peers.disks(DISKS, partitions=True) | peers.pool(members)
    one = finding(judged(peers.shown(files, names, load)))
    assert one.severity is Severity.WARNING
    assert one.subject == "tank/sdd1"
    assert "sdd2" in one.summary
    assert "162 of 200 requests/s" in one.summary
    assert not any("replace" in line for line in one.steps)


# --- severity ---------------------------------------------------------------------------------------------


def test_severity_does_not_flap_at_its_border() -> None:
    """The wait is 9.6 and 8.4 times the peers' in turn, for ten seconds each, and critical from 9."""

    def load(device: str, second: int) -> Load:
        factor = 1.0 if device != "sdd" else 9.6 if second % 20 < 10 else 8.4
        return Load(10, 10, 10.0 * factor, busy=min(1.0, 0.1 * factor))

    session = Session(Origin("n"), peers.COLLECTORS, RULES)
    shown = frames(peers.shown(node("raidz2"), DISKS, load, seconds=70))
    live = [session.feed(frame).judgement for frame in shown]
    severities = [f.severity for judgement in live[20:] for f in judgement.findings]
    assert set(severities) == {Severity.CRITICAL}
    lookback = Lookback(session)
    for index in (30, 45, 60):
        assert lookback.at(index).judgement == live[index]


def test_a_severity_that_is_clearly_over_falls() -> None:
    def load(device: str, second: int) -> Load:
        factor = 1.0 if device != "sdd" else 12.0 if second < 30 else 5.0
        return Load(10, 10, 10.0 * factor, busy=min(1.0, 0.1 * factor))

    assert found(judged(peers.shown(node("raidz2"), DISKS, load, seconds=72))) == {
        ("slow-device", "warning", "tank/sdd")
    }


# --- NVMe drives without peers ----------------------------------------------------------------------------------------


def nvme(service: float, wait: float, *, name: str = "nvme1n1", model: str = "INTEL SSDPE21K375GA", pci: bool = True,
          seconds: int = 40, share: float = 1.0, place: str = "", rotational: int = 0,
          size: int = 8) -> set[tuple[str, str, str]]:  # fmt: skip
    """Return the findings about one disk that is busy for `service` ms and waits `wait` ms for each request.

    `share` is that of the time in which it is busy, `size` the sectors of a request.
    """
    base = f"/sys/block/{name}"
    place = place or ("pci0000:64/0000:65:00.0/nvme/nvme1" if pci else "virtual/nvme-fabrics/ctl/nvme1")
    known = {f"{base}/dev": "259:8\n", f"{base}/size": "732585168\n", f"{base}/queue/rotational": f"{rotational}\n",
             f"{base}/device/model": f"{model}\n", f"link:{base}": f"../devices/{place}/{name}"}  # fmt: skip
    known |= {f"link:{base}/device": "../../../2:0:0:0"} if name.startswith("sd") else {}
    shown: list[tuple[float, Files]] = []
    for second in range(seconds + 1):
        done, busy = round(1000 * share / service * second), round(1000 * share * second)
        line = f" 259 8 {name} {done} 0 {size * done} {round(done * wait)} 0 0 0 0 8 {busy} {round(done * wait)}"
        shown.append((float(second), known | {"/proc/diskstats": f"{line} 0 0 0 0 0 0\n"}))
    return found(judged(shown))


_SLOW = {("slow-device", "warning", "nvme1n1")}


@pytest.mark.parametrize(
    ("service", "wait", "is_found"),
    [(25, 200, True), (21, 110, True), (19, 200, False), (25, 95, False), (2, 200, False), (210, 210, True)],
)
def test_an_nvme_drive_without_peers_near_the_threshold(service: float, wait: float, is_found: bool) -> None:  # noqa: FBT001
    assert nvme(service, wait) == (_SLOW if is_found else set())


_ATA = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block"


@pytest.mark.parametrize(("share", "wait", "more", "is_found"), [
    (0.5, 110, {}, True), (0.3, 110, {}, True),
    (0.17, 110, {}, False),  # 1.7 requests a second
    (0.5, 95, {}, False),
    (0.5, 110, {"name": "sdb", "place": _ATA}, True),  # a SATA SSD
    (0.5, 110, {"name": "sdb", "place": _ATA, "rotational": 1}, False),
    (0.5, 110, {"name": "sdb", "place": _ATA.replace("ata3", "usb2")}, False),
    (0.5, 110, {"name": "sdb", "place": "pci0000:00/0000:00:17.0/host2/rport-2:0-1/target2:0:0/2:0:0:0/block"}, False),
    (0.5, 110, {"name": "sdb", "place": _ATA, "model": "QEMU HARDDISK"}, False),
    (0.9, 300, {"size": 8192}, False),  # 4 MiB, at 20 MB/s
])  # fmt: skip
def test_a_drive_that_is_not_full_and_takes_long_for_few_requests(
    share: float,
    wait: float,
    more: dict[str, Any],
    is_found: bool,  # noqa: FBT001
) -> None:
    """Its wait was always so long, so that its past shows nothing."""
    found = nvme(100, wait, share=share, **more)
    assert found == ({("slow-device", "warning", more.get("name", "nvme1n1"))} if is_found else set())


def test_a_drive_that_a_hypervisor_or_a_fabric_provides_is_no_local_one() -> None:
    assert nvme(25, 200, model="Amazon Elastic Block Store") == set()
    assert nvme(25, 200, pci=False) == set()


def test_pasted_rates_of_long_ago_are_no_group_and_no_error() -> None:
    session = pasted({"sda": 9.0, "sdb": 212.0, "sdc": 10.0, "sdd": 9.5})
    last = session.head().now
    session.feed(Frame(last.number + 1, last.taken + 1000.0, last.monotonic + 1000.0, ran={}))
    assert found(session) == set()
    assert not [each for each in session.head().judgement.unchecked if "error" in each.reason]
