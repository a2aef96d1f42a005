"""Health of Ceph clusters: quorum, and each health check by its effect on clients and data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sdstop.analysis.clusters.ceph_codes import FOLLOWS
from sdstop.analysis.clusters.ceph_effect import effect_of, last_copies, states_in, things_in
from sdstop.collectors.ceph import answers
from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.health import flags_in, osds_in
from sdstop.collectors.ceph.readings import KIND, NO_ANSWER, NO_QUORUM, CephBlocker, CephCheck, CephDaemon, CephPool
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.evidence import Outcome, command_key
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.readings.cluster import Cluster, ClusterNode

_LISTED = 12
"""Most names in a value."""
_WORDS = {"pools": "pool", "osds": "OSD", "pgs": "PG", "daemons": "daemon"}
_SLOW = expression(r"(\d{1,12}) slow (?:ops|requests), oldest one blocked for (\d{1,12}) sec")
_PHRASES = {
    "PG_DEGRADED": ("lacks copies", "lack copies"),
    "PG_AVAILABILITY": ("serves no I/O", "serve no I/O"),
    "PG_DAMAGED": ("has damaged copies", "have damaged copies"),
    "PG_SLOW_SNAP_TRIMMING": ("has a long queue of snapshots", "have long queues of snapshots"),
}
"""Faults of one and of several placement groups by code."""
_STATES = {
    "repair": ("is being repaired", "are being repaired"),
    "snaptrim_error": ("could not trim snapshots", "could not trim snapshots"),
}
"""Those of PG_DAMAGED if it has one state alone."""


def is_ceph(cluster: Cluster) -> bool:
    """Return whether a cluster is one of Ceph."""
    return cluster.kind == KIND


def pools_of(window: Window, cluster: str) -> dict[int, CephPool]:
    """Return the pools of a cluster by number, which placement groups begin with."""
    return {row.number: row for row in window.where(CephPool, "cluster", cluster)}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    yield from _hung(window)
    for cluster in window.rows(Cluster).values():
        if not is_ceph(cluster):
            continue
        if cluster.state in {NO_QUORUM, NO_ANSWER}:
            yield _unanswered(window, cluster)
            continue
        checks = window.where(CephCheck, "cluster", cluster.cluster)
        pools = pools_of(window, cluster.cluster)
        yield from (_found(window, check, checks, pools) for check in checks)
        yield _whole(window, cluster, checks)
        if not any(check.code == "MGR_DOWN" for check in checks):
            yield from _silent_manager(window, cluster)


def _whole(window: Window, cluster: Cluster, checks: Sequence[CephCheck]) -> Verdict:
    """Return the verdict on a cluster apart from its checks."""
    if cluster.healthy == 0 and not checks:
        return Finding(
            severity=Severity.CRITICAL,
            subject=cluster.cluster,
            title="CLUSTER UNHEALTHY",
            cause=f"Ceph reports {human.safe(cluster.state, 40)} without a health check.",
            impact="Requests can fail or wait.",
            values=(Value("state", "state", cluster.state),),
            evidence=cites(window.cite(cluster)),
            advice=("Query the health in detail.", run("ceph", "health", "detail")),
            refuted_by="HEALTH_OK in ceph -s",
            damage=Damage.AVAILABILITY,
        )
    codes = {check.code for check in checks}
    if cluster.failed and "OSD_DOWN" in codes and codes.isdisjoint({"PG_AVAILABILITY", "OBJECT_UNFOUND"}):
        size = human.quantity(cluster.failed, "bytes")
        return Finding(
            severity=Severity.CRITICAL,
            subject=cluster.cluster,
            title=f"DATA UNAVAILABLE: {size}",
            cause=f"Placement groups with {size} have too few copies to serve I/O.",
            impact="Requests for these data wait.",
            values=(Value("failed", "unavailable data", cluster.failed, "bytes", above=0),),
            evidence=cites(window.quote(cluster.origin, "pgs_by_state"), window.cite(cluster)),
            advice=("Start the OSDs that are down.", run("ceph", "osd", "tree", "down")),
            refuted_by="only active placement groups in ceph pg stat",
            damage=Damage.AVAILABILITY,
        )
    if cluster.healthy is None:
        return Unchecked(f'unknown state "{human.safe(cluster.state, 40)}"', cluster.cluster, gap=Gap.FAULTY)
    if cluster.managers is None:
        return RuledOut(cluster.cluster, f"{cluster.state}, health checks reported" if checks else str(cluster.state))
    if checks:
        return RuledOut(
            cluster.cluster, f"quorum of {cluster.managers_up} of {cluster.managers} monitors, health checks reported"
        )
    return RuledOut(cluster.cluster, f"{cluster.state}, {cluster.managers_up} of {cluster.managers} monitors in quorum")


def _silent_manager(window: Window, cluster: Cluster) -> Iterator[Finding]:
    """Yield a finding about a manager that is active for the monitors and does not answer."""
    for node in window.where(ClusterNode, "cluster", cluster.cluster):
        if node.role == "mgr" and node.healthy == 0:
            yield Finding(
                severity=Severity.WARNING,
                subject=f"{cluster.cluster}/mgr",
                title="MANAGER DOES NOT ANSWER",
                cause="Monitors answer, but the active manager did not within 6 s.",
                impact="PG states, usage and latencies can be old.",
                values=(Value("state", "state", node.state), Value("wait", "waited", 6, "seconds")),
                evidence=cites(window.cite(node), window.cite(cluster)),
                advice=(
                    "Check the node of the manager; restart it or fail over.",
                    run("ceph", "mgr", "stat"),
                    run("ceph", "mgr", "fail", note="if a standby is there"),
                ),
                refuted_by="an answer to ceph osd df",
                damage=Damage.AVAILABILITY,
            )


def _hung(window: Window) -> Iterator[Finding]:
    """Yield clusters whose monitors did not answer, and whose monitor on this node, asked by its socket, hangs."""
    ran = window.now.runs.get(CEPH.name)
    asked = window.evidence(command_key(answers.STATUS))
    if ran is None or ran.outcome is not Outcome.TIMEOUT or asked is None:
        return
    if asked.outcome is not Outcome.OK or asked.exit == 0:
        return
    local = [row for row in window.rows(CephDaemon).values() if row.kind == "mon" and row.running]
    for name in dict.fromkeys(row.cluster for row in local):
        monitors = [row for row in local if row.cluster == name]
        hung = ", ".join(human.safe(row.daemon, 30) for row in monitors)
        yield Finding(
            severity=Severity.CRITICAL,
            subject=name,
            title="MONITORS DO NOT ANSWER",
            cause=fitting(
                f"No monitor answered within 5 s, and {hung} of this node hangs.",
                "No monitor answered within 5 s, and that of this node hangs.",
            ),
            impact=_NO_MONITORS,
            values=(Value("monitors", "monitors of this node", hung), Value("source", "source", ran.outcome.value)),
            evidence=cites(*(window.cite(row) for row in monitors)),
            advice=(
                "Check this node first: the process of the monitor runs and does not answer.",
                run("journalctl", "-u", f"ceph-mon@{monitors[0].ident}", "-n", "50"),
                run("systemctl", "status", "ceph-mon.target", note="on the nodes of the monitors"),
            ),
            refuted_by="an answer to ceph -s",
            damage=Damage.AVAILABILITY,
        )


_NO_MONITORS = "Commands and new clients wait; so does I/O after the next change."


def _unanswered(window: Window, cluster: Cluster) -> Finding:
    total = cluster.managers
    nodes = [row for row in window.where(ClusterNode, "cluster", cluster.cluster) if row.role == "mon"]
    missing = [row.node for row in nodes if row.healthy == 0]
    if cluster.state == NO_QUORUM:
        title = f"NO QUORUM: {cluster.managers_up} of {total} monitors up"
        cause = fitting(
            f"Monitors not reached: {', '.join(human.safe(name, 30) for name in missing)}.",
            f"{len(missing)} of {total} monitors are not reached.",
        )
    else:
        title = "MONITORS DO NOT ANSWER"
        cause = f"No monitor{f' of {total}' if total else ''} answered this node within 5 s."
    return Finding(
        severity=Severity.CRITICAL,
        subject=cluster.cluster,
        title=title,
        cause=cause,
        impact=_NO_MONITORS,
        values=(
            Value("managers", "monitors up", cluster.managers_up, "", of=total),
            Value("missing", "not reached", ", ".join(missing[:_LISTED]) or None),
            Value("state", "state", cluster.state),
        ),
        evidence=cites(window.cite(cluster)),
        advice=(
            "Start the monitors, and check the network between them.",
            run("systemctl", "status", "ceph-mon.target", note="on the nodes of the monitors"),
            run("ceph", "daemon", "mon.NAME", "mon_status", note="there"),
            run("journalctl", "-u", "ceph-mon@*", "-n", "50", note="there"),
        ),
        refuted_by="an answer to ceph -s",
        damage=Damage.AVAILABILITY,
    )


def _found(window: Window, check: CephCheck, all_: Sequence[CephCheck], pools: Mapping[int, CephPool]) -> Finding:
    effect = effect_of(check, pools)
    things = things_in(check, pools)
    ranks = {row.code: effect_of(row, pools).severity.rank for row in all_}
    differs = any(row.code == "PG_DAMAGED" and "inconsistent" in row.message for row in all_)
    follows = tuple(
        f"ceph-health:{check.cluster}/{code}"
        for code in FOLLOWS.get(check.code, ())
        if ranks.get(code, 9) <= ranks[check.code] and not (differs and check.code == "OBJECT_UNFOUND")
    )
    last = last_copies(check, pools) if check.code == "PG_DEGRADED" else []
    blockers = _blockers(window, check)
    pool = next((row for row in pools.values() if things.get("pools") == [row.pool]), None)
    return Finding(
        severity=effect.severity,
        subject=check.name,
        title=effect.title,
        cause=_cause(check, things, blockers),
        impact=effect.impact,
        values=(
            *(Value(kind, _title(kind, names), _listed(names)) for kind, names in things.items()),
            *((Value("last", "PGs with one copy", _listed(last)),) if last else ()),
            *((Value("blocked", "blocked by", _listed(_blocking(blockers))),) if blockers else ()),
            *_quotas(pool if check.code.startswith("POOL_") else None),
            Value("flags", "flags", ", ".join(sorted(flags_in(check.message))) or None)
            if check.code.startswith("OSDMAP_FLAGS")
            else Value("count", "affected", check.affected),
            Value("message", "reported by Ceph", human.safe(check.message, 300)),
            Value("code", "health check", check.code),
            Value("muted", "muted by an administrator", "yes" if check.muted else None),
        ),
        evidence=cites(window.cite(check), *(window.cite(row) for row in blockers[:1])),
        advice=(
            *_first(blockers),
            *effect.advice,
            *((run("ceph", "health", "unmute", check.code),) if check.muted else ()),
        ),
        refuted_by=f"no {check.code} in ceph health detail",
        damage=effect.damage,
        explains=follows,
    )


def _blockers(window: Window, check: CephCheck) -> list[CephBlocker]:
    """Return the OSDs for which the placement groups of a check wait, those with the most first."""
    if check.code != "PG_AVAILABILITY":
        return []
    rows = window.where(CephBlocker, "cluster", check.cluster)
    return sorted(rows, key=lambda row: (-row.blocked, row.number))


def _blocking(blockers: Sequence[CephBlocker]) -> list[str]:
    return [f"{row.osd} ({human.plural(row.blocked, 'PG')})" for row in blockers]


def _first(blockers: Sequence[CephBlocker]) -> Iterator[Advice]:
    """Yield the first step where OSDs are known to be waited for."""
    if blockers:
        names, every = ", ".join(row.osd for row in blockers[:3]), human.plural(len(blockers), "OSD")
        yield fitting(f"Restore {names} first: PGs wait for it.", f"Restore the {every} that PGs wait for first.")
        yield run("ceph", "osd", "blocked-by")


def _cause(check: CephCheck, things: Mapping[str, Sequence[str]], blockers: Sequence[CephBlocker]) -> str:
    """Return Ceph's message with the names of the things, as far as both fit."""
    said = human.safe(check.message, 200).strip().rstrip(".")
    said = f"{said[:1].upper()}{said[1:]}" or f"Ceph reports {check.code}"
    muted = " (muted)" if check.muted else ""
    flags = flags_in(check.message) if check.code.startswith("OSDMAP_FLAGS") else ()
    if flags:
        return fitting(f"Flags set: {', '.join(sorted(flags))}{muted}.", f"{len(flags)} flags set{muted}.")
    titles = {"pools": f"{_title('pools', things.get('pools', ()))} ", "osds": ""}
    names = "; ".join(f"{titles[kind]}{_short(things[kind])}" for kind in titles if kind in things)
    groups = f"PG {_short(things['pgs'])}" if "pgs" in things else ""
    daemons = _short(things["daemons"]) if "daemons" in things else ""
    every = "; ".join(filter(None, (names, groups, daemons)))
    if check.code in _PHRASES and (check.affected or "pgs" in things):
        of = f" of {_title('pools', things['pools'])} {_short(things['pools'])}" if "pools" in things else ""
        named = things.get("pgs", ())
        number = check.affected or len(named)
        of_state = _STATES.get("".join(states_in(check))) if check.code == "PG_DAMAGED" else None
        count, fault = human.plural(number, "PG"), (of_state or _PHRASES[check.code])[number != 1]
        phrase = f"{count}{of} {fault}{muted}"
        short = (
            f"{count}{' of ' + human.plural(len(things['pools']), 'pool') if 'pools' in things else ''} {fault}{muted}"
        )
        who = "it waits" if number == 1 else "they wait"
        waits = f"; {who} for {_short([row.osd for row in blockers])}" if blockers else ""
        if waits:
            return fitting(f"{phrase}{waits}.", f"{short}{waits}.", f"{short}.")
        return fitting(*([f"{phrase}: {_short(named)}."] if named else []), f"{phrase}.", f"{short}.")
    unsaid = every if not all(name in said for kind in things.values() for name in kind) else ""
    return fitting(
        *([f"{said}: {unsaid}{muted}."] if unsaid else [f"{said}{muted}."]),
        *([f"{said}{muted}."] if unsaid else []),
        *(f"{shorter}{muted}." for shorter in _shorter(check, said)),
        *([f"{check.code}{muted}: {every}."] if every else []),
        *([f"{check.code}{muted}: {names}."] if names else []),
        f"Ceph reports {check.code}{muted}.",
    )


