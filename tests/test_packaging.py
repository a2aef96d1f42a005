"""What a clone and its files promise about packaging; .ci/run builds the wheel and compares its content."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import sdstop

ROOT = Path(__file__).resolve().parent.parent


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def readme_commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("name", ["collectors", "exporters"])
def test_package_is_linked_to_its_folder(name: str) -> None:
    link = ROOT / "sdstop" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..", name)
    assert (link.resolve() / "__init__.py").is_file()


def test_version_is_the_same_everywhere() -> None:
    assert sdstop.__version__ == project()["project"]["version"] == importlib.metadata.version("sdstop")


def test_readme_runs_from_nothing_and_then_opens_a_story() -> None:
    run, story, _ = readme_commands()
    install, _, command = run.partition(" && ")
    assert install == "python3 -m pip install -q --target .uv uv"
    assert story.startswith(f"{command} --from ")
    assert (ROOT / story.split()[-1] / "README.md").is_file()


def test_ci_runs_the_commands_of_the_readme_on_a_bare_machine() -> None:
    *_, test = readme_commands()
    assert test.endswith(" pytest")
    assert ".ci/bare" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    (extract,) = re.findall(r"sed -n '(.+)'", (ROOT / ".ci" / "bare").read_text(encoding="utf-8"))
    found = subprocess.run(["sed", "-n", extract, ROOT / "README.md"], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == readme_commands()


def test_links_of_the_readme_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_pins_cover_what_is_installed() -> None:
    pin = [sys.executable, str(ROOT / "scripts" / "pin"), "--check"]
    result = subprocess.run(pin, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_missing_and_inexact_pins_are_named(tmp_path: Path) -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text = re.sub(r'(?m)^    "pytest==.*\n', "", text)
    text = re.sub(r'(?m)^    "rich==', '    "rich>=', text)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "pin").write_bytes((ROOT / "scripts" / "pin").read_bytes())
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    pin = [sys.executable, str(tmp_path / "scripts" / "pin"), "--check"]
    result = subprocess.run(pin, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert re.search(r"(?m)^pytest \S+: installed, pinned nowhere$", result.stderr)
    assert re.search(r"(?m)^rich>=\S+: not an exact pin$", result.stderr)
