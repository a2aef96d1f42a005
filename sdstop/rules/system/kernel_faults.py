"""Hung tasks, lockups, lack of memory, lost links and peers, and hardware errors in the kernel's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sdstop.analysis.tasks.kernel_log import RECENT, by_thing, gap_in, is_recent, last_time, numbers, quoted, silence
from sdstop.collectors.kernel.kinds import KINDS, LogEffect, Subject
from sdstop.collectors.kernel.readings import KernelComplaint, KernelEvent, KernelLog
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import Limits, Rule, Threshold

_CRITICAL = frozenset({
    "lockup", "kernel-bug", "machine-check", "memory-uncorrected", "overheating", "cluster-fs-stopped",
})  # fmt: skip
_MENTIONED = frozenset({
    "nic-down", "clock-unstable", "iommu-fault", "lacp-silent", "kernel-warning", "unnamed-fault", "osd-down",
    "task-waiting",
})  # fmt: skip
"""Notices that are mentioned as long as they are recent: drivers log them at boot, too."""
_APART = 10.0
"""Seconds between two lists of tasks in state D from which a task in both is stuck."""
_MANY_LISTED = 50
"""Messages of which the kept lines cannot show whether a task is in two lists."""
_TOGETHER = 60.0
"""Seconds within which two messages are about one event."""
_IMPACTS: Mapping[str, str] = {
    "hung-task": "Programs wait for storage or for a lock.",
    "cpu-stall": "Interrupts and tasks of a processor wait for seconds.",
    "lockup": "A processor did nothing else for seconds.",
    "oom-kill": "The kernel killed a program because memory ran out.",
    "kernel-bug": "A part of the kernel has stopped, with its locks.",
    "machine-check": "Data in a processor or in memory can be damaged.",
    "memory-uncorrected": "Data in memory is damaged.",
    "transmit-hang": "Frames of an interface wait until its driver resets it.",
    "conntrack-full": "The kernel drops packets of new connections.",
    "overheating": "The node shuts down to protect itself.",
    "cpu-throttled": "Hot processors run slower.",
    "cpu-hot": "The clock of processors is throttled, and their temperature kept rising.",
    "alloc-failure": "The kernel drops or delays packets and requests that need the memory.",
    "superblock-error": "An array can lose this member or its newest state.",
    "request-refused": "Requests that a path refuses fail as I/O errors.",
    "peer-lost": "Writes waited for the peer until its connection was given up.",
    "bond-down": "Nothing could be sent over the bond.",
    "nic-down": "Frames are lost whenever a link fails.",
    "neighbors-full": "Packets to peers beyond the table are dropped.",
    "tcp-memory": "TCP connections stall or are ended.",
    "files-full": "Programs cannot open files or connections.",
    "clock-unstable": "Reading the clock takes longer than before.",
    "iommu-fault": "A device accessed memory that it may not access.",
    "client-abort": "Initiators gave up requests that this node had not answered in time.",
    "client-lost": "Initiators of exported volumes stopped answering; their sessions were ended.",
    "swap-error": "Programs whose memory was swapped out are killed.",
    "lacp-silent": "The bond uses one link only, or none.",
    "cluster-fs-stopped": "This node has no access to the file system any more.",
    "clients-refused": "The NFS server closes connections of clients, which connect again.",
    "interrupt-lost": "A device whose interrupt is disabled answers late, or not at all.",
    "metadata-damaged": "A thin pool or cache can become read-only, or not start again.",
    "udev-stuck": "Devices appear without names, or not at all.",
    "osd-down": "Requests to an OSD that is down wait until its data has another primary.",
    "task-waiting": "A task in two lists that are seconds apart is stuck.",
    "kernel-warning": "A driver met a state that it did not expect.",
    "unnamed-fault": "Drivers of storage or network reported faults of unknown weight.",
}
_ADVICE: Mapping[str, str] = {
    "hung-task": "Find the device or server that the tasks wait for.",
    "oom-kill": "Find the program that used the memory.",
    "machine-check": "Find the module or processor in the messages, and replace it.",
    "memory-uncorrected": "Find the module in the messages, and replace it.",
    "transmit-hang": "Update driver and firmware of the network card; check its slot.",
    "conntrack-full": "Raise net.netfilter.nf_conntrack_max, or exempt storage traffic.",
    "overheating": "Check fans, filters and the temperature of the room.",
    "cpu-throttled": "Check fans, filters and the temperature of the room.",
    "cpu-hot": "Check fans, filters and the temperature of the room.",
    "alloc-failure": "Raise vm.min_free_kbytes, or add memory.",
    "superblock-error": "Check the members of the array and their disks.",
    "request-refused": "Give all paths of the map the same max_sectors_kb.",
    "peer-lost": "Check the peer, its disk, and the network to it.",
    "bond-down": "Check cables, modules and switch ports of the bond.",
    "nic-down": "Check cable, module and switch port of the interface.",
    "neighbors-full": "Raise net.ipv4.neigh.default.gc_thresh3.",
    "tcp-memory": "Raise net.ipv4.tcp_mem, or limit connections.",
    "files-full": "Raise fs.file-max, or find the program that leaks files.",
    "clock-unstable": "Check the time source, and the firmware of the board.",
    "iommu-fault": "Update driver and firmware of the device.",
    "client-abort": "Check the disks below the exported volumes, and the network.",
    "client-lost": "Check whether these hosts run, and the network to them.",
    "swap-error": "Check the disk that has the swap space.",
    "lacp-silent": "Compare the LACP settings of bond and switch.",
    "cluster-fs-stopped": "Find the reason in the log; restart the node to mount it again.",
    "clients-refused": "Give the NFS server more threads: threads in /etc/nfs.conf.",
    "interrupt-lost": "Find its devices in /proc/interrupts; update driver and firmware.",
    "metadata-damaged": "Find its volume in the log; back up its data before repairing it.",
    "udev-stuck": "Find the device for which the worker waits.",
    "osd-down": "Check whether the OSD was stopped on purpose: ceph osd tree.",
    "task-waiting": "Find the device or server that the tasks wait for in their traces.",
    "kernel-warning": "Read the trace in the log; look for a newer kernel.",
    "unnamed-fault": "Read the messages of these drivers in the log.",
}
_MOST_WORDS = "hung|blocked|lockup|memory|hardware error|BUG:|link|drbd"
_WORDS: Mapping[str, str] = {
    "kernel-bug": "BUG:|Oops|fault|corruption|refcount|VERIFY|panic",
    "cluster-fs-stopped": "gfs2|dlm",
    "cpu-hot": "temperature",
    "cpu-throttled": "temperature",
    "clients-refused": "nfsd",
    "interrupt-lost": "irq",
    "metadata-damaged": "device-mapper",
    "udev-stuck": "udev|blocked",
    "kernel-warning": "WARNING:",
    "osd-down": "libceph",
    "task-waiting": "state:D| D [0-9a-f]{16}",
    "client-lost": "nvmet|iSCSI|NOPIN",
    "unnamed-fault": "error|fail|fatal|fault|timed? ?out|abort|offline|dead|lost|missing|panic|bad",
}
"""Words to look for in the log by kind."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    log = next(iter(window.rows(KernelLog).values()), None)
    if log is None:
        return
    found = 0
    for rows in by_thing(window, Subject.NODE).values():
        hung = any(row.kind == "hung-task" for row in rows)
        for row in rows:
            if hung and row.kind == "task-waiting":
                continue  # the kernel lists a hung task below its report
            if row.effect is not LogEffect.NOTICE or _is_mentioned(row, limits):
                found += 1
                yield _finding(window, row, limits)
    gap = gap_in(log)
    if not found and gap is None:
        yield RuledOut("kernel", f"0 hung tasks, lockups and memory kills {silence(log)}")
    elif not found and gap is not None:
        yield gap


