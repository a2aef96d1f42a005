"""The script that draws the README's picture."""

from __future__ import annotations

import os
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


def test_it_draws_stories_with_a_text_and_a_sheet(tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "scripts/screenshot"), "--stories", str(tmp_path), "quiet-n*", "60x15,80x24"]
    subprocess.run(argv, check=True, timeout=120, env={**os.environ, "PATH": "/nonexistent"})
    assert "no findings in the recorded data" in (tmp_path / "80x24/quiet-node.txt").read_text()
    assert len((tmp_path / "60x15/quiet-node.txt").read_text().splitlines()) == 15
    sheet = ET.parse(tmp_path / "60x15-01.svg")  # noqa: S314
    assert "quiet-node" in {element.text for element in sheet.iter("{http://www.w3.org/2000/svg}text")}
