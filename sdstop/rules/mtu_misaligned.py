"""AoE frames that do not carry a whole number of blocks, so that most requests reach the target split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sdstop.analysis.caching import CacheAnalysis, CacheSteps
from sdstop.analysis.framing import RequestMix, caches_below, initiator_sizes
from sdstop.analysis.jumbo import (
    BLOCK,
    SIZES,
    MtuProposal,
    commands,
    mtu_advice,
    mtus_of,
    named,
    other_end,
    proposal,
    split_effect,
)
from sdstop.analysis.serving import TargetAnalysis, ambiguity_text, asks, begins_within, cause_texts, impact_texts, look
from sdstop.collectors.aoe.readings import SECTOR, AoeExport, AoeTarget, payload, whole_share
from sdstop.collectors.aoe.targets import AoePort, AoeSocket
from sdstop.collectors.network.interfaces import Interface
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
)
from sdstop.core.history import Window


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
    return replace(
        first,
        cause=f"{first.cause}. Also: {second.cause}",
        evidence=cites(*first.evidence, *second.evidence),
        explains=tuple(dict.fromkeys((*first.explains, *second.explains))),
    )


def _reached(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge the disks that this node reaches, by the frame payload that the kernel determined."""
    groups: dict[str, list[AoeTarget]] = {}
    for row in sorted(window.rows(AoeTarget).values(), key=lambda row: row.device):
        if not _is_up(row):
            yield Unchecked(f"it is {human.safe(row.state)}: what its frames carry means nothing", row.device)
        elif not row.payload:
            yield Unchecked("the kernel does not say what its frames carry (payload)", row.device)
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
                f"frames of {named([row.device for row in good])} carry {carried} bytes: whole blocks of {BLOCK}",
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
        cause=(
            f"frames of {named([r.device for r in rows])} carry {carried} bytes, no multiple of {BLOCK}: "
            f"{mtu_advice(better)}. "
            f"{_why(nics, carried)}{split_effect(carried)}{_now(seen, lost)}"
        ),
        values=tuple(_values(carried, better, lost, limits)),
        evidence=cites(
            window.cite(row, "payload"),
            *(window.cite(nic, "mtu") for nic in nics),
            window.cite(seen.row) if seen is not None else None,
        ),
        advice=(
            *commands(nics, names, better),
            *other_end(better, "target"),
            "aoe-discover; cat /sys/block/etherd*/payload   # asks the targets anew: a multiple of 4096 now?",
        ),
        refuted_by="a target that does not mind pieces of blocks: no cache, parity or 4096-byte sectors there",
    )


def _why(nics: Sequence[Interface], carried: int) -> str:
    """Explain the measured payload by the smallest local MTU."""
    known = [(nic.mtu, nic.interface) for nic in nics if nic.mtu is not None]
    if not known:
        return ""
    mtu, name = min(known)
    gives = payload(mtu)
    if gives == carried:
        return f"That is what MTU {mtu} of {name} allows. "
    if gives > carried:
        low, high = mtus_of(carried)
        return f"MTU {mtu} of {name} would allow {gives}: it is the other end that has {low}-{high}. "
    return f"MTU {mtu} of {name} allows but {gives}: it was lowered since the target was asked. "


