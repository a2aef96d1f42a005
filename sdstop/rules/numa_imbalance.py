"""Memory away from its users: NUMA nodes without memory, full nodes, and remote pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.fabric.numa import NumaActivity, NumaNode
from sdstop.core import format as human
from sdstop.core.finding import (
    Covers,
    Finding,
    Gap,
    Limits,
    Rule,
    RuledOut,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
    unchecked,
)
from sdstop.core.history import Window

_ID = "numa-imbalance"
_SUBJECT = "memory"


def _check(window: Window, limits: Limits) -> Iterable[Verdict]:
    """Judge each run once: nothing changes between runs."""
    return window.of_run(NumaNode, (_ID, *limits.values()), lambda: list(_said(window, limits)))


def _said(window: Window, limits: Limits) -> Iterator[Verdict]:
    nodes = sorted(window.rows(NumaNode).values(), key=lambda row: row.number)
    # A node without CPUs is another type of memory (CXL, HBM), which is not expected to have the same size.
    working = [row for row in nodes if row.cpus]
    if len(working) < 2:
        yield from unchecked((_SUBJECT, *(row.node for row in nodes)), "not applicable: 1 node with CPUs", calm=True)
        return
    unknown = [row.node for row in working if row.memory is None]
    if unknown:
        yield Unchecked(f"the memory of {', '.join(unknown)} is not known", _SUBJECT)
    else:
        yield _memory(window, working, limits)
    for row in nodes:
        yield _pages(window, row, limits)


def _memory(window: Window, nodes: list[NumaNode], limits: Limits) -> Verdict:
    sizes = {row.node: row.memory or 0 for row in nodes}
    spread = ", ".join(f"{name}: {human.quantity(size, 'bytes')}" for name, size in sizes.items())
    bare = [row for row in nodes if not row.memory]
    most, least = max(sizes.values()), min(sizes.values())
    values = (
        Value("times", "the largest of the nodes, times the smallest", most / least if least else None, "ratio",
              above=limits["times"]),
        *(Value(name, f"memory of {name}", size, "bytes") for name, size in sizes.items()),
    )  # fmt: skip
    shown = cites(*(window.cite(row, "memory") for row in nodes[:8]))
    if bare and most:
        names = ", ".join(row.node for row in bare)
        return Finding(
            severity=Severity.WARNING,
            subject=_SUBJECT,
            cause=(
                f"{names} has CPUs and no memory: all that its CPUs read and write comes from another node ({spread})"
            ),
            values=values,
            evidence=shown,
            advice=(
                "put modules into the slots of that processor: the board's manual says which come first",
                f"until then: numactl --cpunodebind={next(row.number for row in nodes if row.memory)} COMMAND",
            ),
            refuted_by="memory of that node that was taken offline, or is reserved: dmesg | grep -i 'node .* memory'",
        )
    if least and most / least > limits["times"]:
        return Finding(
            severity=Severity.INFO,
            subject=_SUBJECT,
            cause=f"nodes have unequal memory ({spread}): the smaller ones fill first, and then take from far away",
            values=values,
            evidence=shown,
            advice=(
                "equal modules at every processor; a cache that fills memory (page cache, ARC) notices it first",
                "numastat -m   # how full each node is",
            ),
            refuted_by="a machine whose load runs on the CPUs of the larger nodes alone",
        )
    return RuledOut(_SUBJECT, f"{len(nodes)} nodes with about as much memory ({spread})")


def _pages(window: Window, row: NumaNode, limits: Limits) -> Verdict:
    moments = window.moments(NumaActivity)[-int(limits["readings"]) :]
    known = [found for moment in moments if (found := moment.rows.get(row.node)) is not None]
    if len(known) < limits["readings"]:
        return Unchecked(f"needs {limits['readings']:g} readings of its pages", row.node, gap=Gap.EARLY)
    foreign = min((found.foreign_per_second or 0.0) for found in known)
    pages = min(found.pages_per_second for found in known)
    # Pages requested from this node: those allocated here as intended, and those allocated elsewhere.
    wanted = [found.pages_per_second - (found.missed_per_second or 0.0) + (found.foreign_per_second or 0.0)
              for found in known]  # fmt: skip
    shares = [(found.foreign_per_second or 0.0) / want if want > 0 else 0.0
              for found, want in zip(known, wanted, strict=True)]  # fmt: skip
    remote = min((found.remote or 0.0) for found in known)
    if foreign >= limits["pages"] and min(shares) >= limits["foreign"]:
        return _full(window, row, foreign, min(shares), limits)
    if pages >= limits["pages"] and remote >= limits["remote"]:
        return _far(window, row, pages, remote, limits)
    most = max(found.pages_per_second for found in known)
    return RuledOut(
        row.node,
        f"{human.percent(max((found.remote or 0.0) for found in known))} % or less of {human.number(most, 0)} pages/s "
        f"went to tasks of other nodes, {human.number(max((f.foreign_per_second or 0.0) for f in known), 0)} pages/s "
        "that belong here were got elsewhere",
    )


def _full(window: Window, row: NumaNode, foreign: float, share: float, limits: Limits) -> Finding:
    free = (
        f"; {human.quantity(row.free, 'bytes')} of {human.quantity(row.memory, 'bytes')} are free"
        if row.free is not None
        else ""
    )
    return Finding(
        severity=Severity.WARNING,
        subject=row.node,
        cause=f"it is full: {human.percent(share)} % of the pages wanted of it come from other nodes, "
        f"{human.number(foreign, 0)} a second{free}",
        values=(
            Value("foreign", "pages wanted here and got elsewhere", share, "ratio", above=limits["foreign"]),
            Value("foreign_rate", "the same, a second", foreign, "per_second", above=limits["pages"]),
            Value("free", "free memory of the node", row.free, "bytes"),
        ),
        evidence=cites(window.cite(row, "foreign"), window.cite(row, "free")),
        advice=(
            "numastat -m; numastat -p PROCESS   # who fills that node",
            "cat /proc/sys/vm/zone_reclaim_mode   # 1: the node is reclaimed first, with stalls",
        ),
        refuted_by="a process that was bound to this node on purpose and needs more than it has",
    )


def _far(window: Window, row: NumaNode, pages: float, remote: float, limits: Limits) -> Finding:
    return Finding(
        severity=Severity.INFO,
        subject=row.node,
        cause=(
            f"{human.percent(remote)} % of the {human.number(pages, 0)} pages a second that are got of it go to tasks "
            "that "
            "run on other nodes"
        ),
        values=(
            Value(
                "remote", "share of its pages that tasks on other nodes got", remote, "ratio", above=limits["remote"]
            ),
            Value("pages", "pages got of it a second", pages, "per_second", above=limits["pages"]),
        ),
        evidence=cites(window.cite(row, "other"), window.cite(row, "local")),
        advice=(
            "numastat -p PROCESS   # where its memory is; ps -eo pid,psr,comm   # where it runs",
            "numactl --cpunodebind=N --membind=N COMMAND   # keep both together",
        ),
        refuted_by="memory that is interleaved on purpose (numactl --interleave)",
    )


NUMA_IMBALANCE = Rule(
    _ID,
    "memory is not where the work is: a node without memory, a full one, or pages from other nodes",
    Severity.WARNING,
    _check,
    (NumaNode,),
    (
        Threshold("times", 1.5, "memory of the largest node, times that of the smallest", "ratio"),
        Threshold("foreign", 0.1, "share of the pages wanted of a node that come from others", "ratio"),
        Threshold("remote", 0.2, "share of a node's pages that tasks on other nodes get", "ratio"),
        Threshold("pages", 1000.0, "pages a second below which neither is worth a word", "per_second"),
        Threshold("readings", 2.0, "successive readings that must show it"),
    ),
    covers=(Covers(NumaNode, _SUBJECT), Covers(NumaNode)),
)
