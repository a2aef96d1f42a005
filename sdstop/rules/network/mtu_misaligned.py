"""AoE frames that do not carry a whole number of blocks, so that most requests reach the target split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sdstop.analysis.aoe.framing import RequestMix, caches_below, initiator_sizes
from sdstop.analysis.aoe.jumbo import (
    BLOCK,
    SIZES,
    MtuProposal,
    mtu_advice,
    mtus_of,
    named,
    proposal,
    split_effect,
)
from sdstop.analysis.aoe.serving import TargetAnalysis, asks, begins_within, cause_text, impact_text, look, worst_of
from sdstop.analysis.caches.counters import CacheAnalysis, CacheSteps
from sdstop.collectors.aoe.readings import SECTOR, AoeExport, AoePort, AoeSocket, AoeTarget, payload, whole_share
from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import ShellCommand, run
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    found: dict[str, Finding] = {}
    for said in (*_reached(window, limits), *_served(window, limits)):
        if not isinstance(said, Finding):
            yield said
        elif said.subject in found:
            found[said.subject] = _both(found[said.subject], said)
        else:
            found[said.subject] = said
    yield from found.values()


def _both(one: Finding, other: Finding) -> Finding:
    """Return one finding for an interface that both reaches and serves disks, because one MTU fixes both."""
    first, second = sorted((one, other), key=lambda finding: -finding.severity.rank)
    known = {value.name for value in first.values}
    return replace(
        first,
        values=(
            *first.values,
            *(value for value in second.values if value.name not in known),
            Value("also", "in the other direction", second.cause),
        ),
        advice=tuple(dict.fromkeys((*first.advice, *second.advice))),
        evidence=cites(*first.evidence, *second.evidence),
        explains=tuple(dict.fromkeys((*first.explains, *second.explains))),
    )


def _reached(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge the disks that this node reaches, by the frame payload that the kernel determined."""
    groups: dict[str, list[AoeTarget]] = {}
    for row in sorted(window.rows(AoeTarget).values(), key=lambda row: row.device):
        if not _is_up(row):
            yield Unchecked(f"device is {human.safe(row.state)}; its payload has no meaning", row.device)
        elif not row.payload:
            yield Unchecked("payload of its frames unknown", row.device)
        else:
            groups.setdefault(row.interfaces or row.device, []).append(row)
    for subject, rows in groups.items():
        bad = [row for row in rows if (row.payload or 0) % BLOCK]
        good = [row for row in rows if not (row.payload or 0) % BLOCK]
        if bad:
            yield _split(window, subject, bad, limits)
        if good:
            carried = " and ".join(map(str, sorted({row.payload or 0 for row in good})))
            yield RuledOut(
                f"{subject}/{good[0].device}" if bad else subject,
                f"{named([row.device for row in good])}: frames carry {carried} bytes, whole blocks of {BLOCK}",
            )


def _is_up(row: AoeTarget) -> bool:
    return row.state is None or row.state.startswith("up")


def _has_payload(row: AoeTarget) -> bool:
    return _is_up(row) and bool(row.payload)


def _split(window: Window, subject: str, rows: Sequence[AoeTarget], limits: Limits) -> Finding:
    carried = min({row.payload or 0 for row in rows}, key=lambda carried: (whole_share(carried, SIZES[-1]), carried))
    row = next(row for row in rows if row.payload == carried)
    names = row.interfaces.split(",") if row.interfaces else []
    nics = [nic for nic in (window.get(Interface, name) for name in names) if nic is not None]
    seen = initiator_sizes(window, [row.device for row in rows])
    lost = seen.lost(carried) if seen is not None else None
    harmless = lost is not None and lost < limits["lost"]
    better = proposal(window, names)
    return Finding(
        severity=Severity.INFO if harmless else Severity.WARNING,
        subject=subject,
        title=_title(_mtu_at_fault(nics, carried), carried),
        cause=_why(nics, carried),
        impact=_now(seen, lost) or split_effect(carried),
        values=(
            Value("disks", "AoE disks", named([r.device for r in rows])),
            *_values(carried, better, lost, limits),
        ),
        evidence=cites(
            window.cite(row, "payload"),
            *(window.cite(nic, "mtu") for nic in nics),
            window.cite(seen.row) if seen is not None else None,
        ),
        advice=(
            *mtu_advice(nics, names, better, "target"),
            run("aoe-discover", note="the kernel determines the payload again"),
            run("cat", f"/sys/block/{row.device.replace('/', '!')}/payload", note="a multiple of 4096 is right"),
        ),
        refuted_by="a payload that is a multiple of 4096",
        harmless_if="the target has no cache, parity RAID or 4096-byte sectors",
    )


