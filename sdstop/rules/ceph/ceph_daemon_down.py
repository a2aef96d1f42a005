"""Ceph daemons that have their data on this node and do not run."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.osd import is_osd, subject_of, words_of
from sdstop.collectors.ceph.readings import DAEMONS, CephDaemon
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.shell import phrase
from sdstop.readings.cluster import ClusterDevice

_IMPACTS = {
    "osd": "Data on it has one copy fewer until it runs or is rebuilt.",
    "mon": "Without a majority of monitors the cluster stops.",
    "mgr": "Without any manager, numbers get old and no OSD is balanced.",
    "mds": "Without an active metadata server, clients of the file system wait.",
    "rgw": "Clients of this gateway are not served.",
}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    known: dict[str, dict[str, ClusterDevice]] = {}
    for device in window.rows(ClusterDevice).values():
        if is_osd(device) and device.state:
            known.setdefault(device.cluster, {})[device.device] = device
    for daemon in window.rows(CephDaemon).values():
        osds = known.get(daemon.cluster)
        in_cluster = osds.get(daemon.daemon) if osds is not None else None
        if daemon.running:
            yield RuledOut(daemon.name, "its process runs")
        elif daemon.running is None:
            yield Unchecked("processes were not listed", daemon.name, calm=True)
        elif daemon.kind == "osd" and osds is not None and in_cluster is None:
            yield RuledOut(daemon.name, "not an OSD of the cluster any more")
        else:
            yield _found(window, daemon, in_cluster)


def _found(window: Window, daemon: CephDaemon, osd: ClusterDevice | None) -> Finding:
    emptied = osd is not None and "out" in words_of(osd)
    name = human.safe(daemon.daemon, 30)
    unit = f"ceph-{daemon.kind}@{daemon.daemon.partition('.')[2]}"
    unit = unit.replace("ceph-rgw@", "ceph-radosgw@rgw.")
    where = f"{human.safe(daemon.local, 20)} of this node" if daemon.local else "this node"
    disk: tuple[Advice, ...] = (run("smartctl", "-x", f"/dev/{daemon.local}"),) if daemon.local else ()
    return Finding(
        severity=Severity.INFO if emptied else Severity.WARNING,
        subject=daemon.name,
        title=f"{daemon.kind.upper()} NOT RUNNING",
        cause=fitting(
            f"{name} does not run; its data is on {where}.",
            f"{name} does not run; its data is on this node.",
            f"A {daemon.kind} with data on this node does not run.",
        ),
        impact="Capacity is reduced; the OSD is out of the cluster." if emptied else _IMPACTS[daemon.kind],
        values=(
            Value("folder", "data directory", human.safe(daemon.folder, 100)),
            Value("disk", "disk", daemon.local),
            Value("state", "state in the cluster", osd.state if osd is not None else None),
        ),
        evidence=cites(
            window.quote(f"answer:{DAEMONS}"), window.cite(daemon), window.cite(osd) if osd is not None else None
        ),
        advice=(
            f"Find out why {phrase(name)} ended, then start it.",
            run("systemctl", "status", *operands(unit)),
            run("journalctl", "-u", unit, "-n", "50"),
            *disk,
        ),
        refuted_by=f"a process of {name}",
        explains=(f"osd-down:{subject_of(osd)}",) if osd is not None else (),
        harmless_if="it was stopped on purpose, for maintenance or its removal",
        view_subject=daemon.daemon,
    )


CEPH_DAEMON_DOWN = Rule(
    "ceph-daemon-down",
    "Ceph daemon with data on this node that does not run",
    Severity.WARNING,
    _check,
    (CephDaemon,),
    covers=(Covers(CephDaemon, subject="{cluster}/{node}/{daemon}"),),
    explains=("osd-down",),
    many="do not run",
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Find out why the daemon ended, then start it.",
)
