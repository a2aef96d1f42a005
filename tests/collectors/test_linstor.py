"""Tables of LINSTOR's client: states that it has, tables that are cut, and what is never good."""

from __future__ import annotations

import pytest

from sdstop.collectors.drbd.linstor import LINSTOR, condition, fault, is_known, parse
from sdstop.core.finding import Finding, Gap, Severity
from sdstop.core.form import NOT_SHOWN
from sdstop.core.host import Malformed
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from tests.nodes.frames import Judged

FRAME, TITLES = f"+{'-' * 40}+", "| ResourceName | Node | Port | Usage | Conns | State |"


def table(*rows: str) -> str:
    return "\n".join([FRAME, TITLES, f"|{'=' * 40}|", *(f"| {row} |" for row in rows), FRAME]) + "\n"


def judged(*rows: str) -> Judged:
    return Judged((LINSTOR,), [CLUSTER_DEGRADED], [(0.0, {"cmd:linstor resource list": table(*rows)})])


@pytest.mark.parametrize(
    ("state", "good"),
    [
        ("UpToDate", True), ("Created", True), ("Diskless", True), ("TieBreaker", True), ("Resizing, UpToDate", True),
        ("UpToDate, Evacuating", True), ("SyncTarget(39.21%)", False), ("SyncTarget", False), ("Outdated", False),
        ("Inconsistent", False), ("Failed", False), ("To: Creating", False), ("Diskless, Skip-Disk (R)", False),
        ("OFFLINE(VERSION MISMATCH)", False), ("OFFLINE (Auto-eviction: Disabled)", False), ("EVICTED", False),
        ("Unknown", None), ("DUnknown", None), ("Connected", None),
    ],
)  # fmt: skip
def test_states_of_the_client(state: str, good: bool | None) -> None:  # noqa: FBT001
    assert condition(state).good is good
    assert is_known(state)


@pytest.mark.parametrize("state", ["", "Splendid", "UpToDat", "SyncTarget(many)"])
def test_a_state_that_the_client_does_not_have_is_never_good(state: str) -> None:
    assert (condition(state).good, is_known(state)) == (None, False)
    said = judged(f"web | a | 7000 | InUse | Ok | {state}", "web | b | 7000 | Unused | Ok | UpToDate")
    assert said.unchecked("linstor/web", "cluster-degraded").gap is Gap.FAULTY


@pytest.mark.parametrize(
    ("rows", "title", "severity"),
    [
        (("a UpToDate Ok", "b UpToDate Ok"), "", None),
        (("a UpToDate Ok", "b TieBreaker Ok"), "", None),
        (("a UpToDate Ok", "b UpToDate Ok", "c Inconsistent Ok"), "COPIES NOT CURRENT", Severity.WARNING),
        (("a UpToDate Ok", "b Inconsistent Ok"), "ONE COPY LEFT", Severity.CRITICAL),
        (("a UpToDate Connecting(b)", "b Unknown -"), "ONE COPY REACHABLE", Severity.CRITICAL),
        (("a UpToDate StandAlone(b)", "b UpToDate StandAlone(a)"), "STANDALONE: no replication", Severity.CRITICAL),
        (("a UpToDate Connecting(b)", "b UpToDate Connecting(a)"), "NODES NOT CONNECTED", Severity.WARNING),
        (("a Outdated Ok", "b Failed Ok"), "NO CURRENT COPY", Severity.CRITICAL),
        (("a Unknown -", "b Unknown -"), "NO CURRENT COPY KNOWN", Severity.CRITICAL),
    ],
)
def test_copies_of_a_resource(rows: tuple[str, ...], title: str, severity: Severity | None) -> None:
    shown = []
    for row in rows:
        node, state, conns = row.split()
        shown.append(f"web | {node} | 7000 | Unused | {conns.strip('-')} | {state}")
    said = judged(*shown).of("linstor/web", "cluster-degraded")
    assert isinstance(said, Finding) is bool(title)
    if isinstance(said, Finding):
        assert (said.title, said.severity) == (title, severity)


def test_a_cut_table_shows_its_faults_and_nothing_good() -> None:
    whole = table(
        "web | a | 7000 | InUse | Ok | UpToDate", "web | b | 7000 | Unused | Ok | UpToDate",
        "mail | a | 7001 | InUse | Ok | UpToDate", "mail | b | 7001 | Unused | Ok | Outdated",
    )  # fmt: skip
    cut = whole.removesuffix(f"{FRAME}\n")
    assert (fault(whole), fault(cut)) == ("", NOT_SHOWN)
    said = Judged((LINSTOR,), [CLUSTER_DEGRADED], [(0.0, {"cmd:linstor resource list": cut})])
    assert said.unchecked("linstor/web", "cluster-degraded").gap is Gap.FAULTY
    assert said.finding("linstor/mail", "cluster-degraded").title == "ONE COPY LEFT"


@pytest.mark.parametrize(
    "text",
    ["", "no table", FRAME, table("web | a"), table().replace("State", "Stat"), f"{FRAME}\n{TITLES}\nError: denied\n"],
)
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)
