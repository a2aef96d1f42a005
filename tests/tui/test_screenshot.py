"""The script that draws the README's picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.fixtures import FIXTURES

ROOT = Path(__file__).resolve().parent.parent.parent


def test_it_draws_what_the_dashboard_shows(tmp_path: Path) -> None:
    target = tmp_path / "out.svg"
    capture = FIXTURES / "slow-member"
    argv = [sys.executable, str(ROOT / "scripts/screenshot"), str(capture), str(target), "80x24", "2"]
    subprocess.run(argv, check=True, timeout=120)
    words = [element.text for element in ET.parse(target).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    assert {"Arrays", "aqu", "sda", "*sdd"} <= set(words)


def test_the_picture_of_the_readme_is_there() -> None:
    assert "docs/screenshot.svg" in (ROOT / "README.md").read_text()
    ET.parse(ROOT / "docs" / "screenshot.svg")  # noqa: S314
