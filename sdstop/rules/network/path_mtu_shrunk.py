"""Destinations with a smaller path MTU than the interface towards them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from sdstop.collectors.network.path_readings import PathMtu, Tcp
from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import Finding, Severity, Unchecked, Value, Verdict, cites, passed
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold


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
    count = len(matter or paths)
    first = worst.destination if len(worst.destination) <= _SHORT else "an IPv6 destination"
    return Finding(
        severity=Severity.WARNING if matter else Severity.INFO,
        subject=interface,
        title=f"PATH MTU {worst.mtu}, INTERFACE {full}",
        cause=f"The path to {first} takes {worst.mtu} bytes, {interface} sends up to {full}.",
        impact=f"Packets to {human.plural(count, 'destination')} are smaller; some can be lost.",
        values=(
            Value("mtu", "learnt path MTU", worst.mtu, "", below=full * (1 - limits["loss"])),
            Value("interface_mtu", f"MTU of {interface}", full),
            Value("destinations", "destinations", len(paths)),
            Value("private", "destinations in private networks", len(near), "", of=len(paths)),
            Value("named", "smallest paths", f"{shown}{f' and {more} more' if more > 0 else ''}"),
            Value("probes", "large TCP probes lost", lost),
            Value("expires", "expires in", worst.expires, "seconds"),
        ),
        evidence=cites(
            *(window.cite(path) for path in (matter or paths)[:2]),
            window.cite(worst, "interface_mtu"),
        ),
        advice=tuple(_advice(worst, interface, full, matters=bool(matter))),
        refuted_by="ip route get without `mtu` for the destination after ten minutes of traffic",
        harmless_if="" if matter else "this is the way to the Internet or through a tunnel, whose MTU is smaller",
    )


_SHORT = len("255.255.255.255")


def _advice(worst: PathMtu, interface: str, full: int, *, matters: bool) -> Iterator[Advice]:
    six = ("-6",) if ":" in worst.destination else ()
    size = full - (48 if six else 28)
    if not matters:
        yield "Ignore this for routes to the Internet or through a tunnel."
    hop = "the hop that lowers the MTU"
    yield run("tracepath", *six, "-n", *operands(worst.destination), note=hop)
    ping = ("ping", *six, "-M", "do", "-c", "3", "-s", str(size), *operands(worst.destination))
    yield run(*ping, note='"Frag needed" names the hop; silence is a dropped message')
    yield "Raise the MTU on that hop (router, switch, peer), or lower it here."
    yield run("ip", "link", "set", "dev", interface, "mtu", str(worst.mtu), note="lowers it here")


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
        title="LARGE PACKETS LOST, PATH UNKNOWN",
        cause=f"TCP lost {lost} MTU probes in {human.duration(window.seconds)}; no path MTU was learnt.",
        impact="A path can drop large packets silently, and connections stall.",
        values=(Value("probes", "large TCP probes lost", lost, "", above=limits["probes"]),),
        evidence=cites(window.cite(row, "mtu_probe_failures")),
        advice=(
            run("ss", "-tino", "state", "established", note="pmtu or mss far below advmss"),
            run("cat", "/proc/sys/net/ipv4/tcp_mtu_probing", note="2: probes always, loses some by design"),
        ),
        refuted_by="a path on which packets of the interface's MTU arrive",
        harmless_if="tcp_mtu_probing is 2: TCP then finds the size by losing probes",
        confidence=0.5,
    )


PATH_MTU_SHRUNK = Rule(
    "path-mtu-shrunk",
    "path MTU learnt by the kernel below the interface MTU",
    Severity.WARNING,
    _check,
    (Interface, PathMtu),
    (
        Threshold("loss", 0.1, "relative shortfall towards a private network that is a warning", "ratio"),
        Threshold("probes", 3.0, "minimum lost TCP MTU probes per window"),
    ),
    covers=(Covers(PathMtu, "{interface}"),),
    view="network",
    advice="Raise the MTU on that hop (router, switch, peer), or lower it here.",
)
