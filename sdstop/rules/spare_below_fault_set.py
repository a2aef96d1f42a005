"""Pools that cannot absorb the loss of their largest failure domain: fault set, node, host or rack."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.core import format as human
from sdstop.core.evidence import Cite
from sdstop.core.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.shell import quoted
from sdstop.readings.cluster import ClusterPool, FailureDomain


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    settings = {(row.cluster, row.pool): row for row in window.rows(ScaleioPool).values()}
    for pool in window.rows(ClusterPool).values():
        known = settings.get((pool.cluster, pool.pool))
        if known is not None and known.rebuild == "off":
            yield _switched_off(window, pool, known)
        elif not pool.capacity or not pool.largest:
            yield Unchecked("the capacity of its failure domains is not told", pool.name)
        elif pool.spare is not None:
            yield _by_spare(window, pool, pool.capacity, pool.largest, pool.spare, limits)
        elif pool.used is not None:
            yield _by_use(window, pool, pool.capacity, pool.largest, pool.used, limits)
        else:
            yield Unchecked("how much of it is in use is not told", pool.name)


def _switched_off(window: Window, pool: ClusterPool, settings: ScaleioPool) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=pool.name,
        cause="rebuild is switched off: after a loss its data keeps a single copy",
        values=(Value("rebuild", "rebuild", "off"),),
        evidence=cites(window.cite(settings, "rebuild"), window.cite(pool)),
        advice=("switch it on again once the maintenance is over: scli --enable_rebuild",),
        refuted_by="rebuildEnabled true",
    )


def _by_spare(
    window: Window, pool: ClusterPool, capacity: int, largest: int, spare: int, limits: Limits
) -> Verdict:  # fmt: skip
    need = largest / capacity
    share = spare / capacity
    fits = pool.used is None or pool.used <= capacity - largest
    told = (
        f"spare {human.quantity(spare, 'bytes')} ({human.percent(share)} %), the largest of {pool.domains} failure "
        f"domains, {pool.largest_domain}, has {human.quantity(largest, 'bytes')} ({human.percent(need)} %)"
    )
    if spare >= largest * (1 - limits["slack"]) and (pool.domains or 0) > pool_copies(pool):
        return RuledOut(pool.name, told)
    said = []
    if (pool.domains or 0) <= pool_copies(pool):
        said.append(
            f"with {pool.domains} failure domain{'' if pool.domains == 1 else 's'} there is nowhere to rebuild "
            f"{pool_copies(pool)} copies after a loss"
        )
    elif need > 0.5:
        said.append("more than half lies on one: not all data can have its second copy elsewhere")
    if spare < largest * (1 - limits["slack"]):
        lost = (
            "its loss cannot be rebuilt now" if not fits else "nothing keeps writes from the room that a rebuild needs"
        )
        said.append(lost)
    return Finding(
        severity=Severity.WARNING if fits else Severity.CRITICAL,
        subject=pool.name,
        cause=f"{told}: {'; '.join(said)}",
        values=(
            Value("spare", "spare", share, "ratio", above=need),
            Value("spare_bytes", "spare", spare, "bytes", above=largest),
            Value("largest", f"capacity of {pool.largest_domain}", largest, "bytes"),
            Value("used", "in use", pool.used, "bytes", above=capacity - largest),
            Value("domains", "failure domains", pool.domains, "", above=pool_copies(pool) + 1),
            Value("configured", "spare as it is set", pool.spare_ratio, "ratio", above=need),
        ),
        evidence=cites(window.cite(pool), window.cite(pool, "spare"), *_domains(window, pool)),
        advice=_advice(pool, need),
        refuted_by=f"a spare of {human.percent(need)} % or more, or failure domains of equal size",
    )


def pool_copies(pool: ClusterPool) -> int:
    """Return the number of copies in different domains."""
    return pool.copies or 2


def _advice(pool: ClusterPool, need: float) -> tuple[str, ...]:
    percent = min(int(need * 100) + (need * 100 % 1 > 0), 100)
    area = f" --protection_domain_name {quoted(pool.area)}" if pool.area else ""
    name = pool.pool.rpartition("/")[2]
    if (pool.domains or 0) <= pool_copies(pool):
        return (f"add nodes in further fault sets: {pool_copies(pool)} copies need {pool_copies(pool) + 1} of them",)
    return (
        f"scli --modify_spare_policy{area} --storage_pool_name {quoted(name)} --spare_percentage {percent}",
        f"or make the failure domains equal: {quoted(pool.largest_domain)} is the largest",
    )


def _by_use(window: Window, pool: ClusterPool, capacity: int, largest: int, used: int, limits: Limits) -> Verdict:
    left = capacity - largest
    after = used / left if left > 0 else None
    near = pool.near_full or limits["near_full"]
    full = pool.full or limits["full"]
    told = f"{human.percent(used / capacity)} % in use"
    if after is not None and after < near:
        return RuledOut(
            pool.name,
            f"{told}, {human.percent(after)} % after the loss of {pool.largest_domain}, the largest of {pool.domains}",
        )  # fmt: skip
    then = f"it would be {human.percent(after)} % full" if after is not None and after <= 1 else "its data has no room"
    return Finding(
        severity=Severity.CRITICAL if after is None or after >= full else Severity.WARNING,
        subject=pool.name,
        cause=f"{told}; after the loss of {pool.largest_domain} ({human.quantity(largest, 'bytes')}), the largest of "
        f"{pool.domains} failure domains, {then}",
        values=(
            Value("after", "filled after the loss of the largest", after, "ratio", above=near),
            Value("used", "in use", used, "bytes", above=int(left * near)),
            Value("largest", f"capacity of {pool.largest_domain}", largest, "bytes"),
            Value("domains", "failure domains", pool.domains),
        ),
        evidence=cites(window.cite(pool), window.cite(pool, "used"), *_domains(window, pool)),
        advice=(
            "free space, or add devices, until the largest failure domain may go",
            f"or make the failure domains equal: {quoted(pool.largest_domain)} is the largest",
        ),
        refuted_by=f"less than {human.percent(near)} % of what is left without {pool.largest_domain}",
    )


def _domains(window: Window, pool: ClusterPool) -> list[Cite | None]:
    return [
        window.cite(row) for row in window.rows(FailureDomain).values()
        if row.cluster == pool.cluster and row.pool == pool.pool and row.domain == pool.largest_domain
    ]  # fmt: skip


SPARE_BELOW_FAULT_SET = Rule(
    "spare-below-fault-set",
    "a pool cannot make up for the loss of its largest fault set, node, host or rack",
    Severity.CRITICAL,
    _check,
    (ClusterPool,),
    (
        Threshold("slack", 0.01, "share of the largest failure domain that the spare may lack", "ratio"),
        Threshold("near_full", 0.85, "filled after the loss, where the cluster has no such threshold", "ratio"),
        Threshold("full", 0.95, "filled after the loss from which it is critical, where the cluster has none", "ratio"),
    ),
)
