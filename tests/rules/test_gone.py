"""Disks, paths and interfaces that leave the node while it is watched: by fault, on purpose, or under another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.links import LINKS
from sdstop.collectors.network.nvme_paths import NVME_PATHS
from sdstop.collectors.network.session_states import SESSION_STATES
from sdstop.collectors.network.sessions import SESSIONS
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.finding import Finding, Severity
from sdstop.core.history import KEEP
from sdstop.core.session import Session
from sdstop.rules.disks.disk_offline import DISK_OFFLINE
from sdstop.rules.network.link_degraded import LINK_DEGRADED
from sdstop.rules.paths.session_down import SESSION_DOWN
from tests.nodes.frames import value


def disk(name: str, wwid: str) -> dict[str, str]:
    base = f"/sys/block/{name}"
    files = {
        "size": "1000",
        "queue/rotational": "1",
        "device/state": "running",
        "device/wwid": wwid,
        "dev": f"8:{16 * ord(name[-1])}",
    }
    found = {f"{base}/{file}": f"{text}\n" for file, text in files.items()}
    return found | {f"link:{base}/device": "../../../2:0:0:0"}


def counters(second: int, load: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Return diskstats: by disk, requests per second and in flight."""
    rows = [
        f"   8 {place} {name} {rate * second} 0 {rate * second * 8} 0 0 0 0 0 {flight} {second} {second} 0 0 0 0 0 0"
        for place, (name, (rate, flight)) in enumerate(load.items())
    ]
    return {"/proc/diskstats": "\n".join(rows) + "\n"}


def findings(seconds: Sequence[Mapping[str, str]], rule: object, *sources: object, pace: float = 1.0) -> list[Finding]:
    """Feed all files of each sample; those of the sample before that are missing are absent."""
    session = Session(Origin("n"), sources, [rule])  # type: ignore[arg-type,list-item]
    before: set[str] = set()
    for number, files in enumerate(seconds):
        evidence = [Evidence(key, data=text.encode()) for key, text in files.items()]
        evidence += [Evidence(key, Outcome.ABSENT, detail="gone") for key in before - files.keys()]
        session.feed(Frame(number + 1, 1.7e9 + number * pace, number * pace, tuple(evidence)))
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
    pace: float = 1.0,
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
    return findings(seconds, DISK_OFFLINE, BLOCKDEV, DISKSTATS, pace=pace)


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


@pytest.mark.parametrize("after", [40, 400])
def test_a_disk_that_left_while_in_use_is_remembered(after: int) -> None:
    (finding,) = watched([50] * 5, after=after)
    assert (finding.subject, finding.severity) == ("sdb", Severity.WARNING)
    assert finding.title == ("DISK GONE, in use until then" if after < KEEP else "GONE, and not back")


@pytest.mark.parametrize(("minutes", "found"), [(55, 1), (65, 0)])
def test_it_is_forgotten_after_an_hour(minutes: int, found: int) -> None:
    assert len(watched([300] * 5, after=minutes * 6, pace=10.0)) == found


def test_an_idle_disk_that_left_is_not_remembered() -> None:
    assert watched([0] * 5, after=400) == []


@pytest.mark.parametrize(
    ("back", "found"),
    [
        ("sdb", []),  # also another disk in its place: the kernel gives the name again
        ("sdz", []),  # the same disk
        ("sdy", ["sdb"]),  # another disk in another place
    ],
)
def test_a_disk_that_returns_after_minutes(back: str, found: list[str]) -> None:
    seconds: list[dict[str, str]] = []
    for number in range(210):
        files, load = disk("sda", "naa.1"), {"sda": (1, 0)}
        if number < 5:
            files, load = files | disk("sdb", "naa.2"), load | {"sdb": (50, 0)}
        elif number > 200:
            files, load = files | disk(back, "naa.2" if back == "sdz" else "naa.9"), load | {back: (0, 0)}
        seconds.append(files | counters(number, load))
    assert [each.subject for each in findings(seconds, DISK_OFFLINE, BLOCKDEV, DISKSTATS)] == found


