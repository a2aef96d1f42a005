"""service-failed: units of systemd, those of storage above all."""

from __future__ import annotations

import pytest

from sdstop.collectors.system.units import UNITS, fault, kept
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.system.service_failed import SERVICE_FAILED
from tests.nodes.frames import Judged

KEY = "cmd:systemctl --failed"
HEAD = "  UNIT LOAD ACTIVE SUB DESCRIPTION\n"


def listed(*units: str, count: int | None = None, mark: str = "● ") -> str:
    rows = "".join(f"{mark}{unit} loaded failed failed What it does\n" for unit in units)
    return f"{HEAD}{rows}\n{len(units) if count is None else count} loaded units listed.\n"


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
