"""Messages of USB, PCIe, tasks, processors and memory."""

from __future__ import annotations

from sdstop.collectors.kernel.message import LogPlace, pattern

_PCI = r"(?P<dev>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)"
_AER = {
    "Corrected": "pcie-corrected",
    "Correctable": "pcie-corrected",
    "Fatal": "pcie-fatal",
    "Non-Fatal": "pcie-uncorrected",
}
_DECODED = {
    "Uncorrected": "memory-uncorrected",
    "System": "machine-check",
    "Deferred": "memory-uncorrected",
    "Corrected": "hardware-corrected",
}
"""Kinds of errors by the first word of their state (drivers/edac/mce_amd.c)."""
_SEVERE = {"corrected": "hardware-corrected", "recoverable": "memory-uncorrected", "fatal": "machine-check"}

PATTERNS = (
    pattern(
        "USB disconnect", r"usb (?P<dev>[\d.-]{1,30}): USB disconnect, device number \d{1,4}", "usb-gone", LogPlace.USB
    ),
    pattern(
        "PCIe Bus Error",
        r"\S{1,40} "
        + _PCI
        + (
            r": (?:AER: )?PCIe Bus Error: severity=(?P<severity>Corrected|Correctable|Uncorrect\w{"
            r"2,4} \((?P<uncorrected>Fatal|Non-Fatal)\))(?:, type=[\w ]{1,40})?"
        ),
        lambda found: _AER.get(found["uncorrected"] or found["severity"], ""),
        LogPlace.PCI,
    ),
    pattern("ontainment event", r"\S{1,40} " + _PCI + r": DPC: containment event", "pcie-fatal", LogPlace.PCI),
    pattern(
        "blocked ",
        (
            r"INFO: task (?P<also>[ -~]{1,20}?):\d{1,8} blocked (?:in I/O wait )?for more than \d{1,9}"
            r" seconds"
        ),
        "hung-task",
        LogPlace.NODE,
    ),
    # Of a list that was asked for (sysrq w), or behind a report of a hung task.
    pattern(
        " state:D ",
        r"task:(?P<also>[ -~]{1,15}?) {1,15}state:D {1,3}(?:running task)? {0,4}stack: {0,5}\d{1,9} {1,8}pid: {0,5}"
        r"\d{1,8}\b",
        "task-waiting",
        LogPlace.NODE,
    ),
    pattern(
        " D ",
        r"(?P<also>[!-~]{1,15}) {1,15}D [0-9a-f]{16} {1,5}\d{1,9} {1,6}\d{1,8} {1,7}\d{1,8} 0x[0-9a-f]{8}",
        "task-waiting",
        LogPlace.NODE,
    ),
    pattern(
        " lockup - CPU#",
        r"(?:NMI )?(?:watchdog: )?BUG: soft lockup - CPU#\d{1,5} stuck for \d{1,9}s",
        "lockup",
        LogPlace.NODE,
    ),
    pattern(
        "hard LOCKUP",
        (
            r"(?:NMI )?(?:watchdog: )?(?:Watchdog detected|CPU\d{1,5}: Watchdog detected) hard"
            r" LOCKUP on cpu \d{1,5}"
        ),
        "lockup",
        LogPlace.NODE,
    ),
    pattern(
        "detected",
        r"(?:rcu: )?INFO: \w{1,40} (?:self-)?detected (?:expedited )?stalls? on CPU",
        "cpu-stall",
        LogPlace.NODE,
    ),
    pattern(
        "Out of memory",
        (
            r"Out of memory(?: \(oom_kill_allocating_task\))?: [Kk]ill(?:ed)? process \d{1,8} \("
            r"(?P<also>[ -(*-~]{1,20})\)"
        ),
        "oom-kill",
        LogPlace.NODE,
    ),
    pattern(
        "Memory cgroup out of memory",
        r"Memory cgroup out of memory: Killed? process \d{1,8} \((?P<also>[ -(*-~]{1,20})\)",
        "cgroup-oom-kill",
        LogPlace.NODE,
    ),
    pattern("kernel BUG at", r"kernel BUG at [\w./-]{1,80}:\d{1,6}", "kernel-bug", LogPlace.NODE),
    pattern("general protection fault", r"(?:Oops: )?general protection fault\b", "kernel-bug", LogPlace.NODE),
    pattern("Internal error: Oops", r"Internal error: Oops\b", "kernel-bug", LogPlace.NODE),
    pattern(
        "swap-device", r"(?:Read|Write)-error on swap-device \(\d{1,4}:\d{1,7}:\d{1,20}\)", "swap-error", LogPlace.NODE
    ),
    pattern(
        "memory allocation deadlock",
        r"XFS: (?P<also>[ -~]{1,20}?)\(\d{1,8}\) possible memory allocation deadlock",
        "alloc-failure",
        LogPlace.NODE,
    ),
    pattern(
        "hardware memory error",
        r"mce: Uncorrected hardware memory error in user-access",
        "memory-uncorrected",
        LogPlace.NODE,
    ),
    pattern(
        "BUG: ",
        r"BUG: (?:unable to handle|kernel NULL pointer dereference|Bad page state)",
        "kernel-bug",
        LogPlace.NODE,
    ),
    pattern(
        "EDAC ",
        r"EDAC MC\d{1,3}: (?:\d{1,9} )?(?P<type>[CU]E)\b",
        lambda found: "memory-uncorrected" if found["type"] == "UE" else "memory-corrected",
        LogPlace.NODE,
    ),
    pattern(
        "event severity:",
        r"\{\d{1,6}\}\[Hardware Error\]: event severity: (?P<severity>\w{1,20})",
        lambda found: _SEVERE.get(found["severity"], ""),
        LogPlace.NODE,
    ),
    pattern(
        "Machine check events logged",
        r"(?:mce: )?(?:\[Hardware Error\]: )?Machine check events logged",
        "hardware-corrected",
        LogPlace.NODE,
    ),
    pattern(
        "Machine Check",
        (
            r"(?:mce: )?(?:\[Hardware Error\]: )?CPU \d{1,5}: Machine Check(?: Exception)?: {1,17}[0-9a-f]{1,16}"
            r" Bank \d{1,4}"
        ),
        "machine-check",
        LogPlace.NODE,
    ),
    pattern(
        "AER: ",
        r"\S{1,40} [0-9a-f:.]{7,12}: AER: (?:Multiple )?Uncorrect\w{2,4} \((?P<uncorrected>Fatal|Non-Fatal)\) error "
        r"(?:message )?received(?: from)?:? " + _PCI,
        lambda found: _AER.get(found["uncorrected"], ""),
        LogPlace.PCI,
    ),
    pattern("Link Down Event", r"lpfc " + _PCI + r": \d{1,3}:1305 Link Down Event", "port-down", LogPlace.PCI),
    pattern(
        "LOOP DOWN detected",
        r"qla2xxx \[(?P<dev>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)\]-500b:\d{1,4}: LOOP DOWN detected",
        "port-down",
        LogPlace.PCI,
    ),
    pattern("Kernel panic", r"Kernel panic - not syncing", "kernel-bug", LogPlace.NODE),
    pattern(
        "transmit queue",
        r"NETDEV WATCHDOG: (?:CPU: \d{1,5}: )?(?P<also>[\w.@-]{1,15}) \([\w-]{1,30}\): transmit queue \d{1,5} "
        r"timed out",
        "transmit-hang",
        LogPlace.NODE,
    ),
    pattern(
        "nit Hang",
        r"\w{1,20} [0-9a-f:.]{12} (?P<also>[\w.@-]{1,15}): Detected (?:Tx|Hardware) Unit Hang",
        "transmit-hang",
        LogPlace.NODE,
    ),
    pattern(
        "table full, dropping packet",
        r"nf_conntrack: (?:nf_conntrack: )?table full, dropping packet",
        "conntrack-full",
        LogPlace.NODE,
    ),
    pattern(
        "above threshold, cpu clock",
        r"(?:mce: )?CPU\d{1,5}: (?:Core|Package) temperature (?P<lasting>is )?above threshold, cpu clock (?:is )?"
        r"throttled",
        # Since Linux 5.5 only a temperature that keeps rising is logged (arch/x86/kernel/cpu/mce/therm_throt.c).
        lambda found: "cpu-hot" if found["lasting"] else "cpu-throttled",
        LogPlace.NODE,
    ),
    pattern(
        "critical temperature reached",
        r"thermal thermal_zone\d{1,4}: .{0,60}critical temperature reached",
        "overheating",
        LogPlace.NODE,
    ),
    pattern("PANIC at ", r"PANIC at [\w./-]{1,80}:\d{1,6}:\w{1,80}\(\)", "kernel-bug", LogPlace.NODE),
    pattern("PANIC: ", r"PANIC: [a-z][ -~]{1,200}", "kernel-bug", LogPlace.NODE),  # of the SPL: the task stops for good
    pattern("workqueue lockup", r"BUG: workqueue lockup - pool", "cpu-stall", LogPlace.NODE),
    pattern(
        "recovery action for",
        r"Memory failure: 0x[0-9a-f]{1,16}: recovery action for [\w -]{1,60}: \w{1,20}",
        "memory-uncorrected",
        LogPlace.NODE,
    ),
    pattern(
        "page allocation failure",
        r"(?P<also>[ -~]{1,20}?): page allocation failure[:.] order:\d{1,2}",
        "alloc-failure",
        LogPlace.NODE,
    ),
    pattern(
        "as unstable because",
        r"clocksource: timekeeping watchdog on CPU\d{1,5}: Marking clocksource '[\w-]{1,20}' as unstable because",
        "clock-unstable",
        LogPlace.NODE,
    ),
    pattern(
        "too many open connections",
        r"nfsd: too many open connections, consider increasing the (?:number of threads|max number of connections)",
        "clients-refused",
        LogPlace.NODE,
    ),
    pattern(
        "check failed",
        r"device-mapper: (?:btree: node_check failed|block manager: [\w ]{1,30} validator check failed for block \d)",
        "metadata-damaged",
        LogPlace.NODE,
    ),
    pattern("Disabling IRQ", r"Disabling IRQ #\d{1,6}$", "interrupt-lost", LogPlace.NODE),
    pattern("file-max limit", r"VFS: file-max limit \d{1,20} reached", "files-full", LogPlace.NODE),
    pattern(
        "equest device [",
        r"DMAR: \[DMA (?:Read|Write)[\w ]{0,20}\] Request device \[(?P<also>[0-9a-f:.]{7,12})\]",
        "iommu-fault",
        LogPlace.NODE,
    ),
    pattern(
        "IO_PAGE_FAULT",
        r"(?:\S{1,40} [0-9a-f:.]{12}: )?AMD-Vi: Event logged \[IO_PAGE_FAULT (?:device=(?P<also>[0-9a-f:.]{7,12}))?",
        "iommu-fault",
        LogPlace.NODE,
    ),
    pattern(
        "change power state",
        r"\S{1,40} " + _PCI + r": (?:Refused to change power state, currently in D3"
        r"|Unable to change power state from D3cold to D0, device inaccessible)",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "transmit queue",
        r"\w{1,20} [\w:.-]{4,40} (?P<also>[\w.@-]{1,15}): NETDEV WATCHDOG: CPU: \d{1,5}: transmit queue \d{1,5} "
        r"timed out",
        "transmit-hang",
        LogPlace.NODE,
    ),
    pattern(
        "driver issue detected",
        r"i40e [0-9a-f:.]{12}: TX driver issue detected, PF reset issued",
        "transmit-hang",
        LogPlace.NODE,
    ),
    pattern(
        "imed out, resetting",
        r"\w{1,20} [0-9a-f:.]{12} (?P<also>[\w.@-]{1,15}): transmit timed out, resetting",
        "transmit-hang",
        LogPlace.NODE,
    ),
    pattern(
        "pciehp: Slot(",
        r"pcieport " + _PCI + r": pciehp: Slot\([\w-]{1,20}\): (?:Link Down|Card not present)",
        "pcie-gone",
        LogPlace.PCI,
    ),
    pattern(
        "retraining ",
        r"\S{1,40} " + _PCI + r": (?:broken device, retraining non-functional downstream link at [\d.]{1,5} ?GT/s"
        r"|retraining failed)",
        "link-slow",
        LogPlace.PCI,
    ),
    pattern(
        "device recovery failed",
        r"pcieport " + _PCI + r": AER: device recovery failed",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "; giving up",
        r"\w{1,20} " + _PCI + r": not ready \d{1,9}ms after [\w -]{1,30}; giving up",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "[Hardware Error]: ",
        r"\[Hardware Error\]: (?P<class>Uncorrected, software|System Fatal error|Deferred error|Corrected error)",
        lambda found: _DECODED[found["class"].split(maxsplit=1)[0].rstrip(",")],
        LogPlace.NODE,
    ),
    pattern(
        "Memory failure: ",
        r"Memory failure: 0x[0-9a-f]{1,16}: (?:Sending SIGBUS to|forcibly killing) [ -~]{1,16}:\d{1,8}",
        "memory-uncorrected",
        LogPlace.NODE,
    ),
    pattern("dio swapfile", r"Write error -?\d{1,4} on dio swapfile \(\d{1,20}\)", "swap-error", LogPlace.NODE),
    pattern("Assertion failure in", r"Assertion failure in \w{1,60}\(\) at", "kernel-bug", LogPlace.NODE),
)
