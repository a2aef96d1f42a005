"""Destinations with a smaller path MTU than the interface towards them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from sdstop.collectors.network.interfaces import Interface
from sdstop.collectors.network.paths import PathMtu, Tcp
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Limits,
    Rule,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
)
from sdstop.core.history import Window
from sdstop.core.shell import operand, quoted


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    smaller: dict[str, list[PathMtu]] = {}
    for path in window.rows(PathMtu).values():
        if path.interface is not None and path.interface_mtu is not None and path.mtu < path.interface_mtu:
            smaller.setdefault(path.interface, []).append(path)
    for interface in sorted(smaller):
        yield _shrunk(window, interface, smaller[interface], limits)
    lost = _probes_lost(window)
    if lost is not None and lost >= limits["probes"] and not smaller:
        yield _probing(window, lost, limits)
    rest = {path.interface for path in window.rows(PathMtu).values() if path.interface is not None} - smaller.keys()
    yield from passed(sorted(rest), f"{len(window.rows(PathMtu))} learnt, none below the MTU of its interface")
    if not window.rows(PathMtu):
        yield Unchecked("no path MTU learned", calm=True)


def _shrunk(window: Window, interface: str, paths: Sequence[PathMtu], limits: Limits) -> Finding:
    paths = sorted(paths, key=lambda path: (path.mtu, path.destination))
    worst, full = paths[0], paths[0].interface_mtu or 0
    near = [path for path in paths if _nearby(path.destination)]
    matter = [path for path in near if path.mtu <= full * (1 - limits["loss"])]
    if matter:
        worst = matter[0]
    shown = ", ".join(path.destination for path in (matter or paths)[:3])
    more = len(matter or paths) - 3
    lost = _probes_lost(window)
    return Finding(
        severity=Severity.WARNING if matter else Severity.INFO,
        subject=interface,
        cause=f"packets to {shown}{f' and {more} more' if more > 0 else ''} must not exceed {worst.mtu} bytes, "
        f"{interface} sends up to {full}",
        values=(
            Value("mtu", "learnt path MTU", worst.mtu, "", above=full * (1 - limits["loss"])),
            Value("interface_mtu", f"MTU of {interface}", full),
            Value("destinations", "destinations", len(paths)),
            Value("private", "of them in private networks", len(near)),
            Value("probes", "large TCP probes lost meanwhile", lost),
            Value("expires", "forgotten in", worst.expires, "seconds"),
        ),
        evidence=cites(
            *(window.cite(path) for path in (matter or paths)[:2]),
            window.cite(worst, "interface_mtu"),
        ),
        advice=tuple(_advice(worst, interface, full, matters=bool(matter))),
        refuted_by=(
            f"ip route get {quoted(worst.destination)} without `mtu` after ten minutes of traffic: then it was a "
            "passing "
            "detour"
        ),
    )


def _advice(worst: PathMtu, interface: str, full: int, *, matters: bool) -> Iterator[str]:
    six = ":" in worst.destination
    size = full - (48 if six else 28)
    ping = f"ping {'-6 ' if six else ''}-M do -c 3 -s {size} {operand(worst.destination)}"
    if not matters:
        yield "nothing to do if this is the way to the internet or through a tunnel: those are smaller"
    yield f"{ping}   # who answers 'Frag needed', or nothing at all?"
    yield (
        f"tracepath {'-6 ' if six else ''}-n {operand(worst.destination)}"
        "   # the hop behind which the packets get smaller"
    )
    yield (
        f"then raise the MTU there (router, switch, peer), or lower it here to what passes: "
        f"ip link set dev {quoted(interface)} mtu {worst.mtu}"
    )


def _nearby(destination: str) -> bool:
    """Return whether an address is private, as those of storage peers are, where a small MTU is a misconfiguration."""
    try:
        address = ipaddress.ip_address(destination.partition("/")[0])
    except ValueError:
        return False
    return address.is_private


def _probes_lost(window: Window) -> int | None:
    """Return how many of TCP's large probes were lost in this window, None if unknown."""
    moments = window.moments(Tcp)
    if len(moments) < 2:
        return None
    counts = [row.mtu_probe_failures for moment in (moments[0], moments[-1]) for row in moment.rows.values()]
    first, last = (counts[0], counts[-1]) if len(counts) == 2 else (None, None)
    return last - first if first is not None and last is not None and last >= first else None


def _probing(window: Window, lost: int, limits: Limits) -> Finding:
    row = next(iter(window.rows(Tcp).values()))
    return Finding(
        severity=Severity.INFO,
        subject="tcp",
        cause=(
            f"TCP lost {lost} probes of larger packets in {human.duration(window.seconds)} and no path MTU was learnt: "
            "some path may swallow large packets without a word"
        ),
        values=(Value("probes", "large TCP probes lost", lost, "", above=limits["probes"]),),
        evidence=cites(window.cite(row, "mtu_probe_failures")),
        advice=(
            "ss -tino state established   # connections whose pmtu or mss is small against their advmss",
            "cat /proc/sys/net/ipv4/tcp_mtu_probing   # 2 probes always, and then loses some by design",
        ),
        refuted_by="tcp_mtu_probing at 2 and probes that arrive as well: then this is how it finds the size",
        confidence=0.5,
    )


PATH_MTU_SHRUNK = Rule(
    "path-mtu-shrunk",
    "the kernel learnt that a path takes smaller packets than its interface sends",
    Severity.WARNING,
    _check,
    (Interface, PathMtu),
    (
        Threshold("loss", 0.1, "how much smaller, towards a private network, is worth a warning", "ratio"),
        Threshold("probes", 3.0, "lost probes of TCP in a window that are worth a word"),
    ),
    covers=(Covers(PathMtu, "{interface}"),),
)
