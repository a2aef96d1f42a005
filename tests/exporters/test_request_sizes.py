"""Request sizes on the page for Prometheus and in the report, of what real kernels counted."""

import json
import math
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sdstop.cli.command import execute
from sdstop.collectors.zfs.readings import KSTATS
from sdstop.collectors.zfs.sizes import COMMAND
from sdstop.core.evidence import command_key, slug
from tests.fixtures import FIXTURES

NAME = "sdstop_request_size_bytes"

Series = dict[tuple[str, str, str], dict[float, float]]


def page(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert execute(["export", "--once", "--from", str(path)]) == 0
    return capsys.readouterr().out


def histograms(text: str) -> Series:
    found: Series = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples if family.name == NAME else ():
            assert (family.type, sample.name) == ("histogram", f"{NAME}_bucket")
            labels = sample.labels
            found[labels["counter"], labels["device"], labels["direction"]][float(labels["le"])] = sample.value
    return found


@pytest.mark.needs("promtool")
def test_a_real_kernels_counts(capsys: pytest.CaptureFixture[str]) -> None:
    text = page(FIXTURES / "vm-aoe-4000", capsys)
    found = {key: told for key, told in histograms(text).items() if key[0] == "issue"}
    assert {device for _, device, _ in found} >= {"vda", "etherd/e0.0"}
    assert len({tuple(told) for told in found.values()}) == 1
    for told in found.values():
        assert list(told.values()) == sorted(told.values())
        assert list(told) == [*sorted(told)]
    told = found["issue", "vda", "write"]
    assert told[3584] > 0.9 * told[math.inf]
    assert found["issue", "etherd/e0.0", "write"][3584] == 0
    result = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_what_is_larger_than_all_bounds_is_below_infinity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = tmp_path / "frames" / "0001" / "commands" / slug(command_key(COMMAND).removeprefix("cmd:"))
    commands.mkdir(parents=True)
    rows = ("512\t3" + "\t0" * 11, "1024\t4" + "\t0" * 11, "2048\t5" + "\t0" * 11)
    (commands / "stdout").write_text("\ntank\n" + "".join(f"{row}\n" for row in rows))
    (tmp_path / f"frames/0001{KSTATS}/tank").mkdir(parents=True)
    (tmp_path / f"frames/0001{KSTATS}/tank/state").write_text("ONLINE\n")
    told = histograms(page(tmp_path, capsys))
    assert told == {("zpool", "tank", "read"): {1023.0: 3.0, 2047.0: 7.0, math.inf: 12.0}}


def test_the_report_has_them_in_words_and_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FIXTURES / "vm-aoe-4000")
    assert execute(["report", "--from", path]) == 0
    text = capsys.readouterr().out
    assert "REQUEST SIZES" in text
    assert "3.5K 8" in text
    assert execute(["report", "--format", "json", "--from", path]) == 0
    rows = json.loads(capsys.readouterr().out)["readings"]["request_sizes"]
    row = next(row for row in rows if (row["counter"], row["device"], row["direction"]) == ("issue", "vda", "write"))
    assert row["exact"] == 1
    assert row["lost"] == 0
    assert row["sizes"]["3584"] == max(row["sizes"].values())
