"""Seconds that scraping would miss, members, and what node_exporter has too."""

from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Literal

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector, Need
from sdstop.core.evidence import Evidence, Frame, Origin, RunMark
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.core.session import Session
from sdstop.exporters.prometheus import tallies
from sdstop.exporters.prometheus.choice import DEFAULT, Choice
from sdstop.exporters.prometheus.metrics import Exposition, catalogue
from sdstop.exporters.prometheus.page import PageSelection
from sdstop.exporters.prometheus.repeats import DISKS, OTHERS
from sdstop.readings.limit import USE, Limit
from sdstop.rules import RULES
from tests.fixtures import opened
from tests.fleet.engines import free_port


@cache
def page_of(story: str) -> str:
    """Return the page after the last frame of a story."""
    origin, frames = opened(story)
    page = Exposition(Session(origin, BUILTIN, RULES), BUILTIN, DEFAULT)
    for frame in frames:
        page.feed(frame)
    return page.page(process=False).decode()


def seconds(story: str, metric: str) -> dict[str, float]:
    """Return the values of a metric by the device, or the array."""
    found = re.findall(rf'(?m)^{metric}\{{array="md0"(?:,device="(\w+)")?\}} (\S+)$', page_of(story))
    return {device: float(value) for device, value in found}


def test_a_crowd_that_moves_is_counted_at_every_member() -> None:
    assert seconds("clone-convoy", "sdstop_array_hot_seconds_total")[""] == 52  # of 56 that could be judged
    members = seconds("clone-convoy", "sdstop_array_member_hot_seconds_total")
    assert len(members) == 46
    assert max(members.values()) == 5  # none of them for long


def test_a_crowd_that_stays_is_counted_at_one_member() -> None:
    assert seconds("hot-member", "sdstop_array_hot_seconds_total")[""] == 53
    members = seconds("hot-member", "sdstop_array_member_hot_seconds_total")
    assert {name for name, spent in members.items() if spent} == {"sde"}
    assert 'sdstop_disk_saturated_seconds_total{device="sde"} 60.0\n' in page_of("hot-member")
    assert 'sdstop_disk_saturated_seconds_total{device="sda"} 0.0\n' in page_of("hot-member")


def test_even_load_is_no_heat() -> None:
    assert seconds("busy-but-healthy", "sdstop_array_hot_seconds_total")[""] == 3  # chance, in a minute
    assert seconds("slow-member", "sdstop_array_hot_seconds_total")[""] == 0
    assert seconds("vm-md-raid5-even", "sdstop_array_hot_seconds_total")[""] == 0


@pytest.mark.parametrize("story", ["clone-convoy", "hot-member", "busy-but-healthy", "slow-member"])
def test_seconds_between_judgements_count(story: str) -> None:
    origin, frames = opened(story)
    page = Exposition(Session(origin, BUILTIN, RULES), BUILTIN, DEFAULT)
    page.session.judge_every(4.0)
    for frame in frames:
        page.feed(frame)
    text = page.page(process=False).decode()
    for metric, missed in (("array_hot", 1), ("disk_saturated", 0)):  # until the first judgement of the pattern
        pattern = rf"(?m)^sdstop_{metric}_seconds_total\{{.*\}} (\S+)$"
        found, every = (sum(map(float, re.findall(pattern, each))) for each in (text, page_of(story)))
        assert every - missed <= found <= every


def test_where_nothing_can_be_judged_there_is_no_counter() -> None:
    assert seconds("md-rebuild-running", "sdstop_array_hot_seconds_total") == {}
    assert "sdstop_array_hot_seconds_total" not in page_of("aoe-initiator")


STAT = "   8 {minor:7} {name} {reads} 0 {sectors} {ms} 0 0 0 0 {now} {ms} {weighted} 0 0 0 0 0 0\n"


def frame(number: int, busy: dict[str, int], *, links: bool = True) -> Frame:
    """Return a second in which these disks were busy for so many ms, with four requests outstanding then."""
    rows = [
        STAT.format(minor=16 * place, name=name, reads=100 * number, sectors=800 * number, ms=ms * number, now=4,
                    weighted=4 * ms * number)
        for place, (name, ms) in enumerate(busy.items())
    ]  # fmt: skip
    mdstat = "Personalities : [raid1]\nmd0 : active raid1 sdb1[1] sda[0]\n      1 blocks [2/2] [UU]\n"
    evidence = [Evidence("/proc/diskstats", data="".join(rows).encode())]
    marks = {"diskstats": RunMark(float(number), 0.001)}
    if number == 1 and links:
        evidence.append(Evidence("/proc/mdstat", data=mdstat.encode()))
        marks |= dict.fromkeys(("mdraid", "mdmembers"), RunMark(float(number), 0.001))
    return Frame(number, 1_800_000_000.0 + number, float(number), tuple(evidence), marks)


def exposed(chosen: Choice) -> Exposition:
    return Exposition(Session(Origin("n"), BUILTIN, RULES), BUILTIN, chosen)


def saturated(page: Exposition) -> dict[str, str]:
    text = page.page(process=False, part=PageSelection(frozenset({"diskstats"}))).decode()
    return dict(re.findall(r'(?m)^sdstop_disk_saturated_seconds_total\{device="(\w+)"\} (\S+)$', text))


def test_saturation_is_counted_from_the_second_reading_on_and_never_runs_back() -> None:
    page = exposed(Choice())
    page.feed(frame(1, {"sda": 1000, "sdb": 949}))
    assert saturated(page) == {}
    page.feed(frame(2, {"sda": 1000, "sdb": 949}))
    page.feed(frame(3, {"sda": 1000, "sdb": 949}))
    assert saturated(page) == {"sda": "2.0", "sdb": "0.0"}
    page.feed(frame(4, {"sdb": 949}))
    assert saturated(page) == {"sdb": "0.0"}  # gone with the disk
    page.feed(frame(5, {"sda": 1000, "sdb": 949}))
    page.feed(frame(6, {"sda": 1000, "sdb": 949}))
    assert saturated(page) == {"sda": "3.0", "sdb": "0.0"}