def _is_mentioned(row: KernelComplaint, limits: Limits) -> bool:
    """Return whether a notice becomes a finding: many in a minute, or of a kind that is mentioned."""
    return (row.minute or 0) >= limits["notices"] or (row.kind in _MENTIONED and is_recent(row, limits["recent"]))


def _is_of_lost_member(window: Window, row: KernelComplaint) -> bool:
    """Return whether a failed superblock is that of a member that its array gave up in the same minute."""
    members = (each for each in window.rows(KernelComplaint).values() if each.kind == "member-failed")
    return row.kind == "superblock-error" and any(
        row.last is not None and each.last is not None and abs(row.last - each.last) <= _TOGETHER for each in members
    )


def _lasting(window: Window, row: KernelComplaint) -> str:
    """Return why tasks in lists of tasks in state D are stuck, "" for those of one moment.

    Of long lists not every line is kept: many tasks at both ends of some seconds are taken for stuck ones.
    """
    seen: dict[str, list[float]] = {}
    for each in window.rows(KernelEvent).values():
        if each.kind == row.kind and each.ago is not None:
            seen.setdefault(each.line, []).append(each.ago)
    stuck = sum(max(times) - min(times) >= _APART for times in seen.values())
    every = [ago for times in seen.values() for ago in times]
    if stuck:
        return f"; {stuck} in two lists, seconds apart"
    if row.count >= _MANY_LISTED and max(every, default=0.0) - min(every, default=0.0) >= _APART:
        return "; in two lists, seconds apart"
    return ""