def _shorter(check: CephCheck, said: str) -> Iterator[str]:
    """Yield shorter forms of a message: of slow requests, the only detail, and the beginning up to a comma."""
    slow = _SLOW.match(check.message)
    if slow is not None:
        who = ", ".join(f"osd.{number}" for number in osds_in(check.lines)[:3])
        yield f"{slow[1]} slow requests, the oldest for {slow[2]} s" + (f": {who}" if who else "")
    details = check.lines[1:]
    if len(details) == 1:
        line = human.safe(details[0], 200).strip().rstrip(".")
        yield f"{line[:1].upper()}{line[1:]}"
    yield from (said[:place].rstrip(" ,") for place in range(len(said) - 1, 0, -1) if said[place] == ",")


def _title(kind: str, names: Sequence[str]) -> str:
    word = _WORDS[kind]
    return word if len(names) == 1 else f"{word}s"


def _short(names: Sequence[str]) -> str:
    shown = ", ".join(human.safe(name, 24) for name in names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(human.safe(name, 60) for name in names[:_LISTED])
    return shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _quotas(pool: CephPool | None) -> tuple[Value, ...]:
    if pool is None:
        return ()
    return (
        Value("objects", "objects", pool.objects if pool.objects_limit else None, "", of=pool.objects_limit),
        Value("stored", "stored", pool.stored if pool.stored_limit else None, "bytes", of=pool.stored_limit),
    )


CEPH_HEALTH = Rule(
    "ceph-health",
    "Ceph without quorum, and each health check by its effect; muted ones are marked",
    Severity.CRITICAL,
    _check,
    (Cluster, CephCheck),
    covers=(Covers(Cluster, where=is_ceph), Covers(CephCheck, subject="{cluster}/{code}")),
    explains=("mdm-no-redundancy",),
    instead=(CephDaemon,),
    damage=Damage.REDUNDANCY,
    view="cluster",
    advice="Run ceph health detail, and fix the reported thing itself.",
)
