"""Disks that report their own failure, or lose data: SMART, NVMe health logs, and the disks of RAID controllers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from sdstop.analysis.alike_verdicts import alike
from sdstop.analysis.disks.disk_growth import Growth, growth
from sdstop.collectors.health.raid_readings import RaidDisk
from sdstop.collectors.health.readings import (
    ANSWERED,
    SKIPPED,
    STANDBY,
    UNSUPPORTED,
    DiskHealth,
    EnclosureSlot,
    SurfaceTest,
)
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold
from sdstop.rules.disks.disk_failing.slots import slot_findings
from sdstop.rules.disks.disk_failing.surface import surface_verdicts

RELIABILITY, READ_ONLY, BACKUP, MEMORY = 4, 8, 16, 32
"""Bits of an NVMe disk's critical warning (NVMe base specification, log page 02h); 1 is spare, 2 temperature."""
_KNOWN_BITS = 63
"""Bits of the critical warning in NVMe 1.4 (0 to 5)."""


class _Reason(Struct, frozen=True):
    """A sign of failure: `field` is the one that shows it."""

    severity: Severity
    title: str
    cause: str
    impact: str
    field: str
    refuted_by: str


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge each answer once: nothing changes between two rounds, and disks are many."""
    key = ("disk-failing", *limits.values())
    health, disks = window.rows(DiskHealth).values(), window.rows(RaidDisk).values()
    yield from window.of_run(DiskHealth, key, lambda: alike(_health(window, health, limits)))
    yield from window.of_run(RaidDisk, key, lambda: alike(_raid(window, disk, limits) for disk in disks))
    yield from window.of_run(EnclosureSlot, key, lambda: list(slot_findings(window)))
    yield from window.of_run(SurfaceTest, key, lambda: list(surface_verdicts(window, limits)))


def _health(window: Window, rows: Iterable[DiskHealth], limits: Limits) -> Iterator[Verdict]:
    for row in rows:
        yield unknown(row) or _judged(window, row, limits)


def unknown(row: DiskHealth) -> Unchecked | None:
    """Return why nothing is known of a disk's health, None if it answered."""
    if row.state == ANSWERED:
        return None
    if row.state == STANDBY:
        return Unchecked("asleep; not woken up", row.device, calm=True)
    said = human.safe(row.reason or row.state, 64)
    if row.state in {SKIPPED, UNSUPPORTED}:
        word = "not asked" if row.state == SKIPPED else "no health data"
        return Unchecked(f"{word}: {said}", row.device, calm=True)
    return Unchecked(f"{row.state}: {said}", row.device, gap=Gap.FAULTY)


def _judged(window: Window, row: DiskHealth, limits: Limits) -> Verdict:
    grown = {name: growth(window, row, name) for name in ("pending", "uncorrected", "reallocated")}
    reasons = sorted(_reasons(row, grown, limits), key=lambda reason: -reason.severity.rank)
    if reasons:
        return _finding(window, row, reasons, grown, limits)
    if row.critical_warning is not None and row.critical_warning & ~_KNOWN_BITS:
        return Unchecked(f"unknown critical warning 0x{row.critical_warning:02x}", row.device, gap=Gap.FAULTY)
    if row.passed is None and row.critical_warning is None:
        return Unchecked("no overall assessment in the answer", row.device)
    if row.attributes is None:
        return Unchecked("assessment good; counts of errors not in the answer", row.device)
    return RuledOut(row.device, f"assessment good, {_counts(row, grown)}")


def _counts(row: DiskHealth, grown: Mapping[str, Growth | None]) -> str:
    """Return the counts of errors; a few old ones are normal; growth needs two answers."""
    counts = {"pending": row.pending, "uncorrected": row.uncorrected, "reallocated": row.reallocated}
    known = {name: count for name, count in counts.items() if count is not None}
    if not known:
        return "error counts not reported"
    old = [name for name, count in known.items() if count]
    when = f" ({'no new ones' if all(grown[name] for name in old) else 'growth unknown'})" if old else ""
    return ", ".join(f"{count} {name}" for name, count in known.items()) + when


def _reasons(row: DiskHealth, grown: Mapping[str, Growth | None], limits: Limits) -> Iterator[_Reason]:
    yield from _own_words(row)
    yield from _bits(row.critical_warning or 0)
    pending = row.pending if row.pending is not None or row.flash else row.offline_uncorrectable
    if pending:
        severe = pending >= limits["pending_critical"]
        more = _grew(grown["pending"])
        yield _Reason(
            Severity.CRITICAL if severe else Severity.WARNING,
            "UNREADABLE SECTORS",
            f"{human.plural(pending, 'sector')} cannot be read at present{more}.",
            "Data on these sectors is lost unless another copy exists.",
            "pending" if row.pending is not None else "offline_uncorrectable",
            "0 pending sectors after they were written again",
        )
    yield from _counted(
        row.uncorrected, grown["uncorrected"], limits["uncorrected"],
        "UNCORRECTED ERRORS", "uncorrected error", "Requests failed; their data is lost unless another copy exists.",
        "uncorrected",
    )  # fmt: skip
    if not row.flash:
        yield from _counted(
            row.reallocated, grown["reallocated"], limits["reallocated"],
            "SECTORS REALLOCATED", "reallocated sector", "The disk is losing sectors and can fail.", "reallocated",
        )  # fmt: skip
    if row.selftest_passed is False:
        ago = f", {human.duration(row.selftest_age)} of power-on time ago" if row.selftest_age is not None else ""
        said = human.safe(row.selftest or "", 30)
        yield _Reason(
            Severity.WARNING, "SELF-TEST FAILED", f"Newest self-test: {said}{ago}.", "The disk can fail.", "selftest",
            "a newer self-test without error",
        )  # fmt: skip


