"""The systemd units: how much they expose, and that nothing in them is misspelt. tests/vm starts them for real."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).parents[1] / "contrib" / "systemd"
MOST = {"sdstop-exporter.service": 19, "sdstop-exporter-root.service": 33, "sdstop-recorder.service": 33}


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize(("unit", "most"), MOST.items())
def test_what_a_unit_exposes(unit: str, most: int) -> None:
    """The score that docs/monitoring.md states, in tenths; 100 is a service without any protection."""
    argv = ["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={most}", str(UNITS / unit)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = re.search(r"exposure level for \S+: (\d+\.\d)", ended.stdout)
    assert found is not None, ended.stderr
    assert (ended.returncode, float(found[1])) == (0, most / 10)
    said = (UNITS.parents[1] / "docs" / "monitoring.md").read_text()
    assert f"| `{unit}` | {most / 10} |" in said


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("unit", list(MOST))
def test_a_unit_says_nothing_that_systemd_does_not_know(unit: str, tmp_path: Path) -> None:
    path = tmp_path / unit
    path.write_text((UNITS / unit).read_text().replace("/usr/local/bin/sdstop", "/bin/true"))
    argv = ["systemd-analyze", "verify", "--man=no", str(path)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert [line for line in ended.stderr.splitlines() if unit in line] == []


def test_the_default_file_is_one_that_the_units_read() -> None:
    lines = (UNITS / "sdstop.default").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == [
        'SDSTOP_EXPORT_OPTIONS="--listen 127.0.0.1:10042"',
        'SDSTOP_RECORD_OPTIONS=""',
    ]
    for unit in UNITS.glob("*.service"):
        start = "export $SDSTOP_EXPORT_OPTIONS"
        if "recorder" in unit.name:
            start = "record -o /var/lib/sdstop/%H.sdstop $SDSTOP_RECORD_OPTIONS"
        asked = f"EnvironmentFile=-/etc/default/sdstop\nExecStart=/usr/local/bin/sdstop {start}\n"
        assert asked in unit.read_text()
