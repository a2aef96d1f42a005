"""Raid volumes of LVM and device mapper with failed or stale members; stripes with I/O errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.analysis.disks.mapped_redundancy import redundancy
from sdstop.analysis.rebuilds.rebuilding import RebuildAnalysis, rebuild_analyses
from sdstop.collectors.devicemapper.raid_volumes import ACTIONS, ALIVE, STALE, STRIPED
from sdstop.collectors.devicemapper.readings import MappedRaid
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Outcome
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.rules.arrays.volume_degraded.held import frozen, unsynchronized

_SOURCE = "dm-status"
_GAPS = {Outcome.ABSENT: Gap.UNRECORDED, Outcome.DENIED: Gap.DENIED}


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    del limits
    for row in window.rows(MappedRaidState).values():
        yield from _judged(window, row)
    seen = {row.mapping for row in window.rows(MappedRaidState).values()}
    for raid in window.rows(MappedRaid).values():
        if raid.mapping not in seen:
            yield _without_status(window, raid)


def _without_status(window: Window, raid: MappedRaid) -> Unchecked:
    """Return the verdict of a raid volume that is known from its parts alone."""
    ran = window.now.runs.get(_SOURCE)
    if ran is None:
        return Unchecked(f"waiting for {_SOURCE}", raid.device, gap=Gap.EARLY)
    if ran.ok:
        return Unchecked("no line in dmsetup status", raid.device, gap=Gap.FAULTY)
    gap = _GAPS.get(ran.outcome, Gap.FAULTY) if not (ran.outcome is Outcome.ABSENT and ran.recorded) else Gap.OPEN
    calm = gap is Gap.UNRECORDED
    return Unchecked(f"{_SOURCE}: {ran.outcome.value}, {ran.reason}", raid.device, gap=gap, calm=calm)


def _judged(window: Window, row: MappedRaidState) -> Iterator[Verdict]:
    if row.health is None:
        yield Unchecked("line of dmsetup status not understood", row.volume, gap=Gap.FAULTY)
        return
    if row.level == STRIPED:
        yield _striped(window, row, row.health)
        return
    if row.journal == "D":
        yield _journal(window, row)
    if row.action is not None and row.action not in ACTIONS:
        yield Unchecked(f'unknown action "{human.safe(row.action, 30)}"', row.volume, gap=Gap.FAULTY)
    elif row.failed:
        yield _degraded(window, row, row.health)
    elif row.stale and row.action == "reshape":
        yield Unchecked("reshape running; new members are not in sync yet", row.volume, calm=True)
    elif (row.stale and ALIVE not in row.health) or (not row.stale and row.action == "resync"):
        yield _first_sync(window, row)
    elif row.stale:
        yield _degraded(window, row, row.health)
    elif row.action == "frozen":
        yield frozen(window, row)
    else:
        yield RuledOut(row.volume, f"{row.level}, all {row.members} members in sync")


def _first_sync(window: Window, row: MappedRaidState) -> Verdict:
    """Return the verdict of a volume that synchronizes, and of which no member lacks data of another."""
    if row.action != "resync":
        return unsynchronized(window, row)
    done = human.done(row.done / row.total if row.done is not None and row.total else None)
    return RuledOut(row.volume, f"{row.level}, no member failed; resync {done}% done")


def _degraded(window: Window, row: MappedRaidState, health: str) -> Finding:
    left = redundancy(row)
    missing = [slot for slot, letter in enumerate(health) if letter not in {ALIVE, STALE}] or [
        slot for slot, letter in enumerate(health) if letter == STALE
    ]
    doing, running = _doing(window, row)
    fault = "DEGRADED" if left is None or left > 0 else "NO REDUNDANCY" if not left else "DATA INCOMPLETE"
    what = "failed" if row.failed else "not in sync"
    where = _slots(window, row, missing)
    count = f"{len(missing)} of {row.members} members {what}"
    return Finding(
        severity=Severity.WARNING if left is None or left > 0 else Severity.CRITICAL,
        subject=row.volume,
        title=f"{fault}: {human.plural(len(missing), 'member')} {what}",
        cause=fitting(f"{count} ({where}); {doing}.", f"{count}; {doing}."),
        impact=_risk(left),
        values=(
            Value("failed", "failed members", row.failed, "", of=row.members),
            Value("stale", "members not in sync", row.stale, "", of=row.members),
            Value("tolerates", "further failures tolerated", left, "", below=None if left else 1),
            Value("health", "health by member (A in sync)", health),
            Value("action", "action", row.action),
            Value("level", "level", row.level),
        ),
        evidence=cites(window.cite(row)),
        advice=tuple(_advice(row, running=running)),
        refuted_by=f"the health {ALIVE * len(health)} in dmsetup status",
        damage=Damage.DATA if left is not None and left < 0 else None,
    )


def _slots(window: Window, row: MappedRaidState, slots: Sequence[int]) -> str:
    """Return the slots of members, with the disks below them where these are known."""
    known = [f"slot {slot}{_below(window, row, slot)}" for slot in slots]
    return ", ".join(known[:3]) + (", ..." if len(known) > 3 else "")


def _below(window: Window, row: MappedRaidState, slot: int) -> str:
    """Return the disk that holds a member, as `: sdb`; "" if it is unknown."""
    images = (row.images or "").split(",")
    thing = window.topology.find(images[slot]) if slot < len(images) and len(images) == row.members else None
    below = [each.device for each in window.topology.below(thing) if each.device] if thing is not None else []
    disks = [name for name in below if not name.startswith("dm-")]
    return f": {human.safe(disks[0], 16)}" if disks else ""


def _doing(window: Window, row: MappedRaidState) -> tuple[str, bool]:
    """Return the recovery status, and whether a recovery is under way."""
    known: RebuildAnalysis | None = next(
        (each for each in rebuild_analyses(window) if each.name == row.volume and each.rebuild.kind == "lvm"), None
    )
    if row.action == "frozen":
        return "no rebuild: it is frozen", False
    if known is not None and known.rebuild.operation in {"recovery", "resync", "reshape"}:
        if known.stands:
            return f"{known.what} stalled at {known.done}%", False
        return f"{known.what} running, {known.done}%", True
    return "no rebuild", False


def _risk(left: int | None) -> str:
    if left is None:
        return "The number of further failures without data loss is unknown."
    if left > 0:
        return f"{human.plural(left, 'more member')} can fail without data loss."
    return "Some data has no in-sync copy." if left < 0 else "The next member failure loses data."


def _is_lvm(row: MappedRaidState) -> bool:
    return row.volume != row.mapping


def _advice(row: MappedRaidState, *, running: bool) -> Iterator[Advice]:
    name = operands(row.volume)
    group = row.volume.partition("/")[0]
    if running:
        yield "Let the rebuild finish; defer other load on the volume."
    elif row.action == "frozen":
        yield "Resume the rebuild."
        yield run("dmsetup", "message", *operands(row.mapping), "0", "recover")
    else:
        yield "Find the disk of the member, and check whether it works."
    if not _is_lvm(row):
        yield run("dmsetup", "table", *operands(row.mapping), note="devices of the members, metadata first")
        return
    yield run("lvs", "-a", "-o", "name,copy_percent,lv_health_status,devices", *operands(group))
    if not running:
        yield run("journalctl", "-k").pipe("grep", "-i", "-e", "md/raid", "-e", "I/O error").pipe("tail", "-40")
        yield run("lvchange", "--refresh", *name, note="the disk is back: takes the member in again")
        yield run("lvconvert", "--repair", *name, note="the disk is lost: rebuilds on another PV")


def _journal(window: Window, row: MappedRaidState) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        subject=f"{row.volume}/journal",
        title="JOURNAL FAILED: writes fail",
        cause="The kernel reports the journal device of the volume as failed.",
        impact="Every write to the volume fails.",
        values=(Value("journal", "journal", row.journal),),
        evidence=cites(window.cite(row)),
        advice=(
            "Replace the disk of the journal, or remove the journal.",
            run("dmsetup", "table", *operands(row.mapping), note="journal_dev"),
            run("journalctl", "-k").pipe("grep", "-i", "-e", "md/raid", "-e", "I/O error").pipe("tail", "-40"),
        ),
        refuted_by="A or a as the journal's letter in dmsetup status",
        damage=Damage.AVAILABILITY,
        view_subject=row.volume,
    )


def _striped(window: Window, row: MappedRaidState, health: str) -> Verdict:
    bad = [slot for slot, letter in enumerate(health) if letter != ALIVE]
    if not bad:
        return RuledOut(row.volume, f"{row.members} stripes, no I/O error since activation")
    count = f"{len(bad)} of {row.members} stripes had I/O errors since activation"
    return Finding(
        severity=Severity.WARNING,
        subject=row.volume,
        title=f"I/O ERRORS: {len(bad)} of {row.members} stripes",
        cause=fitting(f"{count} ({_slots(window, row, bad)}).", f"{count}."),
        impact="Stripes have no copy: sectors that cannot be read are lost.",
        values=(
            Value("failed", "stripes with I/O errors", len(bad), "", of=row.members),
            Value("health", "health by stripe (A no error)", health),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Check the disk below these stripes, and save the data.",
            run("journalctl", "-k").pipe("grep", "-i", "I/O error").pipe("tail", "-40"),
            run("dmsetup", "table", *operands(row.mapping), note="devices of the stripes, in order"),
        ),
        refuted_by=f"the health {ALIVE * len(health)} after another activation",
        damage=Damage.DATA,
        totals=True,
    )


VOLUME_DEGRADED = Rule(
    "volume-degraded",
    "LVM RAID volume with failed or stale members; striped volume with I/O errors",
    Severity.CRITICAL,
    _check,
    (MappedRaidState,),
    covers=(Covers(MappedRaidState, subject="{volume}"), Covers(MappedRaid)),
    instead=(MappedRaid,),
    remembers=True,
    explains=("slow-device", "slow-stripe-member"),
    damage=Damage.REDUNDANCY,
    view="disks",
    advice="Find the disk of the failed member, and check whether it works.",
)
