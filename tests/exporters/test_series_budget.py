"""Series of the default page: at most 20 for each disk and 300 for the node."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.exporters.prometheus.choice import DEFAULT, choice
from sdstop.exporters.prometheus.metrics import Exposition, families_of
from tests.exporters.page import samples
from tests.fixtures import story

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = (
    "sdstop_collector_",
    "sdstop_rule_",
    "sdstop_frame",
    "sdstop_build",
    "process_",
    "sdstop_series",
    "sdstop_intern",
)


@pytest.mark.parametrize("disks", [10, 100, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_default_page_has_few_series(tmp_path: Path, disks: int) -> None:
    subprocess.run(
        [sys.executable, ROOT / "bench" / "tree.py", "build", "--disks", str(disks), tmp_path / "n"], check=True
    )
    argv = [sys.executable, "-m", "sdstop", "export", "--once", "--root", str(tmp_path / "n")]
    page = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    count = Counter(line.partition("{")[0].partition(" ")[0] for line in lines)
    assert len(lines) <= 20 * disks + 300, count.most_common(40)
    assert sum(number for name, number in count.items() if name.startswith(OWN)) <= 100
    assert count["sdstop_disk_io_time_seconds_total"] >= disks * 0.9


def test_the_full_page_has_details_and_virtual_devices() -> None:
    def page(text: dict[str, object]) -> Counter[str]:
        chosen = choice(text, {family.family for family in families_of(BUILTIN)})
        found = Exposition(story("quiet-node").session, chosen=chosen)
        found.observe(story("quiet-node").session.head())
        return Counter(key[0] for key in samples(found.page()))

    standard, full = page({}), page({"profile": "full"})
    assert standard == page({"profile": DEFAULT.profile})
    assert standard.keys() < full.keys()
    for name in ("sdstop_block_device_rotational", "sdstop_disk_flushes_total", "sdstop_collector_interval_seconds"):
        assert name in full
        assert name not in standard
    assert all(number <= full[name] for name, number in standard.items())