def _served(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge vblade's exports by the MTU of the interface, their start offset, and the received request sizes."""
    groups: dict[str, list[AoeExport]] = {}
    for row in sorted(window.rows(AoeExport).values(), key=lambda row: (row.shelf, row.slot)):
        groups.setdefault(row.interface, []).append(row)
    for name, exports in groups.items():
        nic = window.get(Interface, name)
        if nic is None or nic.mtu is None:
            yield Unchecked(
                f"vblade serves on {human.safe(name)}, whose MTU cannot be seen in this network namespace", name
            )
            continue
        yield _target(window, nic, exports, limits)
        yield from (_shifted(window, nic, export, limits) for export in exports if begins_within(export))
    if any(window.get(Interface, name) is None for name in groups):
        return  # vblade on an unseen interface has a socket as well
    indexes = {nic.ifindex for nic in (window.get(Interface, name) for name in groups) if nic is not None}
    if any(row.ifindex not in indexes for row in window.rows(AoeSocket).values()):
        yield Unchecked("a process has a socket for AoE, and no vblade is seen that it could belong to")


def _target(window: Window, nic: Interface, exports: Sequence[AoeExport], limits: Limits) -> Verdict:
    served = look(window, nic, exports, limits)
    sizes, carried, block = served.sizes, served.carried, served.block
    if carried % block or served.frame is not None:
        return _misserved(window, served, limits)
    shifted = any(begins_within(export, block) for export in exports)
    if sizes is not None and not sizes.lately and sizes.small > limits["disagree"] and not shifted:
        return Unchecked(
            f"MTU {nic.mtu} would be right, but {human.percent(sizes.small)} % of the requests since the counting "
            "began were no whole blocks: whether they still are takes a second reading",
            nic.interface,
        )
    also = f"; {human.percent(1 - sizes.small)} % of requests arrive in whole blocks" if sizes is not None else ""
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
        cause=". ".join(filter(None, (*cause_texts(served, better), ambiguity_text(served), *impact_texts(served)))),
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
            *(commands([nic], [nic.interface], better, served.block) if misaligned else ()),
            *(other_end(better, "initiators") if misaligned else ()),
            *(asks(served) if served.frame is not None else (_ASKED_ANEW.format(served.block),)),
        ),
        refuted_by=f"an initiator's payload (/sys/block/etherd!*/payload) that is a multiple of {served.block}",
        confidence=0.5 if served.frame is not None else None,
        explains=tuple(
            f"{rule}:{c.cache.cache}" for c, _ in explained for rule in ("cache-bypassed", "cache-sub-block-io")
        ),
        totals=any(course.seconds is None for _, course in past),
    )


_ASKED_ANEW = "aoe-discover; cat /sys/block/etherd*/payload   # on an initiator: a multiple of {} now?"


def _shifted(window: Window, nic: Interface | None, export: AoeExport, limits: Limits) -> Finding:
    """Judge an export that starts within a block, so that all its requests are shifted."""
    courses = [(c, course) for c in caches_below(window, [export]) if (course := c.judged(limits["requests"]))]
    past = [(c, course) for c, course in courses if (c.bypass_share(course) or 0.0) > limits["bypass"]]
    worst = max((c.bypass_share(course) or 0.0 for c, course in past), default=0.0)
    severity = Severity.CRITICAL if worst > limits["most"] and export.direct else Severity.WARNING
    offset = export.offset or 0
    after = (BLOCK - offset % BLOCK) // SECTOR
    shares = [
        f"{human.percent(c.bypass_share(course))} % of {c.what} {course.when} went past cache "
        f"{human.safe(c.cache.cache)}, which takes whole blocks only"
        for c, course in past
    ]
    return Finding(
        severity=severity if export.direct else Severity.INFO,
        subject=f"e{export.shelf}.{export.slot}",
        cause=(
            f"vblade serves {human.safe(export.device)} from byte {offset} on (-o {offset // SECTOR}), "
            f"{offset % BLOCK} "
            f"bytes into a block of {BLOCK}: no request can be of whole blocks of the device, whatever the MTU"
            f"{''.join(f'. {share}' for share in shares)}"
        ),
        values=(
            Value("offset", "bytes left out at the start", offset, "bytes"),
            Value("into", "of these, into a block", offset % BLOCK, "bytes"),
            *(_past_value(c, course, limits) for c, course in past),
        ),
        evidence=cites(
            window.cite(export, "offset"),
            window.cite(nic, "mtu") if nic is not None else None,
            *(window.cite(c.cache, "bypassed_writes") for c, _ in past),
        ),
        advice=(
            f"vblade -o {-(-offset // BLOCK) * BLOCK // SECTOR} ...   # whole blocks; but the data of clients move",
            f"parted DEVICE unit s print   # or, on the clients: partitions {after} sectors after a multiple of 8",
        ),
        refuted_by=(
            f"partitions of the clients that begin {after} sectors after a multiple of 8: both together make whole "
            "blocks"
        ),
        explains=tuple(f"{rule}:{c.cache.cache}" for c, _ in past for rule in ("cache-bypassed", "cache-sub-block-io"))
        if export.direct
        else (),
        totals=any(course.seconds is None for _, course in past),
    )


