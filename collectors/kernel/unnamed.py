"""Messages of storage and network drivers that sound like a fault, and match no pattern.

A list of faults is never complete: drivers log thousands of messages. Of one that no pattern knows, the name of the
driver and the word that sounds like a fault are kept, so that a log with it is never called free of faults.

    megaraid_sas 0000:02:00.0: [ 3]waiting for 12 commands to complete, fatal    megaraid_sas 0000:02:00.0: -fatal
"""

from __future__ import annotations

import re

from sdstop.collectors.kernel.message import Found, LogPlace, pattern
from sdstop.core.expression import expression

_PCI = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d"
_DISK_DRIVERS = (
    r"(?:sd|scsi|ses|sg) \d{1,4}:\d{1,4}:\d{1,6}:\d{1,20}|scsi host\d{1,4}|nvme (?:nvme\d{1,5}|" + _PCI + r")"
    r"|nvme\d{1,5}n\d{1,5}|ata\d{1,4}(?:\.\d\d)?|ahci " + _PCI + r"|(?:mpt[23]sas|mpi3mr)(?:_cm)?\d{1,3}"
    r"|mpt(?:base|scsih|sas|spi|fc|ctl): ioc\d{1,3}|pm80(?:xx|01)\d{0,3}|(?:sas|3w-\w{1,5}|mega(?:raid_)?sas)(?=:)"
    r"|cciss\d{0,2}|scsi target[\d:]{5,14}|rport-[\d:-]{3,20}|(?:bnx2i|bnx2fc|qed[fi]|fnic|bfa|be2iscsi|zfcp)"
    r"|(?:megaraid_sas|hpsa|smartpqi|lpfc|pm80xx|isci|mvsas|bfa|fnic|3w-\w{1,5}|aacraid|mpt3sas|mpi3mr) " + _PCI
)
_MORE_DRIVERS = (
    r"qla2xxx (?:\["
    + _PCI
    + r"\]-[0-9a-f]{4}|"
    + _PCI
    + r")|arcmsr\d{1,3}|aacraid|AAC\d{0,3}|virtio_blk virtio\d{1,4}|(?:xen-)?blkfront"
    r"|hv_storvsc \S{1,40}|zram\d{0,4}|loop\d{0,4}"
)
_STACKS = (
    r"md/\w{1,20}|md\d{0,4}|raid\d{1,2}|device-mapper|bcache|kvdo\d{1,4}|dm-\d{1,5}|ZFS|zio|VERIFY\d?|flashcache"
    r"|enhanceio|swap_dup|drbd\d{0,6}|block (?:drbd|nbd)\d{1,6}|nbd\d{0,4}|(?:lib)?ceph|rbd|aoe|scini"
    r"|iscsi\w{0,6}|iSCSI|iser|isert|target|nvmet?\w{0,6}|rnbd_\w{1,10}"
    r"|connection\d{1,6}(?::\d{1,4})?|session\d{1,6}|ib_srp|srp|rpcrdma|dlm|DLM|o2\w{1,6}|blk-mq|blk_\w{1,40}"
    r"|buffer_io_error"
)
_FILESYSTEMS = (
    r"EXT[234]-fs|XFS|BTRFS|JBD2?|F2FS-fs|GFS2|gfs2|OCFS2|ocfs2|p?NFS(?:v4)?|nfs|nfsd|lockd|CIFS|fuse|overlayfs"
    r"|SQUASHFS"
)
_CARDS = (
    r"(?:mlx[45]_core|ixgbe|i40e|ice|igb|bnxt_en|tg3|be2net|qede|bnx2x|cxgb4|ena|r8169|virtio_net|vmxnet3|hv_netvsc)"
    r" [\w:.-]{1,40}|pcieport " + _PCI + r"|(?:bond|team)\d{1,3}"
)
_FAULT = (
    r"(?:error|failed|failure|failing|\bfault|fatal|timeout|timed out|corrupt|offline|dead|hung|not respond|lost\b"
    r"|no (?:response|answer)|exhausted|unexpected|broke down|reset by peer|has stopped"
    r"|is disabled on this device|firmware reset event"
    r"|abort|unrecover|uncorrect|unable to|stuck|withdr|inaccess|giving up|reject|bad csum|degraded|crit/"
    r"|could not|couldn't|cannot|can't|invalid|mismatch|unrespons|blocklist|unresolved|died|panic|crash|missing\b"
    r"|not (?:ready|present|operational|online)\b|no longer present|is gone\b|\bhang\b|\bbad\b|out of (?:range|bounds)"
    r"|overlaps|inconsist|illegal|overflow|overrun|expired|depleted|compromised|unserviceable|congestion"
    r"|beyond end|un-?powered|requires firmware update|has been removed|smaller than sectors)"
)
_HARMLESS = expression(
    r"errors=|no errors?\b|0 errors|without errors?|error recovery|error log|error count|timeout set|timeout=|"
    r"failed to set APST|cache data failed|Caching mode page|errors?: 0\b|Opts:|fault inject|[Ff]ailed to (?:find|load)"
    r"|error handler|Corrected error received|failed command: |[Aa]bort request supported|default timeout"
    r"|FAILED Result: hostbyte=DID_OK|Sense Key : (?:Illegal Request|Not Ready)|task abort: SUCCESS|Invalid Field in"
    r"|alignment inconsistency|bad config value|(?:unexpected )?_GTF|Unexpected sense|Inconsistent"
    r"|[Cc]rash dump|couldn't mount as ext[23]"
    r"|missing or invalid SUBNQN|failed: 0\b|ERROR: \(0x03:0x0101\): Invalid command opcode"
    r"|error \S{0,40} ?: device already registered(?: \(emitting change event\))?"
    r"|failed to get link speed/duplex|Write error at byte offset|invalidating existing data"
)
"""Phrases that sound like a fault and are none; the rest of a message may be one."""
_SOUNDS = expression(rf"(?i:{_FAULT})")
_LOWER = expression(_FAULT, re.ASCII)


def _kind(found: Found) -> str:
    text = _HARMLESS.sub("", found.string[:400])
    return "unnamed-fault" if _SOUNDS.search(text, found.start("hidden")) else ""


def is_worth_a_try(text: str) -> bool:
    """Return whether a message has a word that sounds like a fault, in less time than PATTERN needs."""
    return _LOWER.search(text.lower()) is not None


_SOURCES = f"{_DISK_DRIVERS}|{_MORE_DRIVERS}|{_STACKS}|{_FILESYSTEMS}|{_CARDS}"
PATTERN = pattern(
    "",
    rf" ?(?:{_SOURCES})[\s:(\[]{{1,2}}(?P<hidden>[ -~]{{0,300}}?)(?i:{_FAULT})",
    _kind,
    LogPlace.NODE,
)
