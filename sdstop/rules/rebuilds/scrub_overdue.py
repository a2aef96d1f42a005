"""Pools, arrays and file systems whose data was not read and compared for a long time.

A scrub finds sectors that rot unread while another copy can still repair them. Debian scrubs ZFS and checks md every
month, Ceph scrubs deeply every week. ZFS and btrfs record the time; the kernel records none for md, so that of a check
since boot is known only to lie after it. Where no age is known, none is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.analysis.clusters.ceph_effect import explained
from sdstop.collectors.ceph.readings import CephCheck
from sdstop.collectors.filesystems.readings import BtrfsScrub
from sdstop.collectors.md.readings import Array
from sdstop.collectors.system.readings import Node
from sdstop.collectors.zfs.readings import Pool
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.model import Reading
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.readings.rebuild import folder

_DAY = 86_400.0
_COMPARES = frozenset({"check", "repair"})
_CODES = ("PG_NOT_DEEP_SCRUBBED", "PG_NOT_SCRUBBED")


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for pool in window.rows(Pool).values():
        yield _pool(window, pool, limits)
    for scrub in window.rows(BtrfsScrub).values():
        yield _btrfs(window, scrub, limits)
    for array in window.rows(Array).values():
        if array.redundant:
            yield _array(window, array, limits)
    late = [row for row in window.rows(CephCheck).values() if row.code in _CODES and not row.muted]
    for cluster in dict.fromkeys(row.cluster for row in late):
        # Deep scrubs read the data, the others compare metadata: if both are late, the first are the fault.
        yield _ceph(window, min((row for row in late if row.cluster == cluster), key=lambda row: row.code))


def _pool(window: Window, pool: Pool, limits: Limits) -> Verdict:
    scan = pool.scan or ""
    if scan.startswith("scrub") and scan.partition(" ")[2] in {"running", "paused"}:
        return RuledOut(pool.pool, "all data: a scrub is under way")
    if pool.scrubbed_at is None:
        why = f"last scan: {scan}" if scan else "never scrubbed, or not shown"
        return Unchecked(f"age of the last scrub unknown; {why}", pool.pool, calm=True)
    advice = ("Scrub the pool; it reads all data at low priority.", run("zpool", "scrub", *operands(pool.pool)))
    return _aged(window, pool, pool.pool, pool.scrubbed_at, advice, limits)


def _btrfs(window: Window, scrub: BtrfsScrub, limits: Limits) -> Verdict:
    if scrub.state == "running":
        return RuledOut(scrub.name, "all data: a scrub is under way")
    if scrub.ended is None:
        return Unchecked(f"age of the last scrub unknown: {scrub.state}", scrub.name, calm=True)
    advice = (
        "Scrub the file system; it reads all data.",
        run("findmnt", "-t", "btrfs"),
        run("btrfs", "scrub", "start", "-c", "3", "/MOUNT", note="at idle priority"),
    )
    return _aged(window, scrub, scrub.name, scrub.ended, advice, limits)


def _aged(
    window: Window, row: Reading, subject: str, ended: float, advice: tuple[Advice, ...], limits: Limits
) -> Verdict:
    days = (window.now.taken - ended) / _DAY
    if days < 0:
        days = 0.0 if days > -1 else days  # the zone of the node, or a clock
    if days < 0:
        return Unchecked("the last scrub is in the future by the node's clock", subject)
    if days <= limits["days"]:
        return RuledOut(subject, f"last scrub {days:.0f} days ago, warning after {limits['days']:.0f}")
    return _finding(window, row, subject, days, f"The last complete scrub ended {days:.0f} days ago.", advice, limits)


def _finding(
    window: Window,
    row: Reading,
    subject: str,
    days: float,
    cause: str,
    advice: tuple[Advice, ...],
    limits: Limits,
) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=subject,
        title=f"SCRUB OVERDUE: {days:.0f} days",
        cause=cause,
        impact="Unread sectors can rot until the last good copy fails, too.",
        values=(Value("age", "time since the last one, minimum", days * _DAY, "seconds", above=limits["days"] * _DAY),),
        evidence=cites(window.cite(row, "last_scan") or window.cite(row)),
        advice=(*advice, "Schedule it monthly: a timer of systemd, or cron."),
        refuted_by="a later complete scrub in its log",
        harmless_if="another program reads and compares all data",
    )


def _array(window: Window, array: Array, limits: Limits) -> Verdict:
    if array.action in _COMPARES:
        return RuledOut(array.array, f"all data: a {array.action} is under way")
    node = next(iter(window.rows(Node).values()), None)
    days = node.uptime / _DAY if node is not None and node.uptime is not None else None
    if array.last_action in _COMPARES and days is not None and days <= limits["days"]:
        return RuledOut(array.array, f"last action: {array.last_action}, within {days:.0f} days since boot")
    if array.last_action != "none" or days is None or days <= limits["days"]:
        return Unchecked("the kernel records no time of a check", array.array, calm=True)
    advice = (
        "Start a check; it reads all members at low priority.",
        run("echo", "check", into=f"{folder(array.array)}/sync_action"),
    )
    cause = f"No check, repair or rebuild since boot, {days:.0f} days ago."
    return _finding(window, array, array.array, days, cause, advice, limits)


def _ceph(window: Window, check: CephCheck) -> Finding:
    count = check.affected
    whose = f"{human.plural(count, 'PG')} not" if count is not None else "PGs not"
    kind = "deep-scrubbed" if check.code == _CODES[0] else "scrubbed"
    return Finding(
        severity=Severity.WARNING,
        subject=check.cluster,
        title=f"SCRUB OVERDUE: {whose} {kind}" if (count or 0) < 1000 else "SCRUB OVERDUE: PGs",
        cause=f"Ceph reports {whose} {kind} in time ({check.code}).",
        impact="Copies that differ or cannot be read stay unnoticed.",
        values=(Value("pgs", "overdue PGs", count, "", above=0), Value("code", "health check", check.code)),
        evidence=cites(window.cite(check)),
        advice=(
            "Find out whether scrubs are disabled, or have too little time.",
            run("ceph", "health", "detail"),
            run("ceph", "osd", "dump").pipe("grep", "flags"),
            run("ceph", "config", "get", "osd", "osd_scrub_begin_hour"),
        ),
        refuted_by=f"health detail without {check.code}",
        explains=explained(window, check.cluster, _CODES, Severity.WARNING),
        view="cluster",
    )


SCRUB_OVERDUE = Rule(
    "scrub-overdue",
    "ZFS pool, btrfs, md array or Ceph cluster whose data was not compared for long",
    Severity.WARNING,
    _check,
    (Pool,),
    (
        Threshold(
            "days", 45.0, "days since the last complete scrub of ZFS or btrfs, or of uptime without a check of md"
        ),
    ),
    covers=(
        Covers(Pool),
        Covers(BtrfsScrub, subject="{name}"),
        Covers(Array, where=lambda row: row.redundant),
    ),
    instead=(BtrfsScrub, Array, CephCheck),
    damage=Damage.HYGIENE,
    standing=True,
    view="disks",
    advice="Scrub the pool; it reads all data at low priority.",
)
