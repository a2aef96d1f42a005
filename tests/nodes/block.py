"""Small synthetic nodes as frames of raw evidence, made line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.rule import Rule
from sdstop.core.session import Session

STARTED = 1_790_000_000.0
"""2026-09-21 14:13:20 UTC."""


def disk_name(number: int) -> str:
    """Return the kernel's name of the disk with this number from 0: sda, ... sdz, sdaa."""
    letters, left = "", number + 1
    while left:
        left, digit = divmod(left - 1, 26)
        letters = "abcdefghijklmnopqrstuvwxyz"[digit] + letters
    return f"sd{letters}"


@dataclass(frozen=True, slots=True)
class Load:
    """What a disk does in a second: `queue` requests outstanding, `wait` seconds each."""

    reads: int = 0
    writes: int = 0
    size: int = 4096
    wait: float = 0.001
    queue: float = 0.0
    busy: float = 0.0


IDLE = Load()


@dataclass
class Node:
    """A node that is looked at once a second. `loads` says what a device does in which second."""

    devices: Sequence[str] = ("sda", "sdb")
    loads: Callable[[str, int], Load] = lambda *_: IDLE
    mdstat: str = "Personalities :\nunused devices: <none>\n"
    files: Mapping[str, str] = field(default_factory=dict)
    later: Mapping[int, Sequence[Evidence]] = field(default_factory=dict)

    def frames(self, seconds: int, interval: float = 1.0) -> list[Frame]:
        """Return a frame at the beginning and one after every interval."""
        totals = {device: [0] * 11 for device in self.devices}
        found = []
        known: dict[str, str] = {}
        for number in range(1, int(seconds / interval) + 2):
            if number > 1:
                for device, total in totals.items():
                    _add(total, self.loads(device, number - 1), interval)
            texts = {"/proc/diskstats": _diskstats(totals), "/proc/mdstat": self.mdstat, **self.files}
            changed = [
                Evidence(k, data=t.encode("utf-8", "surrogateescape"), taken=STARTED + number - 1, duration=0.001)
                for k, t in texts.items()
                if known.get(k) != t
            ]
            known = texts
            changed.extend(self.later.get(number, ()))
            at = (number - 1) * interval
            found.append(Frame(number, STARTED + at, 1000.0 + at, tuple(changed)))
        return found

    def session(
        self, seconds: int = 5, rules: Sequence[Rule] = (), *, name: str = "node-1", live: bool = False
    ) -> Session:
        """Return a session that was fed all frames."""
        session = Session(Origin(name, live=live), BUILTIN, rules, remember=900 if live else None)
        session.feed_all(self.frames(seconds))
        return session


def _add(total: list[int], load: Load, interval: float) -> None:
    reads, writes = round(load.reads * interval), round(load.writes * interval)
    sectors = load.size // 512
    for at, more in enumerate(
        (reads, 0, reads * sectors, round(reads * load.wait * 1000), writes, 0, writes * sectors,
         round(writes * load.wait * 1000), 0, round(load.busy * 1000 * interval), round(load.queue * 1000 * interval))
    ):  # fmt: skip
        total[at] += more
    total[8] = round(load.queue)


def _diskstats(totals: Mapping[str, Sequence[int]]) -> str:
    rows = (
        f"{8 + minor // 256:4d} {minor % 256:7d} {device} " + " ".join(map(str, [*total, *[0] * 6]))
        for minor, (device, total) in enumerate(totals.items())
    )
    return "\n".join(rows) + "\n"


def raid10(name: str, members: Sequence[str], blocks: int = 1 << 20, progress: str = "") -> str:
    """Return mdstat with one RAID10 of near copies."""
    listed = " ".join(f"{member}[{slot}]" for slot, member in enumerate(members))
    count = len(members)
    up = f"[{count}/{count}] [{'U' * count}]"
    tail = f"      {progress}\n" if progress else ""
    return (
        f"Personalities : [raid10]\n{name} : active raid10 {listed}\n"
        f"      {blocks} blocks super 1.2 512K chunks 2 near-copies {up}\n{tail}\nunused devices: <none>\n"
    )


def refused(path: str, outcome: Outcome = Outcome.DENIED, detail: str = "needs root") -> Evidence:
    """Return evidence that was not to be had."""
    return Evidence(path, outcome, detail=detail)
