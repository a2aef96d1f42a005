"""Limits of the kernel that are used up: then some program fails, not always the one that used them up."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from sdstop.collectors.system.readings import KernelLimit
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold


class _Known(Struct, frozen=True):
    """A limit: its name in a title and in a sentence, the effect of reaching it, the setting, and a command."""

    title: str
    name: str
    impact: str
    setting: str
    show: tuple[str, ...]


_LIMITS = {
    "files": _Known("OPEN FILES", "open files", "Programs fail with ENFILE: too many open files in system.",
                    "fs.file-max", ("lsof", "-n")),
    "aio": _Known("AIO REQUESTS", "asynchronous requests", "io_setup fails: databases and QEMU do not start.",
                  "fs.aio-max-nr", ("sysctl", "fs.aio-nr")),
    "threads": _Known("THREADS", "threads", "No program can start, and no thread: fork fails with EAGAIN.",
                      "kernel.threads-max", ("ps", "-eo", "nlwp,pid,comm", "--sort=-nlwp")),
    "connections": _Known("CONNECTIONS", "tracked connections", "Packets of new connections are dropped.",
                          "net.netfilter.nf_conntrack_max", ("conntrack", "-S")),
    "neighbors": _Known("NEIGHBORS", "neighbors", "Packets to nodes that are not listed yet are dropped.",
                        "net.ipv4.neigh.default.gc_thresh3", ("ip", "-s", "neigh")),
}  # fmt: skip
_ENDLESS = 1 << 60
"""Larger limits are none: systemd sets that of files to the largest number."""
_RESERVED = frozenset({"aio"})
"""Limits that programs reserve from, some of them all of it: nearly full is as intended."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    for row in window.rows(KernelLimit).values():
        known, share = _LIMITS.get(row.name), row.used / row.most
        if known is None:
            yield Unchecked("limit unknown to the rule", row.name)
        elif share >= limits["reached"] or (share >= limits["near"] and row.name not in _RESERVED):
            yield _finding(window, row, known, share, limits)
        else:
            limit = "in use, without a limit" if row.most >= _ENDLESS else f"of {human.number(row.most)} in use"
            yield RuledOut(row.name, f"{human.number(row.used)} {limit}")


def _finding(window: Window, row: KernelLimit, known: _Known, share: float, limits: Limits) -> Finding:
    reached = share >= limits["reached"]
    return Finding(
        severity=Severity.CRITICAL if reached else Severity.WARNING,
        subject=row.name,
        title=f"{known.title} {'AT THE LIMIT' if reached else 'NEAR THE LIMIT'}: {human.percent(share)}%",
        cause=f"{human.number(row.used)} {known.name} of at most {human.number(row.most)}.",
        impact=known.impact if reached else f"At the limit: {known.impact[0].lower()}{known.impact[1:]}",
        values=(
            Value("share", "share in use", share, "ratio", above=limits["near"]),
            Value("used", "in use", row.used),
            Value("most", "limit", row.most),
        ),
        evidence=cites(window.cite(row)),
        advice=(
            "Find the program that uses them up before you raise the limit.",
            run(*known.show),
            run("sysctl", known.setting, note="the limit"),
        ),
        refuted_by=f"a far smaller number of {known.name}",
    )


KERNEL_LIMIT_REACHED = Rule(
    "kernel-limit-reached",
    "limits of the kernel that are used up: open files, AIO, threads, connections, neighbors",
    Severity.CRITICAL,
    _check,
    (KernelLimit,),
    (
        Threshold("near", 0.9, "share in use, warning", "ratio"),
        Threshold("reached", 0.98, "share in use, critical", "ratio"),
    ),
    covers=(Covers(KernelLimit),),
    damage=Damage.AVAILABILITY,
    view="host",
    advice="Find the program that uses them up before you raise the limit.",
)
