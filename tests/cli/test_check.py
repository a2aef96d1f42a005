"""`sdstop check`: one line, limited to rules and subjects, with performance data and their thresholds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sdstop.core.policy import names_in
from sdstop.exporters.plugin import narrowed, numbers
from tests.cli.run import executed, run
from tests.fixtures import FIXTURES, story

pytestmark = pytest.mark.live


def check(*words: str, name: str = "aoe-flashcache") -> tuple[int, str]:
    done = executed("check", "--from", FIXTURES / name, *words)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        (
            "vm-members-differ",
            "OK - no findings above info in the recorded data; info: members-differ md0; not recorded",
        ),
        (
            "memory-mixed-modules",
            "OK - no findings above info in the recorded data; info: dimm-mixed memory; not recorded",
        ),
    ],
)
def test_findings_that_are_information_are_named_and_ok(name: str, begins: str) -> None:
    code, said = check(name=name)
    first, *details = said.splitlines()
    assert (code, first.startswith(f"SDSTOP {begins}")) == (0, True), first
    assert " info=1 " in first
    (line,) = [line for line in details if line.startswith("INFO: ")]
    assert line.startswith(f"INFO: {begins.partition('info: ')[2].partition(';')[0]}: ")


def test_information_beside_a_fault_is_below_the_line() -> None:
    code, said = check(name="md-rebuild-throttled")
    first, *details = said.splitlines()
    assert code == 2
    assert "info:" not in first
    assert [line.split(":")[1] for line in details if line.startswith("INFO: ")] == [" rebuild-running md0"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--rule", "cache-*"], 2, "SDSTOP CRITICAL - 1 finding: cache-sub-block-io cachedev: "),
        (["--rule", "cache-*", "--rule", "mtu-*"], 2, "SDSTOP CRITICAL - 1 finding: mtu-misaligned eth1: "),
        (["--subject", "md2"], 0, "SDSTOP OK - "),
        (["--rule", "phy-errors"], 3, "SDSTOP UNKNOWN - nothing checked; "),
        (["--subject", "nothing-of-that-name"], 3, "SDSTOP UNKNOWN - "),
        (["--rule", "cache-bypasst"], 3, "--rule cache-bypasst: unknown rule; did you mean cache-bypassed?"),
    ],
)
def test_it_is_limited_to_rules_and_subjects(words: list[str], code: int, says: str) -> None:
    exit_code, said = check(*words)
    assert exit_code == code, said
    assert says in said


@pytest.mark.parametrize(("subject", "code"), [("sdf", 1), ("0x5000c50000000005", 1), ("0x5000c50000000003", 0)])
def test_a_disk_is_checked_by_any_of_its_names(subject: str, code: int) -> None:
    """A service of Nagios is about the disk with this WWN, whatever it is called after a boot."""
    judgement = story("disks-failing").session.head().judgement
    topology = story("disks-failing").session.head().window.topology
    found = narrowed(judgement, ["disk-hot"], [subject], names_in(topology)).findings
    assert [finding.subject for finding in found] == ["sdf"] * code
    done = executed("check", "--from", FIXTURES / "disks-failing", "--subject", subject, "--rule", "disk-hot")
    assert done.returncode == code, done.stdout


def test_the_short_option_prints_the_version() -> None:
    assert re.fullmatch(r"sdstop \S+\n", check("-V")[1])


def test_a_folded_finding_counts_by_its_members() -> None:
    judgement = story("hba-lost").session.head().judgement
    assert [finding.subject for finding in narrowed(judgement, None, ["sda"]).findings] == ["0000:3b:00.0"]
    assert not narrowed(judgement, None, ["nvme0n1"]).findings


def test_performance_data_have_thresholds() -> None:
    said = " ".join(numbers(story("slow-member").session.head().judgement))
    assert said.startswith("critical=0;;0 warning=1;0 info=")
    assert re.search(r" 'slow-stripe-member md0/sdd times'=5\.\d+;\d+(\.\d+)?( |$)", said), said
    critical = " ".join(numbers(story("aoe-flashcache").session.head().judgement))
    assert " 'mtu-misaligned eth1 small'=0.927287;;0.05 " in critical
    below = " ".join(numbers(story("draid-one-dimm").session.head().judgement))
    assert " 'dimm-too-few-channels memory share'=0.25;;0.5: " in below


MDSTAT = """\
Personalities : [raid1]
md0 : active raid1 sdb[1] sda[0]{}
      1024 blocks super 1.2 [2/{}] [{}]

unused devices: <none>
"""
GONE = "Personalities : [raid1]\nunused devices: <none>\n"


def test_a_disk_without_a_state_that_left_minutes_before_the_end_of_a_capture(tmp_path: Path) -> None:
    """Virtual disks have no state in sysfs, so disk-offline owes them no verdict; it remembers them all the same."""
    times = []
    for number in range(1, 31):
        names = ("vda", "vdb") if number < 7 else ("vda",)
        folder = tmp_path / f"frames/{number:04}"
        (folder / "proc").mkdir(parents=True)
        counters = "".join(f" 254 {n} {name} {number * 99} 0 8 8 0 0 0 0 0 8 8\n" for n, name in enumerate(names))
        (folder / "proc/diskstats").write_text(counters)
        for n, name in enumerate(names if number == 1 else ()):
            (folder / f"sys/block/{name}").mkdir(parents=True)
            (folder / f"sys/block/{name}/dev").write_text(f"254:{n}\n")
            (folder / f"sys/block/{name}/size").write_text("2048\n")
        if number == 7:
            gone = {f"/sys/block/vdb/{file}": {"outcome": "absent", "detail": "gone"} for file in ("dev", "size")}
            (folder / "outcomes.json").write_text(json.dumps(gone))
        times.append({"number": number, "taken": 1.7e9 + number * 20, "monotonic": number * 20.0})
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": "sdstop.capture/1", "host": "n", "frames": times}))
    done = executed("check", "--from", tmp_path, "--rule", "disk-offline")
    assert "disk-offline vdb: GONE, and not back" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("frames", "code", "says"),
    [
        ([MDSTAT.format("(F)", 1, "_U"), GONE, GONE], 2, "array-degraded md0: GONE, not repaired"),
        ([MDSTAT.format("(F)", 1, "_U"), MDSTAT.format("", 2, "UU"), GONE], 3, "nothing checked; "),
    ],
)
def test_what_vanished_in_a_capture_before_its_last_frame(
    frames: list[str], code: int, says: str, tmp_path: Path
) -> None:
    for number, text in enumerate(frames, 1):
        folder = tmp_path / f"frames/{number:04}/proc"
        folder.mkdir(parents=True)
        (folder / "mdstat").write_text(text)
    done = run("check", "--from", tmp_path, "--rule", "array-degraded")
    assert (done.returncode, says in done.stdout) == (code, True), done.stdout