def _own_words(row: DiskHealth) -> Iterator[_Reason]:
    """Yield the disk's own assessment; that of an NVMe disk is its critical warning."""
    if row.passed is False and row.critical_warning is None:
        said = (row.verdict or "").lower()
        if "temperature" not in said:
            certain = not said or any(word in said for word in ("fail", "impending", "threshold"))
            text = human.safe(row.verdict or "", 40)
            yield _Reason(
                Severity.CRITICAL if certain else Severity.WARNING,
                "DISK PREDICTS ITS FAILURE" if certain else "DISK WARNS",
                f"Own assessment: {text}." if text else "The disk's own assessment (SMART) is FAILED.",
                "The disk can fail at any time." if certain else "The disk can fail.",
                "passed",
                "the assessment PASSED or OK",
            )
    names = [name for name in (row.failing or "").split(",") if name]
    if names:
        listed = human.listed(names, 2, 24)
        yield _Reason(
            Severity.WARNING, "SMART ATTRIBUTE FAILING", f"Below the vendor's threshold: {listed}.",
            "The disk can fail.", "failing", "normalized values above the vendor's threshold",
        )  # fmt: skip


def _bits(bits: int) -> Iterator[_Reason]:
    no_bit = "a critical warning of 0 in nvme smart-log"
    if bits & READ_ONLY:
        yield _Reason(
            Severity.CRITICAL, "NVME DISK READ-ONLY", "The disk reports: media placed in read-only mode.",
            "Every write to the disk fails.", "critical_warning", no_bit,
        )  # fmt: skip
    if bits & RELIABILITY:
        yield _Reason(
            Severity.CRITICAL, "NVME RELIABILITY DEGRADED", "The disk reports media or internal errors.",
            "The disk can fail at any time.", "critical_warning", no_bit,
        )  # fmt: skip
    if bits & MEMORY:
        yield _Reason(
            Severity.WARNING, "PERSISTENT MEMORY UNRELIABLE", "The disk reports an unreliable memory region.",
            "Data in this region can be lost.", "critical_warning", no_bit,
        )  # fmt: skip


def _grew(grown: Growth | None) -> str:
    if grown is None or not grown.new:
        return ""
    return f", {grown.new} more in {human.duration(grown.seconds)}"


def _counted(
    count: int | None, grown: Growth | None, limit: float, title: str, noun: str, impact: str, field: str
) -> Iterator[_Reason]:
    """Yield a reason for a count that grows or is large; a few may be years old."""
    new = grown.new if grown is not None else 0
    if not count or not (new or count >= limit):
        return
    since = "" if grown is None else ", none of them new" if not new else _grew(grown)
    yield _Reason(
        Severity.WARNING,
        f"{title} GROW" if new else title,
        f"{human.plural(count, noun)} in total{since}.",
        impact,
        field,
        "a count that stays the same under load",
    )


def _finding(
    window: Window, row: DiskHealth, reasons: list[_Reason], grown: Mapping[str, Growth | None], limits: Limits
) -> Finding:
    first, *others = reasons
    since = next((each.since for each in grown.values() if each is not None and each.new), None)
    fields = dict.fromkeys((first.field, *(other.field for other in others)))
    return Finding(
        severity=first.severity,
        subject=row.device,
        title=first.title,
        cause=first.cause,
        impact=first.impact,
        values=(
            *(Value(f"also_{other.field}", other.title.lower(), other.cause) for other in others),
            Value("assessment", "own assessment", None if row.passed is None else "good" if row.passed else "bad"),
            Value("pending", "unreadable sectors", row.pending, "", above=0),
            Value("uncorrected", "uncorrected errors", row.uncorrected, "", above=limits["uncorrected"] - 1),
            Value("reallocated", "reallocated sectors", row.reallocated, "", above=limits["reallocated"] - 1),
            *(Value(f"new_{name}", f"new, {name}", each.new) for name, each in grown.items() if each is not None),
            *((Value("compared", "compared with", human.utc(since)),) if since is not None else ()),
            Value("power_on", "power-on time", row.power_on, "seconds"),
            Value("model", "model", row.model),
            Value("serial", "serial number", row.serial),
        ),
        evidence=cites(*(window.cite(row, field) for field in fields)),
        advice=tuple(_advice(row.device, first)),
        refuted_by=first.refuted_by,
    )


