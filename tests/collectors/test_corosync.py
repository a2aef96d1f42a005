"""Corosync: this node's membership and links, and what the rules say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.pacemaker.cluster import PACEMAKER
from sdstop.collectors.pacemaker.corosync import COROSYNC_MEMBERSHIP, parse_links, parse_nodes, parse_quorum, read
from sdstop.collectors.pacemaker.readings import ClusterMembership, CorosyncLink
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.host import Absent
from sdstop.core.retention import Retention
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from sdstop.rules.clusters.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.pacemaker.cluster_link_down import CLUSTER_LINK_DOWN
from sdstop.rules.pacemaker.cluster_not_running import CLUSTER_NOT_RUNNING
from sdstop.rules.pacemaker.cluster_resource_failed import CLUSTER_RESOURCE_FAILED
from tests.nodes.frames import Judged, value
from tests.nodes.pacemaker import MON, node, status

CONF = "/etc/corosync/corosync.conf"
UNIX = "/proc/net/unix"
QUORUM = "cmd:corosync-quorumtool -s"
LINKS = "cmd:corosync-cfgtool -s"
WANTS = "/etc/systemd/system/multi-user.target.wants"
NODES = """totem {
  version: 2
  cluster_name: san
  key: s3cr3t
}
nodelist {
  node {
    ring0_addr: 10.0.0.1
    name: store1
    nodeid: 1
  }
  node {
    ring0_addr: 10.0.0.2
    name: store2
    nodeid: 2
  }
}
quorum {
  provider: corosync_votequorum
  two_node: 1
}
"""
DEFAULT = """totem {
  cluster_name: debian
}
nodelist {
  node {
    name: node1
    nodeid: 1
    ring0_addr: 127.0.0.1
  }
}
"""
COROSYNC = ("cfg", "cpg", "cmap", "quorum", "votequorum")
DAEMONS = ("cib_rw", "crmd", "lrmd", "stonith-ng", "attrd", "pengine")


def sockets(*names: str, connected: Iterable[str] = ()) -> str:
    """Return /proc/net/unix with sockets that listen, and some that are connected."""
    lines = ["Num       RefCount Protocol Flags    Type St Inode Path"]
    lines += [f"0000000000000000: 00000002 00000000 00010000 0001 01 {n} @{name}@@@@" for n, name in enumerate(names)]
    lines += [
        f"0000000000000000: 00000003 00000000 00000000 0001 03 {n} @{name}@@@@" for n, name in enumerate(connected)
    ]
    lines += ["0000000000000000: 00000002 00000000 00010000 0001 01 9 /run/systemd/private"]
    return "\n".join(lines) + "\n"


def votes(*members: int, quorate: bool = True, flags: str = "2Node Quorate WaitForAll") -> str:
    listed = "".join(f"         {n}          1 store{n}{' (local)' if n == 1 else ''}\n" for n in members)
    return (
        "Quorum information\n------------------\nDate:             Sun Nov 22 11:16:20 2026\n"
        f"Quorum provider:  corosync_votequorum\nNodes:            {len(members)}\nNode ID:          1\n"
        f"Ring ID:          1.2f\nQuorate:          {'Yes' if quorate else 'No'}\n\n"
        "Votequorum information\n----------------------\nExpected votes:   2\nHighest expected: 2\n"
        f"Total votes:      {len(members)}\nQuorum:           1 {'' if quorate else 'Activity blocked'}\n"
        f"Flags:            {flags}\n\n"
        f"Membership information\n----------------------\n    Nodeid      Votes Name\n{listed}"
    )


def links(*states: str) -> str:
    parts = ["Local node ID 1, transport knet\n"]
    for number, state in enumerate(states):
        parts.append(
            f"LINK ID {number} udp\n\taddr\t= 10.0.{number}.1\n\tstatus:\n\t\tnodeid:          1:\tlocalhost\n"
            f"\t\tnodeid:          2:\t{state}\n"
        )
    return "".join(parts)


ALL = sockets(*COROSYNC, "pacemakerd", *DAEMONS)
GOOD = {
    CONF: NODES, UNIX: ALL, QUORUM: votes(1, 2), LINKS: links("connected", "connected"),
    "list:/var/lib/pacemaker/cib": "cib.xml",
    f"link:{WANTS}/corosync.service": "/lib/systemd/system/corosync.service",
    f"link:{WANTS}/pacemaker.service": "/lib/systemd/system/pacemaker.service",
}  # fmt: skip


def judged(**changed: str) -> Judged:
    known = {"conf": CONF, "unix": UNIX, "quorum": QUORUM, "links": LINKS, "mon": MON,
             "cib": "list:/var/lib/pacemaker/cib", "unit": f"link:{WANTS}/pacemaker.service"}  # fmt: skip
    files: Mapping[str, str] = {**GOOD, **{known[name]: text for name, text in changed.items()}}
    rules = [CLUSTER_DEGRADED, CLUSTER_NOT_RUNNING, CLUSTER_LINK_DOWN]
    return Judged([PACEMAKER, COROSYNC_MEMBERSHIP], rules, [(1.0, {k: v for k, v in files.items() if v})])


def test_a_node_that_takes_part() -> None:
    said = judged(mon=status())
    (row,) = said.window.rows(ClusterMembership).values()
    assert (row.cluster, row.corosync, row.pacemaker, row.enabled, row.configured) == (
        "san",
        "running",
        "running",
        1,
        2,
    )
    assert (row.two_node, row.quorate, row.members, row.votes, row.expected, row.quorum) == (1, 1, 2, 2, 2, 1)
    said.ruled_out("san", "cluster-not-running")
    assert said.ruled_out("san/link0", "cluster-link-down").summary == "link 0 connected to 1 nodes"


@pytest.mark.parametrize(
    ("unix", "title", "severity"),
    [
        (sockets(*COROSYNC), "PACEMAKER NOT RUNNING", Severity.WARNING),
        (sockets(*COROSYNC, *DAEMONS), "PACEMAKER RUNS ONLY IN PART", Severity.CRITICAL),
        (sockets(*COROSYNC, "pacemakerd", *DAEMONS[1:]), "PACEMAKER RUNS ONLY IN PART", Severity.CRITICAL),
        (sockets(connected=("pacemakerd", "cfg")), "CLUSTER NOT RUNNING", Severity.WARNING),
    ],
)
def test_configured_and_not_running(unix: str, title: str, severity: Severity) -> None:
    finding = judged(unix=unix, quorum="" if "CLUSTER" in title else votes(1, 2)).finding("san", "cluster-not-running")
    assert (finding.title, finding.severity, finding.standing) == (title, severity, False)
    assert value(finding, "enabled") == "yes"


def test_daemons_that_another_version_names_otherwise_are_not_gone() -> None:
    said = judged(unix=sockets(*COROSYNC, "pacemakerd", "crmd", "based", "schedulerd"))
    said.ruled_out("san", "cluster-not-running")


def test_not_running_and_not_started_at_boot_is_a_condition() -> None:
    finding = judged(unix=sockets(), unit="", quorum="").finding("san", "cluster-not-running")
    assert (finding.severity, finding.standing) == (Severity.INFO, True)


def hung(key: str, times: int, **changed: str) -> dict[str, Verdict]:
    """What is said of the cluster by rule, after a tool got no answer so often in a row."""
    rules: list[Rule] = [CLUSTER_DEGRADED, CLUSTER_NOT_RUNNING, CLUSTER_RESOURCE_FAILED]
    session = Session(Origin("n"), [PACEMAKER, COROSYNC_MEMBERSHIP], rules)
    known = {**GOOD, MON: status(), **changed}
    for number in range(times + 1):
        items = [Evidence(name, data=text.encode()) for name, text in known.items() if name != key or not number]
        if number:
            items.append(Evidence(key, Outcome.TIMEOUT, detail=f"timed out after {number} s"))
        session.feed(Frame(number + 1, 1_700_000_000.0 + 60 * number, 60.0 * number, tuple(items)))
    judgement = session.head().judgement
    every: tuple[Verdict, ...] = (*judgement.ruled_out, *judgement.unchecked, *judgement.findings)
    return {said.rule: said for said in every}


@pytest.mark.parametrize(("key", "title"), [(QUORUM, "COROSYNC DOES NOT ANSWER"), (MON, "PACEMAKER DOES NOT ANSWER")])
@pytest.mark.parametrize(("times", "severity"), [(0, None), (1, Severity.WARNING), (2, Severity.CRITICAL)])
def test_a_daemon_that_listens_and_does_not_answer(key: str, title: str, times: int, severity: Severity | None) -> None:
    said = hung(key, times)
    verdict = said["cluster-not-running"]
    if severity is None:
        assert isinstance(verdict, RuledOut)
        return
    assert isinstance(verdict, Finding)
    assert (verdict.title, verdict.severity, verdict.subject) == (title, severity, "san")
    assert value(verdict, "since") == (None if times == 1 else 60.0)
    # What Pacemaker knew before proves nothing now.
    assert isinstance(said["cluster-degraded"], Unchecked)
    assert isinstance(said["cluster-resource-failed"], Unchecked)


def test_a_gone_daemon_of_pacemaker_is_named_rather_than_the_silence_that_follows() -> None:
    verdict = hung(MON, 1, **{UNIX: sockets(*COROSYNC, "pacemakerd", *DAEMONS[1:])})["cluster-not-running"]
    assert isinstance(verdict, Finding)
    assert verdict.title == "PACEMAKER RUNS ONLY IN PART"


def test_corosync_alone_is_well_where_pacemaker_was_never_used() -> None:
    said = judged(unix=sockets(*COROSYNC), unit="", cib="")
    assert "Pacemaker is not used here" in said.ruled_out("san", "cluster-not-running").summary


def test_the_configuration_that_debian_installs_is_no_cluster() -> None:
    host = EvidenceHost.of({CONF: DEFAULT, UNIX: sockets()})
    with pytest.raises(Absent, match="no cluster of several nodes"):
        list(read(host))
    assert list(read(EvidenceHost.of({CONF: DEFAULT, UNIX: sockets("cfg")})))


def test_one_of_two_links_is_down() -> None:
    said = judged(links=links("connected", "disconnected"), mon=status())
    finding = said.finding("san/link1", "cluster-link-down")
    assert finding.severity is Severity.WARNING
    assert finding.cause == "Link 1 to store2 is disconnected."
    assert finding.impact == "The remaining links carry the cluster; if they fail, it splits."
    said.ruled_out("san/link0", "cluster-link-down")


def test_links_to_a_lost_node_are_its_consequence_and_evidence() -> None:
    gone = status(node("store1", leads=True) + node("store2", online=False)).replace(
        'stonith-enabled="true"', 'stonith-enabled="false"'
    )
    said = judged(links=links("disconnected"), quorum=votes(1), mon=gone)
    said.unchecked("san/link0", "cluster-link-down")
    finding = said.finding("san", "cluster-degraded")
    assert (finding.severity, value(finding, "link1")) == (Severity.CRITICAL, "disconnected")
    assert any(cite.key == LINKS for cite in finding.evidence)
    said = judged(links=links("disconnected"), quorum=votes(1), unix=sockets(*COROSYNC))
    alone = said.finding("san/link0", "cluster-link-down")
    assert alone.title == "NODE OUT OF REACH"


def test_without_two_node_a_lost_node_of_two_is_no_pair() -> None:
    gone = status(node("store1", leads=True) + node("store2", online=False)).replace(
        'stonith-enabled="true"', 'stonith-enabled="false"'
    )
    said = judged(quorum=votes(1, flags="Quorate"), mon=gone)
    assert said.finding("san", "cluster-degraded").severity is Severity.WARNING


OLD = """Printing ring status.
Local node ID 1
RING ID 0
\tid\t= 10.0.0.1
\tstatus\t= ring 0 active with no faults
RING ID 1
\tid\t= 10.0.1.1
\tstatus\t= Marking ringid 1 interface 10.0.1.1 FAULTY
"""
THREE = """Printing link status.
Local node ID 1
LINK ID 0
\taddr\t= 10.0.0.1
\tstatus:
\t\tnodeid  1:\tlink enabled:1\tlink connected:1
\t\tnodeid  2:\tlink enabled:1\tlink connected:0
\t\tnodeid  3:\tlink enabled:0\tlink connected:0
"""


def test_the_forms_of_other_versions() -> None:
    assert [(link.link, link.node, link.state) for link in parse_links(OLD)] == [
        ("0", "", "connected"), ("1", "", "faulty"),
    ]  # fmt: skip
    assert [(link.link, link.node, link.state) for link in parse_links(THREE)] == [
        ("0", "1", "connected"), ("0", "2", "disconnected"), ("0", "3", "disabled"),
    ]  # fmt: skip
    finding = judged(links=OLD).finding("san/link1", "cluster-link-down")
    assert finding.cause == "Link 1 to all nodes is faulty."


def test_a_quorum_device_and_no_quorum() -> None:
    said = parse_quorum(
        votes(1, quorate=False, flags="Qdevice").replace(
            "Nodeid      Votes Name\n", "Nodeid      Votes    Qdevice Name\n"
        ).replace("1          1 store1", "1          1    A,V,NMW store1")
    )  # fmt: skip
    assert said is not None
    assert (said.quorate, said.quorum, said.two_node, said.members) == (False, 1, False, {"1": "store1"})
    assert parse_quorum("Cannot initialize CMAP service") is None


def test_nodes_without_names_and_ids() -> None:
    assert parse_nodes("nodelist {\n node {\n  ring0_addr: a\n }\n node {\n  nodeid: 7\n }\n}\n") == {
        "1": "1",
        "7": "7",
    }
    assert parse_nodes("") == {}


def test_no_key_and_no_address_is_kept() -> None:
    kept = Retention([COROSYNC_MEMBERSHIP]).evidence(Evidence(CONF, data=NODES.encode())).data
    assert b"s3cr3t" not in kept
    assert b"10.0.0" not in kept
    assert parse_nodes(kept.decode()) == {"1": "store1", "2": "store2"}
    listening = Retention([COROSYNC_MEMBERSHIP]).evidence(Evidence(UNIX, data=ALL.encode())).data
    assert b"systemd" not in listening
    assert Retention([COROSYNC_MEMBERSHIP]).evidence(Evidence(UNIX, data=listening)).data == listening


@given(st.text() | st.text(alphabet="LINKRGD 0123:\n\tnodeidconnectedstatus=YesQurm", max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    list(parse_links(f"LINK ID 0\n{text}"))
    parse_nodes(text)
    parse_quorum(f"Quorum information\n{text}\nMembership information\n{text}")


def test_rows_of_links() -> None:
    rows = [row for row in read(EvidenceHost.of(GOOD)) if isinstance(row, CorosyncLink)]
    assert [(row.link, row.node, row.state, row.member) for row in rows] == [
        ("0", "store2", "connected", 1), ("1", "store2", "connected", 1),
    ]  # fmt: skip
