"""Disks and interfaces that leave the node while it is watched: by fault, on purpose, or under another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.finding import Finding, Severity
from sdstop.core.session import Session
from sdstop.rules.disks.disk_offline import DISK_OFFLINE
from sdstop.rules.network.link_degraded import LINK_DEGRADED
from tests.nodes.frames import value


def disk(name: str, wwid: str) -> dict[str, str]:
    base = f"/sys/block/{name}"
    files = {"size": "1000", "queue/rotational": "1", "device/state": "running", "device/wwid": wwid, "dev": "8:0"}
    found = {f"{base}/{file}": f"{text}\n" for file, text in files.items()}
    return found | {f"link:{base}/device": "../../../2:0:0:0"}


def counters(second: int, load: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Return diskstats: by disk, requests per second and in flight."""
    rows = [
        f"   8 {place} {name} {rate * second} 0 {rate * second * 8} 0 0 0 0 0 {flight} {second} {second} 0 0 0 0 0 0"
        for place, (name, (rate, flight)) in enumerate(load.items())
    ]
    return {"/proc/diskstats": "\n".join(rows) + "\n"}


def findings(seconds: Sequence[Mapping[str, str]], rule: object, *sources: object) -> list[Finding]:
    """Feed all files of each second; those of the second before that are missing are absent."""
    session = Session(Origin("n"), sources, [rule])  # type: ignore[arg-type,list-item]
    before: set[str] = set()
    for number, files in enumerate(seconds):
        evidence = [Evidence(key, data=text.encode()) for key, text in files.items()]
        evidence += [Evidence(key, Outcome.ABSENT, detail="gone") for key in before - files.keys()]
        session.feed(Frame(number + 1, 1.7e9 + number, float(number), tuple(evidence)))
        before = set(files)
    return list(session.head().judgement.findings)


def watched(
    rates: Sequence[int],
    *,
    flight: int = 0,
    after: int = 3,
    names: Sequence[str] = ("sdb",),
    back: str = "",
    other: str = "naa.1",
) -> list[Finding]:
    """Return the findings about disks that work at these rates, one a second, and then leave."""
    seconds, done = [], 0
    for number, rate in enumerate(rates):
        done += rate
        files = disk("sda", other)
        for place, name in enumerate(names):
            files |= disk(name, f"naa.{place + 2}")
        rows = counters(number, {"sda": (1, 0)})["/proc/diskstats"]
        rows += "".join(f"   8 {16 + n} {name} {done} 0 {done * 8} 0 0 0 0 0 {flight} 0 0 0 0 0 0 0 0\n"
                        for n, name in enumerate(names))  # fmt: skip
        seconds.append(files | {"/proc/diskstats": rows})
    for number in range(len(rates), len(rates) + after):
        load = {"sda": (1, 0)} | ({back: (0, 0)} if back else {})
        files = disk("sda", other) | (disk(back, "naa.2") if back else {})
        seconds.append(files | counters(number, load))
    return findings(seconds, DISK_OFFLINE, BLOCKDEV, DISKSTATS)


@pytest.mark.parametrize(
    ("rates", "flight", "severity"),
    [
        ([50, 50, 50, 50, 50], 0, Severity.WARNING),
        ([0, 0, 0, 0, 0], 1, Severity.WARNING),  # requests that nobody will complete
        ([50, 50, 50, 50, 0], 0, Severity.INFO),  # at rest before it left, as before a deliberate removal
        ([0, 0, 0, 0, 0], 0, Severity.INFO),
        ([0, 0, 0, 50, 50], 0, Severity.INFO),  # two samples, as of the last flush of an unmount
        ([0, 0, 50, 50, 50], 0, Severity.WARNING),
    ],
)
def test_a_disk_that_leaves_by_what_it_did_last(rates: list[int], flight: int, severity: Severity) -> None:
    (finding,) = watched(rates, flight=flight)
    assert (finding.subject, finding.severity) == ("sdb", severity)
    assert finding.title == ("DISK GONE, in use until then" if severity is Severity.WARNING else "DISK GONE")


def test_several_disks_that_leave_are_one_finding() -> None:
    (finding,) = watched([50] * 5, names=("sdb", "sdc", "sdd"))
    assert (finding.title, value(finding, "disks")) == ("3 DISKS GONE, in use until then", "sdb, sdc, sdd")


def test_a_disk_under_another_name_is_not_gone() -> None:
    assert watched([50] * 5, back="sdz") == []


def test_a_path_that_leaves_is_gone_although_another_one_leads_to_the_disk() -> None:
    (finding,) = watched([50] * 5, other="naa.2")
    assert finding.subject == "sdb"


def test_one_sample_without_a_disk_is_not_enough() -> None:
    assert watched([50] * 5, after=1) == []
    assert len(watched([50] * 5, after=2)) == 1


def test_a_disk_gone_long_ago_is_no_fault_for_ever() -> None:
    assert len(watched([50] * 5, after=40)) == 1
    assert watched([50] * 5, after=400) == []


HEADS = "Inter-| Receive | Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs"


def nic(name: str, mac: str, packets: int) -> tuple[dict[str, str], str]:
    base = f"/sys/class/net/{name}"
    files = {
        "ifindex": "2", "iflink": "2", "mtu": "1500", "flags": "0x1003", "operstate": "up", "carrier": "1", "type": "1",
        "speed": "10000", "duplex": "full", "uevent": f"INTERFACE={name}", "device/vendor": "0x8086", "address": mac,
        "carrier_changes": "1"}  # fmt: skip
    row = f"{name}: {packets * 900} {packets} 0 0 0 0 0 0 {packets * 900} {packets} 0 0 0 0 0 0\n"
    return {f"{base}/{file}": f"{text}\n" for file, text in files.items()}, row


@pytest.mark.parametrize(
    ("step", "back", "found"),
    [
        (100, "", [("eth1", Severity.WARNING)]),
        (0, "", [("eth1", Severity.INFO)]),
        (100, "ens9", []),  # renamed: the same address
    ],
)
def test_an_interface_that_leaves(step: int, back: str, found: list[tuple[str, Severity]]) -> None:
    seconds = []
    for number in range(9):
        (files, rows), there = nic("eth0", "02:00:00:00:00:01", number), number < 6
        for name in ["eth1"] if there else [back] if back else []:
            more, row = nic(name, "02:00:00:00:00:02", number * step)
            files, rows = files | more, rows + row
        text = f"{HEADS} errs drop fifo colls carrier compressed\n{rows}"
        seconds.append(files | {"/proc/net/dev": text})
    said = findings(seconds, LINK_DEGRADED, INTERFACES, NETWORK)
    assert [(each.subject, each.severity) for each in said] == found
