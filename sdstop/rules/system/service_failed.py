"""Failed units of systemd: storage services, mounts and their checks first; others are information."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.system.readings import FailedUnit, Units
from sdstop.core import format as human
from sdstop.core.advice import operands, run
from sdstop.core.expression import expression
from sdstop.core.finding import Damage, Finding, Severity, Unchecked, Value, Verdict, cites, passed
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule

SUBJECT = "units"


class _Kind(Struct, frozen=True):
    """Units of one purpose, and the effect of their failure."""

    units: str
    impact: str


_KINDS = (
    _Kind(r".*\.mount|.*\.automount", "The file system is not mounted."),
    _Kind(r".*\.swap", "The node has less swap."),
    _Kind(r"systemd-fsck(?:@.*|-root)\.service", "The file system was not repaired, and may not be mounted."),
    _Kind(r"systemd-cryptsetup@.*\.service|vdo(?:-.*)?\.service|stratis.*", "The device was not set up."),
    _Kind(r"ceph-.*|rbdmap\.service", "A daemon of the cluster does not run on this node."),
    _Kind(r"md(?:monitor|adm|check|-).*", "Arrays are not watched: a failed member sends no mail."),
    _Kind(r"multipathd?\.service", "Failed paths are not used again, and new ones not added."),
    _Kind(r"(?:open-)?iscsi(?:d|-.*)?\.(?:service|socket)|nvmf-.*|nvme-.*|fcoe.*", "Remote disks can be missing."),
    _Kind(r"(?:rtslib-fb-)?target(?:ctl|cli)?\.service|tgtd?\.service|nvmet.*|scst.*", "Volumes are not exported."),
    _Kind(r"lvm2?-.*|dm-event.*|blk-availability\.service", "Volumes can be inactive or not watched."),
    _Kind(r"zfs.*|zpool.*", "Pools can be missing, not mounted, or not watched."),
    _Kind(r"bcache.*|flashcache.*|aoe.*|vblade.*|nbd.*|drbd.*|linstor.*", "Devices can be missing."),
    _Kind(r"(?:gluster|nfs|rpc-|rpcbind|smb|ganesha|lustre|beegfs).*", "Clients or mounts can be without service."),
    _Kind(r"scini\.service|sds\.service|mdm\.service|lia\.service|emc-.*", "PowerFlex lacks a service of this node."),
    _Kind(r"(?:pacemaker|corosync|sbd|dlm|booth|pcsd).*", "The cluster cannot use or fence this node."),
    _Kind(r"smartd?(?:montools)?\.service", "Disks are not watched: a failing one sends no mail."),
)  # fmt: skip


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    failed = list(window.rows(FailedUnit).values())
    count = next(iter(window.rows(Units).values()), None)
    others = []
    for row in failed:
        kind = _kind(row.unit)
        if kind is not None:
            yield _finding(window, row, kind.impact)
        else:
            others.append(row)
    if others:
        yield _others(window, others)
    if count is None:
        yield Unchecked("the list of units is not complete", SUBJECT)
    elif not failed:
        yield from passed([SUBJECT], "0 failed units")


def _kind(unit: str) -> _Kind | None:
    return next((kind for kind in _KINDS if expression(kind.units).fullmatch(unit) is not None), None)


def _finding(window: Window, row: FailedUnit, impact: str) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=row.unit,
        title="SERVICE FAILED" if row.unit.endswith(".service") else "UNIT FAILED",
        cause=f"systemd reports the state failed ({row.state}).",
        impact=impact,
        values=(Value("state", "state", row.state),),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the reason in its log before you start it again.",
            run("systemctl", "status", *operands(row.unit)),
            run("journalctl", "-b", "-u", row.unit).pipe("tail", "-40"),
        ),
        refuted_by="the state active in systemctl status",
        harmless_if="the unit is not used on this node; systemctl reset-failed then removes it",
    )


def _others(window: Window, rows: list[FailedUnit]) -> Finding:
    names = [row.unit for row in rows]
    return Finding(
        severity=Severity.INFO,
        subject=SUBJECT,
        title=f"OTHER UNITS FAILED: {len(rows)}",
        cause=f"systemd reports {human.plural(len(rows), 'failed unit')} without a part in storage.",
        impact="Storage can depend on them in ways that no list shows.",
        values=(Value("units", "units", human.listed(names, limit=8)),),
        evidence=cites(*(window.cite(row) for row in rows[:3])),
        advice=("Find the reasons in their logs.", run("systemctl", "--failed")),
        refuted_by="0 loaded units listed by systemctl --failed",
        others=tuple(names),
    )


SERVICE_FAILED = Rule(
    "service-failed",
    "units of systemd that failed: storage services, mounts, checks of file systems",
    Severity.WARNING,
    _check,
    (Units,),
    instead=(FailedUnit,),
    covers=(),
    many="failed",
    damage=Damage.AVAILABILITY,
    view="host",
    advice="Find the reason in its log before you start it again.",
)
