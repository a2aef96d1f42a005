"""SAS links with invalid dwords: growing counts indicate cable, plug or port; a few old ones are normal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sdstop.collectors.fabric.port_readings import SasExpander, SasExpanderActivity, SasPhy, SasPhyActivity
from sdstop.collectors.fabric.sas import COUNTERS
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, Severity, Value, Verdict, cites, passed, unchecked
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_ID = "phy-errors"
_HOUR = 3600.0


def _check(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Judge each run once: nothing changes between runs, and phys are many."""
    return window.of_run(SasPhy, (_ID, *limits.values()), lambda: list(_said(window, limits)))


def _said(window: Window, limits: Limits) -> Iterator[Verdict]:
    by_owner: dict[str, list[SasPhy]] = {}
    for row in window.rows(SasPhy).values():
        by_owner.setdefault(row.owner or row.phy, []).append(row)
    for owner, phys in sorted(by_owner.items()):
        expander = window.get(SasExpander, owner)
        if expander is not None and expander.state in {"no answer", "not asked"}:
            yield from unchecked(_names(owner, phys), _unasked(expander))
            continue
        yield from _changing(window, expander, limits)
        yield from _below(window, phys)
        yield from _beside(window, owner, phys)
        counted = [row for row in phys if any(getattr(row, name) is not None for name in COUNTERS)]
        if counted:
            yield from _judge(window, owner, counted, limits)
            rest = [row.phy for row in phys if row not in counted]
            yield from unchecked(rest, "error counters unknown", calm=True)
        elif any(row.state == "up" for row in phys):
            yield from unchecked(_names(owner, phys), "driver reports no error counters")
        else:
            yield from unchecked(_names(owner, phys), "no link up, error counters unknown", calm=True)


def _names(owner: str, phys: Iterable[SasPhy]) -> list[str]:
    return [owner, *(row.phy for row in phys)]


def _unasked(expander: SasExpander) -> str:
    if expander.state == "not asked":
        return f"SMP queries disabled: {expander.reason or '--no-smp'}"
    reason = human.safe(expander.reason or "no response")
    return f"expander does not respond ({reason}); next attempt in an hour"


def _changing(window: Window, expander: SasExpander | None, limits: Limits) -> Iterator[Verdict]:
    """Judge how often links of an expander change; plugging or pulling devices changes their number."""
    grown = window.get(SasExpanderActivity, expander.expander) if expander is not None else None
    if expander is None or grown is None or grown.before is None or grown.before != expander.links:
        return
    hourly = grown.changes / grown.seconds * _HOUR
    if grown.changes < limits["changes"] or hourly < limits["changes_per_hour"]:
        return
    yield Finding(
        severity=Severity.WARNING,
        subject=f"{expander.expander}/changes",
        title="SAS LINK FLAPPING",
        cause=f"{grown.changes} link changes in {human.duration(grown.seconds)}, the same number of links up.",
        impact="A link drops and returns: its commands can be retried or time out.",
        values=(
            Value("changes", "changes since the previous sample", grown.changes, "", above=limits["changes"]),
            Value("per_hour", "changes per hour", hourly, "", above=limits["changes_per_hour"]),
            Value("links", "phys with something attached", expander.links),
        ),
        evidence=cites(window.cite(expander, "changes")),
        advice=(
            run("journalctl", "-k", note="removed and added devices").pipe("grep", "-E", "sas|end_device|mpt3sas"),
            run("smp_rep_phy_err_log", "-p", "PHY", f"/dev/bsg/{expander.expander}", note="errors of each phy"),
        ),
        refuted_by="an unchanged change count of the expander under the same load",
        harmless_if="drives or enclosures were plugged, pulled or reset between the samples",
        view_subject=expander.expander,
    )


_FAILED = frozenset({"link rate failed", "phy disabled"})
"""States of a phy that carried a link, in lower case."""


def _below(window: Window, phys: list[SasPhy]) -> Iterator[Finding]:
    """Judge the phys of wide ports: those that failed, or are slower than the others of their port."""
    ports: dict[str, list[SasPhy]] = {}
    for row in phys:
        if row.port is not None:
            ports.setdefault(row.port, []).append(row)
    for port, rows in ports.items():
        rates = [row.rate for row in rows if row.rate]
        most = max(rates, default=0)
        for row in rows:
            failed = (row.state or "").lower() in _FAILED
            if len(rows) > 1 and rates and (failed or (row.rate and row.rate < most)):
                yield _slower(window, row, port, most)


_OLD = 4e8
"""Bytes per second between the second (3 Gbit/s) and the third generation of SAS and SATA."""
_FEWEST_PEERS = 3
"""Links of a newer generation for each old one, so that the old one is an exception."""


