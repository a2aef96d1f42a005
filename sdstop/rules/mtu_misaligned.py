"""Frames of AoE that carry no whole number of blocks: most requests arrive at the target in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sdstop import format as human
from sdstop.aoe import AoeExport, AoeTarget, payload, whole_share
from sdstop.caching import Caching, Course
from sdstop.collectors.aoe import AoePort, AoeSocket
from sdstop.collectors.network import Interface
from sdstop.finding import Finding, Limits, Rule, RuledOut, Severity, Threshold, Unchecked, Value, Verdict, cites
from sdstop.framing import Arrived, Asked, arrived, asked, below, caches_below
from sdstop.history import Window
from sdstop.jumbo import BLOCK, SIZES, Proposal, commands, harm, mend, mtus_of, named, other_end, proposal

_ID = "mtu-misaligned"


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
    """Return one finding of an interface through which disks are reached and others served: the MTU mends both."""
    first, second = sorted((one, other), key=lambda finding: -finding.severity.rank)
    return replace(
        first,
        summary=f"{first.summary}. Also: {second.summary}",
        evidence=cites(*first.evidence, *second.evidence),
        explains=tuple(dict.fromkeys((*first.explains, *second.explains))),
    )


def _reached(window: Window, limits: Limits) -> Iterator[Verdict]:
    """Judge the disks that this node reaches, by what the kernel found out that a frame carries."""
    groups: dict[str, list[AoeTarget]] = {}
    for row in sorted(window.rows(AoeTarget).values(), key=lambda row: row.device):
        if row.state is not None and not row.state.startswith("up"):
            yield Unchecked(_ID, f"it is {human.safe(row.state)}: what its frames carry means nothing", row.device)
        elif not row.payload:
            yield Unchecked(_ID, "the kernel does not say what its frames carry (payload)", row.device)
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
                _ID,
                f"{subject}/{good[0].device}" if bad else subject,
                f"frames of {named([row.device for row in good])} carry {carried} bytes: whole blocks of {BLOCK}",
            )


def _split(window: Window, subject: str, rows: Sequence[AoeTarget], limits: Limits) -> Finding:
    carried = min({row.payload or 0 for row in rows}, key=lambda carried: (whole_share(carried, SIZES[-1]), carried))
    row = next(row for row in rows if row.payload == carried)
    names = row.interfaces.split(",") if row.interfaces else []
    nics = [nic for nic in (window.get(Interface, name) for name in names) if nic is not None]
    seen = asked(window, [row.device for row in rows])
    lost = seen.lost(carried) if seen is not None else None
    harmless = lost is not None and lost < limits["lost"]
    better = proposal(window, names)
    return Finding(
        _ID,
        Severity.INFO if harmless else Severity.WARNING,
        subject,
        f"frames of {named([r.device for r in rows])} carry {carried} bytes, no multiple of {BLOCK}: {mend(better)}. "
        f"{_why(nics, carried)}{harm(carried)}{_now(seen, lost)}",
        tuple(_values(carried, better, lost, limits)),
        cites(
            window.cite(row, "payload"),
            *(window.cite(nic, "mtu") for nic in nics),
            window.cite(seen.row) if seen is not None else None,
        ),
        (
            *commands(nics, names, better),
            *other_end(better, "target"),
            "aoe-discover; cat /sys/block/etherd*/payload   # asks the targets anew: a multiple of 4096 now?",
        ),
        "a target that does not mind pieces of blocks: no cache, parity or 4096-byte sectors there",
    )


def _why(nics: Sequence[Interface], carried: int) -> str:
    """Explain what was measured by the smallest MTU here."""
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
    """Judge what vblade serves, by the MTU of its interface and the sizes of requests that arrive."""
    groups: dict[str, list[AoeExport]] = {}
    for row in sorted(window.rows(AoeExport).values(), key=lambda row: (row.shelf, row.slot)):
        groups.setdefault(row.interface, []).append(row)
    for name, exports in groups.items():
        nic = window.get(Interface, name)
        if nic is None or nic.mtu is None:
            yield Unchecked(
                _ID, f"vblade serves on {human.safe(name)}, whose MTU cannot be seen in this network namespace", name
            )
            continue
        yield _target(window, nic, exports, limits)
    if any(window.get(Interface, name) is None for name in groups):
        return  # it has a socket, too
    indexes = {nic.ifindex for nic in (window.get(Interface, name) for name in groups) if nic is not None}
    if any(row.ifindex not in indexes for row in window.rows(AoeSocket).values()):
        yield Unchecked(_ID, "a process has a socket for AoE, and no vblade is seen that it could belong to")


@dataclass(frozen=True, slots=True)
class _Served:
    """What is served on an interface: what its MTU makes frames carry, and what is seen of them.

    `frame` is what they seem to carry, where requests contradict the MTU.
    """

    nic: Interface
    exports: Sequence[AoeExport]
    block: int
    carried: int
    sizes: Arrived | None
    frame: int | None
    bypassed: Sequence[tuple[Caching, Course]]

    @property
    def harmless(self) -> float | None:
        """The share of requests that are no whole blocks, if it is known of now."""
        return self.sizes.small if self.sizes is not None and self.sizes.lately else None


def _target(window: Window, nic: Interface, exports: Sequence[AoeExport], limits: Limits) -> Verdict:
    served = _look(window, nic, exports, limits)
    sizes, carried, block = served.sizes, served.carried, served.block
    if carried % block or served.frame is not None:
        return _misserved(window, served, limits)
    if sizes is not None and not sizes.lately and sizes.small > limits["disagree"]:
        return Unchecked(
            _ID,
            f"MTU {nic.mtu} would be right, but {human.percent(sizes.small)} % of the requests since the counting "
            "began were no whole blocks: whether they still are takes a second reading",
            nic.interface,
        )
    also = f"; {human.percent(1 - sizes.small)} % of requests arrive in whole blocks" if sizes is not None else ""
    return RuledOut(_ID, nic.interface, f"MTU {nic.mtu}: frames carry {carried} bytes, whole blocks of {block}{also}")


def _look(window: Window, nic: Interface, exports: Sequence[AoeExport], limits: Limits) -> _Served:
    direct = [export for export in exports if export.direct]
    caches = caches_below(window, direct)
    judged = [(caching, caching.judged(limits["requests"])) for caching in caches]
    courses = [(caching, course) for caching, course in judged if course is not None]
    block = max([BLOCK, *(caching.cache.block_size or 0 for caching in caches)])
    devices = [d for e in direct if e.kernel is not None for d in below(window, e.kernel)]
    sizes = arrived(window, devices, courses)
    carried = payload(nic.mtu or 0)
    frame = sizes.frame(carried, block, limits["disagree"]) if sizes is not None else None
    # Seen to be small, or too small by what frames can carry: no other reason to go past is this one's matter.
    cut = (frame or carried) < block if sizes is None else sizes.small > limits["bypass"]
    past = [(c, course) for c, course in courses if cut and (course.bypass_share or 0.0) > limits["bypass"]]
    return _Served(nic, exports, block, carried, sizes, frame, past)


def _misserved(window: Window, served: _Served, limits: Limits) -> Finding:
    nic, sizes, past = served.nic, served.sizes, served.bypassed
    carried = served.frame or served.carried
    better = proposal(window, [nic.interface], served.block)
    severity = Severity.WARNING
    if served.harmless is not None and served.harmless < limits["small"]:
        severity = Severity.INFO
    elif all(export.read_only and not export.direct for export in served.exports):
        severity = Severity.INFO  # the page cache reads whole blocks, and nobody writes
    elif any((course.bypass_share or 0.0) > limits["most"] for _, course in past):
        severity = Severity.CRITICAL
    what, why = _frames(served)
    return Finding(
        _ID,
        severity,
        nic.interface,
        f"{what}, no multiple of {served.block}: {mend(better)}. {'. '.join((why, *_harms(served)))}",
        (
            Value("mtu", "MTU of the interface", nic.mtu),
            *_values(carried, better, None, limits, served.block),
            *_seen_values(served, limits),
        ),
        cites(
            window.cite(nic, "mtu"),
            window.cite(served.exports[0]),
            window.cite(sizes.row) if sizes is not None else None,
            *(window.cite(caching.cache, "bypassed_writes") for caching, _ in past),
        ),
        (
            *commands([nic], [nic.interface], better),
            *other_end(better, "initiators"),
            "aoe-discover; cat /sys/block/etherd*/payload   # on an initiator: a multiple of 4096 now?",
            *_rival(served),
        ),
        "an initiator's payload (/sys/block/etherd!*/payload) that is a multiple of 4096",
        0.7 if served.frame is not None else None,
        tuple(f"{rule}:{c.cache.cache}" for c, _ in past for rule in ("cache-bypassed", "cache-sub-block-io")),
        any(course.seconds is None for _, course in past),
    )


def _frames(served: _Served) -> tuple[str, str]:
    """Return what frames carry, and why."""
    name, mtu = served.nic.interface, served.nic.mtu
    if served.frame is None:
        return f"frames of {name} carry {served.carried} bytes", f"That is what MTU {mtu} allows"
    low, high = mtus_of(served.frame)
    path = f"somebody on the path has {low}-{high}, or the clients' partitions are not aligned"
    return (
        f"requests arrive as if frames carried {served.frame} bytes",
        f"MTU {mtu} of {name} would allow {served.carried}: {path}",
    )


def _rival(served: _Served) -> Iterator[str]:
    """Yield what tells frames from requests that are no whole blocks before they are framed."""
    if served.frame is not None:
        yield "parted DEVICE unit s print   # if it is one already: do partitions begin at multiples of 8 sectors?"


def _harms(served: _Served) -> Iterator[str]:
    yield harm(served.frame or served.carried, served.block)
    if served.sizes is not None:
        yield f"Counted: {human.percent(served.sizes.small)} % of what arrives are no whole blocks"
    for caching, course in served.bypassed:
        yield (
            f"Cache {human.safe(caching.cache.cache)} takes whole blocks only: {human.percent(course.bypass_share)} % "
            f"of requests {course.when} went past it{f' to the disks: {course.promise}' if course.promise else ''}"
        )
    paged = [f"e{e.shelf}.{e.slot}" for e in served.exports if not e.direct and not e.read_only]
    if paged:
        yield (
            f"vblade of {named(paged)} goes through the page cache (no -d), which puts pieces together: partial writes "
            "cost a read first"
        )


def _seen_values(served: _Served, limits: Limits) -> Iterator[Value]:
    if served.sizes is not None:
        small = served.sizes.small
        yield Value("small", "requests that arrive as no whole blocks", small, "ratio", limits["small"])
    for caching, course in served.bypassed:
        yield Value(
            f"bypass_share_{caching.cache.cache}", f"went past cache {caching.cache.cache}", course.bypass_share,
            "ratio", limits["bypass"],
        )  # fmt: skip


def _values(
    carried: int, better: Proposal | None, lost: float | None, limits: Limits, block: int = BLOCK
) -> Iterator[Value]:
    yield Value("payload", "bytes of data in a frame", carried)
    if better is not None:
        yield Value("mtu_from", "MTU that is right, from", better.low)
        yield Value("mtu_to", "MTU that is right, to", better.high)
    if lost is not None:
        yield Value("lost", "bytes asked for that arrive in pieces of blocks", lost, "ratio", limits["lost"])
    for size in SIZES:
        share = 1 - whole_share(carried, size, block)
        yield Value(f"split_{size}", f"of a request of {human.quantity(size, 'bytes')}, in pieces", share, "ratio")


def _now(seen: Asked | None, lost: float | None) -> str:
    if seen is None or lost is None:
        return ""
    mean = ", by their mean size" if seen.mean else ""
    return f". Of what is asked for now it is {human.percent(lost)} % of the bytes{mean}"


MTU_MISALIGNED = Rule(
    _ID,
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
)
