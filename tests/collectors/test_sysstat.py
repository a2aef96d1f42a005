"""What sysstat prints of the same seconds in all of its forms is the same (tests/collectors/sysstat/README.md)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from sdstop.collectors.block.iostat import IOSTAT
from sdstop.collectors.block.sar import SAR
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.interval import unrolled
from sdstop.core.replay import Replay
from sdstop.readings.disk import DiskActivity
from sdstop.readings.service import Service

HERE = Path(__file__).parent / "sysstat"
FORMS = {
    "iostat-x.txt": ("iostat -x 1 3", 2),
    "iostat-xty.txt": ("iostat -xty 1 3", 3),
    "iostat-xtz-iso.txt": ("iostat -xtz 1 2", 1),
    "iostat-xm.txt": ("iostat -xm 1 2", 1),
    "iostat-xs.txt": ("iostat -xs 1 2", 1),
    "iostat-xd-dec1.txt": ("iostat -xd --dec=1 1 2", 1),
    "iostat-x-p.txt": ("iostat -x -p ALL 1 2", 1),
    "iostat-xt.json": ("iostat -xt -o JSON 1 3", 2),
    "sar-d.txt": ("sar -d 1 3", 3),
    "sar-dp.txt": ("sar -dp 1 3", 3),
    "sar-d-f.txt": ("sar -d -f sa21", 3),
    "sadf.json": ("sadf -j sa21 -- -d", 3),
}
SEEN = {
    "iostat": ((37.0, 0.00022, 0.008), (98.5, 0.00017, 0.012), (136.0, 0.00016, 0.012)),
    "sar": ((26.0, 0.00019, 0.008), (99.0, 0.00017, 0.012), (135.0, 0.00016, 0.012)),
}
"""Requests a second, wait and utilization of vda in the three intervals; the programs did not read at once."""


def shown(name: str) -> list[Service]:
    """Return vda's service times in the frames of a recorded output."""
    command = FORMS[name][0]
    evidence = Evidence(f"cmd:{command}", data=(HERE / name).read_bytes())
    origin, frames = unrolled(Origin("x"), [Frame(1, 1.0e9, 0.0, (evidence,))], (IOSTAT, SAR))
    assert not origin.note
    replay = Replay((IOSTAT, SAR))
    found = []
    for frame in frames:
        rows = replay.feed(frame).rows(Service)
        found += [row for row in rows.values() if row.device == "vda"]
    assert [b.monotonic - a.monotonic for a, b in pairwise(frames)] == [1.0] * (len(frames) - 1)
    return found


@pytest.mark.parametrize("name", FORMS)
def test_every_form_shows_the_same_seconds(name: str) -> None:
    rows = shown(name)
    assert len(rows) == FORMS[name][1]
    for row, (rate, wait, busy) in zip(rows, SEEN[rows[0].tool], strict=False):
        assert row.seconds == 1.0
        assert row.requests_per_second == pytest.approx(rate, abs=0.6)
        assert row.wait == pytest.approx(wait, abs=6e-5 if "dec1" in name else 1e-5)
        assert row.busy == pytest.approx(busy, abs=1e-4)


def test_every_file_is_read() -> None:
    assert {path.name for path in HERE.iterdir()} == {*FORMS, "README.md"}


def test_partitions_are_rows_too() -> None:
    evidence = Evidence("cmd:iostat -x -p ALL 1 2", data=(HERE / "iostat-x-p.txt").read_bytes())
    rows = Replay((IOSTAT,)).feed(Frame(1, 1.0e9, 0.0, (evidence,))).rows(DiskActivity)
    assert {"vda", "loop0"} <= set(rows)
