"""memory-errors: what could not be corrected, what keeps coming, and what is old."""

from __future__ import annotations

import pytest

from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.edac import EDAC
from sdstop.collectors.memory.readings import TABLE
from sdstop.collectors.system.node import NODE
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Finding, Severity
from sdstop.core.session import Session
from sdstop.rules.memory.memory_errors import MEMORY_ERRORS
from tests.nodes.edac import Controller
from tests.nodes.firmware import Board, board
from tests.nodes.frames import Judged, check, value

DAY = 86_400


def judged(*moments: Controller) -> Judged:
    return Judged([EDAC], [MEMORY_ERRORS], [(60.0 * n, found.files()) for n, found in enumerate(moments)])


def module(ce: int, ue: int = 0, seconds: int = 10 * DAY) -> Controller:
    return Controller({"DIMM_A1": (ce, ue)}, seconds=seconds)


def test_one_that_was_not_corrected_is_critical_and_stays() -> None:
    for moments in ([module(0, 1)], [module(0, 1)] * 3):
        finding = judged(*moments).finding("mc0/dimm0")
        assert (finding.severity, finding.totals) == (Severity.CRITICAL, False)
        assert "DIMM_A1: 1 uncorrected errors in 10d" in finding.cause
        assert finding.evidence[0].key.endswith("dimm_ue_count")


def test_few_in_a_long_time_are_info() -> None:
    finding = judged(module(9)).finding("mc0/dimm0")
    assert finding.severity is Severity.INFO
    assert judged(module(99)).finding("mc0/dimm0").severity is Severity.INFO


def test_ten_a_day_are_a_warning() -> None:
    finding = judged(module(100)).finding("mc0/dimm0")
    assert (finding.severity, finding.totals) == (Severity.WARNING, True)
    assert value(finding, "daily") == 10.0
    assert judged(module(100), module(100, seconds=10 * DAY - 60)).finding("mc0/dimm0").severity is Severity.WARNING


def test_many_of_another_time_are_old() -> None:
    """On the average 4 000 000 in ten days are 278 a minute: where none comes in a minute, they are over."""
    said = judged(module(4_000_000), module(4_000_000, seconds=10 * DAY + 60)).finding("mc0/dimm0")
    assert said.severity is Severity.INFO
    assert value(said, "new") == 0
    assert judged(module(4_000_000)).finding("mc0/dimm0").severity is Severity.WARNING


def test_growing() -> None:
    assert judged(module(0), module(9)).finding("mc0/dimm0").severity is Severity.INFO
    assert judged(module(0), module(10)).finding("mc0/dimm0").severity is Severity.WARNING
    assert judged(module(0), module(99)).finding("mc0/dimm0").severity is Severity.WARNING
    storm = judged(module(0), module(100)).finding("mc0/dimm0")
    assert storm.severity is Severity.CRITICAL
    assert value(storm, "new") == 100


def test_a_count_that_began_anew_is_no_growth() -> None:
    assert judged(module(50), module(3, seconds=30)).finding("mc0/dimm0").severity is Severity.INFO


def test_errors_of_no_module() -> None:
    said = judged(Controller(more=(0, 1)))
    assert said.finding("mc0").severity is Severity.CRITICAL
    assert "module not identified" in said.finding("mc0").cause
    grown = judged(Controller(more=(0, 0)), Controller(more=(12, 0)))
    assert grown.finding("mc0").severity is Severity.WARNING


def test_what_a_module_has_is_not_told_twice() -> None:
    assert [said.subject for said in judged(module(100)).all] == ["mc0/dimm0"]


def test_no_error_is_good() -> None:
    assert "no errors of 1 modules or ranks in 10d" in judged(module(0)).ruled_out("mc0").summary


def test_a_driver_that_says_nothing_is_no_good_news() -> None:
    silent = {path: text for path, text in module(0).files().items() if not path.endswith("_count")}
    assert "reports no counters" in Judged([EDAC], [MEMORY_ERRORS], [(0.0, silent)]).unchecked("mc0").reason


# --- which module it is ------------------------------------------------------------------------------------


def placed(label: str, memory: Board) -> Finding:
    files = Controller({label: (0, 1)}).files()
    evidence = [Evidence(key, data=text.encode()) for key, text in files.items()]
    session = Session(Origin("n"), [EDAC, DIMMS], [MEMORY_ERRORS])
    session.feed(Frame(1, 0.0, 0.0, (*evidence, Evidence(TABLE, data=memory.table()))))
    (finding,) = session.head().judgement.findings
    check(finding)
    return finding


def test_a_label_that_is_a_slots_name() -> None:
    assert "P2-DIMMA1 (PART-1): 1 uncorrected" in placed("P2-DIMMA1", board()).summary
    assert "P2-DIMMA1 (PART-1): 1 uncorrected" in placed("P1_Node1_Channel0_Dimm0 P2-DIMMA1", board()).summary


def test_the_socket_proves_the_module_where_there_is_one() -> None:
    assert "P1-DIMMA1 (PART-1)" in placed("CPU_SrcID#0_Ha#0_Chan#2_DIMM#0", board((1, 1))).summary
    assert "P2-DIMMA1 (PART-1)" in placed("CPU_SrcID#1_MC#0_Chan#0_DIMM#0", board((2, 1))).summary


def test_no_module_is_guessed() -> None:
    for label, memory in (
        ("CPU_SrcID#0_Ha#0_Chan#1_DIMM#0", board((2, 1))),
        ("mc#0csrow#1channel#0", board()),
        ("DIMMA1", board()),
        ("CPU_SrcID#0_Ha#0_Chan#1_DIMM#0", board((1, 1), names="DIMM {all}")),
    ):
        assert value(placed(label, memory), "module") == label


@pytest.mark.parametrize(("kib", "fires"), [(0, False), (4, True)])
def test_pages_out_of_use_are_a_warning_without_a_counter_of_errors(kib: int, fires: bool) -> None:  # noqa: FBT001
    meminfo = f"MemTotal: 65842300 kB\nHardwareCorrupted: {kib:>5} kB\n"
    said = Judged((EDAC, DIMMS, NODE), [MEMORY_ERRORS], [(0.0, {"/proc/meminfo": meminfo})])
    if fires:
        assert said.finding("memory").severity is Severity.WARNING
        assert said.finding("memory").title == "MEMORY POISONED: 4 KiB"
    else:
        assert not [each for each in said.all if isinstance(each, Finding)]
