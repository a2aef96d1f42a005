"""Messages of file systems."""

from __future__ import annotations

from sdstop.collectors.kernel.message import LogPlace, pattern

_EXT = r"EXT[234]-fs \((?P<dev>[\w!/-]{1,60})\): "
_XFS = r"XFS \((?P<dev>[\w!/-]{1,60})\): "
_BTRFS = r"BTRFS (?P<level>\w{1,10}) \(device (?P<dev>[\w!/-]{1,60})(?::? state \w{1,8})?\): "
_JOURNAL = r"(?P<dev>dm-\d{1,7}|[\w!/]{1,50}(?:\.\w{1,10})?)(?:[-:]\d{1,10})?"
"""Name of a journal (fs/jbd2/journal.c): the device and an inode number, or the device alone if it has no other use."""

PATTERNS = (
    pattern(
        "-fs error (device",
        r"EXT[234]-fs error \(device (?P<dev>[\w!/-]{1,60})\)(?: in)?:? ?\w{1,60}:\d{1,6}",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern("emounting filesystem read-only", _EXT + r"Remounting filesystem read-only", "fs-readonly", LogPlace.DISK),
    pattern(
        "error count since last fsck", _EXT + r"error count since last fsck: \d{1,10}", "fs-old-errors", LogPlace.DISK
    ),
    pattern(
        "elayed block allocation failed",
        _EXT + r"Delayed block allocation failed for inode \d{1,20}",
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern(
        "ext4_end_bio",
        (
            r"EXT4-fs warning \(device (?P<dev>[\w!/-]{1,60})\): ext4_end_bio:\d{1,6}: I/O error"
            r" \d{1,6} writing to inode"
        ),
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern("shut down requested", _EXT + r"shut down requested", "fs-shutdown", LogPlace.DISK),
    pattern(
        "failed to convert unwritten extents",
        _EXT + r"failed to convert unwritten extents to written extents",
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern("previous I/O error", _EXT + r"previous I/O error to superblock detected", "fs-error", LogPlace.DISK),
    pattern("while writing superblock", _EXT + r"I/O error while writing superblock", "fs-error", LogPlace.DISK),
    pattern(
        "journal superblock",
        r"JBD2: (?:I/O error|Error -\d{1,4})(?: detected)? when updating journal superblock for " + _JOURNAL + r"\b",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern(
        "writeback error on inode",
        r"(?P<dev>[a-zA-Z][\w!/-]{0,60}): writeback error on inode \d{1,20}",
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern("mounted filesystem", _EXT + r"(?:re-)?mounted filesystem", "fs-mounted", LogPlace.DISK),
    pattern("re-mounted", _EXT + r"re-mounted", "fs-mounted", LogPlace.DISK),
    pattern("unmounting filesystem", _EXT + r"unmounting filesystem", "fs-unmounted", LogPlace.DISK),
    pattern(
        "borting journal",
        r"Aborting journal on device " + _JOURNAL + r"\.",
        "journal-abort",
        LogPlace.DISK,
    ),
    pattern(
        "while flushing file data",
        (r"JBD2: Detected IO errors (?:-?\d{1,4} )?while flushing file data on " + _JOURNAL + r"\b"),
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern("etadata I/O error", _XFS + r"metadata I/O error in \"\w{1,60}", "fs-error", LogPlace.DISK),
    pattern("etadata I/O error:", _XFS + r"metadata I/O error: block 0x[0-9a-f]{1,16}", "fs-error", LogPlace.DISK),
    pattern("xfs_log_force", _XFS + r"xfs_log_force: error -?\d{1,4} returned", "fs-error", LogPlace.DISK),
    pattern("log I/O error", _XFS + r"log I/O error -\d{1,4}", "fs-error", LogPlace.DISK),
    pattern("Metadata ", _XFS + r"Metadata (?:corruption|CRC error) detected", "fs-corruption", LogPlace.DISK),
    pattern("Internal error", _XFS + r"Internal error \w{1,60}", "fs-corruption", LogPlace.DISK),
    pattern("orruption of in-memory data", _XFS + r"Corruption of in-memory data", "fs-corruption", LogPlace.DISK),
    pattern(
        "shut down due to", _XFS + r"Filesystem has been shut down due to [a-z -]{1,60}", "fs-shutdown", LogPlace.DISK
    ),
    pattern(
        "hutting down filesystem",
        _XFS + r"(?:[A-Za-z/! -]{1,80}(?:\. {1,2}| )){0,3}Shutting down filesystem",
        "fs-shutdown",
        LogPlace.DISK,
    ),
    pattern(
        "hutting down filesystem",
        _XFS + r"[A-Z][A-Za-z/ -]{1,60} \(0x[0-9a-f]{1,4}\) detected at \S{1,160} (?:\[\w{1,20}\] )?"
        r"\([\w./-]{1,80}:\d{1,6}\)\.  ?Shutting down filesystem",
        "fs-shutdown",
        LogPlace.DISK,
    ),
    pattern("ser initiated shutdown", _XFS + r"User initiated shutdown received", "fs-shutdown", LogPlace.DISK),
    pattern(
        "ailing async write",
        _XFS + r"Failing async write on buffer block 0x[0-9a-f]{1,16}",
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern("riteback error on", _XFS + r"writeback error on (?:inode|sector|zone)\b", "fs-write-lost", LogPlace.DISK),
    pattern("ounting V", _XFS + r"Mounting V\d", "fs-mounted", LogPlace.DISK),
    pattern("nmounting Filesystem", _XFS + r"Unmounting Filesystem", "fs-unmounted", LogPlace.DISK),
    pattern(
        " errs: wr ",
        _BTRFS.replace("<dev>", "<also>")
        + (
            r"bdev (?:/dev/)?(?P<dev>[\w!/-]{1,60}) errs: wr \d{1,12}, rd \d{1,12}, flush"
            r" \d{1,12}, corrupt \d{1,12}, gen \d{1,12}"
        ),
        lambda found: "fs-old-errors" if found["level"] == "info" else "fs-error",
        LogPlace.DISK,
    ),
    pattern("csum failed", _BTRFS + r"csum failed", "fs-corruption", LogPlace.DISK),
    pattern("hecksum verify failed", _BTRFS + r"checksum verify failed", "fs-corruption", LogPlace.DISK),
    pattern("transid verify failed", _BTRFS + r"parent transid verify failed", "fs-corruption", LogPlace.DISK),
    pattern("level verify failed", _BTRFS + r"level verify failed", "fs-corruption", LogPlace.DISK),
    pattern("bad tree block start", _BTRFS + r"bad tree block start", "fs-corruption", LogPlace.DISK),
    pattern("corrupt leaf", _BTRFS + r"corrupt leaf", "fs-corruption", LogPlace.DISK),
    pattern("forced readonly", _BTRFS + r"forced readonly", "fs-readonly", LogPlace.DISK),
    pattern(
        ": error (device",
        (
            r"BTRFS: error \(device (?P<dev>[\w!/-]{1,60})(?::? state \w{1,8})?\) in"
            r" \w{1,60}:\d{1,6}: errno=-\d{1,4}"
        ),
        "fs-error",
        LogPlace.DISK,
    ),
    pattern("fixed up error", _BTRFS + r"fixed up error at logical \d{1,20}", "fs-corrected", LogPlace.DISK),
    pattern("read error corrected: ino", _BTRFS + r"read error corrected: ino \d{1,20}", "fs-corrected", LogPlace.DISK),
    pattern(
        "first mount of filesystem",
        r"BTRFS info \(device (?P<dev>[\w!/-]{1,60})\): first mount of filesystem",
        "fs-mounted",
        LogPlace.DISK,
    ),
    pattern(
        "last unmount of filesystem",
        (
            r"BTRFS info \(device (?P<dev>[\w!/-]{1,60})(?::? state \w{1,8})?\): last unmount of"
            r" filesystem"
        ),
        "fs-unmounted",
        LogPlace.DISK,
    ),
    pattern(
        "has been set read-only",
        r"FAT-fs \((?P<dev>[\w!/-]{1,60})\): Filesystem has been set read-only",
        "fs-readonly",
        LogPlace.DISK,
    ),
    pattern(
        " USB device number",
        (
            r"usb (?P<dev>[\d.-]{1,30}): reset [\w-]{1,30}(?: Gen \w{1,8})? USB device number"
            r" \d{1,4}"
        ),
        "usb-reset",
        LogPlace.USB,
    ),
    pattern(
        "unable to fixup",
        _BTRFS + r"unable to fixup \(regular\) error at logical \d{1,20}",
        "fs-corruption",
        LogPlace.DISK,
    ),
    pattern(
        "withdraw",
        r"(?P<dev>GFS2): fsid=(?P<hidden>\S{1,128}?): (?:about to withdraw this file system|File system withdrawn)",
        "fs-shutdown",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "xfs_do_force_shutdown", _XFS + r"xfs_do_force_shutdown\(0x[0-9a-f]{1,8}\) called", "fs-shutdown", LogPlace.DISK
    ),
    pattern("run xfs_repair", _XFS + r"Unmount and run xfs_repair", "fs-corruption", LogPlace.DISK),
    pattern("mounting fs with errors", _EXT + r"warning: mounting fs with errors", "fs-old-errors", LogPlace.DISK),
    pattern(
        "reading directory block",
        r"EXT4-fs warning \(device (?P<dev>[\w!/-]{1,60})\): \w{1,60}:\d{1,6}: inode #\d{1,20}: (?:lblock \d{1,20}: )?"
        r"comm (?P<hidden>.{1,20}?): error -\d{1,4} reading directory block",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern(
        "lost page write due to IO error",
        _BTRFS + r"lost page write due to IO error on",
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern(
        "error writing primary super block",
        _BTRFS + r"error writing primary super block to device \d{1,20}",
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern(
        "Stopped filesystem due to",
        r"F2FS-fs \((?P<dev>[\w!/-]{1,60})\): Stopped filesystem due to reason: \d{1,4}",
        "fs-shutdown",
        LogPlace.DISK,
    ),
    pattern(": ERROR (device ", r"OCFS2: ERROR \(device (?P<dev>[\w!/-]{1,60})\)", "fs-error", LogPlace.DISK),
    pattern(
        ": fsid=",
        r"(?:GFS2|gfs2): fsid=(?P<hidden>\S{1,120}?): (?:fatal:|(?:File system )?withdrawn)",
        "cluster-fs-stopped",
        LogPlace.NODE,
    ),
    pattern(
        "BTRFS critical (device",
        r"BTRFS critical \(device (?P<dev>[\w!/-]{1,60})(?::? state \w{1,8})?\):",
        "fs-corruption",
        LogPlace.DISK,
    ),
    pattern("needs repair", _XFS + r"Filesystem needs repair", "fs-corruption", LogPlace.DISK),
    pattern("Please run xfs_repair", _XFS + r"Please run xfs_repair", "fs-corruption", LogPlace.DISK),
    pattern("has bad magic number", _XFS + r"Superblock has bad magic number", "fs-corruption", LogPlace.DISK),
    pattern(" inode", _XFS + r"(?:\w{1,60}: )?[Bb]ad (?:\w{1,12} )?inode\b", "fs-corruption", LogPlace.DISK),
    pattern(
        "Log inconsistent", _XFS + r"Log inconsistent \(didn't find previous header\)", "fs-corruption", LogPlace.DISK
    ),
    pattern("Access to block zero", _XFS + r"Access to block zero in inode \d{1,20}", "fs-corruption", LogPlace.DISK),
    pattern(
        "ext4_check_descriptors",
        _EXT + r"ext4_check_descriptors: \w{1,10} \w{1,10} for group \d{1,10} (?:overlaps|not in group)",
        "fs-corruption",
        LogPlace.DISK,
    ),
    pattern(
        "bad geometry: block count",
        _EXT + r"bad geometry: block count \d{1,20} exceeds size of device",
        "fs-corruption",
        LogPlace.DISK,
    ),
    pattern(
        "journal",
        _EXT + r"(?:no journal found|journal inode is deleted|journal UUID does not match"
        r"|external journal has bad superblock|couldn't read superblock of external journal|journal device read-only)",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern(
        "in need of filesystem check",
        r"EXT4-fs warning \(device (?P<dev>[\w!/-]{1,60})\): \w{1,60}:\d{1,6}: Marking fs in need of filesystem check",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern(
        "missing",
        _BTRFS + r"(?:devid \d{1,20} uuid [0-9a-f-]{1,40} (?:is )?missing|chunk \d{1,20} missing [1-9]\d{0,5} devices"
        r"|too many missing devices|writable mount is not allowed due to too many missing devices"
        r"|(?:src|tgt)dev \(devid \d{1,20}\) is missing)",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern(
        " has bad ",
        _BTRFS + r"tree block \d{1,20} mirror \d{1,4} has bad (?:bytenr|fsid|chunk tree uuid|generation|csum)",
        "fs-corruption",
        LogPlace.DISK,
    ),
    pattern("read tree root", _BTRFS + r"(?:couldn't|failed to) read tree root", "fs-corruption", LogPlace.DISK),
)
