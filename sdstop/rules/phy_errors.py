"""SAS links with invalid dwords: growing counts indicate cable, plug or port; a few old ones are normal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.fabric.expander import SasExpander, SasExpanderActivity
from sdstop.collectors.fabric.sas import COUNTERS, SasPhy, SasPhyActivity
from sdstop.core import format as human
from sdstop.core.finding import (
    Finding,
    Limits,
    Rule,
    Severity,
    Threshold,
    Value,
    Verdict,
    cites,
    passed,
    unchecked,
)
from sdstop.core.history import Window
from sdstop.core.shell import phrase, quoted

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
        counted = [row for row in phys if any(getattr(row, name) is not None for name in COUNTERS)]
        if counted:
            yield from _judge(window, owner, counted, limits)
            rest = [row.phy for row in phys if row not in counted]
            yield from unchecked(rest, "no error counter is known", calm=True)
        elif any(row.state == "up" for row in phys):
            yield from unchecked(_names(owner, phys), "its driver does not say the error counters of its phys")
        else:
            yield from unchecked(_names(owner, phys), "no link is up and no error counter is known", calm=True)


def _names(owner: str, phys: Iterable[SasPhy]) -> list[str]:
    return [owner, *(row.phy for row in phys)]


def _unasked(expander: SasExpander) -> str:
    if expander.state == "not asked":
        return f"expanders are not asked for their phys' errors: {expander.reason or 'so it was chosen'}"
    return f"it does not answer ({human.safe(expander.reason or 'no word')}), and is left alone for an hour"


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
        cause=(
            f"{grown.changes} changes of links behind it in {human.duration(grown.seconds)} although as many as "
            "before are "
            "up: one of them goes and comes again"
        ),
        values=(
            Value("changes", "changes since the reading before", grown.changes, "", above=limits["changes"]),
            Value("per_hour", "changes an hour", hourly, "", above=limits["changes_per_hour"]),
            Value("links", "phys with something attached", expander.links),
        ),
        evidence=cites(window.cite(expander, "changes")),
        advice=(
            f"smp_rep_phy_err_log -p PHY /dev/bsg/{quoted(expander.expander)}   # of each phy: which one counts errors",
            "journalctl -k | grep -E 'sas|end_device|mpt3sas'   # which device was removed and added",
        ),
        refuted_by="drives or enclosures that were plugged, pulled or reset between the two readings",
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


def _slower(window: Window, row: SasPhy, port: str, most: int) -> Finding:
    own = human.quantity(row.rate, "bytes_per_second") if row.rate else human.safe(row.state or "down")
    return Finding(
        severity=Severity.WARNING,
        subject=f"{row.phy}/rate",
        cause=f"{own}, the others of {port} carry {human.quantity(most, 'bytes_per_second')}",
        values=(
            Value("rate", "rate", row.rate, "bytes_per_second", above=most),
            Value("state", "state", row.state),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "journalctl -k | grep -i -E 'sas|phy' | tail -40   # since when",
            "reseat the cable of the port, then replace it",
        ),
        refuted_by="the same rate on all phys of the port",
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
        yield from passed(_names(owner, phys), f"0 errors on its {len(phys)} phys that are asked")
    else:
        yield from passed((row.phy for row in quiet), "0 errors")


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
        f"{human.number(damaged, 0)} damaged words ({human.number(hourly, 0)} an hour)" if damaged else "",
        f"synchronization lost {lost} times" if lost else "",
        f"{resets} link resets that failed" if resets else "",
    ]
    where = row.attached or "what is attached"
    grown = [name for name in COUNTERS if _new(errors, name)]
    return Finding(
        severity=severity,
        subject=row.phy,
        cause=(
            f"{', '.join(filter(None, parts))} in {human.duration(errors.seconds)} on the link of {row.owner} to "
            f"{where}"
        ),
        values=(
            Value("damaged", "damaged words since the reading before", damaged, "", above=limits["count"]),
            Value("per_hour", "damaged words an hour", hourly, "", above=limits["per_hour"]),
            Value("lost", "times that sync was lost or a reset failed", lost + resets, "", above=limits["lost"]),
            *(Value(name, f"{name.replace('_', ' ')}, in all", getattr(row, name)) for name in COUNTERS),
        ),
        evidence=cites(*(window.cite(row, name) for name in grown)),
        advice=(
            (
                f"the cable and plugs between {phrase(row.owner)} and {phrase(where)}; several phys of one "
                "port: the cable; one: the slot"
            ),
            f"smartctl -l sasphy DEVICE   # the drive's own count, of {phrase(where)}: which end receives badly",
            f"grep . /sys/class/sas_phy/{quoted(row.phy)}/*_count   # again after it was plugged anew",
        ),
        refuted_by=(
            "a drive, cable or expander that was plugged or reset between the two readings: links count errors then"
        ),
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
    when = "whether they grow is known after the next reading" if waits else "few or none of them new"
    return Finding(
        severity=Severity.WARNING if many else Severity.INFO,
        subject=owner,
        cause=(
            f"{len(marked)} of {asked} phys have counted errors, at most {human.number(total)} ({worst.phy}); {when}"
        ),
        values=(
            Value("phys", "phys with errors", len(marked)),
            Value("worst", f"largest counter, of {worst.phy}", total, "", above=limits["total"]),
            *(Value(row.phy, f"largest counter of {row.phy}", _total(row)) for row in marked[:16] if row is not worst),
        ),
        evidence=cites(window.cite(worst, field)),
        advice=(
            (
                f"cat /sys/class/sas_phy/{quoted(worst.phy)}/{{negotiated_linkrate,invalid_dword_count}}"
                "   # now, and in an hour"
            ),
        ),
        refuted_by="counters that grow: then the link receives badly now",
        others=others,
        totals=True,
    )


PHY_ERRORS = Rule(
    _ID,
    "a SAS link receives damaged words, loses synchronization or fails to reset",
    Severity.CRITICAL,
    _check,
    (SasPhy,),
    (
        Threshold("per_hour", 43.0, "damaged words an hour; a busy 12 Gbit/s link may have 43 by SAS's own limit"),
        Threshold("count", 10.0, "and at least so many between two readings"),
        Threshold("critical_per_hour", 1000.0, "damaged words an hour that are critical"),
        Threshold("lost", 1.0, "losses of synchronization and failed resets between two readings"),
        Threshold(
            "changes", 3.0, "changes that an expander counts between two readings, as many links before and after"
        ),
        Threshold("changes_per_hour", 6.0, "and so many an hour"),
        Threshold("total", 1e6, "errors on one phy that are a warning before a second reading shows how old they are"),
    ),
    explains=(
        "device-hung",
        "slow-device",
        "slow-stripe-member",
        "rebuild-slow",
        "device-saturated",
    ),
    many="receive damaged words, lose synchronization or fail to reset",
)