def _title(mtu: int | None, carried: int, block: int = BLOCK) -> str:
    blocks = human.quantity(block, "bytes")
    return f"MTU {mtu} SPLITS {blocks} BLOCKS" if mtu is not None else f"FRAMES OF {carried} BYTES SPLIT BLOCKS"


def _smallest(nics: Sequence[Interface]) -> tuple[int, str] | None:
    return min(((nic.mtu, nic.interface) for nic in nics if nic.mtu is not None), default=None)


def _mtu_at_fault(nics: Sequence[Interface], carried: int) -> int | None:
    """Return the smallest local MTU if the measured payload follows from it."""
    known = _smallest(nics)
    return known[0] if known is not None and payload(known[0]) == carried else None


def _why(nics: Sequence[Interface], carried: int) -> str:
    """Explain the measured payload by the smallest local MTU."""
    known = _smallest(nics)
    if known is None:
        return f"Frames carry {carried} bytes, not a multiple of {BLOCK}."
    mtu, name = known
    gives = payload(mtu)
    if gives == carried:
        return f"MTU {mtu} on {name} carries {carried} bytes, not a multiple of {BLOCK}."
    if gives > carried:
        low, high = mtus_of(carried)
        return f"Frames carry {carried} of {gives} possible bytes: other end MTU {low}-{high}."
    return f"Frames carried {carried} bytes before MTU {mtu} on {name} was lowered."


