"""Talking with expanders: seldom, one after another, and never again soon with one that was silent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path

import pytest

from sdstop.cli.arguments import parse
from sdstop.cli.live_source import with_smp_policy
from sdstop.cli.opening import begin
from sdstop.collectors import BUILTIN
from sdstop.collectors.fabric.expander import REST, changes
from sdstop.collectors.fabric.port_readings import PHYS, SasExpander, SasPhy
from sdstop.collectors.fabric.sas import SAS, without_smp
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, slug
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Failed, Host, Output, TimedOut
from sdstop.core.model import Reading
from sdstop.core.recording import RecordingHost
from sdstop.core.session import Session
from sdstop.node.live import LiveHost
from sdstop.rules.fabric.phy_errors import PHY_ERRORS
from tests.nodes.frames import Judged
from tests.nodes.sas import GENERAL, LOG, Phy, files

VACANT = "Report phy error log result: Phy vacant\n"


def expander(rows: Sequence[Reading], name: str = "expander-1:0") -> SasExpander:
    return next(row for row in rows if isinstance(row, SasExpander) and row.expander == name)


def phys(rows: Sequence[Reading]) -> dict[str, SasPhy]:
    return {row.phy: row for row in rows if isinstance(row, SasPhy)}


def logged(*numbers: int, device: str = "/dev/bsg/expander-1:0") -> dict[str, str]:
    """Return what a person keeps who asks for each phy's log, with the tool's complaints in the same file."""
    texts = {52: LOG, 53: LOG.replace("52", "53").replace("168", "6").replace("172", "6")}
    return {f"slug:{slug(f'smp_rep_phy_err_log -p {n} {device}')}": texts.get(n, VACANT) for n in numbers}


class Node(EvidenceHost):
    """A node of which some things answer late, or with an error; it notes what it was asked."""

    def __init__(self, found: dict[str, str], errors: dict[str, type[Exception]] | None = None) -> None:
        super().__init__(Evidence(key, data=text.encode()) for key, text in found.items())
        self.errors = errors or {}
        self.asked: list[str] = []
        self.left: dict[str, float] = {}

    def _take(self, key: str, shown: str = "") -> Evidence:
        self.asked.append(shown or key)
        for part, error in self.errors.items():
            if part in key or part in shown:
                raise error(key, "timed out after 5 s" if error is TimedOut else "Invalid argument")
        return super()._take(key, shown)

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        try:
            return super().run(argv, deadline)
        except Absent as error:
            raise Absent(error.key, f"{argv[0]} is not installed") from None

    def rests(self, what: str, of: Hashable = None) -> bool:
        del of
        return what in self.left

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        del of
        self.left[what] = seconds


def two(*, silent: str = "") -> Node:
    """Return a node with an expander of two phys on each of two HBAs; what `silent` is part of is not answered."""
    first = files(Phy(1, 10, 10), Phy(2))
    both = first | {key.replace("1:0", "2:0"): text for key, text in first.items()}
    commands = {f"cmd:smp_rep_general /dev/bsg/expander-{n}:0": GENERAL for n in (1, 2)}
    return Node(both | commands, {silent: TimedOut} if silent else {})


def test_what_a_colleague_kept_as_text_is_enough() -> None:
    host = EvidenceHost.of(logged(*range(52, 59)))
    rows = list(SAS.read(host))
    row = phys(rows)["phy-1:0:52"]
    assert (row.owner, row.number, row.state, row.rate) == ("expander-1:0", 52, None, None)
    assert (row.invalid_dwords, row.disparity_errors, row.sync_losses, row.reset_problems) == (168, 172, 5, 0)
    assert {name: row.state for name, row in phys(rows).items()} == {
        f"phy-1:0:{n}": None if n < 54 else "vacant" for n in range(52, 59)
    }
    assert all(row.invalid_dwords is None for row in phys(rows).values() if row.state == "vacant")
    known = expander(rows)
    assert (known.state, known.changes, known.vacant) == ("answers", 567, 5)
    source = row.source("invalid_dwords")
    assert source is not None
    evidence = host.evidence(source.key)
    assert evidence is not None
    assert source.needle in evidence.data.decode()


def test_the_rule_reads_the_text_and_cites_it() -> None:
    judged = Judged([SAS], [PHY_ERRORS], [(0.0, logged(*range(52, 59)))])
    finding = judged.finding("expander-1:0")
    assert finding.severity is Severity.INFO
    assert "2 of 2 phys have counted errors, at most 172" in finding.summary
    assert any("phy-1:0:52" in each.title and each.value == 172 for each in finding.values)
    assert finding.evidence[0].key == "cmd:smp_rep_phy_err_log -p 52 /dev/bsg/expander-1:0"


def test_one_expander_that_does_not_answer_costs_only_itself() -> None:
    host = two(silent="smp_rep_general /dev/bsg/expander-1:0")
    rows = list(SAS.read(host))
    assert (expander(rows).state, expander(rows).reason) == ("no answer", "timed out after 5 s")
    assert phys(rows)["phy-1:0:1"].invalid_dwords is None
    assert phys(rows)["phy-1:0:1"].rate is not None
    assert expander(rows, "expander-2:0").state == "answers"
    assert phys(rows)["phy-2:0:1"].invalid_dwords == 10
    assert not [key for key in host.asked if "expander-1:0/phy-1:0" in key or (PHYS in key and "phy-1:0" in key
                and key.endswith("_count"))]  # fmt: skip
    assert host.left == {"expander-1:0": REST}


def test_a_counter_that_comes_late_ends_the_questions() -> None:
    host = two(silent="phy-1:0:1/invalid_dword_count")
    rows = list(SAS.read(host))
    assert expander(rows).state == "no answer"
    assert [key for key in host.asked if key.startswith(f"{PHYS}/phy-1:0") and key.endswith("_count")] == [
        f"{PHYS}/phy-1:0:1/invalid_dword_count"
    ]
    assert phys(rows)["phy-2:0:2"].invalid_dwords == 0


def test_what_rests_is_asked_nothing() -> None:
    host = two()
    host.left["expander-1:0"] = 1.0
    rows = list(SAS.read(host))
    assert expander(rows).state == "no answer"
    assert not [key for key in host.asked if "bsg/expander-1:0" in key]
    assert expander(rows, "expander-2:0").state == "answers"


def test_what_sysfs_does_not_count_the_tool_does() -> None:
    found = files(Phy(52), Phy(7, state="Unknown")) | {
        "cmd:smp_rep_general /dev/bsg/expander-1:0": GENERAL,
        "cmd:smp_rep_phy_err_log -p 52 /dev/bsg/expander-1:0": LOG,
        "cmd:smp_discover --multiple /dev/bsg/expander-1:0": "  phy   7: inaccessible (phy vacant)\n",
    }
    host = Node(found, {"phy-1:0:52/invalid_dword_count": Failed})
    rows = list(SAS.read(host))
    row = phys(rows)["phy-1:0:52"]
    assert (row.invalid_dwords, row.state, row.attached) == (168, "up", "end_device-1:0:52")
    assert phys(rows)["phy-1:0:7"].state == "vacant"
    known = expander(rows)
    assert (known.phys, known.changes, known.links, known.vacant, known.zoning) == (65, 567, 1, 1, True)


def test_without_the_tool_sysfs_is_enough_and_the_tool_is_looked_for_once() -> None:
    host = Node(files(Phy(1, 3, 3), Phy(2, 4, 4)))
    rows = list(SAS.read(host))
    assert [row.invalid_dwords for row in phys(rows).values()] == [3, 4]
    assert expander(rows).state == "answers"
    assert len([key for key in host.asked if key.startswith("cmd:")]) == 1


def test_an_answer_that_is_none_is_told() -> None:
    found = files(Phy(1, counted=False)) | {"cmd:smp_rep_general /dev/bsg/expander-1:0": ""}
    rows = list(SAS.read(EvidenceHost.of(found)))
    assert (expander(rows).state, expander(rows).reason) == ("refuses", "exit status 0")
    assert SAS.lacks is not None
    assert SAS.lacks({SasExpander: {"expander-1:0": expander(rows)}}) == "expander-1:0: refuses, exit status 0"


def test_where_smp_is_turned_off_nobody_is_asked() -> None:
    host = RecordingHost(two())
    rows = list(without_smp().read(host))
    assert not [key for key in host.evidence if key.endswith("_count") or key.startswith("cmd:")]
    assert phys(rows)["phy-1:0:1"].rate is not None
    assert expander(rows).state == "not asked"
    lacks = without_smp().lacks
    assert lacks is not None
    assert "SMP is turned off" in lacks({SasExpander: {0: expander(rows)}})
    assert (
        "turned off" in Judged([without_smp()], [PHY_ERRORS], [(0.0, files(Phy(1)))]).unchecked("expander-1:0").reason
    )


def test_a_silent_expander_is_unchecked() -> None:
    evidence = [Evidence(key, data=text.encode()) for key, text in files(Phy(1, 5, 5)).items()]
    key = "cmd:smp_rep_general /dev/bsg/expander-1:0"
    silent = Evidence(key, Outcome.TIMEOUT, detail="timed out after 5 s (D, in uninterruptible sleep)")
    session = Session(Origin("n"), [SAS], [PHY_ERRORS])
    said = session.feed(Frame(1, 0.0, 0.0, (*evidence, silent))).judgement
    assert not said.findings
    assert not said.ruled_out
    assert [row.subject for row in said.unchecked] == ["expander-1:0"]
    assert "expander does not respond (timed out after 5 s (D, in" in said.unchecked[0].reason


@pytest.mark.parametrize(
    ("before", "after", "said"), [(567, 570, 3), (567, 567, 0), (65535, 2, 3), (567, 3, None), (None, 3, None)]
)
def test_changes_between_two_readings(before: int | None, after: int, said: int | None) -> None:
    rows = [
        SasExpander(
            expander="expander-1:0",
            state="answers",
            reason=None,
            changes=n,
            phys=65,
            links=15,
            vacant=9,
            zoning=None,
            told="",
        )
        for n in (before, after)
    ]
    grown = changes(rows[0], rows[1], 300.0)
    assert (None if grown is None else grown.changes) == said


def flapping(step: int, *more: Phy) -> Judged:
    general = "cmd:smp_rep_general /dev/bsg/expander-1:0"
    return Judged([SAS], [PHY_ERRORS], [
        (0.0, files(Phy(1)) | {general: GENERAL}),
        (300.0, files(Phy(1), *more) | {general: GENERAL.replace("567", str(567 + step))}),
    ])  # fmt: skip


def test_links_that_come_and_go_are_a_warning() -> None:
    finding = flapping(3).finding("expander-1:0/changes")
    assert finding.severity is Severity.WARNING
    assert "3 link changes in 5m" in finding.summary


def test_few_changes_or_a_drive_that_was_plugged_are_none() -> None:
    for judged in (flapping(2), flapping(9, Phy(2))):
        assert not [said for said in judged.all if said.subject.endswith("changes")]


# --- the live node, and the switch ------------------------------------------------------------------------


def test_a_late_answer_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "count").write_text("7\n")
    host: Host = RecordingHost(LiveHost(str(tmp_path)))
    assert host.promptly("/count", 5.0) == "7\n"
    clock = iter(range(0, 1000, 12))
    monkeypatch.setattr("sdstop.node.live.time.monotonic", lambda: float(next(clock)))
    with pytest.raises(TimedOut, match=r"took 12 s \(limit 5 s\)"):
        LiveHost(str(tmp_path)).promptly("/count", 5.0)


def test_a_live_node_remembers_what_rests() -> None:
    now = [100.0]
    host = RecordingHost(LiveHost(clock=lambda: now[0]))
    assert not host.rests("expander-1:0")
    host.rest("expander-1:0", 60.0)
    now[0] = 150.0
    host.rest("expander-1:0", 60.0)  # not for longer because somebody looked
    assert (host.rests("expander-1:0"), host.rests("expander-1:1")) == (True, False)
    now[0] = 161.0
    assert not host.rests("expander-1:0")


@pytest.mark.parametrize(
    ("words", "config", "asks"), [([], "", True), (["--no-smp"], "", False), ([], "[sampler]\nsmp = false\n", False)]
)
def test_the_switch(words: list[str], config: str, asks: bool, tmp_path: Path) -> None:  # noqa: FBT001  # a case
    (tmp_path / "c.toml").write_text(config)
    options = ["--collectors", "sas", "--config", str(tmp_path / "c.toml"), "--root", str(tmp_path), *words]
    with begin(parse("doctor", options)) as begun:
        declared = next(each for each in BUILTIN if each.name == SAS.name)
        assert begun.collectors == ((declared if asks else without_smp()),)


def test_the_switch_leaves_the_other_sources() -> None:
    assert with_smp_policy(BUILTIN, smp=True) == BUILTIN
    changed = [a.name for a, b in zip(BUILTIN, with_smp_policy(BUILTIN, smp=False), strict=True) if a is not b]
    assert changed == ["sas"]
