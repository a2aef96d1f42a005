"""What becomes of tests whose programs are missing: skipped with one line that helps, or failed by --no-skips."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import NEEDS, PROGRAMS, missing

ROOT = Path(__file__).resolve().parent.parent
CI = ROOT / ".ci"


def ran(*argv: str | Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Run Python where no program is found beside those in `path`."""
    return subprocess.run(
        [sys.executable, *argv], cwd=ROOT, env={**os.environ, "PATH": str(path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_what_is_missing_is_skipped_and_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    ended = ran("-m", "pytest", "tests/test_units.py", "tests/contrib/test_scrape.py", path=tmp_path)
    assert ended.returncode == 0, ended.stdout
    (line,) = [line for line in ended.stdout.splitlines() if "missing programs" in line]
    number, _, way = line.partition(" tests skipped for missing programs or privileges; to run them: ")
    assert int(number) > 4
    assert way == "apt-get install --no-install-recommends prometheus systemd"


def test_no_skips_fails_them(tmp_path: Path) -> None:
    ended = ran("-m", "pytest", "--no-skips", "--may-lack=bonding", "tests/test_units.py", path=tmp_path)
    assert ended.returncode == 1
    assert "Skipped: needs systemd-analyze, and --no-skips was given" in ended.stdout
    assert "skipped" not in ended.stdout.splitlines()[-1]


def test_what_can_be_installed_may_not_be_lacked(tmp_path: Path) -> None:
    ended = ran("-m", "pytest", "--no-skips", "--may-lack=tmux", "tests/test_units.py", path=tmp_path)
    assert ended.returncode == 4
    assert "--may-lack" in ended.stderr


def test_a_bare_machine_may_lack_anything_that_is_declared(tmp_path: Path) -> None:
    skipping = tmp_path / "test_skipping.py"
    skipping.write_text("import pytest\ndef test(): pytest.skip('not today')\n")
    options = ("-m", "pytest", "-c", ROOT / "pyproject.toml", "-n0", "--no-skips", "--may-lack=anything")
    ended = ran(*options, "tests/test_units.py", path=tmp_path)
    assert ended.returncode == 0, ended.stdout
    assert "skipped" in ended.stdout.splitlines()[-1]
    ended = ran(*options, "-p", "tests.conftest", skipping, path=tmp_path)
    assert ended.returncode == 1
    assert "not today, and --no-skips was given" in ended.stdout


def test_tests_do_not_pass_on_options_of_their_pytest(tmp_path: Path) -> None:
    assert "PYTEST_ADDOPTS" not in os.environ
    shown = "import os\nprint(os.environ.get('PYTEST_ADDOPTS'))\nimport tests.conftest\nprint(dict(os.environ))\n"
    ended = subprocess.run(
        [sys.executable, "-c", shown], cwd=ROOT, env={**os.environ, "PYTEST_ADDOPTS": "--no-skips"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, after = ended.stdout.splitlines()
    assert before == "--no-skips"
    assert "PYTEST_ADDOPTS" not in after


def test_a_need_that_nobody_declared_is_refused(tmp_path: Path) -> None:
    test = tmp_path / "test_typo.py"
    test.write_text("import pytest\n@pytest.mark.needs('promtol')\ndef test(): pass\n")
    ended = ran("-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "tests.conftest", "-n0", test, path=tmp_path)
    assert ended.returncode == 1
    assert "unknown need promtol; see tests/needs.py" in ended.stdout


def test_missing_packages_are_printed_before_anything_is_installed(tmp_path: Path) -> None:
    """Without site-packages, as on a bare machine."""
    ended = ran("-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); import tests.needs", path=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = ran("-S", "-m", "tests.needs", "--missing", path=tmp_path)
    packages = ended.stdout.split()
    assert packages == sorted(packages)
    assert {"chromium", "prometheus", "tmux"} <= set(packages) <= set(PROGRAMS.values())


def test_a_missing_need_is_named_with_its_remedy() -> None:
    assert all(need.remedy for need in NEEDS.values())
    with pytest.raises(KeyError):
        missing(["promtol"])
