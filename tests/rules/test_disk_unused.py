"""disk-unused: a disk without requests although all disks like it get an equal load."""

from __future__ import annotations

import re

import pytest

from sdstop.collectors.block.iostat import IOSTAT
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.core.evidence import Origin
from sdstop.core.finding import Severity
from sdstop.core.session import Session
from sdstop.rules.disks.disk_offline import DISK_OFFLINE
from sdstop.rules.disks.disk_unused import DISK_UNUSED
from tests.nodes import peers
from tests.nodes.peers import DISKS, Loads
from tests.rules.stripes import Files, Load, frames

ODD = "sdd"
BUSY = Load(20, 20, 5.0)
NONE = Load(0, 0, 0.0, busy=0.0)


def stops(at: int = 40, *, after: Load = NONE, peers_after: Load = BUSY, before: Load = BUSY) -> Loads:
    """Return a load that ends on one disk at a second."""

    def load(name: str, second: int) -> Load:
        if name == ODD:
            return after if second >= at else before
        return peers_after if second >= at else BUSY

    return load


def judged(
    load: Loads,
    *,
    seconds: int = 75,
    disks: tuple[str, ...] = DISKS,
    more: Files | None = None,
) -> Session:
    session = Session(Origin("n"), peers.COLLECTORS, (DISK_UNUSED,))
    session.feed_all(frames(peers.shown(peers.disks(disks) | (more or {}), disks, load, seconds=seconds)))
    return session


def found(session: Session) -> list[str]:
    return [finding.subject for finding in session.head().judgement.findings if finding.rule == DISK_UNUSED.id]


def test_a_disk_that_its_program_lost() -> None:
    session = judged(stops())
    (finding,) = session.head().judgement.findings
    assert (finding.severity, finding.subject) == (Severity.WARNING, ODD)
    assert finding.title == "NO REQUESTS: its peers get 40/s"
    assert finding.cause == "No request for 30s; 5 disks like it get an equal load."
    out = [subject for row in session.head().judgement.ruled_out for subject in row.subjects]
    assert out == [name for name in DISKS if name != ODD]


NEAR: dict[str, tuple[Loads, bool]] = {
    "just 30 s": (stops(44), True),
    "28 s": (stops(47), False),
    "a few requests": (stops(after=Load(0.1, 0, 5.0)), False),
    "hangs": (stops(after=Load(0, 0, 0.0, in_flight=3)), False),
    "had 0.7 of their load": (stops(before=Load(14, 14, 5.0)), True),
    "had 0.45 of their load": (stops(before=Load(9, 9, 5.0)), False),
    "had few requests since boot": (stops(8), False),
    "a spare disk": (stops(before=NONE), False),
    "peers get 2.4 a second": (stops(peers_after=Load(1.2, 1.2, 5.0)), True),
    "peers get 1.8 a second": (stops(peers_after=Load(0.9, 0.9, 5.0)), False),
    "the work ended": (lambda _, second: NONE if second >= 40 else BUSY, False),
}


