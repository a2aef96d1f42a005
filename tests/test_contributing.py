"""CONTRIBUTING's worked example, extracted from the page and run on a copy of the project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STORY = "fixtures/no-path-left"
NAME = "payroll_db01"
"""The name in the example that belongs to somebody."""

_BLOCK = re.compile(r"^(`{3,})(?:python|json|markdown)\n# (\S+/\S+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_REGISTRIES = {"collectors/__init__.py": "SOURCES = (\n", "sdstop/rules/__init__.py": "ORDER = (\n"}


def blocks() -> dict[str, str]:
    """Return the text of each file that the page writes, and of each line that it adds to one."""
    return {path: text for _, path, text in _BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project to which the example was added as the page says."""
    root = tmp_path_factory.mktemp("project")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    names = [name for name in tracked.split("\0") if name] or [
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()
    ]
    for name in names:
        if name.startswith("fixtures/") or not (ROOT / name).exists():
            continue
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
        for compiled in (ROOT / name).parent.glob(f"__pycache__/{Path(name).stem}.*.pyc"):  # valid by size and time
            (root / name).parent.joinpath("__pycache__").mkdir(exist_ok=True)
            shutil.copy2(compiled, (root / name).parent / "__pycache__")
    for path, text in blocks().items():
        file = root / path
        if path in _REGISTRIES:
            head = _REGISTRIES[path]
            file.write_text(file.read_text(encoding="utf-8").replace(head, head + text, 1), encoding="utf-8")
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return root


def run(copy: Path, *argv: str, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    result = subprocess.run(
        [sys.executable, *argv], cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout


def test_it_is_one_source_one_fixture_one_test_and_one_line() -> None:
    added = {path: text.count("\n") for path, text in blocks().items()}
    assert {path: lines for path, lines in added.items() if path in _REGISTRIES} == dict.fromkeys(_REGISTRIES, 1)
    new = sorted(path for path in added if path not in _REGISTRIES)
    assert [path for path in new if not path.startswith(f"{STORY}/")] == [
        "collectors/devicemapper/maps.py", "sdstop/rules/paths/multipath_queueing.py", "tests/collectors/test_maps.py"
    ]  # fmt: skip


def test_its_finding_is_reported_with_its_rows(copy: Path) -> None:
    report = json.loads(run(copy, "-m", "sdstop", "report", "--from", STORY, "--format", "json"))
    (finding,) = report["findings"]
    assert (finding["rule"], finding["severity"], finding["subject"]) == ("multipath-queueing", "critical", NAME)
    assert (finding["title"], finding["damage"]) == ("NO PATH LEFT: I/O is queued", "availability")
    assert NAME in finding["evidence"][0]["excerpt"]
    rows = report["readings"]["multipath_map"]
    assert [(row["map"], row["paths"]) for row in rows] == [(NAME, 0), ("mpathb", 2)]
    assert "multipath-queueing" in run(copy, "-m", "sdstop", "check", "--from", STORY, code=2)


def test_it_is_exported(copy: Path) -> None:
    page = run(copy, "-m", "sdstop", "export", "--once", "--from", STORY)
    assert f'sdstop_multipath_map_paths{{map="{NAME}"}} 0' in page
    assert "sdstop_multipath_map_paths" in run(copy, "-m", "sdstop", "metrics")


def test_a_live_node_runs_its_command(copy: Path, tmp_path: Path) -> None:
    program = tmp_path / "multipathd"
    program.write_text('#!/bin/sh\necho \'{"maps": [{"name": "live1", "paths": 4}]}\'\n', encoding="utf-8")
    program.chmod(0o755)
    code = f"""
from sdstop.collectors import BUILTIN
from sdstop.collectors.devicemapper.maps import MAPS
from sdstop.core.collector import commands_of
from sdstop.node.commands import CommandRunner
from sdstop.node.live import LiveHost
host = LiveHost("/", BUILTIN, runner=CommandRunner(commands_of(BUILTIN), [{str(tmp_path)!r}]))
print(*MAPS.read(host))
"""
    assert "live1" in run(copy, "-c", code)
    assert re.search(
        r"(?m)^ *multipath-maps +\S", run(copy, "-m", "sdstop", "doctor", "--collectors", "multipath-maps")
    )


def test_it_is_on_the_screen(copy: Path) -> None:
    code = f"""
import asyncio
from sdstop.capture.reader import open_capture
from sdstop.collectors import BUILTIN
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.tui.screens import screen

async def main():
    origin, frames = open_capture({STORY!r})
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    async with screen(session, (120, 40)) as shown:
        print(await shown.press("0"))

asyncio.run(main())
"""
    shown = run(copy, "-c", code)
    assert "Multipath maps" in shown
    assert NAME in shown


def test_its_names_are_redacted(copy: Path, tmp_path: Path) -> None:
    archive = tmp_path / "out.tar.gz"
    run(copy, "-m", "sdstop", "capture", "--from", STORY, "-o", str(archive), "--redact")
    with tarfile.open(archive) as opened:
        members = [(member.name, opened.extractfile(member)) for member in opened if member.isfile()]
        texts = {name: file.read() for name, file in members if file is not None}
    assert any(b"mpath" in text or b"paths" in text for text in texts.values())
    assert [name for name, text in texts.items() if NAME.encode() in text or NAME in name] == []


@pytest.fixture(scope="module")
def documented(copy: Path) -> Path:
    """Return the copy, with the pages that scripts/docs writes."""
    run(copy, "scripts/docs")
    return copy


def test_its_pages_are_written(documented: Path) -> None:
    copy = documented
    assert "`cmd:multipathd show maps json`" in (copy / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert "## multipath-queueing" in (copy / "docs" / "rules.md").read_text(encoding="utf-8")
    assert "sdstop_multipath_map_paths" in (copy / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_its_own_test_and_the_tests_of_every_source_and_story_pass(documented: Path) -> None:
    tests = ("tests/collectors/test_maps.py", "tests/core/test_declarations.py", "tests/test_imports.py")
    chosen = "not test_imports and not test_stories or index or registered or unique or no-path-left"
    stories = ("tests/stories/test_stories.py", "-k", chosen)
    said = run(documented, "-m", "pytest", "-v", "-n0", "-p", "no:cacheprovider", "-m", "", *tests, *stories)
    for file in (*tests, stories[0]):
        assert f"{file}::" in said
    assert "test_check[no-path-left] PASSED" in said
