"""Windows for the rules of striped arrays: simulated loads, and seconds made by hand.

Both go the whole way: text of diskstats, mdstat and sysfs through the collectors into windows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Finding
from sdstop.core.judgement import Judgement
from sdstop.core.session import Session
from sdstop.rules.arrays.hot_stripe_member import HOT_STRIPE_MEMBER
from sdstop.rules.arrays.slow_stripe_member import SLOW_STRIPE_MEMBER
from sdstop.rules.arrays.stripe_convoy import STRIPE_CONVOY
from sdstop.rules.disks.slow_device import SLOW_DEVICE
from tests.arrays import ArraySpec, Level, evidence, member_name, simulate

RULES = (HOT_STRIPE_MEMBER, SLOW_STRIPE_MEMBER, STRIPE_CONVOY, SLOW_DEVICE)
IDS = {rule.id for rule in RULES} - {SLOW_DEVICE.id}
COLLECTORS = (DISKSTATS, BLOCKDEV, MDRAID, MDMEMBERS)

Files = dict[str, str]


def frames(shown: Sequence[tuple[float, Files]]) -> list[Frame]:
    """Make frames of (time, files by path; `link:PATH` is a link); what did not change is left out."""
    known: dict[str, str] = {}
    made = []
    for number, (time, files) in enumerate(shown, start=1):
        new = {key: text for key, text in files.items() if known.get(key) != text}
        known.update(new)
        items = tuple(Evidence(key, data=text.encode()) for key, text in new.items())
        made.append(Frame(number, 1_700_000_000 + time, time, items))
    return made


def judged(shown: Sequence[tuple[float, Files]], config: Mapping[str, Mapping[str, float]] | None = None) -> Session:
    session = Session(Origin("n"), COLLECTORS, RULES, config)
    session.feed_all(frames(shown))
    return session


def said(judgement: Judgement) -> set[tuple[str, str, str]]:
    return {(f.rule, f.severity.value, f.subject) for f in judgement.findings}


def unchecked(judgement: Judgement) -> dict[str, str]:
    return {u.rule: u.reason for u in judgement.unchecked}


def finding(session: Session) -> Finding:
    (found,) = session.head().judgement.findings
    return found


def links(spec: ArraySpec) -> Files:
    return {f"link:{path}": target for path, target in evidence.links(spec).items()}


def simulated(spec: ArraySpec, seed: int, seconds: int = 12) -> list[tuple[float, Files]]:
    shown = []
    for frame in simulate(spec, seed, seconds):
        files = {"/proc/diskstats": frame.diskstats, "/proc/mdstat": frame.mdstat, **frame.files, **links(spec)}
        shown.append((frame.monotonic, files))
    return shown


@dataclass(frozen=True)
class Load:
    """What a disk does in a second: requests, their wait in ms, queue (None: rate times wait), busy 0..1."""

    reads: float = 20.0
    writes: float = 20.0
    wait: float = 10.0
    queue: float | None = None
    busy: float = 0.4
    in_flight: int = 0
    read_wait: float | None = None


Second = Callable[[int, int], Load]
"""Member and second to its load."""

SIXTEEN = ArraySpec(level=Level.RAID0, disks=16)
PAIRS = ArraySpec(disks=32)
BASE = "/sys/block/md0/md"


def made(
    spec: ArraySpec,
    load: Second,
    *,
    seconds: int = 12,
    interval: float = 1.0,
    files: Files | None = None,
    without: frozenset[str] = frozenset(),
    array_busy: float = 1.0,
) -> list[tuple[float, Files]]:
    """Make frames in which every member has its load; `files` replaces what a healthy array would show."""
    total = {member: [0.0] * 8 for member in range(spec.disks)}
    shown: list[tuple[float, Files]] = []
    base = {"/proc/mdstat": evidence.mdstat(spec, 0, 0.0), **evidence.sysfs(spec, 0, 0.0), **links(spec)}
    for second in range(seconds + 1):
        rows = []
        for member, now in total.items():
            does = load(member, second)
            if second:
                read_wait = does.wait if does.read_wait is None else does.read_wait
                waited = does.reads * read_wait + does.writes * does.wait
                queue = waited if does.queue is None else does.queue * 1000
                steps = (does.reads, does.reads * 16, does.reads * read_wait, does.writes, does.writes * 16,
                         does.writes * does.wait, does.busy * 1000, queue)  # fmt: skip
                for index, step in enumerate(steps):
                    now[index] += step * interval
            n = [round(value) for value in now]
            if member_name(member) not in without:
                major, minor = evidence.member_number(member)
                rows.append(
                    f"{major:4d} {minor:7d} {member_name(member)} {n[0]} 0 {n[1]} {n[2]} {n[3]} 0 {n[4]} {n[5]} "
                    f"{does.in_flight} {n[6]} {n[7]} 0 0 0 0 0 0\n"
                )
        busy = round(second * interval * array_busy * 1000)
        rows.append(f"   9       0 md0 {second * 900} 0 {second * 9000} 0 0 0 0 0 0 {busy} 0 0 0 0 0 0 0\n")
        shown.append((second * interval, base | (files or {}) | {"/proc/diskstats": "".join(rows)}))
    return shown


def crowd(
    deep: float = 8.0, rest: float = 0.25, busy: float = 1.0, rest_busy: float = 0.25, columns: int = 16
) -> Second:
    """Let the queue stand at one member and go on to another each second."""

    def load(member: int, second: int) -> Load:
        at = member == second * 5 % columns
        return Load(queue=deep if at else rest, busy=busy if at else rest_busy)

    return load


def standing(ios: float = 4.0, wait: float = 10.0) -> Second:
    """Let the queue stay at one member, which does `ios` times the requests of the others."""

    def load(member: int, second: int) -> Load:
        if member == 5:
            return Load(20 * ios, 20 * ios, wait, queue=8.0, busy=1.0)
        return Load(queue=0.25, busy=0.25)

    return load


def one_slow(times: float, *, share: float = 1.0, reads_too: bool = True) -> Second:
    def load(member: int, second: int) -> Load:
        if member == 5:
            read_wait = 10 * times if reads_too else 10.0
            return Load(20 * share, 20 * share, 10 * times, busy=min(1.0, 0.4 * times), read_wait=read_wait)
        return Load()

    return load


def steady(member: int, second: int) -> Load:
    """Let all do the same."""
    return Load()
