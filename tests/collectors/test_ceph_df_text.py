"""Text of ceph df."""

from __future__ import annotations

import pytest

from sdstop.collectors.ceph.df_text import CEPH_DF_TEXT, parse
from sdstop.core.finding import Finding, Severity
from sdstop.core.host import Malformed
from sdstop.rules.space.capacity_near_full import CAPACITY_NEAR_FULL
from tests.nodes.frames import Judged

HEAD = "--- RAW STORAGE ---\nCLASS     SIZE    AVAIL     USED  RAW USED  %RAW USED\n"
RAW = "hdd    120 GiB   14 GiB  106 GiB   106 GiB      {}\nTOTAL  120 GiB   14 GiB  106 GiB   106 GiB      {}\n"
POOLS = " \n--- POOLS ---\nPOOL  ID  PGS   STORED  OBJECTS     USED  %USED  MAX AVAIL\n"
POOL = "rbd    3   64   38 GiB    9.80k  114 GiB  {}    350 MiB\n"


@pytest.mark.parametrize(
    ("used", "severity"), [("0", None), ("84.99", None), ("85.00", Severity.WARNING), ("95.00", Severity.CRITICAL)]
)
def test_a_pool_near_its_end(used: str, severity: Severity | None) -> None:
    text = f"{HEAD}{RAW.format(50, 50)}{POOLS}{POOL.format(used)}"
    said = Judged((CEPH_DF_TEXT,), [CAPACITY_NEAR_FULL], [(0.0, {"cmd:ceph df": text})])
    verdict = said.of("ceph/rbd")
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity
    assert not isinstance(said.of("ceph/class hdd"), Finding)


def test_ceph_14_has_no_number_of_placement_groups() -> None:
    text = f"{HEAD}{RAW.format(50, 50)}{POOLS.replace('  PGS', '')}rbd    3   38 GiB    9.80k  114 GiB  12    350 MiB\n"
    assert [(row.pool, row.filled) for row in parse(text, "k")] == [("class hdd", 0.5), ("rbd", 0.12)]


@pytest.mark.parametrize("line", ["rbd 3 64 38 GiB\n", "rbd 3 64 38 GiB 9.80k 114 GiB 99.10 350 MiB N/A\n", "what?\n"])
def test_other_lines_are_malformed(line: str) -> None:
    with pytest.raises(Malformed):
        list(parse(f"{HEAD}{RAW.format(50, 50)}{POOLS}{line}", "k"))
