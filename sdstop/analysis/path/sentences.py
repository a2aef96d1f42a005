"""Sentences below a data path: the stage at its limit, ruled out stages, and contradictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sdstop.analysis.path.conservation import Imbalance
from sdstop.analysis.path.stage import Stage, StageKind
from sdstop.core import format as human
from sdstop.core.finding import Severity

CALM = 0.5
"""Used share below which a stage is ruled out as the cause."""


def accused_names(stage: Stage) -> list[str]:
    """Return the subjects under which a finding may accuse a stage."""
    names = [name for thing in stage.things for name in (thing.name, thing.label)]
    return [stage.subject, *names] if stage.subject else names


def accusation(stage: Stage, accused: Mapping[str, Severity]) -> Severity | None:
    """Return the worst severity of the findings about a stage, None without one."""
    known = [accused[name] for name in accused_names(stage) if name in accused]
    return max(known, key=lambda severity: severity.rank, default=None)


def limit_sentence(stages: Sequence[Stage], accused: Mapping[str, Severity]) -> str:
    """Return which stage is at its limit or, if none is, where most of the wait is; a bound remains a bound."""
    full = next((stage for stage in stages if stage.full), None)
    if full is not None:
        return f"At its limit: {full.name}{_of_limit(full)}"
    near = _near_limit(stages, accused)
    if near:
        return near
    odd = [stage for stage in stages if stage.peers and stage.wait]
    if odd:
        return _slowest(odd)
    named = [stage for stage in stages if _is_accused(stage, accused)]
    if named:
        return _accused(named)
    waiting = [stage for stage in stages if stage.own and not stage.branch]
    top = next((stage for stage in stages if stage.wait), None)
    if waiting and top is not None and top.wait:
        worst = max(waiting, key=lambda stage: stage.own or 0.0)
        least = "at least " if worst.least else "derived: " if worst.derived_wait else ""
        whole = max(top.wait, worst.own or 0.0)
        part = f"{least}{human.wait(worst.own)} of {human.wait(whole)} ms in {worst.name}"
        return f"No measured stage is at its limit; {part}"
    if any(stage.requests or stage.bytes for stage in stages):
        return "No measured stage is at its limit; no source reports where requests wait"
    if any(stage.requests is not None for stage in stages):
        return "No requests in the last seconds"
    return "Nothing of this path is measured yet"


def _slowest(odd: Sequence[Stage]) -> str:
    """Return which disks answer slower than their peers."""
    waits = sorted(stage.wait or 0.0 for stage in odd)
    peers = human.wait(odd[0].peers)
    if len(odd) == 1 and len(odd[0].things) <= 1:
        return f"Slowest: {odd[0].name} takes {human.wait(waits[0])} ms a request, its peers {peers} ms"
    names, span = ", ".join(stage.name for stage in odd), human.wait(waits[0])
    span = span if human.wait(waits[-1]) == span else f"{span} to {human.wait(waits[-1])}"
    return f"Slowest: {names} take {span} ms a request, their peers {peers} ms"


def _accused(stages: Sequence[Stage]) -> str:
    """Return which stages findings are about: where requests are stuck, or the wait of a single one."""
    names = ", ".join(stage.name for stage in stages)
    only = stages[0] if len(stages) == 1 else None
    stuck = [f"{human.plural(count, 'request')} in {stage.name}" for stage in stages if (count := _stuck(stage))]
    if stuck:
        return f"Stuck: {', '.join(stuck)}"
    if only is not None and only.own and only.wait and only.own >= _MOSTLY * only.wait:
        return f"Accused by a finding: {names}, {human.wait(only.own)} of {human.wait(only.wait)} ms"
    return f"Accused by a finding: {names}"


def _stuck(stage: Stage) -> int:
    """Return the requests outstanding if far more are than complete with the measured wait (Little's law), else 0."""
    held, rate, wait = stage.queue or 0.0, stage.requests, stage.wait
    if rate is None or (rate and wait is None) or held < 1:
        return 0
    return round(held) if held > _CLOGGED * rate * (wait or 0.0) else 0


_MOSTLY = 0.5
"""Share of the wait of an accused stage from which that is what slows its requests."""
_CLOGGED = 4.0
"""Multiple of the requests that a stage's rate and wait account for from which those outstanding are stuck."""


def serious(accused: Mapping[str, Severity]) -> frozenset[str]:
    """Return the names that a critical finding or a warning is about."""
    return frozenset(name for name, severity in accused.items() if severity in _SERIOUS)


_SERIOUS = frozenset({Severity.CRITICAL, Severity.WARNING})


def _near_limit(stages: Sequence[Stage], accused: Mapping[str, Severity]) -> str:
    """Return the stage that arithmetic accuses, or a measured one if that is fuller; "" without a suspect."""
    suspect = next((s for s in stages if s.derived_use and accusation(s, accused) is not None), None)
    if suspect is None:
        return ""
    measured = [s for s in stages if s.used is not None and not s.derived_use and s.kind in _CARRIERS]
    fullest = max(measured, key=lambda s: s.used or 0.0, default=suspect)
    if (fullest.used or 0.0) > max(suspect.used or 0.0, CALM):
        return f"Closest to its limit: {fullest.name}, {human.percent(fullest.used)}% used"
    return f"Suspect: {suspect.name}, by arithmetic: about {human.percent(suspect.used)}% used"


def _most(stage: Stage) -> float | None:
    """Return the used share, of several devices that of the busiest: a mean would hide one at its limit."""
    busiest = stage.load.busiest if stage.load is not None else None
    return stage.used if busiest is None else busiest


_CARRIERS = frozenset({StageKind.NETWORK, StageKind.LIMIT, StageKind.REBUILD, StageKind.HBA, StageKind.PCIE})
"""Kinds whose use is the share of a capacity. Disks that are busy all the time can serve more."""
_LAYERS = frozenset({StageKind.VOLUME, StageKind.CACHE, StageKind.ARRAY})


def _is_calm(stage: Stage, accused: Mapping[str, Severity]) -> bool:
    return stage.kind not in _LAYERS and not _is_accused(stage, accused) and not stage.peers


def _is_accused(stage: Stage, accused: Mapping[str, Severity]) -> bool:
    return accusation(stage, accused) in _SERIOUS


def _of_limit(stage: Stage) -> str:
    if stage.kind is StageKind.LIMIT and stage.own is not None and stage.below is not None:
        least = "at least " if stage.least else ""
        return f", which adds {least}{human.wait(stage.own)} ms; without it {human.wait(stage.below)} ms"
    if stage.kind is StageKind.DISKS and stage.wait is not None:
        peers = f", its peers {human.wait(stage.peers)} ms" if stage.peers else ""
        return f", busy {human.percent(stage.used)}% of the time; a request takes {human.wait(stage.wait)} ms{peers}"
    about = "about " if stage.derived_use else ""
    return f", {about}{human.percent(stage.used)}% used" if stage.used is not None else ""


def second_sentence(
    stages: Sequence[Stage], found: Sequence[Imbalance], accused: Mapping[str, Severity] = MappingProxyType({})
) -> str:
    """Return the contradictions or, without any, which stages are ruled out by their use; "" if none is.

    A stage that a finding accuses is not ruled out, and neither are layers, nor the disks of an accused layer: seconds
    of a single disk do not show in a mean.
    """
    layers = any(stage.kind in _LAYERS and _is_accused(stage, accused) for stage in stages)
    if found:
        more = f" (+{len(found) - 1} more)" if len(found) > 1 else ""
        return f"Does not add up: {found[0].text}{more}"
    calm = [
        f"{stage.name} {human.percent(used)}%"
        for stage in stages
        if (used := _most(stage)) is not None
        and used < CALM
        and not stage.full
        and _is_calm(stage, accused)
        and not (layers and stage.kind is StageKind.DISKS)
    ]
    return f"Ruled out, below half of their limit: {', '.join(calm)}" if calm else ""