def _seen_values(served: TargetAnalysis, limits: Limits) -> Iterator[Value]:
    if served.sizes is not None:
        small = served.sizes.small
        yield Value("small", "requests that arrive as no whole blocks", small, "ratio", above=limits["small"])
        cut = served.sizes.pieces(served.block) if served.sizes.lately else None
        if cut is not None:
            yield Value("pieces", "of these, a second", cut[0], "per_second")
            yield Value("pieces_bytes", "their bytes", cut[1], "bytes_per_second")
    for caching, course in served.past:
        yield _past_value(caching, course, limits)
        for way in ("read", "write"):
            spared = course.spared(way)
            if spared is not None:
                title = f"{way}s that {caching.cache.cache} would answer"
                yield Value(f"spared_{way}s_{caching.cache.cache}", title, spared, "per_second")


def _past_value(caching: CacheAnalysis, course: CacheSteps, limits: Limits) -> Value:
    name, share = caching.cache.cache, caching.bypass_share(course)
    return Value(f"bypass_share_{name}", f"went past cache {name}", share, "ratio", above=limits["bypass"])


def _values(
    carried: int, better: MtuProposal | None, lost: float | None, limits: Limits, block: int = BLOCK
) -> Iterator[Value]:
    yield Value("payload", "bytes of data in a frame", carried)
    if better is not None:
        yield Value("mtu_from", "MTU that is right, from", better.low)
        yield Value("mtu_to", "MTU that is right, to", better.high)
    if lost is not None:
        yield Value("lost", "bytes asked for that arrive in pieces of blocks", lost, "ratio", above=limits["lost"])
    for size in SIZES if carried >= block else ():  # smaller frames leave no request whole
        share = 1 - whole_share(carried, size, block)
        yield Value(f"split_{size}", f"of a request of {human.quantity(size, 'bytes')}, in pieces", share, "ratio")


def _now(seen: RequestMix | None, lost: float | None) -> str:
    """Return the cost as text: the share of requested bytes affected, and the rate."""
    if seen is None or lost is None:
        return ""
    mean = ", by their mean size" if seen.mean else ""
    flow = seen.bytes_per_second
    rate = f", {human.quantity(lost * flow, 'bytes_per_second')}" if flow and lost else ""
    return f". Of what is asked for now it is {human.percent(lost)} % of the bytes{rate}{mean}"


MTU_MISALIGNED = Rule(
    "mtu-misaligned",
    "frames of ATA over Ethernet carry no whole number of blocks, so requests arrive in pieces",
    Severity.CRITICAL,
    _check,
    (AoeTarget, AoeExport, AoeSocket, AoePort),
    (
        Threshold("lost", 0.05, "share of bytes asked for that arrive in pieces, below which it is only told", "ratio"),
        Threshold("small", 0.05, "the same at the target: share of requests that are no whole blocks", "ratio"),
        Threshold("disagree", 0.5, "share of requests, no whole blocks, that is believed more than the MTU", "ratio"),
        Threshold("bypass", 0.2, "share of requests past a cache from which on it is the same story", "ratio"),
        Threshold("most", 0.5, "share past a cache from which on it is critical", "ratio"),
        Threshold("requests", 500.0, "requests in a minute that it takes to judge a cache"),
    ),
    either=3,
    covers=(Covers(AoeTarget, "{interfaces|device}", _has_payload), Covers(AoeExport, "{interface}")),
)