def test_of_several_disks_the_last_one_that_returns_ends_it() -> None:
    for back, found in (("sdb",), 1), (("sdb", "sdc"), 0):
        seconds: list[dict[str, str]] = []
        for number in range(210):
            names = ("sda", "sdb", "sdc") if number < 5 else ("sda", *(back if number > 200 else ()))
            files: dict[str, str] = {}
            for name in names:
                files |= disk(name, f"naa.{name}")
            seconds.append(files | counters(number, dict.fromkeys(names, (50, 0))))
        assert len(findings(seconds, DISK_OFFLINE, BLOCKDEV, DISKSTATS)) == found


MAP = {
    "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/size": "1000\n", "/sys/block/dm-0/dm/name": "mpatha\n",
    "/sys/block/dm-0/dm/uuid": "mpath-3600\n",
}  # fmt: skip
"""Multipath map without its paths."""


@pytest.mark.parametrize(
    ("removed", "severity"),
    [
        (99, Severity.WARNING),  # the path leaves at once, and multipathd takes it out of the map
        (2, Severity.INFO),  # an administrator takes it out of the map first
    ],
)
def test_an_idle_path_that_leaves_takes_redundancy_from_its_map(removed: int, severity: Severity) -> None:
    seconds = []
    for number in range(9):
        names = ("sda", "sdb", "sdc") if number < 5 else ("sda", "sdb")
        files = dict(MAP)
        for name in names:
            files |= disk(name, "naa.1" if name == "sda" else "naa.2")
        files |= {f"link:/sys/block/dm-0/slaves/{name}": f"../../{name}" for name in names[1:]}
        if number >= removed:
            files.pop("link:/sys/block/dm-0/slaves/sdc", None)
        load = {name: (0 if name == "sdc" else 50, 0) for name in names} | {"dm-0": (50, 0)}
        seconds.append(files | counters(number, load))
    (finding,) = findings(seconds, DISK_OFFLINE, BLOCKDEV, DISKSTATS)
    assert (finding.subject, finding.severity) == ("sdc", severity)
    assert ("lacks it" in finding.cause) is (severity is Severity.WARNING)
    assert bool(finding.left) is (severity is Severity.WARNING)
    assert finding.left in {(), (("sdc",),)}  # the other path has the identity of the disk all the time


def test_disks_that_leave_with_their_session_name_it() -> None:
    seconds: list[dict[str, str]] = []
    for number in range(9):
        names = ("sdb", "sdc") if number < 5 else ()
        files = disk("sda", "naa.1")
        if names:
            files["/sys/class/iscsi_session/session1/state"] = "LOGGED_IN\n"
        for name in names:
            files |= disk(name, f"naa.{name}")
            files[f"/sys/class/iscsi_session/session1/device/target1:0:0/1:0:0:1/block/{name}/size"] = "1000\n"
        seconds.append(files | counters(number, dict.fromkeys(("sda", *names), (50, 0))))
    (finding,) = findings(seconds, DISK_OFFLINE, BLOCKDEV, DISKSTATS, SESSIONS)
    assert finding.cause.startswith("2 disks, all of session1, left the node ")
    assert value(finding, "behind") == "session1"


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