def _finding(window: Window, row: KernelComplaint, limits: Limits) -> Finding:
    recent = is_recent(row, limits["recent"])
    severity = Severity.INFO
    stuck = _lasting(window, row) if row.kind == "task-waiting" else ""
    is_serious = bool(stuck) if row.kind == "task-waiting" else (row.minute or 0) >= limits["notices"]
    if recent and not _is_of_lost_member(window, row) and (row.kind not in _MENTIONED or is_serious):
        severity = Severity.CRITICAL if row.kind in _CRITICAL else Severity.WARNING
    last = last_time(window, [row])
    amount = KINDS[row.kind].counted(row.count)
    return Finding(
        severity=severity,
        subject=row.kind,
        title=f"KERNEL LOG: {amount.upper()}" if len(amount) <= 26 else "KERNEL LOG: FAULTS",
        cause=fitting(
            f"The kernel logged {amount}{f', the last {last}' if last else ''}{stuck}.",
            f"The kernel logged {amount}{stuck}.",
        ),
        impact=_IMPACTS.get(row.kind, "Corrected errors can precede uncorrected ones."),
        values=numbers([row]),
        evidence=cites(*quoted(window, [row])),
        advice=_advice(row),
        refuted_by="a kernel log without these messages",
        damage=Damage.DATA if row.kind in {"machine-check", "memory-uncorrected"} else Damage.AVAILABILITY,
        standing=severity is Severity.INFO,
    )


def _advice(row: KernelComplaint) -> tuple[Advice, ...]:
    look = run("journalctl", "-k").pipe("grep", "-iE", _WORDS.get(row.kind, _MOST_WORDS))
    return (_ADVICE.get(row.kind, "Find the cause in the messages around these."), look.pipe("tail", "-40"))


KERNEL_FAULTS = Rule(
    "kernel-faults",
    "hung tasks, lockups, lack of memory, lost links and peers, hardware errors in the kernel's log",
    Severity.CRITICAL,
    _check,
    (KernelLog,),
    (RECENT, Threshold("notices", 20.0, "corrected errors in one minute that are too many")),
    covers=(),
    damage=Damage.AVAILABILITY,
    view="host",
    advice="Find the device or server that the tasks in the kernel log wait for.",
)