def _served(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge vblade's exports by the MTU of the interface, their start offset, and the received request sizes."""
    groups: dict[str, list[AoeExport]] = {}
    for row in sorted(window.rows(AoeExport).values(), key=lambda row: (row.shelf, row.slot)):
        groups.setdefault(row.interface, []).append(row)
    for name, exports in groups.items():
        nic = window.get(Interface, name)
        if nic is None or nic.mtu is None:
            yield Unchecked(f"interface {human.safe(name)} of vblade is in another network namespace", name)
            continue
        yield _target(window, nic, exports, limits)
        yield from (_shifted(window, nic, export, limits) for export in exports if begins_within(export))
    if any(window.get(Interface, name) is None for name in groups):
        return  # vblade on an unseen interface has a socket as well
    indexes = {nic.ifindex for nic in (window.get(Interface, name) for name in groups) if nic is not None}
    if any(row.ifindex not in indexes for row in window.rows(AoeSocket).values()):
        yield Unchecked("AoE socket without a visible vblade process")


def _target(window: Window, nic: Interface, exports: Sequence[AoeExport], limits: Limits) -> Verdict:
    served = look(window, nic, exports, limits)
    sizes, carried, block = served.sizes, served.carried, served.block
    if carried % block or served.frame is not None:
        return _misserved(window, served, limits)
    shifted = any(begins_within(export, block) for export in exports)
    if sizes is not None and not sizes.lately and sizes.small > limits["disagree"] and not shifted:
        return Unchecked(
            f"MTU {nic.mtu} is right, {human.percent(sizes.small)}% of requests were partial; needs a second sample",
            nic.interface,
        )
    also = f"; {human.percent(1 - sizes.small)}% of requests arrive as whole blocks" if sizes is not None else ""
    return RuledOut(nic.interface, f"MTU {nic.mtu}: frames carry {carried} bytes, whole blocks of {block}{also}")


def _misserved(window: Window, served: TargetAnalysis, limits: Limits) -> Finding:
    nic, sizes, past = served.nic, served.sizes, served.past
    misaligned = served.carried % served.block != 0
    better = proposal(window, [nic.interface], served.block)
    severity = Severity.WARNING
    if (served.small is not None and served.small < limits["small"]) or not served.direct:
        severity = Severity.INFO
    elif served.bypass > limits["most"] and served.frame is None:
        severity = Severity.CRITICAL
    # Unverified MTUs and request sizes elsewhere do not explain other findings.
    explained = () if served.frame is not None else past
    return Finding(
        severity=severity,
        subject=nic.interface,
        title=_title(nic.mtu, served.carried, served.block) if misaligned else "REQUESTS ARRIVE SPLIT: cause unclear",
        cause=cause_text(served),
        impact=impact_text(served),
        values=(
            Value("mtu", "MTU of the interface", nic.mtu),
            *_values(served.carried, better if misaligned else None, None, limits, served.block),
            *_seen_values(served, limits),
        ),
        evidence=cites(
            window.cite(nic, "mtu"),
            window.cite(served.exports[0]),
            window.cite(sizes.row) if sizes is not None else None,
            *(window.cite(caching.cache, "bypassed_writes") for caching, _ in past),
        ),
        advice=(
            *(mtu_advice([nic], [nic.interface], better, "initiators", served.block) if misaligned else ()),
            *(asks(served) if served.frame is not None else _discovered(served.block)),
        ),
        refuted_by=f"a payload on an initiator (aoe-stat) that is a multiple of {served.block}",
        view_subject=worst[0].cache.cache if (worst := worst_of(served)) is not None else nic.interface,
        view="caches" if worst is not None else "",
        confidence=0.5 if served.frame is not None else None,
        explains=tuple(
            f"{rule}:{c.cache.cache}" for c, _ in explained for rule in ("cache-bypassed", "cache-sub-block-io")
        ),
        totals=any(course.seconds is None for _, course in past),
    )


def _discovered(block: int) -> tuple[ShellCommand, ...]:
    return (
        run("aoe-discover", note="on the initiators, which then determine the payload again"),
        run("aoe-stat", note=f"on the initiators: a payload that is a multiple of {block} is right"),
    )


def _shifted(window: Window, nic: Interface | None, export: AoeExport, limits: Limits) -> Finding:
    """Judge an export that starts within a block, so that all its requests are shifted."""
    courses = [(c, course) for c in caches_below(window, [export]) if (course := c.judged(limits["requests"]))]
    past = [(c, course) for c, course in courses if (c.bypass_share(course) or 0.0) > limits["bypass"]]
    worst = max((c.bypass_share(course) or 0.0 for c, course in past), default=0.0)
    severity = Severity.CRITICAL if worst > limits["most"] and export.direct else Severity.WARNING
    offset = export.offset or 0
    after = (BLOCK - offset % BLOCK) // SECTOR
    shares = [
        f"{human.percent(c.bypass_share(course))}% of {c.what} bypass cache {human.safe(c.cache.cache)}."
        for c, course in past
    ]
    return Finding(
        severity=severity if export.direct else Severity.INFO,
        subject=f"e{export.shelf}.{export.slot}",
        title="EXPORT OFFSET SPLITS BLOCKS",
        cause=f"vblade -o {offset // SECTOR} starts {offset % BLOCK} bytes into a block of {BLOCK}.",
        impact=shares[0] if shares else "No request is of whole blocks, whatever the MTU.",
        values=(
            Value("device", "exported device", export.device),
            Value("offset", "offset of the export", offset, "bytes"),
            Value("into", "offset within a block", offset % BLOCK, "bytes"),
            *(_past_value(c, course, limits) for c, course in past),
        ),
        evidence=cites(
            window.cite(export, "offset"),
            window.cite(nic, "mtu") if nic is not None else None,
            *(window.cite(c.cache, "bypassed_writes") for c, _ in past),
        ),
        advice=(
            f"Use vblade -o {-(-offset // BLOCK) * BLOCK // SECTOR}: block-aligned, but it shifts data of clients.",
            f"Or let partitions of the clients begin {after} sectors after a multiple of 8.",
            run("parted", "DEVICE", "unit", "s", "print", note="partitions on a client"),
        ),
        refuted_by="requests of whole blocks at the exported device",
        harmless_if=f"partitions of the clients begin {after} sectors after a multiple of 8",
        view="caches" if past else "",
        view_subject=past[0][0].cache.cache if past else "",
        explains=tuple(f"{rule}:{c.cache.cache}" for c, _ in past for rule in ("cache-bypassed", "cache-sub-block-io"))
        if export.direct
        else (),
        totals=any(course.seconds is None for _, course in past),
    )


def _seen_values(served: TargetAnalysis, limits: Limits) -> Iterator[Value]:
    if served.sizes is not None:
        small = served.sizes.small
        yield Value("small", "partial blocks among requests", small, "ratio", above=limits["small"])
        cut = served.sizes.pieces(served.block) if served.sizes.lately else None
        if cut is not None:
            yield Value("pieces", "partial blocks per second", cut[0], "per_second")
            yield Value("pieces_bytes", "data rate of partial blocks", cut[1], "bytes_per_second")
    for caching, course in served.past:
        yield _past_value(caching, course, limits)
        now, could = course.read_hits, course.hit_share("read")
        if now is not None and could is not None:
            name = caching.cache.cache
            yield Value(f"read_hits_{name}", f"reads that {name} answers", now, "ratio", thing=name)
            yield Value(
                f"cacheable_read_hits_{name}", f"cacheable reads that {name} answers", could, "ratio", thing=name
            )
        for way in ("read", "write"):
            spared = course.spared(way)
            if spared is not None:
                title = f"{way}s that {caching.cache.cache} would hit if whole"
                yield Value(
                    f"spared_{way}s_{caching.cache.cache}", title, spared, "per_second", thing=caching.cache.cache
                )


def _past_value(caching: CacheAnalysis, course: CacheSteps, limits: Limits) -> Value:
    name, share = caching.cache.cache, caching.bypass_share(course)
    return Value(f"bypass_share_{name}", f"bypass of cache {name}", share, "ratio", above=limits["bypass"], thing=name)


def _values(
    carried: int, better: MtuProposal | None, lost: float | None, limits: Limits, block: int = BLOCK
) -> Iterator[Value]:
    yield Value("payload", "data in a frame", carried)
    if better is not None:
        yield Value("mtu_from", "smallest MTU that fits", better.low)
        yield Value("mtu_to", "largest MTU that fits", better.high)
    if lost is not None:
        yield Value("lost", "bytes that arrive as partial blocks", lost, "ratio", above=limits["lost"])
    for size in SIZES if carried >= block else ():  # smaller frames leave no request whole
        share = 1 - whole_share(carried, size, block)
        yield Value(f"split_{size}", f"split part of a {human.quantity(size, 'bytes')} request", share, "ratio")


def _now(seen: RequestMix | None, lost: float | None) -> str:
    """Return the cost as text: the share of requested bytes affected, and the rate."""
    if seen is None or lost is None:
        return ""
    mean = " (by mean size)" if seen.mean else ""
    flow = seen.bytes_per_second
    rate = f", {human.quantity(lost * flow, 'bytes_per_second')}," if flow and lost else ""
    return f"{human.percent(lost)}% of the bytes{rate} arrive split{mean}."


MTU_MISALIGNED = Rule(
    "mtu-misaligned",
    "AoE frames that carry no whole number of blocks, so requests are split",
    Severity.CRITICAL,
    _check,
    (AoeTarget, AoeExport, AoeSocket, AoePort),
    (
        Threshold("lost", 0.05, "split share of bytes below which the finding is informational", "ratio"),
        Threshold("small", 0.05, "share of partial blocks at the target below which it is informational", "ratio"),
        Threshold("disagree", 0.5, "share of partial blocks that overrides the calculation by the MTU", "ratio"),
        Threshold("bypass", 0.2, "cache bypass share that is attributed to this cause", "ratio"),
        Threshold("most", 0.5, "bypass share above which the finding is critical", "ratio"),
        Threshold("requests", 500.0, "minimum requests per minute to judge a cache"),
    ),
    either=3,
    covers=(Covers(AoeTarget, "{interfaces|device}", _has_payload), Covers(AoeExport, "{interface}")),
    view="network",
    advice="Check that the cards and the switch support the MTU named on the node.",
)