def _beside(window: Window, owner: str, phys: list[SasPhy]) -> Iterator[Finding]:
    """Judge the links to single disks: those of an old generation among newer ones, as of a bad cable or plug."""
    disks = [row for row in phys if row.rate and (row.attached or "").startswith("end_device")]
    ports = Counter(row.port for row in disks)
    disks = [row for row in disks if row.port is None or ports[row.port] == 1]
    slow = [row for row in disks if row.rate is not None and row.rate < _OLD]
    rates = [row.rate for row in disks if row.rate is not None and row.rate > _OLD]
    if len(rates) < max(_FEWEST_PEERS, _FEWEST_PEERS * len(slow)):
        return
    for row in slow:
        yield _alone(window, row, owner, min(rates), len(rates))


def _alone(window: Window, row: SasPhy, owner: str, others: int, count: int) -> Finding:
    own = human.quantity(row.rate, "bytes_per_second")
    return Finding(
        severity=Severity.WARNING,
        subject=f"{row.phy}/rate",
        title="DISK LINK SLOWER THAN ITS PEERS",
        cause=f"Link rate {own}; {count} other disks have at least {human.quantity(others, 'bytes_per_second')}.",
        impact="The disk transfers less than it could, and its link can have errors.",
        values=(
            Value("rate", "link rate", row.rate, "bytes_per_second", below=others),
            Value("owner", "of", owner),
            Value("attached", "attached", row.attached),
        ),
        evidence=cites(window.cite(row, "rate")),
        advice=(
            "Reseat the disk and its cable; then try another slot.",
            run("journalctl", "-k", note="time of the change").pipe("grep", "-i", "-E", "sas|phy").pipe("tail", "-40"),
            run("smartctl", "-x", "DEVICE", note="maximum and current rate of the disk"),
        ),
        refuted_by="the same rate as other disks of its model",
        harmless_if="the disk supports no higher rate",
        damage=Damage.SPEED,
        view_subject=row.phy,
    )


def _slower(window: Window, row: SasPhy, port: str, most: int) -> Finding:
    own = human.quantity(row.rate, "bytes_per_second") if row.rate else human.safe(row.state or "down")
    return Finding(
        severity=Severity.WARNING,
        subject=f"{row.phy}/rate",
        title="SAS PHY SLOWER THAN ITS PORT",
        cause=f"Link rate {own}; other phys of the port run at {human.quantity(most, 'bytes_per_second')}.",
        impact="The wide port carries less than its phys could.",
        values=(
            Value("rate", "link rate", row.rate, "bytes_per_second", below=most),
            Value("port", "port", port),
            Value("state", "state", row.state),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            run("journalctl", "-k", note="time of the change").pipe("grep", "-i", "-E", "sas|phy").pipe("tail", "-40"),
            "Reseat the cable of the port, then replace it.",
        ),
        refuted_by="the same rate on all phys of the port",
        damage=Damage.SPEED,
        view_subject=row.phy,
    )


def _judge(window: Window, owner: str, phys: list[SasPhy], limits: Limits) -> Iterator[Verdict]:
    quiet, waits = [], []
    for row in phys:
        errors = window.get(SasPhyActivity, row.phy)
        severity = _severity(errors, limits) if errors is not None else None
        if severity is not None and errors is not None:
            yield _growing(window, row, errors, severity, limits)
        elif errors is None and _total(row):
            waits.append(row)
        else:
            quiet.append(row)
    marked = [row for row in (*quiet, *waits) if _total(row)]
    if marked:
        yield _past(window, owner, marked, quiet, waits, len(phys), limits)
    elif len(quiet) == len(phys):
        yield from passed(_names(owner, phys), f"{len(phys)} phys, no errors")
    else:
        yield from passed((row.phy for row in quiet), "no errors")


def _new(errors: SasPhyActivity, counter: str) -> int:
    per_second: float | None = getattr(errors, f"{counter}_per_second")
    return round((per_second or 0.0) * errors.seconds)


def _damaged(errors: SasPhyActivity) -> int:
    """Return the number of invalid dwords; most also have wrong disparity and must not count twice."""
    return max(_new(errors, "invalid_dwords"), _new(errors, "disparity_errors"))


def _severity(errors: SasPhyActivity, limits: Limits) -> Severity | None:
    """Return the severity of errors between two readings, None if so few are normal."""
    damaged = _damaged(errors)
    hourly = damaged / errors.seconds * _HOUR
    if damaged >= limits["count"] and hourly >= limits["critical_per_hour"]:
        return Severity.CRITICAL
    if damaged >= limits["count"] and hourly >= limits["per_hour"]:
        return Severity.WARNING
    lost = _new(errors, "sync_losses") + _new(errors, "reset_problems")
    return Severity.WARNING if lost >= limits["lost"] else None


def _total(row: SasPhy) -> int:
    return max(getattr(row, name) or 0 for name in COUNTERS)


