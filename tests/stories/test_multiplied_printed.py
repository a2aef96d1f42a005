"""One member's times multiplied in what tools print: iostat (3 forms), sar, zpool iostat, osd perf, a gateway.

Stories with disk counters are printed by each tool; other stories hold the output of a tool already. The conditions are
those of test_multiplied.
"""

from __future__ import annotations

import functools
import json
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from sdstop.analysis.members.group_columns import device_of
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame, Origin
from sdstop.core.finding import Severity
from sdstop.core.history import Window
from sdstop.core.interval import unrolled
from sdstop.core.joins import GroupKind
from sdstop.core.session import Session
from sdstop.readings.rebuild import Rebuild
from sdstop.readings.service import IOSTAT, OSD_PERF, POWERFLEX, Service
from tests.fixtures import crossed, expected, names, opened
from tests.stories import printed
from tests.stories.altered import unaltered
from tests.stories.multiplied import FACTOR, LEAST_RATE, LEAST_WAIT, NAMING_RULES, SHARE, is_named, members, slowed


def judged(frames: Sequence[Frame]) -> Session:
    session = Session(Origin("n"), BUILTIN, NAMING_RULES)
    session.feed_all(frames)
    return session


def is_found(frames: Sequence[Frame], device: str) -> bool:
    """Return whether a member is named at any time."""
    return is_named([episode.finding for episode in judged(frames).episodes()], device)


# --- counters as tools print them -------------------------------------------------------------------------


@functools.cache
def window_of(name: str) -> Window:
    told = unaltered(name)
    return deque(told.windows(told.frames, ()), maxlen=1).pop()


def shown(name: str, tool: str, device: str | None) -> list[Frame]:
    """Return a story as a tool prints it, with the times of a device multiplied; [] if it has nothing to print."""
    told = unaltered(name)
    frames = told.frames if device is None else list(slowed(told.frames, device))
    made = printed.TOOLS[tool](printed.steps(frames), window_of(name))
    return printed.recorded(told.state, told.frames[-1], *made) if made is not None else []


