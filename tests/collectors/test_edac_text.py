"""Memory errors in output of edac-util and ras-mc-ctl."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.memory.edac_text import EDAC_TEXT, parse_count, parse_summary, parse_util
from sdstop.collectors.memory.readings import MemoryController, MemoryErrors
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.core.host import Absent, Malformed
from sdstop.core.model import Reading
from sdstop.rules.memory.memory_errors import MEMORY_ERRORS
from tests.nodes.frames import Judged

SLOT = "CPU_SrcID#0_MC#0_Chan#0_DIMM#0"
UTIL = f"""mc0: 0 Uncorrected Errors with no DIMM info
mc0: 0 Corrected Errors with no DIMM info
mc0: csrow0: {{ue}} Uncorrected Errors
mc0: csrow0: {SLOT}: {{ce}} Corrected Errors
mc1: 0 Uncorrected Errors with no DIMM info
mc1: csrow0: 0 Uncorrected Errors
"""
COUNT = f"Label                          \tCE\tUE\n{SLOT}\t{{ce}}\t{{ue}}\nCPU_SrcID#0_MC#0_Chan#1_DIMM#0\t0\t0\n"
SUMMARY = f"""Memory controller events summary:
\tCorrected on DIMM Label(s): '{SLOT}' location: 0:0:0:-1 errors: {{ce}}
\tUncorrected on DIMM Label(s): '{SLOT}' location: 0:0:0:-1 errors: {{ue}}

No PCIe AER errors.

No MCE errors.
"""
FORMS = (("cmd:edac-util -v", UTIL), ("cmd:ras-mc-ctl --error-count", COUNT), ("cmd:ras-mc-ctl --summary", SUMMARY))


def test_rows_of_edac_util() -> None:
    rows = list(parse_util(UTIL.format(ce=12, ue=1), "k"))
    whole = [row for row in rows if isinstance(row, MemoryController)]
    places = {row.place: (row.corrected, row.uncorrected) for row in rows if isinstance(row, MemoryErrors)}
    assert [(row.controller, row.corrected, row.uncorrected) for row in whole] == [("mc0", 12, 1), ("mc1", 0, 0)]
    assert places == {"mc0/csrow0": (None, 1), f"mc0/csrow0/{SLOT}": (12, None), "mc1/csrow0": (None, 0)}


@pytest.mark.parametrize(("key", "text"), FORMS)
@pytest.mark.parametrize(
    ("ce", "ue", "severity"),
    [(0, 1, Severity.CRITICAL), (1000, 0, Severity.WARNING), (999, 0, Severity.INFO), (0, 0, None)],
)
def test_totals_without_their_time(key: str, text: str, ce: int, ue: int, severity: Severity | None) -> None:
    said = Judged((EDAC_TEXT,), [MEMORY_ERRORS], [(0.0, {key: text.format(ce=ce, ue=ue)})]).all
    found = [verdict for verdict in said if isinstance(verdict, Finding)]
    assert {verdict.severity for verdict in found} == ({severity} if severity else set())
    assert all(verdict.evidence and verdict.evidence[0].excerpt for verdict in found)
    assert found or all(isinstance(verdict, RuledOut) for verdict in said)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("cmd:edac-util", "edac-util: No errors to report.\n"),
        ("cmd:ras-mc-ctl --summary", "No Memory errors.\n\nNo PCIe AER errors.\n"),
    ],
)
def test_no_errors(key: str, text: str) -> None:
    said = Judged((EDAC_TEXT,), [MEMORY_ERRORS], [(0.0, {key: text})])
    assert isinstance(said.of("memory"), RuledOut)


def test_without_output_there_is_none() -> None:
    with pytest.raises(Absent):
        EDAC_TEXT.read(EvidenceHost.of({}))


@pytest.mark.parametrize("text", ["", "Label CE UE\n", "ras-mc-ctl: no such option\n"])
def test_output_without_modules_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        list(parse_count(text, "k"))


Parser = Callable[[str, str], Iterator[Reading]]


@given(
    st.sampled_from([(parse_util, UTIL), (parse_count, COUNT), (parse_summary, SUMMARY)]),
    st.integers(0, 10**15),
    st.integers(0, 10**15),
    st.integers(0, 400),
)
def test_a_cut_text_never_shows_more_errors(form: tuple[Parser, str], ce: int, ue: int, cut: int) -> None:
    parse, text = form
    try:
        rows = list(parse(text.format(ce=ce, ue=ue)[:cut], "k"))
    except Malformed:
        return
    for row in rows:
        assert isinstance(row, MemoryController | MemoryErrors)
        assert (row.corrected or 0) <= ce
        assert (row.uncorrected or 0) <= ue
