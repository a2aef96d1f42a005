"""Memory away from its users: NUMA nodes without memory, full nodes, and remote pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.fabric.readings import NumaActivity, NumaNode
from sdstop.core import format as human
from sdstop.core.advice import run
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites, unchecked
from sdstop.core.history import Window
from sdstop.core.rule import Covers, Limits, Rule, Threshold

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
        yield Unchecked(f"memory of {', '.join(unknown)} unknown", _SUBJECT)
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
        Value("times", "largest node, times the smallest", most / least if least else None, "",
              above=limits["times"]),
        *(Value(name, f"memory of {name}", size, "bytes") for name, size in sizes.items()),
    )  # fmt: skip
    shown = cites(*(window.cite(row, "memory") for row in nodes[:8]))
    if bare and most:
        names = ", ".join(row.node for row in bare)
        return Finding(
            severity=Severity.WARNING,
            subject=_SUBJECT,
            title="NUMA NODE WITHOUT MEMORY",
            cause=f"{names} {'has' if len(bare) == 1 else 'have'} CPUs but no memory.",
            impact=f"Every memory access of the CPUs of {names} is remote.",
            values=values,
            evidence=shown,
            advice=(
                "Populate the memory slots of that processor (order: board manual).",
                run(
                    "numactl",
                    f"--cpunodebind={next(row.number for row in nodes if row.memory)}",
                    "COMMAND",
                    note="until then",
                ),
            ),
            refuted_by="memory of that node offlined or reserved (dmesg: node ... memory)",
            view_subject=bare[0].node,
        )
    if least and most / least > limits["times"]:
        return Finding(
            severity=Severity.INFO,
            subject=_SUBJECT,
            title="UNEQUAL NUMA MEMORY",
            cause=f"Memory per node: {human.quantity(least, 'bytes')} to {human.quantity(most, 'bytes')}.",
            impact="Small nodes fill first and then allocate remotely.",
            values=values,
            evidence=shown,
            advice=(
                "Populate all processors alike; page cache and ARC suffer first.",
                run("numastat", "-m", note="use of each node"),
            ),
            refuted_by="equal node sizes in numactl -H",
            harmless_if="the load runs only on the CPUs of the larger nodes",
            view_subject=min(nodes, key=lambda row: row.memory or 0).node,
        )
    return RuledOut(_SUBJECT, f"{len(nodes)} nodes with similar memory ({spread})")


def _pages(window: Window, row: NumaNode, limits: Limits) -> Verdict:
    moments = window.moments(NumaActivity)[-int(limits["readings"]) :]
    known = [found for moment in moments if (found := moment.rows.get(row.node)) is not None]
    if len(known) < limits["readings"]:
        return Unchecked(f"collecting data: {len(known)} of {limits['readings']:g} samples", row.node, gap=Gap.EARLY)
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
        f"at most {human.percent(max((found.remote or 0.0) for found in known))}% of {human.number(most, 0)} pages/s "
        f"for tasks of other nodes, {human.number(max((f.foreign_per_second or 0.0) for f in known), 0)} pages/s "
        "meant for it allocated elsewhere",
    )


def _full(window: Window, row: NumaNode, foreign: float, share: float, limits: Limits) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        subject=row.node,
        title="NUMA NODE WITHOUT MEMORY" if row.memory == 0 else "NUMA NODE FULL",
        cause=f"{human.percent(share)}% of its allocations ({human.number(foreign, 0)} pages/s) go to other nodes.",
        impact="These pages are remote: each access crosses the interconnect.",
        values=(
            Value("foreign", "its pages, allocated elsewhere", share, "ratio", above=limits["foreign"]),
            Value("foreign_rate", "rate of these pages", foreign, "per_second", above=limits["pages"]),
            Value("free", "free memory of the node", row.free, "bytes", of=row.memory),
        ),
        evidence=cites(window.cite(row, "foreign"), window.cite(row, "free")),
        advice=(
            run("numastat", "-m", note="use of each node"),
            run("numastat", "-p", "PROCESS", note="share of one process"),
            run("cat", "/proc/sys/vm/zone_reclaim_mode", note="1: local reclaim first, causes stalls"),
        ),
        refuted_by="unchanged numa_foreign in numastat under the same load",
        harmless_if="a process is bound to this node on purpose",
        standing=row.memory == 0,
    )


def _far(window: Window, row: NumaNode, pages: float, remote: float, limits: Limits) -> Finding:
    return Finding(
        severity=Severity.INFO,
        subject=row.node,
        title="REMOTE MEMORY",
        cause=f"{human.percent(remote)}% of {human.number(pages, 0)} pages/s are for tasks on other nodes.",
        impact="These tasks reach their memory across the interconnect.",
        values=(
            Value("remote", "pages for tasks on other nodes", remote, "ratio", above=limits["remote"]),
            Value("pages", "pages allocated per second", pages, "per_second", above=limits["pages"]),
        ),
        evidence=cites(window.cite(row, "other"), window.cite(row, "local")),
        advice=(
            run("numastat", "-p", "PROCESS", note="nodes of its memory"),
            run("ps", "-eo", "pid,psr,comm", note="CPUs of the tasks"),
            run("numactl", "--cpunodebind=N", "--membind=N", "COMMAND", note="task and memory on one node"),
        ),
        refuted_by="unchanged other_node in numastat under the same load",
        harmless_if="interleaving is intended (numactl --interleave)",
        standing=False,
    )


NUMA_IMBALANCE = Rule(
    _ID,
    "NUMA node without memory, out of memory, or serving remote tasks",
    Severity.WARNING,
    _check,
    (NumaNode,),
    (
        Threshold("times", 1.5, "memory of the largest node, times that of the smallest", "ratio"),
        Threshold("foreign", 0.1, "share of the pages meant for a node that others provide", "ratio"),
        Threshold("remote", 0.2, "share of a node's pages for tasks on other nodes", "ratio"),
        Threshold("pages", 1000.0, "minimum page allocations per second", "per_second"),
        Threshold("readings", 2.0, "consecutive samples that must show it"),
    ),
    covers=(Covers(NumaNode, _SUBJECT), Covers(NumaNode)),
    standing=True,
    view="host",
    advice="Populate the memory slots of that processor (order: board manual).",
)
