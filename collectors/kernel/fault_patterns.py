"""Messages of faults of the kernel itself, and of memory that it swaps."""

from __future__ import annotations

from sdstop.collectors.kernel.message import LogPlace, pattern

PATTERNS = (
    pattern(
        "Oops",
        r"Oops(?: - [\w -]{1,40})?: (?:Oops: )?[0-9a-f]{1,16} \[#\d{1,4}\]",
        "kernel-bug",
        LogPlace.NODE,
    ),
    pattern(
        ": 0000 [#",
        r"(?:Oops: )?(?:divide error|invalid opcode|stack segment): 0000 \[#\d{1,4}\]",
        "kernel-bug",
        LogPlace.NODE,
    ),
    pattern("corruption", r"list_(?:add|del) corruption", "kernel-bug", LogPlace.NODE),
    pattern(
        "refcount_t: ",
        r"refcount_t: (?:underflow|addition on 0|decrement hit 0|saturated); [a-z-]{1,40}",
        "kernel-bug",
        LogPlace.NODE,
    ),
    pattern("Bad swap ", r"(?:\w{1,40}: )?Bad swap (?:file|offset) entry [0-9a-f]{1,16}", "kernel-bug", LogPlace.NODE),
    pattern("VERIFY", r"VERIFY[03]?[A-Z]{0,2}\([\w\s()<>=!&|*+>.,-]{1,160}\) failed", "kernel-bug", LogPlace.NODE),
    pattern(
        "SLUB: Unable to allocate", r"SLUB: Unable to allocate memory on node -?\d{1,4}", "alloc-failure", LogPlace.NODE
    ),
    pattern(
        "WARNING: ",
        r"WARNING: (?:CPU: \d{1,5} PID: \d{1,10} at )?"
        r"(?:block|fs|mm|drivers/(?:ata|block|md|net|nvme|pci|scsi|target))/[\w./-]{1,80}:\d{1,6}",
        "kernel-warning",
        LogPlace.NODE,
    ),
)
