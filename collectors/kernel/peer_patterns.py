"""Messages about servers, peers and clients: iSCSI, NVMe-oF, NFS, CIFS, Ceph, AoE, DRBD, ScaleIO."""

from __future__ import annotations

from sdstop.collectors.kernel.message import LogPlace, pattern

PATTERNS = (
    pattern(
        "mapVolIO_ReportIOErrorIfNeeded",
        r"(?P<dev>ScaleIO) mapVolIO_ReportIOErrorIfNeeded:\d{1,6} ?:\[\d{1,12}\] IO-ERROR",
        "target-error",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "detected conn error",
        r" ?(?P<dev>connection\d{1,6}:\d{1,4}): detected conn error \(\d{1,6}\)",
        "session-error",
        LogPlace.SESSION,
    ),
    pattern(
        "ping timeout",
        r" ?(?P<dev>connection\d{1,6}:\d{1,4}): ping timeout of \d{1,6} secs expired",
        "session-error",
        LogPlace.SESSION,
    ),
    pattern(
        "session recovery timed out",
        r" ?(?P<dev>session\d{1,6}): session recovery timed out after \d{1,6} secs",
        "session-lost",
        LogPlace.SESSION,
    ),
    pattern(
        "not responding",
        r"nfs: server (?P<dev>[\w.:%-]{1,253}) not responding, (?:still trying|timed out)",
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(" OK", r"nfs: server (?P<dev>[\w.:%-]{1,253}) OK", "server-back", LogPlace.SERVER),
    pattern(
        "mds",
        r"(?:libceph|ceph): (?:\[[0-9a-f -]{20,60}\]: ?)?(?P<dev>mds\d{1,5}) (?P<now>hung|[a-z]{4} back)",
        lambda found: "server-silent" if found["now"] == "hung" else "server-back",
        LogPlace.SERVER,
    ),
    pattern(
        "has not responded in",
        (
            r"CIFS:? (?:VFS: )?(?:Server )?(?:\\\\|//)?(?P<dev>[\w.:%-]{1,253}) has not responded in \d{1,6}"
            r" seconds"
        ),
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(
        " stuck for ",
        r"CIFS:? (?:VFS: )?(?:\\\\|//)(?P<dev>[\w.:%-]{1,253}) sends on sock [0-9a-fx]{1,18} stuck for \d{1,6} seconds",
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(
        " disk( ",
        (
            r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6}): (?:[\w( )>-]{0,120}? )?disk\( \w{1,20} -> "
            r"(?:Failed|Diskless) \)"
        ),
        "device-gone",
        LogPlace.DISK,
    ),
    pattern(
        "Split-Brain detected but unresolved",
        r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6})(?: (?P<hidden_peer>\S{1,128}))?: "
        r"Split-Brain detected but unresolved",
        "split-brain",
        LogPlace.DISK,
    ),
    pattern(
        "Split-Brain detected but unresolved",
        r"drbd (?P<dev>[\w.+-]{1,128})(?: (?P<hidden_peer>\S{1,128}))?: Split-Brain detected but unresolved",
        "split-brain",
        LogPlace.DISK,
    ),
    pattern(
        "ABORT_TASK",
        r"ABORT_TASK: Found referenced \w{1,20} task_tag: \d{1,20}",
        "client-abort",
        LogPlace.NODE,
    ),
    pattern(
        " expired",
        r"nvmet: ctrl \d{1,6} keep-alive timer \(\d{1,6} seconds\) expired|Time2Retain timer expired for SID: \d{1,10}",
        "client-lost",
        LogPlace.NODE,
    ),
    pattern(
        "Did not receive response to NOPIN",
        r"Did not receive response to NOPIN on CID: \d{1,6}, failing connection",
        "client-lost",
        LogPlace.NODE,
    ),
    pattern("nvmet: ctrl ", r"nvmet: ctrl \d{1,6} fatal error occurred", "client-lost", LogPlace.NODE),
    pattern(
        "ata error cmd=",
        r"aoe: (?:aoecmd_ata_rsp: )?ata error cmd=[0-9A-F]{2}h stat=[0-9A-F]{2}h from (?P<dev>e\d{1,5}\.\d{1,3})",
        "target-error",
        LogPlace.AOE,
    ),
    pattern("is not up", r"aoe: device (?P<dev>\d{1,5}\.\d{1,3}) is not up", "offline-io", LogPlace.AOE),
    pattern(
        "error packet from",
        r"aoe: error packet from (?P<dev>\d{1,5}\.\d{1,3})(?:@(?P<hidden>[\w.@-]{1,15}))?; ecode=\d{1,3}",
        "target-error",
        LogPlace.AOE,
    ),
    pattern(
        " IO error sector",
        r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6}): local (?:READ|WRITE|UNKNOWN) IO error sector",
        "io-error",
        LogPlace.DISK,
    ),
    pattern(
        "IO ERROR: neither local",
        r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6}): IO ERROR: neither local nor remote d(?:ata|isk)",
        "io-error",
        LogPlace.DISK,
    ),
    pattern(
        "Local IO failed in",
        r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6}): Local IO failed in \w{1,60}",
        "device-gone",
        LogPlace.DISK,
    ),
    pattern(
        "not responding",
        r"lockd: server (?P<dev>[\w.:%-]{1,253}) not responding, (?:still trying|timed out)",
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(" OK", r"lockd: server (?P<dev>[\w.:%-]{1,253}) OK", "server-back", LogPlace.SERVER),
    pattern(
        "closing iSCSI connection",
        r"(?:Unable to recover from DataOut timeout while in ERL=0|Command ITT: 0x[0-9a-f]{8} exceeded max retries for "
        r"DataOUT timeout \d{1,9}), closing iSCSI connection",
        "client-lost",
        LogPlace.NODE,
    ),
)
