r"""Messages of the kernel that sdstop understands: their kind, and the device as they name it.

    critical medium error, dev sdc, sector 8201 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2    medium-error sdc
    sd 6:0:3:0: attempting task abort!scmd(0x0000000012345678), outstanding for 30312 ms           abort 6:0:3:0
    ata7: hard resetting link                                                                      link-reset ata7
    EXT4-fs error (device dm-3): ext4_lookup:1858:                                                 fs-error dm-3

Formats are those of the kernel's sources (block/blk-core.c, drivers/ata/libata-eh.c, drivers/scsi/, drivers/nvme/host/,
drivers/message/fusion/, drivers/md/, fs/ext4/super.c, fs/xfs/, fs/btrfs/, mm/oom_kill.c, kernel/hung_task.c), from
2.6.32 to 6.18; those of 2.6.32 to 4.17 alone are in former_patterns. A message is kept up to the end of its pattern,
because the rest may have names of files and free text.
"""

from __future__ import annotations

from collections.abc import Mapping

from sdstop.collectors.kernel import (
    controller_patterns,
    daemon_patterns,
    disk_patterns,
    fault_patterns,
    filesystem_patterns,
    former_patterns,
    mapper_patterns,
    md_patterns,
    network_patterns,
    node_patterns,
    peer_patterns,
    raid_patterns,
    sas_patterns,
    unnamed,
    zfs_patterns,
)
from sdstop.collectors.kernel.message import Found, LogPlace, Message, Pattern
from sdstop.core.expression import expression

LONGEST = 240
"""Maximum number of characters of a message that are kept."""

PATTERNS = (
    *disk_patterns.PATTERNS,
    *controller_patterns.PATTERNS,
    *raid_patterns.PATTERNS,
    *sas_patterns.PATTERNS,
    *md_patterns.PATTERNS,
    *mapper_patterns.PATTERNS,
    *zfs_patterns.PATTERNS,
    *peer_patterns.PATTERNS,
    *filesystem_patterns.PATTERNS,
    *network_patterns.PATTERNS,
    *node_patterns.PATTERNS,
    *fault_patterns.PATTERNS,
    *daemon_patterns.PATTERNS,
    *former_patterns.PATTERNS,
    unnamed.PATTERN,
)
_BY_WORD: dict[str, list[Pattern]] = {}
for _each in PATTERNS:
    _BY_WORD.setdefault(_each.word, []).append(_each)
_SUPPRESSED = expression(
    r"(?:\w*blk_\w+|print_req_error|\w*buffer\w*|scsi_\w+|sd_\w+|nvme_\w+|ext4\w*|btrfs\w*|xfs\w*|raid\w*)"
    r": (?P<count>\d{1,9}) callbacks suppressed"
)
"""Message of the kernel's rate limit for functions that report failed requests."""
_KERNEL_NAME = expression(r"md[_\d]?\d*|-")
"""Names of arrays that the owner did not choose."""
_HIDDEN = ("hidden_peer", "hidden")
"""Groups of names to hide, the later one in the text first."""
_IGNORED = expression(r"(?:sr|fd|ram|zram|cdrom)\d{1,7}(?:p\d{1,4})?")
"""Devices without a disk, and empty drives."""
_LOOP = expression(r"loop\d{1,7}(?:p\d{1,4})?")
_READ = ("(READ)", "async page read", "rw=0,")
"""Reads of a loop device fail when a package's image is replaced; a disk below a file reports its own errors."""


def suppressed(text: str) -> int:
    """Return the number of messages about failed requests that the kernel's rate limit dropped before this one."""
    found = _SUPPRESSED.match(text) if "callbacks suppressed" in text else None
    return 0 if found is None else int(found["count"])


def understood(text: str) -> Message | None:
    """Return a message that sdstop understands, None for any other one."""
    for word, patterns in _BY_WORD.items():
        if word in text and (word or unnamed.is_worth_a_try(text)):
            for each in patterns:
                found = each.form.match(text)
                if found is None:
                    continue
                if _is_ignored(found, text):
                    return None
                message = _message(each, found)
                if message is not None:
                    return message
    return None


def _is_ignored(found: Found, text: str) -> bool:
    """Return whether a message is about a device whose errors are none of the node's."""
    device = found.groupdict().get("dev") or ""
    return bool(_IGNORED.fullmatch(device) or (_LOOP.fullmatch(device) and any(word in text for word in _READ)))


def _message(each: Pattern, found: Found) -> Message | None:
    kind = each.kind if isinstance(each.kind, str) else each.kind(found)
    groups: Mapping[str, str | None] = found.groupdict()
    device, also = groups.get("dev") or "", groups.get("also") or ""
    hidden = [name for name in _HIDDEN if groups.get(name)]
    if each.place is LogPlace.POOL:  # the pool's name is kept where it is the device alone
        device, also, hidden = (device, "", ["also"] if also else []) if device else (also, "", [])
    if not kind or (each.place is not LogPlace.NODE and not device):
        return None
    text = found[0]
    for name in hidden:
        if not _KERNEL_NAME.fullmatch(found[name]):
            begin, end = (at - found.start() for at in found.span(name))
            text = f"{text[:begin]}-{text[end:]}"
    return Message(kind, each.place, device.replace("!", "/"), text[:LONGEST].strip(), also)
