"""Messages of storage and network drivers that sound like a fault, and match no pattern.

A list of faults is never complete: drivers log thousands of messages. Of one that no pattern knows, the name of the
driver and the word that sounds like a fault are kept, so that a log with it is never called free of faults.

    megaraid_sas 0000:02:00.0: [ 3]waiting for 12 commands to complete, fatal    megaraid_sas 0000:02:00.0: -fatal
"""

from __future__ import annotations

from sdstop.collectors.kernel.message import Found, LogPlace, pattern
from sdstop.core.expression import expression

_PCI = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d"
_DISK_DRIVERS = (
    r"(?:sd|scsi|ses|sg) \d{1,4}:\d{1,4}:\d{1,6}:\d{1,20}|scsi host\d{1,4}|nvme (?:nvme\d{1,5}|" + _PCI + r")"
    r"|nvme\d{1,5}n\d{1,5}|ata\d{1,4}(?:\.\d\d)?|ahci " + _PCI + r"|(?:mpt[23]sas|mpi3mr)(?:_cm)?\d{1,3}"
    r"|(?:megaraid_sas|hpsa|smartpqi|lpfc|qla2xxx|arcmsr|pm80xx|isci|mvsas|bfa|fnic|3w-\w{1,5}|aacraid)"
    r" \[?" + _PCI + r"\]?|aacraid|virtio_blk virtio\d{1,4}|xen-blkfront|hv_storvsc \S{1,40}|zram\d{0,4}"
    r"|loop\d{0,4}"
)
_STACKS = (
    r"md/\w{1,20}|md\d{0,4}|raid\d{1,2}|device-mapper|bcache|kvdo\d{1,4}|dm-\d{1,5}|ZFS|zio|VERIFY\d?|flashcache"
    r"|enhanceio|swap_dup|drbd\d{0,6}|block (?:drbd|nbd)\d{1,6}|nbd\d{0,4}|(?:lib)?ceph|rbd|aoe|scini"
    r"|iscsi|iSCSI|target|nvmet|connection\d{1,6}|session\d{1,6}|ib_srp|srp|rpcrdma|dlm|DLM|o2\w{1,6}|blk-mq|blk_\w{1,40}|buffer_io_error"
)
_FILESYSTEMS = (
    r"EXT[234]-fs|XFS|BTRFS|F2FS-fs|GFS2|gfs2|OCFS2|ocfs2|JBD2|NFS|nfs|nfsd|lockd|CIFS|fuse|overlayfs|SQUASHFS"
)
_CARDS = (
    r"(?:mlx[45]_core|ixgbe|i40e|ice|igb|bnxt_en|tg3|be2net|qede|bnx2x|cxgb4|ena|r8169|virtio_net|vmxnet3|hv_netvsc)"
    r" [\w:.-]{1,40}|pcieport " + _PCI
)
_FAULT = (
    r"(?:error|failed|failure|failing|\bfault|fatal|timeout|timed out|corrupt|offline|dead|hung|not respond|lost\b"
    r"|abort|unrecover|uncorrect|unable to|stuck|withdr|inaccess|giving up|reject|bad csum|degraded|crit/"
    r"|could not|cannot|can't|invalid|mismatch|unrespons|blocklist|unresolved|died)"
)
_HARMLESS = expression(
    r"errors=|no errors?\b|0 errors|without errors?|error recovery|error log|error count|timeout set|timeout=|"
    r"set APST|cache data failed|Caching mode page|errors?: 0\b|Opts:|fault inject|[Ff]ailed to (?:find|load)"
    r"|error handler|Corrected error received|failed command: |abort request supported|default timeout"
    r"|hostbyte=DID_OK|Invalid Field in",
)


def _kind(found: Found) -> str:
    return "" if _HARMLESS.search(found.string[:400]) else "unnamed-fault"


PATTERN = pattern(
    "",
    rf"(?:{_DISK_DRIVERS}|{_STACKS}|{_FILESYSTEMS}|{_CARDS})[\s:(\[]{{1,2}}(?P<hidden>[ -~]{{0,300}}?)(?i:{_FAULT})",
    _kind,
    LogPlace.NODE,
)