def printable(name: str, tool: str) -> tuple[str, ...]:
    """Return the members of a story that a tool shows well enough to compare them.

    sar prints one rate and one wait for reads and writes, iostat 9.0 two rates and one wait. They show neither the
    member that is rebuilt nor one that completes far more requests than its peers.
    """
    every = members(name)
    window = window_of(name) if every else None
    if window is None:
        return ()
    groups = [(group, {device_of(member) for member in group.members}) for group in window.topology.groups()]
    if tool == "zpool iostat":
        leaves = {device for group, devices in groups if group.kind is GroupKind.LEAVES for device in devices}
        return tuple(member for member in every if member in leaves)
    if tool not in {"sar", "iostat 9.0"}:
        return every
    if window.rows(Rebuild):
        return ()
    steps = printed.steps(unaltered(name).frames)
    done = {device: sum(step.rows[device][0] + step.rows[device][4] for step in steps if device in step.rows)
            for device in every}  # fmt: skip
    middle = sorted(done.values())[len(done) // 2] if done else 0
    return tuple(device for device in every if middle / SHARE <= done[device] <= SHARE * middle)


_STORIES = (
    "clone-convoy",
    "draid-one-dimm",
    "hot-member",
    "md-degraded",
    "server-even",
    "slow-member",
    "vm-disk-stalls",
)
"""Stories that are printed by one tool in every run, and by all with `-m slow`.

Stripes, leaves of dRAID, like disks, and an array with a slow member already.
"""


@pytest.mark.parametrize(("name", "tool"), crossed(_STORIES, printed.TOOLS))
def test_a_member_is_found_in_the_output_of_a_tool(name: str, tool: str) -> None:
    every = printable(name, tool)
    assert every or tool in {"sar", "iostat 9.0", "zpool iostat"}  # sar: one of them is rebuilt
    chosen = every[len(every) // 2 : len(every) // 2 + 1]
    assert [member for member in chosen if not is_found(shown(name, tool, member), member)] == []


@pytest.mark.slow
@pytest.mark.parametrize("tool", printed.TOOLS)
@pytest.mark.parametrize("name", names())
def test_three_members_of_every_story_are_found_in_the_output_of_every_tool(name: str, tool: str) -> None:
    every = printable(name, tool)
    chosen = {every[0], every[len(every) // 2], every[-1]} if every else set()
    assert [member for member in sorted(chosen) if not is_found(shown(name, tool, member), member)] == []


_ALIKE = ("busy-but-healthy", "draid-mended", "server-even", "clone-convoy", "vm-disk-stalls")


@pytest.mark.parametrize(("name", "tool"), crossed(_ALIKE, printed.TOOLS))
def test_members_that_are_alike_are_not_named(name: str, tool: str) -> None:
    """`vm-disk-stalls` names a member by its standstills, which only counters show."""
    frames = shown(name, tool, None)
    found = {episode.finding.rule for episode in judged(frames).episodes()} if frames else set()
    assert found <= {"slow-device", "slow-stripe-member"} & {rule for _, rule, _ in expected(name).found}


# --- stories that hold the output of a tool ---------------------------------------------------------------

_TIMES = frozenset({"r_await", "w_await", "d_await", "f_await", "aqu-sz"})


def slowed_iostat(text: str, device: str) -> str:
    """Return the reports of iostat with the times of a device multiplied."""
    heading: list[str] = []
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["Device"]:
            heading = words
        elif words[:1] == [device] and len(words) == len(heading):
            words = [
                f"{FACTOR * float(word):.2f}" if head in _TIMES
                else f"{min(100.0, FACTOR * float(word)):.2f}" if head == "%util" else word
                for head, word in zip(heading, words, strict=True)
            ]  # fmt: skip
            line = " ".join(words)  # noqa: PLW2901
        lines.append(line)
    return "\n".join([*lines, ""])


def slowed_perf(text: str, device: str) -> str:
    """Return `ceph osd perf` with the latencies of an OSD (its number) multiplied."""
    said = json.loads(text)
    for row in said["osdstats"]["osd_perf_infos"]:
        if str(row["id"]) == device:
            row["perf_stats"] = {name: FACTOR * ms for name, ms in row["perf_stats"].items()}
    return json.dumps(said)


def slowed_gateway(text: str, device: str) -> str:
    """Return the gateway's statistics with the latencies of a device (its id) multiplied."""
    said = json.loads(text)
    for name in ("avgReadLatencyInMicrosec", "avgWriteLatencyInMicrosec"):
        if name in said["Device"][device]:
            said["Device"][device][name] *= FACTOR
    return json.dumps(said)


def altered(name: str, key: str, change: Callable[[str, str], str], device: str) -> list[Frame]:
    """Return the frames of a story in which a device's times in one piece of evidence are multiplied."""
    origin, frames = opened(name)
    made = [
        replace(frame, evidence=tuple(
            replace(item, data=change(bytes(item.data).decode(), device).encode()) if key in item.key else item
            for item in frame.evidence
        ))
        for frame in frames
    ]  # fmt: skip
    return unrolled(origin, made, BUILTIN)[1]


class Held(NamedTuple):
    """Evidence of a tool in a story: a part of its key, a function that multiplies, and the name of a row's device."""

    tool: str
    key: str
    change: Callable[[str, str], str]
    device: Callable[[Service], str]


HELD = {
    "iostat-slow-member": Held(IOSTAT, "iostat", slowed_iostat, attrgetter("device")),
    "iostat-slow-stripe-member": Held(IOSTAT, "iostat", slowed_iostat, attrgetter("device")),
    "iostat-healthy": Held(IOSTAT, "iostat", slowed_iostat, attrgetter("device")),
    "iostat-healthy-array": Held(IOSTAT, "iostat", slowed_iostat, attrgetter("device")),
    "ceph-drain": Held(OSD_PERF, "osd_perf", slowed_perf, lambda row: row.device.rpartition(".")[2]),
    "scaleio-cloud": Held(POWERFLEX, "querySelected", slowed_gateway, lambda row: row.needle.partition(">")[0]),
    "scaleio-tight": Held(POWERFLEX, "querySelected", slowed_gateway, lambda row: row.needle.partition(">")[0]),
}
"""Stories that hold the output of a tool for 36 s."""


def compared(name: str) -> list[Service]:
    """Return the rows of a story's tool about disks that wait long enough once multiplied."""
    held = HELD[name]
    rows = [row for row in window_of(name).rows(Service).values() if row.tool == held.tool]
    return [
        row
        for row in rows
        if not row.device.startswith("md")
        and (row.requests_per_second is None or row.requests_per_second >= LEAST_RATE)
        and FACTOR * max(row.read_wait or 0.0, row.write_wait or 0.0, row.wait or 0.0) >= LEAST_WAIT
    ]


def missed(name: str, rows: Sequence[Service]) -> list[str]:
    held = HELD[name]
    found = {row.device: judged(altered(name, held.key, held.change, held.device(row))).episodes() for row in rows}
    above = {
        device: [e.finding for e in episodes if e.finding.severity is not Severity.INFO]
        for device, episodes in found.items()
    }
    return [device for device, findings in above.items() if not any(f.subject.endswith(device) for f in findings)]


@pytest.mark.parametrize("name", HELD)
def test_a_member_in_the_recorded_output_of_a_tool_is_found(name: str) -> None:
    rows = compared(name)
    assert len(rows) >= 8
    assert missed(name, rows[len(name) % len(rows) :][:1]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD)
def test_every_member_in_the_recorded_output_of_a_tool_is_found(name: str) -> None:
    assert missed(name, compared(name)) == []