def test_names_that_never_return_are_forgotten_and_those_that_stay_count_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "MOST_GONE", 3)
    page, number, kept = exposed(Choice()), 0, []
    for name in (*(f"sd{letter}" for letter in "abcdefgh"), "sda"):
        for _ in range(3):
            number += 1
            page.feed(frame(number, {"keep": 1000, name: 1000}))
            kept.append(float(saturated(page).get("keep", 0)))
    assert kept == [float(at) for at in range(len(kept))]
    assert saturated(page) == {"keep": "26.0", "sda": "2.0"}  # it was forgotten, and begins again as after a restart


@pytest.mark.parametrize(
    ("disks", "shown"), [("members", {"sda", "sdb1"}), ("all", {"sda", "sdb", "sdb1", "sdc"}), ("none", set())]
)
def test_whose_counters_are_shown(disks: Literal["members", "all", "none"], shown: set[str]) -> None:
    page = exposed(Choice(disks=disks))
    page.feed(frame(1, dict.fromkeys(("sda", "sdb", "sdb1", "sdc"), 5)))
    page.feed(frame(2, dict.fromkeys(("sda", "sdb", "sdb1", "sdc"), 5)))
    text = page.page().decode()
    assert set(re.findall(r'(?m)^sdstop_disk_reads_total\{device="(\w+)"\}', text)) == shown
    assert set(saturated(page)) == shown
    assert 'sdstop_series_dropped{collector="diskstats"} 0\n' in text


def test_disks_become_members_while_it_runs() -> None:
    page = exposed(DEFAULT)
    page.feed(frame(1, {"sda": 5, "sdb1": 5}, links=False))
    assert "sdstop_disk_reads_total{" not in page.page().decode()
    late = frame(2, {"sda": 5, "sdb1": 5})
    mdstat = Evidence(
        "/proc/mdstat", data=b"Personalities : [raid1]\nmd0 : active raid1 sda[0]\n      1 blocks [2/1] [U_]\n"
    )
    page.feed(
        Frame(
            2,
            late.taken,
            2.0,
            (*late.evidence, mdstat),
            {**(late.ran or {}), **dict.fromkeys(("mdraid", "mdmembers"), RunMark(2.0, 0.001))},
        )
    )
    assert re.findall(r'sdstop_disk_reads_total\{device="(\w+)"\}', page.page().decode()) == ["sda"]


def read_limits(host: Host) -> Iterable[Reading]:
    """Yield a limit of 1000 IOPS (of 4 KiB) and 100 MB/s for each line: volume, sharers, requests, bytes."""
    for line in host.text("/limits").splitlines():
        volume, sharers, requests, moved = line.split()
        yield Limit(volume, "sdc", "powerflex", "total", "both", 1000.0, 1e8, iops_size=4096,
                    requests_rate=float(requests), bytes_rate=float(moved), sharers=int(sharers))  # fmt: skip


LIMITS = Collector("limits", "Limits", read_limits, (Limit,), (Need("/limits", "all"),), derives=(USE,))


def test_volumes_at_a_limit() -> None:
    page = Exposition(Session(Origin("n"), (LIMITS,), ()))
    for number in range(1, 4):
        rows = (
            "iops 1 950 0",
            "both 1 949 3.8e6",
            "bytes 1 1 95e6",
            "large 1 500 4e6",
            "shared 2 1000 1e8",
            "idle 1 0 0",
        )
        evidence = Evidence("/limits", data="\n".join(rows).encode())
        marks = {"limits": RunMark(float(min(number, 2)), 0.001)}  # the third frame brings nothing new
        page.feed(Frame(number, 1_800_000_000.0 + number, float(number), (evidence,), marks))
    found = re.findall(r'(?m)^sdstop_limit_saturated_seconds_total\{.*volume="(\w+)"\} (\S+)$', page.page().decode())
    assert dict(found) == {"iops": "1.0", "both": "0.0", "bytes": "1.0", "large": "1.0", "idle": "0.0"}


@contextmanager
def node_exporter() -> Iterator[str]:
    """Yield the page of Debian's node_exporter on this machine."""
    port = free_port()
    argv = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                    yield answer.read().decode()
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("node_exporter does not answer")
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.needs("prometheus-node-exporter")
def test_what_is_called_a_repeat_is_one() -> None:
    ours = {heading.name for heading in catalogue(BUILTIN)}
    assert set(DISKS) | set(OTHERS) <= ours
    assert not set(DISKS) & set(OTHERS)
    with node_exporter() as page:
        theirs = set(re.findall(r"(?m)^(node_\w+)", page))
    assert {name for name in (*DISKS.values(), *OTHERS.values()) if name not in theirs} == set()


def test_repeats_are_left_out_unless_asked_for() -> None:
    frames = [frame(1, {"sda": 5}), frame(2, {"sda": 5})]
    load = Evidence("/proc/loadavg", data=b"0.50 0.25 0.10 1/100 5000\n")
    frames[1] = Frame(2, frames[1].taken, 2.0, (*frames[1].evidence, load), {"node": RunMark(2.0, 0.001)})
    for chosen, there in ((DEFAULT, False), (Choice(), True)):
        page = exposed(chosen)
        for each in frames:
            page.feed(each)
        assert ("\nsdstop_node_load1 0.5\n" in page.page().decode()) is there
