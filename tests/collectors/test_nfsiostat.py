"""Output of nfsiostat, and the verdicts about the mounts."""

from __future__ import annotations

import pytest

from sdstop.collectors.filesystems.nfsiostat import NFS_TEXT, parse
from sdstop.core.finding import Finding, RuledOut, Unchecked, Verdict
from sdstop.core.host import Malformed
from sdstop.core.rule import Rule
from sdstop.rules.filesystems.nfs_slow import NFS_SLOW
from sdstop.rules.filesystems.nfs_timeouts import NFS_TIMEOUTS
from tests.nodes.frames import Judged

COLUMNS = "ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms)"


def _report(rate: float = 20, again: str = "0 (0.0%)", answer: float = 5, execution: float = 5) -> str:
    row = f"  {rate} 80.0 4.0 {again} {answer} {execution}"
    return f"nas:/v mounted on /v:\n\n ops/s rpc bklog\n 1.0 0.0\n\nread: {COLUMNS}\n{row}\nwrite: {COLUMNS}\n{row}\n\n"


def _verdict(rule: Rule, text: str) -> Verdict:
    return Judged((NFS_TEXT,), [rule], [(0.0, {"cmd:nfsiostat 5 2": text})]).of("/v")


def test_queue_and_errors_of_new_versions_are_behind_the_others() -> None:
    text = _report().replace("5 5\n", "5 6 0.02 0 (0.0%)\n")
    assert [(row.kind, row.since, row.answer, row.execution) for row in parse(text, "k")] == [
        ("read", "mount", 0.005, 0.006), ("write", "mount", 0.005, 0.006),
    ]  # fmt: skip


def test_a_report_that_is_cut_off_is_malformed() -> None:
    with pytest.raises(Malformed):
        list(parse(_report()[:-60], "k"))


@pytest.mark.parametrize(("again", "found"), [
    ("0 (0.0%)", RuledOut), ("1 (1.0%)", RuledOut), ("2 (0.4%)", RuledOut), ("2 (0.6%)", Finding),
])  # fmt: skip
def test_requests_sent_again(again: str, found: type) -> None:
    assert isinstance(_verdict(NFS_TIMEOUTS, _report() + _report(again=again)), found)


@pytest.mark.parametrize(("rate", "execution", "found"), [
    (20, 5, RuledOut), (20, 15, Unchecked), (20, 990, Unchecked), (20, 1010, Finding), (0.5, 1010, Unchecked),
])  # fmt: skip
def test_requests_that_take_a_second(rate: float, execution: float, found: type) -> None:
    assert isinstance(_verdict(NFS_SLOW, _report() + _report(rate, answer=execution, execution=execution)), found)


def test_requests_that_always_took_so_long_are_not_slower() -> None:
    text = _report(answer=400, execution=400) + _report(answer=1500, execution=1500)
    assert isinstance(_verdict(NFS_SLOW, text), Unchecked)


def test_the_mean_since_the_mount_is_not_judged() -> None:
    assert isinstance(_verdict(NFS_TIMEOUTS, _report(again="900 (9.0%)")), Unchecked)
    assert isinstance(_verdict(NFS_SLOW, _report(answer=2000, execution=2000)), Unchecked)