_REWRITTEN = frozenset({"pending", "offline_uncorrectable", "uncorrected"})


def _advice(device: str, reason: _Reason) -> Iterator[Advice]:
    if reason.field in _REWRITTEN and reason.severity is not Severity.CRITICAL:
        yield "Scrub the array: sectors are written again from another copy."
        yield "Replace the disk if the counts grow."
    else:
        yield "Replace the disk; check first that its data has another copy."
    path, _, inner = device.partition(":")  # bus/0:megaraid,8: a disk behind a RAID controller
    yield run("smartctl", "-x", *(("-d", inner) if inner else ()), f"/dev/{path}", note="all counts and logs")
    if not inner:
        yield run("ledctl", f"locate=/dev/{device}", note="lights the LED of its slot (ledmon)")


def _raid(window: Window, disk: RaidDisk, limits: Limits) -> Verdict:
    """Judge a disk of a RAID controller by the counts that the controller keeps."""
    reason = _raid_reason(disk, limits)
    if reason is None:
        return _raid_good(disk)
    severity, title, cause, impact = reason
    return Finding(
        severity=severity,
        subject=disk.disk,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("state", "state", disk.state),
            Value("predicted", "predicted failures", disk.predicted, "", above=0),
            Value("media_errors", "media errors", disk.media_errors, "", above=limits["uncorrected"] - 1),
            Value("other_errors", "other errors", disk.other_errors),
            Value("temperature", "temperature", disk.temperature, "celsius"),
            Value("volume", "volume", disk.volume),
            Value("model", "model", disk.model),
            Value("serial", "serial number", disk.serial),
        ),
        evidence=cites(window.cite(disk), window.cite(disk, "predicted") if disk.predicted else None),
        advice=("Replace the disk in this slot; the controller then rebuilds.", _shows(disk)),
        refuted_by="a state of online and no predicted failures",
    )


def _raid_reason(disk: RaidDisk, limits: Limits) -> tuple[Severity, str, str, str] | None:
    if disk.good is False:
        said = human.safe(disk.state or "", 24)
        cause = f"The controller reports the state {said}."
        severity = Severity.WARNING if disk.volume is None and disk.state == "UBad" else Severity.CRITICAL
        return severity, "RAID DISK FAILED", cause, "The disk serves nothing."
    if disk.predicted or disk.alert:
        count = human.plural(disk.predicted or 1, "predicted failure")
        cause = f"The controller counts {count} of the disk."
        return Severity.CRITICAL, "DISK PREDICTS ITS FAILURE", cause, "The disk can fail at any time."
    if disk.media_errors and disk.media_errors >= limits["uncorrected"]:
        cause = f"The controller counts {disk.media_errors} media errors of the disk."
        return Severity.WARNING, "MEDIA ERRORS", cause, "The disk is losing sectors and can fail."
    return None


def _raid_good(disk: RaidDisk) -> Verdict:
    if disk.state is None:
        return Unchecked("state not reported", disk.disk)
    if disk.good is None:
        return Unchecked(f'unknown state "{human.safe(disk.state, 30)}"', disk.disk, gap=Gap.FAULTY)
    if disk.predicted is None and disk.alert is None:
        return Unchecked(f"state {disk.state}; predicted failures not reported", disk.disk)
    errors = f", {disk.media_errors} media errors" if disk.media_errors is not None else ""
    return RuledOut(disk.disk, f"{disk.state}, no failure predicted{errors}")


def _shows(disk: RaidDisk) -> Advice:
    """Return the command that shows a disk of a controller."""
    if disk.tool == "ssacli":
        return run("ssacli", "ctrl", "all", "show", "config", "detail")
    return run(disk.tool or "storcli64", f"/{disk.disk}", "show", "all")


DISK_FAILING = Rule(
    "disk-failing",
    "disk with a predicted failure, unreadable sectors, errors, failed self-test or slot at fault",
    Severity.CRITICAL,
    _check,
    (DiskHealth,),
    (
        Threshold("pending_critical", 100.0, "unreadable sectors that are critical"),
        Threshold("uncorrected", 10.0, "uncorrected errors that warrant a warning even if they do not grow"),
        Threshold("reallocated", 50.0, "reallocated sectors that warrant a warning even if they do not grow"),
    ),
    instead=(RaidDisk, EnclosureSlot, SurfaceTest),
    covers=(Covers(DiskHealth), Covers(RaidDisk)),
    explains=(
        "slow-device",
        "slow-stripe-member",
        "device-hung",
        "osd-slow",
        "disk-offline",
        "disk-unused",
        "rebuild-slow",
    ),
    inherent=True,
    many="are failing",
    damage=Damage.REDUNDANCY,
    view="disks",
    advice="Replace the disk; check first that its data has another copy.",
)
