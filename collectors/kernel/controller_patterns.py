"""Messages of HBAs and RAID controllers, as their drivers in drivers/scsi print them."""

from __future__ import annotations

from sdstop.collectors.kernel.message import LogPlace, pattern

_PCI = r"(?P<dev>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)"
_CM = r"(?P<dev>mp[ti]\w{0,10}_cm\d{1,3}|mpt2sas\d{1,3}|mpi3mr\d{1,3}): "
_MEGA = rf"megaraid_sas {_PCI}: (?:[\w ]{{0,40}}: )?"
_QLA = rf"qla2xxx \[{_PCI}\]"
_NUMBER = r"-[0-9a-f]{4}:\d{1,4}: "
"""Number of a message of qla2xxx, and of its host."""
_LPFC = rf"lpfc {_PCI}: \d{{1,3}}:(?:\(\d{{1,3}}\):)?"
_SCSI_ID = r"(?P<dev>\d{1,4}:\d{1,4}:\d{1,6}:\d{1,20})"

PATTERNS = (
    pattern(
        "resetting scsi", r"\w{1,20} [0-9a-f:.]{4,20}: resetting scsi (?P<dev>[\d:]{7,40})", "reset", LogPlace.SCSI
    ),
    pattern(
        "resetting",
        r"hpsa [0-9a-f:.]{4,20}: scsi (?P<dev>\d{1,4}:\d{1,4}:\d{1,4}:\d{1,4}): resetting\b",
        "reset",
        LogPlace.SCSI,
    ),
    pattern(" reset", _CM + r"sending (?:diag|message unit) reset", "controller-reset", LogPlace.CONTROLLER),
    pattern("host reset", _CM + r"[Aa]ttempting host reset", "controller-reset", LogPlace.CONTROLLER),
    pattern("non-operational", _CM + r"SAS host is non-operational", "controller-fault", LogPlace.CONTROLLER),
    pattern("fault_state(", _CM + r"fault_state\(0x[0-9a-f]{1,8}\)", "controller-fault", LogPlace.CONTROLLER),
    pattern(
        "log_info(",
        _CM
        + (
            r"log_info\(0x[0-9a-f]{1,8}\): originator\(\w{1,6}\), code\(0x\w{1,4}\),"
            r" sub_code\(0x\w{1,6}\)"
        ),
        "hba-event",
        LogPlace.CONTROLLER,
    ),
    pattern("FAULT state", _MEGA + r"(?:Found )?FW in FAULT state", "controller-fault", LogPlace.PCI),
    pattern("esetting fusion", _MEGA + r"[Rr]esetting fusion adapter", "controller-reset", LogPlace.PCI),
    pattern(
        "aacraid: Host",
        r"(?P<dev>aacraid): Host (?:adapter abort|bus reset|adapter reset) request",
        "controller-reset",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "offline",
        r"smartpqi (?P<dev>[0-9a-f]{4}:[0-9a-f:.]{7}): controller (?:is offline|offline: reason code)",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "Temperature Threshold flags",
        _CM + r"Temperature Threshold flags .{1,60} exceeded for Sensor",
        "controller-hot",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "encountered a fatal error",
        _MEGA + r"\d{1,9} \([\w+/ ]{1,40}\) - Controller encountered a fatal error and was reset",
        "controller-reset",
        LogPlace.PCI,
    ),
    pattern(
        "ontroller lockup detected",
        r"hpsa (?P<dev>[0-9a-f]{4}:[0-9a-f:.]{7}): [Cc]ontroller lockup detected",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        ") - ",
        _MEGA + r"\d{1,9} \([\w+ ]{1,20}/0x[0-9a-f]{4}/(?P<class>CRIT|FATAL|DEAD)\) - [A-Z](?:(?! Path )[ -~]){1,120}",
        lambda found: "controller-alarm" if found["class"] == "CRIT" else "controller-fatal",
        LogPlace.PCI,
    ),
    pattern(
        "Abort command issued",
        _QLA + r"-801c:\d{1,4}: Abort command issued nexus=\d{1,4}:\d{1,6}:\d{1,20}",
        "abort",
        LogPlace.PCI,
    ),
    pattern(
        "RESET ISSUED",
        _QLA + r"-8009:\d{1,4}: (?:DEVICE|TARGET) RESET ISSUED nexus=\d{1,4}:\d{1,6}:\d{1,20}",
        "reset",
        LogPlace.PCI,
    ),
    pattern(
        "0713 SCSI layer issued",
        _LPFC + r"0713 SCSI layer issued [Dd]evice [Rr]eset \(\d{1,6}, \d{1,20}\)",
        "reset",
        LogPlace.PCI,
    ),
    pattern(
        "0203 Devloss timeout",
        _LPFC + r"0203 Devloss timeout on WWPN (?P<hidden>[0-9a-f:]{23}|-)",
        "session-lost",
        LogPlace.PCI,
    ),
    pattern(
        "Fatal firmware error",
        _MEGA + r"Fatal firmware error",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "waiting for controller reset",
        _MEGA + r"waiting for controller reset to finish",
        "controller-reset",
        LogPlace.PCI,
    ),
    pattern(
        "due to timeout count(",
        _CM + r"_base_\w{1,60}: failed due to timeout count\(\d{1,9}\)",
        "controller-fault",
        LogPlace.CONTROLLER,
    ),
    pattern("adapter dead", r"(?P<dev>aacraid): Host adapter dead -?\d{1,4}", "controller-fault", LogPlace.CONTROLLER),
    pattern(
        "ISP System Error",
        _QLA + r"-5003:\d{1,4}: ISP System Error",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern("coredump_state(", _CM + r"coredump_state\(0x[0-9a-f]{1,8}\)", "controller-fault", LogPlace.CONTROLLER),
    pattern("port enable: FAILED", _CM + r"port enable: FAILED", "controller-fault", LogPlace.CONTROLLER),
    pattern("is not present", _CM + r"controller is not present", "controller-fault", LogPlace.CONTROLLER),
    pattern(
        "pending commands remain", _MEGA + r"pending commands remain after waiting", "controller-reset", LogPlace.PCI
    ),
    pattern("killing adapter", _MEGA + r"Reset not supported, killing adapter", "controller-fault", LogPlace.PCI),
    pattern("not OPERATIONAL", _MEGA + r"Controller is not OPERATIONAL", "controller-fault", LogPlace.PCI),
    pattern("never cleared", _MEGA + r"Diag reset adapter never cleared", "controller-fault", LogPlace.PCI),
    pattern("no heartbeat", rf"smartpqi {_PCI}: no heartbeat detected", "controller-fault", LogPlace.PCI),
    pattern(
        "not ready after",
        rf"smartpqi {_PCI}: controller not ready after \d{{1,9}} sec",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "outstanding command",
        rf"(?:smartpqi|hpsa) [0-9a-f:.]{{4,20}}: (?:\w{{1,40}}: )?(?:scsi {_SCSI_ID} removing device with"
        r"|removing device \[(?P<also>\d{1,4}:\d{1,4}:\d{1,6}:\d{1,20})\] with) [1-9]\d{0,8} outstanding command",
        "device-gone",
        LogPlace.SCSI,
    ),
    pattern(
        "phys disk component of LV is missing",
        rf"hpsa [0-9a-f:.]{{4,20}}: (?:\w{{1,40}}: )?\[{_SCSI_ID}\] A phys disk component of LV is missing",
        "degraded-array",
        LogPlace.SCSI,
    ),
    pattern("adapter kernel panic", rf"aacraid {_PCI}: adapter kernel panic", "controller-fault", LogPlace.PCI),
    pattern(
        "SCSI hang",
        r"(?P<dev>aacraid): Host (?:device|target|bus) reset request\. SCSI hang",
        "controller-reset",
        LogPlace.CONTROLLER,
    ),
    pattern("bus reset eh", r"(?P<dev>arcmsr)\d{0,3}: executing bus reset eh", "controller-reset", LogPlace.CONTROLLER),
    pattern(
        "RETRY TERMINATED",
        r"(?P<dev>arcmsr\d{1,3}): waiting for hw bus reset return, RETRY TERMINATED",
        "controller-fault",
        LogPlace.CONTROLLER,
    ),
    pattern("abort device command", r"(?P<dev>arcmsr\d{1,3}): abort device command", "abort", LogPlace.CONTROLLER),
    pattern(
        "maximum allowed",
        _QLA + _NUMBER + r"Device temperature \d{1,3} degrees C exceeds {1,2}maximum allowed",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "exceeds operating range",
        _QLA + _NUMBER + r"Device temperature \d{1,3} degrees C exceeds operating range",
        "controller-hot",
        LogPlace.PCI,
    ),
    pattern(
        "qla2xxx",
        _QLA + _NUMBER + r"(?:Disabling (?:the board|adapter)\.|RISC paused -- HCCR="
        r"|Adapter did not c[o]me out of reset|MPI Heartbeat stop|PegHalt Status-1 Register"
        r"|ISP error recovery failed|FW hang|Firmware hang)",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "qla2xxx",
        _QLA + _NUMBER + r"(?:Exchange starvation-?\. Resetting RISC|Adapter reset needed"
        r"|ADAPTER RESET ISSUED|BUS RESET ISSUED)",
        "controller-reset",
        LogPlace.PCI,
    ),
    # Also printed when the driver is removed.
    pattern(
        "Performing ISP error recovery", _QLA + _NUMBER + r"Performing ISP error recovery", "hba-event", LogPlace.PCI
    ),
    pattern("Dropped frame(s)", _QLA + _NUMBER + r"Dropped frame\(s\) detected", "transport-error", LogPlace.PCI),
    pattern("Over Temperature:", _LPFC + r"3190 Over Temperature:\d{1,4} Celsius", "controller-hot", LogPlace.PCI),
    pattern(" Adapter Link is disabled", _LPFC + r"\d{4} Adapter Link is disabled", "port-down", LogPlace.PCI),
    pattern("Reset Needed", _LPFC + r"2887 Reset Needed: Attempting Port Recovery", "controller-reset", LogPlace.PCI),
    pattern("heartbeat still", _LPFC + r"0459 Adapter heartbeat still outstanding", "controller-alarm", LogPlace.PCI),
    # A target has no LUN.
    pattern(
        "RESET ISSUED", _QLA + r"-8009:\d{1,4}: TARGET RESET ISSUED nexus=\d{1,4}:\d{1,6} cmd", "reset", LogPlace.PCI
    ),
    pattern(
        "qla2xxx",
        _QLA + _NUMBER + r"(?:Unrecoverable (?:Hardware Error: adapter|Fatal error:)|Heartbeat Failure encountered"
        r"|ISP (?:Request|Response) Transfer Error|Parity error -- HCCR=)",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "qla2xxx",
        _QLA + _NUMBER + r"(?:Mailbox command timeout occurred|HW State: NEED RESET"
        r"|ISP error recovery - retrying|(?:BUS|ADAPTER) RESET FAILED|Recoverable Fatal error: Chip reset)",
        "controller-reset",
        LogPlace.PCI,
    ),
    pattern(
        "qla2xxx",
        _QLA + _NUMBER + r"(?:TEMPERATURE ALERT:|ISPFx00\(\w{1,40}\): Critical temp timer"
        r"|Asynchronous (?:over|critical) temperature event received)",
        "controller-hot",
        LogPlace.PCI,
    ),
    pattern("lpfc ", _LPFC + r"0347 Adapter is very hot", "controller-hot", LogPlace.PCI),
    pattern(
        "lpfc ",
        _LPFC
        + r"(?:0460 Adapter hardware error|0457 Adapter Hardware Error|314[345] Port Down: (?:Firmware|Debug|Prov)"
        r"|0310 Mailbox command x?[0-9a-f]{1,4} timeout)",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern("lpfc ", _LPFC + r"0748 abort handler timed out waiting for abort", "abort", LogPlace.PCI),
    pattern(
        "lpfc ",
        _LPFC + r"(?:0727 TMF \w{1,40} to TGT|072[1-6] (?:Bus|Target|Device) Reset|072[34] SCSI layer issued "
        r"(?:Target|Bus) Reset|3172 SCSI layer issued Host Reset)",
        "reset",
        LogPlace.PCI,
    ),
)
