"""service-failed: units of systemd, those of storage above all."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.readings import FailedUnit, Units
from sdstop.collectors.system.units import UNITS, fault, kept
from sdstop.core.evidence import Evidence
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.core.host import Absent, Denied, Failed, Malformed
from sdstop.rules.system.service_failed import SERVICE_FAILED
from tests.nodes.frames import Judged

KEY = "cmd:systemctl --failed"
HEAD = "  UNIT LOAD ACTIVE SUB DESCRIPTION\n"


def listed(*units: str, count: int | None = None, mark: str = "● ") -> str:
    rows = "".join(f"{mark}{unit} loaded failed failed What it does\n" for unit in units)
    return f"{HEAD}{rows}\n{len(units) if count is None else count} loaded units listed.\n"


LIVE = "cmd:systemctl --failed --full --plain --no-pager"
SYSTEMD = Evidence("/proc/1/comm", data=b"systemd\n")


def judged(text: str) -> Judged:
    return Judged((UNITS,), [SERVICE_FAILED], [(0.0, {KEY: text})])


@pytest.mark.parametrize(
    ("unit", "impact"),
    [
        ("ceph-osd@3.service", "A daemon of the cluster does not run on this node."),
        ("ceph-1b4e28ba@osd.3.service", "A daemon of the cluster does not run on this node."),
        ("srv-data.mount", "The file system is not mounted."),
        ("systemd-fsck@dev-sdb1.service", "The file system was not repaired, and may not be mounted."),
        ("mdmonitor.service", "Arrays are not watched: a failed member sends no mail."),
        ("multipathd.service", "Failed paths are not used again, and new ones not added."),
        ("iscsi.service", "Remote disks can be missing."),
        ("zfs-import-cache.service", "Pools can be missing, not mounted, or not watched."),
        ("lvm2-monitor.service", "Volumes can be inactive or not watched."),
        ("smartd.service", "Disks are not watched: a failing one sends no mail."),
    ],
)
def test_units_of_storage(unit: str, impact: str) -> None:
    finding = judged(listed(unit)).finding(unit)
    assert (finding.severity, finding.impact) == (Severity.WARNING, impact)


@pytest.mark.parametrize("unit", ["apt-daily.service", "ciscod.service", "user@1000.service"])
def test_others_are_information(unit: str) -> None:
    finding = judged(listed(unit)).finding("units")
    assert (finding.severity, finding.others) == (Severity.INFO, (unit,))


def test_none_is_good_and_an_incomplete_list_is_not() -> None:
    assert judged(listed()).ruled_out("units").summary == "0 failed units"
    for text in (HEAD, listed(count=1), listed("a.service", count=2)):
        assert not any(isinstance(said, RuledOut) for said in judged(text).all)
        assert any(isinstance(said, Unchecked) for said in judged(text).all)


@pytest.mark.parametrize("mark", ["", "* ", "● ", "  ", "\N{MULTIPLICATION SIGN} "])
def test_marks(mark: str) -> None:
    assert isinstance(judged(listed("smartd.service", mark=mark)).finding("smartd.service"), Finding)


def test_of_all_units_only_failed_ones_count() -> None:
    rows = "  ssh.service loaded active running Shell\n* tgt.service loaded failed failed Target\n"
    text = f"{HEAD}{rows}2 loaded units listed."
    said = judged(text)
    assert [each.subject for each in said.all if isinstance(each, Finding)] == ["tgt.service"]


def test_descriptions_are_not_kept() -> None:
    text = listed("srv-data.mount").replace("What it does", "of the customer Example")
    once = kept(text.encode())
    assert b"Example" not in once
    assert kept(once) == once
    assert fault(once.decode()) == ""
    assert judged(once.decode()).finding("srv-data.mount").severity is Severity.WARNING


def live(data: str, stderr: str = "", code: int = 0) -> EvidenceHost:
    return EvidenceHost([SYSTEMD, Evidence(LIVE, data=data.encode(), stderr=stderr.encode(), exit=code)])


def test_a_live_node_is_asked() -> None:
    """The layout of systemd 252, which prints a heading above no units, and of 239, which prints none."""
    row = "mdmonitor.service loaded failed failed Monitors arrays\n"
    assert list(UNITS.read(live(f"{HEAD}{row}\n1 loaded units listed.\n"))) == [
        FailedUnit("mdmonitor.service", "failed", LIVE, "mdmonitor.service"), Units(1, 1, LIVE),
    ]  # fmt: skip
    older = "0 loaded units listed. Pass --all to see loaded but inactive units, too.\n"
    for none in (f"{HEAD}0 loaded units listed.\n", older):
        assert list(UNITS.read(live(none))) == [Units(0, 0, LIVE)]


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("Failed to connect to bus: Operation not permitted\n", Denied),
        ("Failed to list units: Access denied\n", Denied),
        ("Failed to connect to bus: No such file or directory\n", Failed),
        ("Failed to list units: Connection timed out\n", Failed),
    ],
)
def test_no_answer_is_said(stderr: str, expected: type[Exception]) -> None:
    with pytest.raises(expected, match=stderr.strip()):
        list(UNITS.read(live("", stderr, 1)))


def test_an_unknown_answer_is_not_good() -> None:
    with pytest.raises(Malformed):
        list(UNITS.read(live("nothing that is known\n")))


def test_without_systemd_nothing_is_run() -> None:
    with pytest.raises(Absent, match="process 1 is not systemd"):
        list(UNITS.read(EvidenceHost([Evidence("/proc/1/comm", data=b"init\n")])))
