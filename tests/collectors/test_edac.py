"""Memory errors in sysfs, of new and of old kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.memory.edac import EDAC, activity, controller_activity
from sdstop.collectors.memory.readings import MC, MemoryController, MemoryErrors
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent
from sdstop.core.model import Reading, Source
from tests.nodes.edac import Controller

OLD = {
    f"{MC}/mc0/mc_name": "i5100\n",
    f"{MC}/mc0/ce_count": "7\n",
    f"{MC}/mc0/ue_count": "0\n",
    f"{MC}/mc0/csrow1/ce_count": "7\n",
    f"{MC}/mc0/csrow1/ue_count": "1\n",
    f"{MC}/mc0/csrow1/ch0_ce_count": "3\n",
    f"{MC}/mc0/csrow1/ch0_dimm_label": "DIMM_A1\n",
    f"{MC}/mc0/csrow1/ch1_ce_count": "4\n",
}


def rows(found: dict[str, str]) -> list[Reading]:
    return list(EDAC.read(EvidenceHost.of(found)))


def test_modules() -> None:
    controller, module = rows(Controller({"DIMM_A1": (5, 1)}, (2, 0), 3600).files())
    assert controller == MemoryController("mc0", "Broadwell SrcID#0_Ha#0", 16 << 30, 3600, 7, 1, 2, 0)
    assert module == MemoryErrors("mc0/dimm0", "mc0", "DIMM_A1", "channel 0 slot 0", 16 << 30, 5, 1)
    assert module.source("uncorrected") == Source(f"{MC}/mc0/dimm0/dimm_ue_count")
    assert controller.source("uncorrected") == Source(f"{MC}/mc0/ue_count")


def test_rows_and_channels_of_old_kernels() -> None:
    first, second = (row for row in rows(OLD) if isinstance(row, MemoryErrors))
    assert (first.place, first.label, first.corrected, first.uncorrected) == ("mc0/csrow1/ch0", "DIMM_A1", 3, None)
    assert (second.place, second.corrected) == ("mc0/csrow1/ch1", 4)
    assert first.source() == Source(f"{MC}/mc0/csrow1/ch0_ce_count")
    assert first.source("label") == Source(f"{MC}/mc0/csrow1/ch0_dimm_label")


def test_modules_are_not_counted_again_by_rows() -> None:
    both = Controller().files() | OLD
    assert [row.place for row in rows(both) if isinstance(row, MemoryErrors)] == ["mc0/dimm0"]


def test_nobody_counts() -> None:
    with pytest.raises(Absent) as error:
        EDAC.read(EvidenceHost.of({f"{MC}/power/control": "auto\n"}))
    assert "no EDAC driver" in str(error.value)


def test_new_errors() -> None:
    before, after = (Controller({"A": (ce, ue)}).files() for ce, ue in ((3, 0), (8, 1)))
    (c0, m0), (c1, m1) = rows(before), rows(after)
    assert isinstance(m0, MemoryErrors)
    assert isinstance(m1, MemoryErrors)
    assert isinstance(c0, MemoryController)
    assert isinstance(c1, MemoryController)
    grown, whole = activity(m0, m1, 60.0), controller_activity(c0, c1, 60.0)
    assert grown is not None
    assert whole is not None
    assert (grown.corrected, grown.uncorrected, grown.seconds) == (5, 1, 60.0)
    assert (whole.corrected, whole.uncorrected) == (5, 1)
    assert activity(m1, m0, 60.0) is None
    assert controller_activity(c1, c0, 60.0) is None


@given(st.text(max_size=20))
def test_no_text_raises_anything(text: str) -> None:
    for name in ("ce_count", "size_mb", "seconds_since_reset"):
        rows(Controller().files() | {f"{MC}/mc0/{name}": text})
    rows(Controller().files() | {f"{MC}/mc0/dimm0/{name}": text for name in ("dimm_ce_count", "dimm_label", "size")})