def _growing(window: Window, row: SasPhy, errors: SasPhyActivity, severity: Severity, limits: Limits) -> Finding:
    damaged = _damaged(errors)
    lost, resets = _new(errors, "sync_losses"), _new(errors, "reset_problems")
    hourly = damaged / errors.seconds * _HOUR
    parts = [
        human.plural(damaged, "invalid dword") if damaged else "",
        f"{lost} sync lost" if lost else "",
        human.plural(resets, "failed reset") if resets else "",
    ]
    where = row.attached or "the attached device"
    counted = f"{', '.join(filter(None, parts))} in {human.duration(errors.seconds)}"
    grown = [name for name in COUNTERS if _new(errors, name)]
    return Finding(
        severity=severity,
        subject=row.phy,
        title="SAS LINK ERRORS",
        cause=fitting(f"{counted}: {row.owner} - {where}.", f"{counted}."),
        impact="Commands on this link can be retried or time out.",
        values=(
            Value("link", "link", f"{row.owner} - {where}"),
            Value("damaged", "invalid dwords since the previous sample", damaged, "", above=limits["count"]),
            Value("per_hour", "invalid dwords per hour", hourly, "", above=limits["per_hour"]),
            Value("lost", "losses of sync and failed resets", lost + resets, "", above=limits["lost"]),
            *(Value(name, f"{name.replace('_', ' ')}, total", getattr(row, name)) for name in COUNTERS),
        ),
        evidence=cites(*(window.cite(row, name) for name in grown)),
        advice=(
            "Check cable and connectors; the values name both ends of the link.",
            "Several phys of one port: the cable. A single phy: the slot.",
            run("smartctl", "-l", "sasphy", "DEVICE", note="the drive's own counters of its end"),
            run("grep", "-r", "", f"/sys/class/sas_phy/{row.phy}/", "--include=*_count", note="again after reseating"),
        ),
        refuted_by="unchanged counters under the same load",
        harmless_if="a drive, cable or expander was plugged or reset between the samples",
    )


def _past(
    window: Window, owner: str, marked: list[SasPhy], quiet: list[SasPhy], waits: list[SasPhy], asked: int,
    limits: Limits,
) -> Finding:  # fmt: skip
    """Return a finding about the counts from before the first sample."""
    others = tuple(row.phy for row in (*quiet, *waits))
    worst = max(marked, key=_total)
    total, field = _total(worst), max(COUNTERS, key=lambda name: getattr(worst, name) or 0)
    many = total >= limits["total"] and worst in waits
    when = "Another sample shows whether the counts grow." if waits else "Few or none of them are new."
    return Finding(
        severity=Severity.WARNING if many else Severity.INFO,
        subject=owner,
        title="SAS LINK ERRORS of unknown age" if waits else "OLD SAS LINK ERRORS",
        cause=f"{len(marked)} of {asked} phys have counted errors, at most {human.number(total)}.",
        impact=when,
        values=(
            Value("phys", "phys with errors", len(marked), "", of=asked),
            Value("worst", f"largest counter, of {worst.phy}", total, "", above=limits["total"]),
            *(Value(row.phy, f"largest counter of {row.phy}", _total(row)) for row in marked[:16] if row is not worst),
        ),
        evidence=cites(window.cite(worst, field)),
        advice=(
            "Compare the counters in an hour; only growing ones matter.",
            run("cat", f"/sys/class/sas_phy/{worst.phy}/invalid_dword_count", note="now, and in an hour"),
        ),
        refuted_by="growing counters",
        damage=Damage.HYGIENE,
        standing=True,
        others=others,
        totals=True,
    )


PHY_ERRORS = Rule(
    _ID,
    "SAS link with invalid dwords, loss of sync or failed resets",
    Severity.CRITICAL,
    _check,
    (SasPhy,),
    (
        Threshold("per_hour", 43.0, "invalid dwords per hour (43 is the SAS error limit at 12 Gbit/s)"),
        Threshold("count", 10.0, "minimum invalid dwords between two samples"),
        Threshold("critical_per_hour", 1000.0, "invalid dwords per hour that are critical"),
        Threshold("lost", 1.0, "losses of sync and failed resets between two samples"),
        Threshold("changes", 3.0, "expander link changes between two samples with an equal number of links"),
        Threshold("changes_per_hour", 6.0, "expander link changes per hour"),
        Threshold("total", 1e6, "errors on one phy that warrant a warning at the first sample"),
    ),
    explains=(
        "device-hung",
        "slow-device",
        "slow-stripe-member",
        "rebuild-slow",
        "device-saturated",
    ),
    many="have link errors",
    damage=Damage.AVAILABILITY,
    view="fabric",
    advice="Compare the counters in an hour; replace the cable of growing ones.",
)