@pytest.mark.parametrize(("after", "title"), [(4, "INTERFACE GONE"), (200, "GONE, and not back")])
def test_a_slave_that_leaves_with_its_card(after: int, title: str) -> None:
    """All slaves have the address of their bond, so the address alone does not show that it is there."""
    seconds = []
    for number in range(6 + after):
        slaves = ["eth1", "eth2"] if number < 6 else ["eth1"]
        base = "/sys/class/net/bond0"
        files, rows = {f"{base}/bonding/slaves": f"{' '.join(slaves)}\n", f"{base}/bonding/mode": "802.3ad 4\n"}, ""
        for name in slaves:
            more, row = nic(name, "02:00:00:00:00:01", number)
            files, rows = files | more | {f"/sys/class/net/{name}/bonding_slave/mii_status": "up\n"}, rows + row
        text = f"{HEADS} errs drop fifo colls carrier compressed\n{rows}"
        seconds.append(files | {"/proc/net/dev": text})
    (finding,) = findings(seconds, LINK_DEGRADED, INTERFACES, NETWORK, LINKS)
    assert (finding.subject, finding.severity, finding.title) == ("eth2", Severity.WARNING, title)


SUBSYSTEM = "/sys/class/nvme-subsystem/nvme-subsys3"


def paths(*names: str, portal: int = 0, transport: str = "tcp") -> dict[str, str]:
    """Return a namespace with a path by each controller; portals are numbered like them, or all are `portal`."""
    files = {"list:/sys/block": "\n".join(["nvme3n1", *(f"nvme3c{name[4:]}n1" for name in names)]),
             "/sys/block/nvme3n1/dev": "259:0\n", "/sys/block/nvme3n1/size": "1000\n",
             f"{SUBSYSTEM}/iopolicy": "numa\n"}  # fmt: skip
    for name in names:
        base = f"/sys/class/nvme/{name}"
        address = f"traddr=192.0.2.{portal or name[4:]},trsvcid=4420"
        files |= {f"{base}/state": "live\n", f"{base}/transport": f"{transport}\n", f"{base}/address": f"{address}\n",
                  f"{base}/subsysnqn": "nqn.2026-11.example:fast\n"}  # fmt: skip
    return files


NVME_SOURCES = (NVME_PATHS, SESSION_STATES, SESSIONS, BLOCKDEV)


@pytest.mark.parametrize("transport", ["tcp", "pcie"])
@pytest.mark.parametrize(("after", "title"), [(4, "PATH GONE: 1 left"), (30, "GONE, and not back")])
def test_a_controller_that_leaves_is_a_path_less(transport: str, after: int, title: str) -> None:
    """After ctrl_loss_tmo the kernel removes a controller; sysfs shows a whole namespace with one path."""
    shown = [paths("nvme1", "nvme2", transport=transport)] * 4 + [paths("nvme1", transport=transport)] * after
    (finding,) = findings(shown, SESSION_DOWN, *NVME_SOURCES, pace=5.0)
    assert (finding.subject, finding.severity, finding.title) == ("nvme2", Severity.WARNING, title)


@pytest.mark.parametrize(
    ("then", "found"),
    [
        (paths("nvme1", "nvme2"), 0),
        (paths("nvme1", "nvme5"), 1),  # another portal
        (paths("nvme1", "nvme5") | {"/sys/class/nvme/nvme5/address": "traddr=192.0.2.2,trsvcid=4420\n"}, 0),
    ],
)
@pytest.mark.parametrize("missing", [0, 30])
def test_a_controller_that_connects_again(then: dict[str, str], found: int, missing: int) -> None:
    shown = [paths("nvme1", "nvme2")] * 4 + [paths("nvme1")] * missing + [then] * 4
    assert len(findings(shown, SESSION_DOWN, *NVME_SOURCES, pace=5.0)) == found


def test_a_controller_that_nothing_else_needs_is_judged_with_its_disk() -> None:
    alone = {"list:/sys/block": "sda", "/sys/class/nvme/nvme7/state": "live\n", "/sys/block/sda/dev": "8:0\n",
             "/sys/class/nvme/nvme7/transport": "tcp\n"}  # fmt: skip
    rest = {"list:/sys/block": "sda", "/sys/block/sda/dev": "8:0\n"}
    assert findings([alone] * 4 + [rest] * 4, SESSION_DOWN, *NVME_SOURCES, pace=5.0) == []
