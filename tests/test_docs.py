"""The generated pages of docs/ are up to date, and complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.collector import commands_of, texts_of
from sdstop.exporters.prometheus import metrics as prometheus
from sdstop.exporters.report import catalogue
from sdstop.rules import RULES
from tests.exporters.meters import METERS, TOO_LOUD

ROOT = Path(__file__).resolve().parent.parent


def test_pages_are_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "docs"), "--check"]
    result = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_stale_and_missing_pages_are_named(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "contrib" / "prometheus").mkdir(parents=True)
    (tmp_path / "sdstop" / "rules").mkdir(parents=True)
    (tmp_path / "collectors").mkdir()
    script = tmp_path / "scripts" / "docs"
    script.write_bytes((ROOT / "scripts" / "docs").read_bytes())
    (tmp_path / "docs" / "rules.md").write_text("old\n")

    def run(*options: str) -> tuple[int, str, str]:
        argv = [sys.executable, str(script), *options]
        result = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, result.stderr

    names = (
        "collectors/declared.json", "contrib/prometheus/sdstop-advice.yml", "docs/diff.schema.json", "docs/evidence.md",
        "docs/metrics.md", "docs/report.schema.json", "docs/rules.md", "docs/texts.md", "sdstop/rules/declared.json",
    )  # fmt: skip
    assert run("--check") == (1, "", "".join(f"{name}: not up to date; run scripts/docs\n" for name in names))
    assert run() == (0, "".join(f"{name}: written\n" for name in names), "")
    assert run("--check") == (0, "", "")
    index = tmp_path / "collectors" / "declared.json"
    index.write_text(index.read_text().replace("ATA over Ethernet", "AoE").replace("bcache.devices", "bcache.gone"))
    changed = "collectors/declared.json: sdstop.collectors.aoe.targets has changed; run scripts/docs\n"
    assert run("--indexes") == (1, "", changed)  # and not what only one side has


def test_no_test_runs_with_an_index_that_is_not_up_to_date(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    said = "sdstop/rules/declared.json: sdstop.rules.zfs.x has changed; run scripts/docs"
    (tmp_path / "scripts" / "docs").write_text(f"import sys\nprint('{said}', file=sys.stderr)\nsys.exit(1)\n")
    argv = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "--rootdir", str(tmp_path), "-n0", str(tmp_path)]
    alone = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    argv += ["-p", "tests.conftest"]
    result = subprocess.run(argv, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr.strip()) == (4, f"ERROR: {said}")


def test_every_collector_command_rule_and_metric_has_its_place() -> None:
    evidence, metrics, rules = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("evidence.md", "metrics.md", "rules.md")
    )
    for collector in BUILTIN:
        assert f"\n## {collector.name}\n" in evidence
        assert all(f"| `{need.what}` |" in evidence for need in collector.needs)
    assert all(f"| `{' '.join(command.argv)}` |" in evidence for command in commands_of(BUILTIN))
    texts = (ROOT / "docs" / "texts.md").read_text(encoding="utf-8")
    assert all(f"| `{form.key.removeprefix('cmd:')}` | {form.reads} |" in texts for form in texts_of(BUILTIN).forms)
    for rule in RULES:
        assert f"\n## {rule.id}\n" in rules
        assert all(f"| `{threshold.name}` | {threshold.default:g} |" in rules for threshold in rule.thresholds)
    assert all(f"| `{heading.name}` | {heading.type} |" in metrics for heading in prometheus.catalogue(BUILTIN))


@pytest.mark.parametrize("page", ["evidence.md", "metrics.md", "rules.md", "texts.md"])
def test_tables_are_whole(page: str) -> None:
    """Every row has as many cells as its heading: nothing that is declared breaks a table."""
    width = 0
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert cells in {0, width} or not width
        width = cells


def test_what_every_page_says_of_one_source_and_one_rule() -> None:
    assert "| `/meters` | all of it | root |\n" in catalogue.evidence_page([METERS])
    assert (
        "| `sdstop_meter_time_seconds_total` | counter | seconds | `name`, `room` | Time spent. | /meters/*/time |\n"
    ) in catalogue.metrics_page([METERS])
    assert (
        "## too-loud\n\nA meter is loud. At worst critical.\n\nUses `meter`.\n\n"
        "| threshold | default | unit | description |\n|---|---|---|---|\n"
        "| `level` | 0.5 | ratio | level above which it is critical |\n"
    ) in catalogue.rules_page([TOO_LOUD])