@pytest.mark.parametrize(("load", "is_found"), NEAR.values(), ids=NEAR)
def test_near_the_thresholds(load: Loads, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert found(judged(load)) == ([ODD] if is_found else [])


@pytest.mark.parametrize(("factor", "is_found"), [(2.8, True), (3.2, False)])
def test_an_unequal_load_says_nothing(factor: float, is_found: bool) -> None:  # noqa: FBT001  # a table
    even = stops()

    def load(name: str, second: int) -> Load:
        return Load(20 * factor, 20 * factor, 5.0) if name == DISKS[0] else even(name, second)

    assert found(judged(load)) == ([ODD] if is_found else [])


def test_a_third_of_the_disks_without_requests_is_another_workload() -> None:
    def load(name: str, second: int) -> Load:
        return NONE if name in DISKS[:2] and second >= 40 else BUSY

    assert found(judged(load)) == [*DISKS[:2]]
    assert not found(judged(lambda name, second: NONE if name in DISKS[:4] and second >= 40 else BUSY))


def test_three_disks_have_too_few_peers() -> None:
    assert found(judged(stops(), disks=DISKS[:4])) == [ODD]
    assert not found(judged(stops(), disks=("sdb", "sdc", ODD)))


@pytest.mark.parametrize(
    "owner", [peers.raid1(DISKS), peers.pool(DISKS), peers.mapping(DISKS)], ids=["md", "zfs", "lvm"]
)
def test_an_array_has_a_state_for_each_member(owner: Files) -> None:
    assert not found(judged(stops(), more=owner))


def test_programs_that_use_one_file_system_need_not_use_another() -> None:
    mounts = "".join(f"/dev/{name} /srv/{name} xfs rw 0 0\n" for name in DISKS)
    session = Session(Origin("n"), (*peers.COLLECTORS, MOUNTED), (DISK_UNUSED,))
    shown = peers.shown(peers.disks(DISKS) | {"/proc/mounts": mounts}, DISKS, stops(), seconds=75)
    session.feed_all(frames(shown))
    assert not found(session)


def test_a_disk_whose_counters_are_cut_off_is_not_checked() -> None:
    shown = peers.shown(peers.disks(DISKS), DISKS, lambda *_: BUSY, seconds=75)
    cut = [
        (at, {**files, "/proc/diskstats": re.sub(f"(?m)^.* {ODD} .*\n", "", files["/proc/diskstats"])})
        for at, files in shown
    ]
    session = Session(Origin("n"), peers.COLLECTORS, (DISK_UNUSED,))
    session.feed_all(frames(cut))
    (verdict,) = session.head().judgement.unchecked
    assert (verdict.subject, verdict.calm) == (ODD, False)
    assert verdict.reason == "no row in /proc/diskstats, where disks like it have one"


def test_disks_of_another_model_are_no_peers() -> None:
    assert not found(judged(stops(), more=peers.disks((ODD,), model="HUH721212AL")))


def test_another_disk_under_the_same_name() -> None:
    def load(name: str, second: int) -> Load:
        return Load(-20, -20, 5.0) if name == ODD and second == 60 else BUSY

    assert not found(judged(load))


def test_an_offline_disk_is_the_reason() -> None:
    shown = peers.shown(peers.disks(DISKS), DISKS, stops(), seconds=75)
    state = {"/sys/block/sdd/device/state": "offline\n"}
    session = Session(Origin("n"), peers.COLLECTORS, (DISK_UNUSED, DISK_OFFLINE))
    session.feed_all(frames([(at, {**files, **state}) for at, files in shown]))
    reason = next(each for each in session.head().judgement.findings if each.rule == "disk-offline")
    assert f"{DISK_UNUSED.id}:{ODD}" in reason.explains


# --- rates that a tool printed ------------------------------------------------------------------------------


HEAD = "Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util\n"


def printed(rates: Loads, *, seconds: int = 40, disks: tuple[str, ...] = DISKS) -> Session:
    shown: list[tuple[float, dict[str, str]]] = []
    for second in range(seconds):
        rows = [
            f"{name:<12} {row.reads + (row.reads and second / 100):8.2f} {row.reads * 16:9.2f} {row.wait:7.2f} "
            f"{row.writes:7.2f} {row.writes * 16:9.2f} {row.wait:7.2f} {row.queue or 0:7.2f} {100 * row.busy:6.2f}\n"
            for name in disks
            for row in (rates(name, second),)
        ]
        shown.append((float(second), {"cmd:iostat -xy 1 1": HEAD + "".join(rows)}))
    session = Session(Origin("n"), (IOSTAT,), (DISK_UNUSED,))
    session.feed_all(frames(shown))
    return session


PRINTED: dict[str, tuple[Loads, bool]] = {
    "20 s": (stops(20), True),
    "16 s": (stops(24), True),
    "10 s": (stops(30), False),
    "too few samples before": (stops(3), False),
    "a few requests": (stops(20, after=Load(0.5, 0, 5.0)), False),
    "hangs": (stops(20, after=Load(0, 0, 0.0, queue=3.0, busy=1.0)), False),
    "had two thirds of their load": (stops(20, before=Load(14, 14, 5.0)), True),
    "had less": (stops(20, before=Load(12, 12, 5.0)), False),
    "peers have 0.4 of their load": (stops(20, peers_after=Load(8, 8, 5.0)), True),
    "peers have 0.3 of their load": (stops(20, peers_after=Load(6, 6, 5.0)), False),
    "never had any": (stops(20, before=NONE), False),
}


@pytest.mark.parametrize(("load", "is_found"), PRINTED.values(), ids=PRINTED)
def test_printed_rates(load: Loads, is_found: bool) -> None:  # noqa: FBT001  # a table
    assert found(printed(load)) == ([ODD] if is_found else [])
