"""Pools that cannot absorb the loss of their largest failure domain: fault set, node, host or rack."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.readings.cluster import ClusterPool, FailureDomain

_HALF = 0.5


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    settings = {(row.cluster, row.pool): row for row in window.rows(ScaleioPool).values()}
    for pool in window.rows(ClusterPool).values():
        known = settings.get((pool.cluster, pool.pool))
        if known is not None and known.rebuild == "off":
            yield _switched_off(window, pool, known)
        elif not pool.capacity or not pool.largest:
            yield Unchecked("failure-domain capacity unavailable", pool.name)
        elif pool.spare is not None:
            yield _by_spare(window, pool, pool.capacity, pool.largest, pool.spare, limits)
        elif pool.used is not None:
            yield _by_use(window, pool, pool.capacity, pool.largest, pool.used, limits)
        else:
            yield Unchecked("pool usage unavailable", pool.name)


def _switched_off(window: Window, pool: ClusterPool, settings: ScaleioPool) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=pool.name,
        title="REBUILD SWITCHED OFF",
        cause="Rebuild is disabled for this pool.",
        impact="After a failure its data keeps a single copy.",
        values=(Value("rebuild", "rebuild", "off"),),
        evidence=cites(window.cite(settings, "rebuild"), window.cite(pool)),
        advice=("Enable rebuild again once maintenance is over.", run("scli", "--enable_rebuild")),
        refuted_by="rebuildEnabled true",
    )


def _by_spare(
    window: Window, pool: ClusterPool, capacity: int, largest: int, spare: int, limits: Limits
) -> Verdict:  # fmt: skip
    need = largest / capacity
    share = spare / capacity
    fits = pool.used is None or pool.used <= capacity - largest
    passed = (
        f"spare {human.quantity(spare, 'bytes')} ({human.percent(share)}%), the largest of {pool.domains} failure "
        f"domains, {pool.largest_domain}, has {human.quantity(largest, 'bytes')} ({human.percent(need)}%)"
    )
    domains, copies, lacks = pool.domains or 0, pool_copies(pool), spare < largest * (1 - limits["slack"])
    if not lacks and domains > copies:
        return RuledOut(pool.name, passed)
    title = "SPARE TOO SMALL"
    short = f"Spare {human.percent(share)}%, largest of {domains} failure domains {human.percent(need)}%."
    cause = fitting(f"{short[:-1]} ({pool.largest_domain}).", short)
    impact = "Writes can consume the space that a rebuild needs."
    if not fits:
        impact = f"The loss of {pool.largest_domain} cannot be rebuilt now."
    if domains <= copies:
        title = f"TOO FEW FAILURE DOMAINS: {domains}"
        cause = f"{human.plural(domains, 'failure domain')} for {copies} copies."
        impact = "After the loss of one, its copies have no place for a rebuild."
        fits = True  # nothing is rebuilt, so no space is needed
    elif need > _HALF and fits:
        impact = f"{pool.largest_domain} has over half: not all data can have a second copy elsewhere."
    return Finding(
        severity=Severity.WARNING if fits else Severity.CRITICAL,
        subject=pool.name,
        title=title,
        cause=cause,
        impact=impact,
        values=(
            Value("spare", "spare", share, "ratio", below=need),
            Value("spare_bytes", "size of the spare", spare, "bytes", below=largest),
            Value("largest", f"capacity of {pool.largest_domain}", largest, "bytes"),
            Value("used", "in use", pool.used, "bytes", above=capacity - largest),
            Value("domains", "failure domains", pool.domains, "", below=pool_copies(pool) + 1),
            Value("configured", "configured spare", pool.spare_ratio, "ratio", below=need),
        ),
        evidence=cites(window.cite(pool), window.cite(pool, "spare"), *_domains(window, pool)),
        advice=_advice(pool, need),
        refuted_by=f"a spare of at least {human.percent(need)}%, or equal failure domains",
    )


def pool_copies(pool: ClusterPool) -> int:
    """Return the number of copies in different domains."""
    return pool.copies or 2


def _advice(pool: ClusterPool, need: float) -> tuple[Advice, ...]:
    percent = min(int(need * 100) + (need * 100 % 1 > 0), 100)
    area = ("--protection_domain_name", pool.area) if pool.area else ()
    name = pool.pool.rpartition("/")[2]
    if (pool.domains or 0) <= pool_copies(pool):
        return (f"Add fault sets: {pool_copies(pool)} copies need {pool_copies(pool) + 1} of them.",)
    return (
        f"Set the spare to {percent}%, or equalize the failure domains.",
        run("scli", "--modify_spare_policy", *area, "--storage_pool_name", name, "--spare_percentage", str(percent)),
    )


def _by_use(window: Window, pool: ClusterPool, capacity: int, largest: int, used: int, limits: Limits) -> Verdict:
    """Judge a pool without reserved space by the use of the rest after the loss of its largest failure domain."""
    left = capacity - largest
    near = pool.near_full or limits["near_full"]
    full = pool.full or limits["full"]
    now = human.percent(used / capacity)
    if pool.rebuilds == 0:
        return RuledOut(pool.name, f"{now}% in use; {_copies(pool)}: no rebuild after a loss, no space needed")
    held = sum(
        row.used or 0 for row in window.where(FailureDomain, "pool", pool.pool)
        if row.cluster == pool.cluster and row.domain == pool.largest_domain
    )  # fmt: skip
    again = held if pool.rebuilds is None else pool.rebuilds
    after = (used - held + again) / left if left > 0 else None
    if after is not None and after < near:
        return RuledOut(
            pool.name,
            f"{now}% in use, {human.percent(after)}% after the loss of {pool.largest_domain}, the largest of "
            f"{pool.domains}",
        )
    if pool.rebuilds is None and pool.kind == "ceph":
        return Unchecked("copies of its pools unknown", pool.name, calm=True)
    fits = after is not None and after <= 1
    then = f"{human.percent(after)}% full" if fits else "too full for its data"
    return Finding(
        severity=Severity.CRITICAL if after is None or after >= full else Severity.WARNING,
        subject=pool.name,
        title="NO ROOM TO REBUILD",
        cause=f"{now}% in use; {then} after the loss of {pool.largest_domain}.",
        impact=f"This loss {'leaves too little free space' if fits else 'cannot be rebuilt now'}.",
        values=(
            Value("after", "use after the loss of the largest domain", after, "ratio", above=near),
            Value("used", "in use", used, "bytes", above=int(left * near)),
            Value("largest", f"capacity of {pool.largest_domain}", largest, "bytes"),
            Value("rebuilds", "copied to other domains after the loss", pool.rebuilds, "bytes"),
            Value("domains", "failure domains", pool.domains),
        ),
        evidence=cites(window.cite(pool), window.cite(pool, "used"), *_domains(window, pool)),
        advice=(
            "Free space or add devices until the pool survives this loss.",
            "Or equalize the failure domains.",
        ),
        refuted_by=f"use below {human.percent(near)}% of the capacity without {pool.largest_domain}",
    )


def _copies(pool: ClusterPool) -> str:
    domains = human.plural(pool.domains or 0, "failure domain")
    return f"{pool.copies} copies in {domains}" if pool.copies is not None else domains


def _domains(window: Window, pool: ClusterPool) -> list[Cite | None]:
    return [
        window.cite(row) for row in window.where(FailureDomain, "pool", pool.pool)
        if row.cluster == pool.cluster and row.domain == pool.largest_domain
    ]  # fmt: skip


SPARE_BELOW_FAULT_SET = Rule(
    "spare-below-fault-set",
    "pool that cannot rebuild after losing its largest fault set, node, host or rack",
    Severity.CRITICAL,
    _check,
    (ClusterPool,),
    (
        Threshold("slack", 0.01, "tolerated shortfall of the spare, of the largest failure domain", "ratio"),
        Threshold("near_full", 0.85, "use after the loss that is a warning; for clusters without a threshold", "ratio"),
        Threshold("full", 0.95, "use after the loss that is critical; for clusters without a threshold", "ratio"),
    ),
    damage=Damage.REDUNDANCY,
    standing=True,
    view="cluster",
    advice="Raise the spare, or equalize the failure domains.",
)
