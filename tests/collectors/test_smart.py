"""Health of disks from smartctl and nvme: which disks are asked, what is read, and what stays unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Sequence

import pytest

from sdstop.collectors.health import smart
from sdstop.collectors.health.disk_answers import row_of
from sdstop.collectors.health.readings import ANSWERED, DiskHealth
from sdstop.collectors.health.smart import SMART, without_smart
from sdstop.collectors.health.smartctl_text import parse_text
from sdstop.core.evidence import Evidence, Outcome, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Output, TimedOut
from tests.nodes.disk_health import asked, asked_nvme, ata, nvme, scsi, standby, sysfs, sysfs_nvme


def rows(files: dict[str, str], *items: Evidence) -> dict[str, DiskHealth]:
    host = EvidenceHost.of(files)
    host.apply(items)
    return {row.device: row for row in SMART.read(host) if isinstance(row, DiskHealth)}


def of(document: str, device: str = "sda") -> DiskHealth:
    return rows({asked(device): document, **sysfs(device)})[device]


# --- what is read -----------------------------------------------------------------------------------------


def test_a_sata_disk() -> None:
    row = of(ata({5: 8, 197: 16, 198: 16, 187: 3, 199: 12}))
    assert (row.state, row.protocol, row.passed) == ("answered", "ATA", True)
    assert (row.reallocated, row.pending, row.offline_uncorrectable, row.uncorrected, row.crc_errors) == (
        8,
        16,
        16,
        3,
        12,
    )
    assert (row.temperature, row.power_on, row.flash) == (31, 30_000 * 3600, False)
    assert row.remark() == "passed, 16 pending, 3 uncorrected, 8 reallocated, 12 CRC errors, 31 C"


@pytest.mark.parametrize("raw", ["4294967295", "65535", "281474976710655", "", "none"])
def test_absurd_raw_values_are_unknown(raw: str) -> None:
    assert of(ata({197: raw})).pending is None


def test_a_number_with_another_name_is_another_attribute() -> None:
    document = json.loads(ata({5: 77}))
    document["ata_smart_attributes"]["table"][0]["name"] = "Total_LBAs_Written"
    assert of(json.dumps(document)).reallocated is None


def test_raw_values_with_more_numbers_count_as_smartctl_prints_them() -> None:
    assert of(ata({5: "24 (0 3)"})).reallocated == 24


@pytest.mark.parametrize(("number", "name", "value", "raw", "used"), [
    (233, "Media_Wearout_Indicator", 97, "0", 0.03),
    (233, "Media_Wearout_Indicator", 1, "0", 0.99),
    (233, "Media_Wearout_Indicator", 0, "5567", None),
    (177, "Wear_Leveling_Count", 0, "98", None),
    (177, "Wear_Leveling_Count", 99, "12", 0.01),
    (230, "Media_Wearout_Indicator", 1, "0x005d0014005d", 0.0),
    (230, "Media_Wearout_Indicator", 37, "0x25060d282506", 0.37),
    (230, "Media_Wearout_Indicator", 100, "12", None),
])  # fmt: skip
def test_wear_is_read_where_the_vendor_keeps_it(
    number: int, name: str, value: int, raw: str, used: float | None
) -> None:
    """New disks of SanDisk and Western Digital have the value 1, which other vendors give to worn ones."""
    document = json.loads(ata(rotation=0))
    row = {"id": number, "name": name, "value": value, "worst": value, "thresh": 0, "raw": {"value": 0, "string": raw}}
    document["ata_smart_attributes"]["table"].append(row)
    assert of(json.dumps(document)).used == used


def test_endurance_that_smartctl_normalized_is_used_where_the_disk_has_no_other() -> None:
    assert of(scsi(endurance_used={"current_percent": 93})).used == 0.93
    assert of(ata(rotation=0, endurance_used={"current_percent": 12})).used == 0.12
    assert of(ata(rotation=0, endurance_used={"current_percent": 300})).used is None


def test_a_sas_disk() -> None:
    row = of(scsi(defects=4, uncorrected=5))
    assert (row.protocol, row.reallocated, row.uncorrected, row.hot, row.model) == (
        "SCSI",
        4,
        5,
        65,
        "HGST HUC101830CSS200",
    )


def test_an_nvme_disk() -> None:
    files = {asked("nvme0n1"): nvme(warning=4, used=105, spare=7, media_errors=12), **sysfs_nvme()}
    row = rows(files)["nvme0n1"]
    assert (row.critical_warning, row.used, row.spare, row.spare_limit, row.uncorrected) == (4, 1.05, 0.07, 0.1, 12)


def test_nvme_cli_is_used_without_smartctl() -> None:
    log = {"critical_warning": 0, "temperature": 311, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3,
           "media_errors": 0, "power_on_hours": 42}  # fmt: skip
    missing = Evidence(asked("nvme0n1"), Outcome.ABSENT, detail="smartctl is not installed")
    row = rows({asked_nvme("nvme0n1"): json.dumps(log), **sysfs_nvme()}, missing)["nvme0n1"]
    assert (row.state, row.temperature, row.used, row.power_on) == ("answered", 38, 0.03, 42 * 3600)


def test_device_statistics_have_the_wear_of_a_sata_ssd() -> None:
    row = {"name": "Percentage Used Endurance Indicator", "value": 42, "flags": {"valid": True}}
    document = ata(rotation=0, ata_device_statistics={"pages": [{"number": 7, "table": [row]}]})
    assert of(document).used == 0.42
    assert of(ata(rotation=0)).used is None


@pytest.mark.parametrize(
    ("result", "passed"),
    [
        ("Completed without error", True), ("Completed: read failure", False), ("Completed", True),
        ("Fatal or unknown error", False), ("Failed in segment -->", False), ("Aborted by host", None),
        ("Interrupted (host reset)", None), ("Self-test routine in progress", None),
    ],
)  # fmt: skip
def test_a_self_test_counts_if_it_ended_by_itself(result: str, passed: object) -> None:
    test = {"status": {"value": 0, "string": result}, "lifetime_hours": 29_990}
    row = of(ata(ata_smart_self_test_log={"standard": {"table": [test]}}))
    assert row.selftest_passed is passed
    assert row.selftest_age == (None if passed is None else 36_000)


# --- what is not known ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (standby(), "standby"),
        ("", "unread"),
        (ata()[:-40], "unread"),
        ("{}", "unread"),
        ('{"smartctl":{"exit_status":2,"messages":[{"string":"open device: /dev/sda failed"}]}}', "failed"),
        ('{"smartctl":{"exit_status":4},"smart_support":{"available":true,"enabled":false},"device":{"protocol":"ATA"}}',
         "unsupported"),
        ('{"smartctl":{"exit_status":0},"device":{"protocol":"SCSI"}}', "unsupported"),
    ],
)  # fmt: skip
def test_a_disk_without_health_data_has_a_reason(text: str, state: str) -> None:
    row = rows({asked("sda"): text or " ", **sysfs("sda")})["sda"]
    assert (row.state, row.passed, row.pending) == (state, None, None)
    assert row.reason
    assert row.remark() == f"unknown: {state}"


def test_a_disk_without_an_answer_among_others_is_unknown() -> None:
    found = rows({asked("sdb"): ata(), **sysfs("sda"), **sysfs("sdb", number=1)})
    assert (found["sda"].state, found["sda"].reason) == ("not asked", "no answer recorded")


def test_the_exit_status_of_a_failing_disk_wins() -> None:
    assert of(ata(smartctl={"version": [7, 3], "exit_status": 8})).passed is False
    assert of(ata(smartctl={"version": [7, 3], "exit_status": 64})).passed is True


def test_an_old_smartctl_is_no_fault_of_the_disk() -> None:
    text = b"smartctl 6.6 2017-11-05\n=======> UNRECOGNIZED OPTION: json=c\n\nUse smartctl -h to get a usage summary\n"
    row = rows(sysfs("sda"), Evidence(asked("sda"), data=text, exit=1))["sda"]
    assert (row.state, row.reason) == ("not asked", "smartctl is older than 7.0, which brought JSON")


def test_a_virtual_disk_has_no_health() -> None:
    """As smartctl 7.3 printed it of a virtio disk."""
    said = [{"string": "/dev/vda: Unable to detect device type", "severity": "error"}]
    text = json.dumps({"json_format_version": [1, 0], "smartctl": {"messages": said, "exit_status": 1}})
    assert of(text).state == "unsupported"


def test_permission_denied_is_denied() -> None:
    said = [{"string": "Smartctl open device: /dev/sda failed: Permission denied", "severity": "error"}]
    text = json.dumps({"smartctl": {"exit_status": 2, "messages": said}})
    refused = Evidence(asked("sda"), data=text.encode(), exit=2)
    with pytest.raises(Denied):
        rows(sysfs("sda"), refused)


def test_a_hung_smartctl_costs_its_own_disk_alone() -> None:
    files = {asked("sdb"): ata(), **sysfs("sda"), **sysfs("sdb", number=1)}
    found = rows(files, Evidence(asked("sda"), Outcome.TIMEOUT, detail="timed out after 15 s"))
    assert (found["sda"].state, found["sdb"].state) == ("timed out", "answered")


def test_without_smartctl_disks_are_not_asked_and_not_good() -> None:
    missing = Evidence(asked("sda"), Outcome.ABSENT, detail="smartctl is not installed")
    row = rows(sysfs("sda"), missing)["sda"]
    assert (row.state, row.reason) == ("not asked", "smartctl is not installed")


def test_a_capture_without_answers_has_no_rows() -> None:
    with pytest.raises(Absent) as caught:
        rows(sysfs("sda"))
    assert not caught.value.recorded


# --- which disks are asked --------------------------------------------------------------------------------


class Asking(EvidenceHost):
    """A host that notes which commands it is to run; `slow` are those that do not end."""

    commands: list[list[str]]
    slow: tuple[str, ...] = ()
    resting: set[str]

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        self.commands.append(list(argv))
        if argv[-1] in self.slow:
            raise TimedOut(command_key(argv), f"timed out after {deadline:g} s")
        return Output(ata().encode())

    def rests(self, what: str, of: Hashable = None) -> bool:
        del of
        return what in self.resting

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        del seconds, of
        self.resting.add(what)


def asking(files: dict[str, str], *slow: str) -> Asking:
    host = Asking(Evidence(key, data=text.encode()) for key, text in files.items())
    host.commands, host.resting, host.slow = [], set(), slow
    return host


def disks(host: Asking) -> list[str]:
    list(SMART.read(host))
    return [argv[-1] for argv in host.commands]


@pytest.mark.parametrize("driver", ["ahci", "mpt3sas", "mpi3mr", "isci", "sata_sil24", "smartpqi"])
def test_disks_behind_these_drivers_are_asked(driver: str) -> None:
    assert disks(asking(sysfs("sda", driver))) == ["/dev/sda"]


@pytest.mark.parametrize(
    "driver", ["usb-storage", "uas", "megaraid_sas", "hpsa", "aacraid", "3w-9xxx", "iscsi_tcp", "qla2xxx"]
)
def test_disks_behind_other_drivers_are_not(driver: str) -> None:
    host = asking(sysfs("sda", driver))
    [row] = [row for row in SMART.read(host) if isinstance(row, DiskHealth)]
    assert host.commands == []
    assert row.state == "not asked"
    assert driver in (row.reason or "")


def test_a_sleeping_disk_is_not_even_opened() -> None:
    host = asking({**sysfs("sda"), "/sys/block/sda/device/power/runtime_status": "suspended\n"})
    [row] = [row for row in SMART.read(host) if isinstance(row, DiskHealth)]
    assert (host.commands, row.state) == ([], "standby")


def test_the_command_neither_wakes_nor_tests_nor_changes_a_disk() -> None:
    host = asking(sysfs("sda"))
    disks(host)
    [argv] = host.commands
    assert argv[2:4] == ["-n", "standby"]
    assert not {"-t", "--test", "-X", "-s", "--smart", "-o", "-S", "--set", "-x", "--xall"} & set(argv)


@pytest.mark.parametrize("state", ["offline", "blocked", "transport-offline", "quiesce"])
def test_a_disk_that_does_not_run_is_not_asked(state: str) -> None:
    assert disks(asking({**sysfs("sda"), "/sys/block/sda/device/state": f"{state}\n"})) == []


def test_of_two_paths_to_a_disk_one_is_asked() -> None:
    other = {**sysfs("sdb", number=1), "/sys/block/sdb/device/wwid": "naa.5000c50000000000\n"}
    assert disks(asking({**sysfs("sda"), **other})) == ["/dev/sda"]


def test_raid_volumes_and_remote_disks_are_not_asked() -> None:
    assert disks(asking({**sysfs("sda", "mpt3sas"), "/sys/block/sda/device/model": "Logical Volume\n"})) == []
    with pytest.raises(Absent):
        disks(asking(sysfs_nvme(transport="tcp")))
    with pytest.raises(Absent):
        disks(asking(sysfs("sda", "virtio_scsi")))


def test_a_disk_that_does_not_answer_is_left_alone() -> None:
    host = asking({**sysfs("sda"), **sysfs("sdb", number=1)}, "/dev/sda")
    assert disks(host) == ["/dev/sda", "/dev/sdb"]
    host.commands.clear()
    assert disks(host) == ["/dev/sdb"]


def test_no_smart_asks_nobody() -> None:
    host = asking(sysfs("sda"))
    [row] = without_smart().read(host)
    assert isinstance(row, DiskHealth)
    assert (host.commands, row.state, row.reason) == ([], "not asked", "disabled by --no-smart")
    assert not any("smartctl" in str(getattr(need, "argv", "")) for need in without_smart().needs)


def test_an_old_answer_of_a_disk_that_sleeps_now_does_not_count() -> None:
    files = {asked("sda"): ata(), **sysfs("sda"), "/sys/block/sda/device/power/runtime_status": "suspended\n"}
    assert rows(files)["sda"].state == "standby"
    gone = {asked("sdz"): ata({197: 9}), asked("sda"): ata(), **sysfs("sda")}
    assert set(rows(gone)) == {"sda"}


# --- what others recorded ---------------------------------------------------------------------------------

TEXT = """smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-38-amd64] (local build)
Copyright (C) 2002-22, Bruce Allen, Christian Franke, www.smartmontools.org

=== START OF INFORMATION SECTION ===
Model Family:     Seagate Enterprise Capacity 3.5 HDD
Device Model:     ST4000NM0035-1V4107
Serial Number:    ZC1A7WQ9
LU WWN Device Id: 5 000c50 0a4069094
Rotation Rate:    7200 rpm
SMART support is: Enabled

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED

SMART Attributes Data Structure revision number: 10
Vendor Specific SMART Attributes with Thresholds:
ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       24
  9 Power_On_Hours          0x0032   059   059   000    Old_age   Always       -       36055
187 Reported_Uncorrect      0x0032   097   097   000    Old_age   Always       -       3
188 Command_Timeout         0x0032   100   097   000    Old_age   Always       -       4295032853
194 Temperature_Celsius     0x0022   036   053   000    Old_age   Always       -       36 (0 3 0 0 0)
197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       16
198 Offline_Uncorrectable   0x0010   100   100   000    Old_age   Offline      -       16
199 UDMA_CRC_Error_Count    0x003e   200   200   000    Old_age   Always       -       2

SMART Error Log Version: 1
ATA Error Count: 3
Error 3 occurred at disk power-on lifetime: 36050 hours (1502 days + 2 hours)

SMART Self-test log structure revision number 1
Num  Test_Description    Status                  Remaining  LifeTime(hours)  LBA_of_first_error
# 1  Extended offline    Completed: read failure       90%     36001         123456789
# 2  Short offline       Completed without error       00%     35000         -
"""
NVME_TEXT = """smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-38-amd64] (local build)

=== START OF INFORMATION SECTION ===
Model Number:                       SAMSUNG MZQL23T8HCLS-00A07
Serial Number:                      S64HNG0T123456
Warning  Comp. Temp. Threshold:     80 Celsius
Critical Comp. Temp. Threshold:     83 Celsius

=== START OF SMART DATA SECTION ===
SMART overall-health self-assessment test result: FAILED!
- NVM subsystem reliability has been degraded

SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x04
Temperature:                        38 Celsius
Available Spare:                    100%
Available Spare Threshold:          10%
Percentage Used:                    3%
Power On Hours:                     9,120
Media and Data Integrity Errors:    12
"""
SAS_TEXT = """smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-38-amd64] (local build)

=== START OF INFORMATION SECTION ===
Vendor:               HGST
Product:              HUC101830CSS200
Rotation Rate:        10020 rpm
Serial number:        0TG4D5XA
Transport protocol:   SAS (SPL-4)

=== START OF READ SMART DATA SECTION ===
SMART Health Status: FAILURE PREDICTION THRESHOLD EXCEEDED [asc=5d, ascq=10]
Current Drive Temperature:     34 C
Drive Trip Temperature:        65 C

Elements in grown defect list: 412

Error counter log:
           Errors Corrected by           Total   Correction     Gigabytes    Total
               ECC          rereads/    errors   algorithm      processed    uncorrected
           fast | delayed   rewrites  corrected  invocations   [10^9 bytes]  errors
read:          0      121         3       124          3      12000.000           5
write:         0        0         0         0          0       8000.000           0
"""


@pytest.mark.parametrize(
    "key",
    [
        "cmd:smartctl -a /dev/sda",
        "cmd:smartctl -a .dev.sda",
        "slug:smartctl_-x_-d_sat__dev_sda",
        "cmd:smartctl -H -A -i /dev/sda",
    ],
)
def test_text_of_a_sata_disk_under_any_name(key: str) -> None:
    row = rows({key: TEXT})["sda"]
    assert (row.passed, row.reallocated, row.pending, row.uncorrected, row.crc_errors) == (True, 24, 16, 3, 2)
    assert (row.temperature, row.selftest_passed, row.selftest_age, row.error_age) == (36, False, 54 * 3600, 5 * 3600)
    assert (row.serial, row.flash) == ("ZC1A7WQ9", False)


def test_text_of_nvme_and_sas_disks() -> None:
    found = rows({"cmd:smartctl -a /dev/nvme0n1": NVME_TEXT, "cmd:smartctl -a /dev/sdb": SAS_TEXT})
    row = found["nvme0n1"]
    assert (row.protocol, row.passed, row.critical_warning, row.uncorrected, row.warm, row.hot) == (
        "NVMe",
        False,
        4,
        12,
        80,
        83,
    )
    row = found["sdb"]
    assert (row.protocol, row.passed, row.reallocated, row.uncorrected, row.temperature, row.hot) == (
        "SCSI",
        False,
        412,
        5,
        34,
        65,
    )
    assert "FAILURE PREDICTION" in (row.verdict or "")


@pytest.mark.parametrize("cut", ["198 Offline_Unc", "199 UDMA_CRC_Error_Count    0x003e   200", "SMART Error Log"])
def test_a_table_that_is_cut_off_is_not_read(cut: str) -> None:
    text = TEXT[: TEXT.index(cut) + len(cut)]
    if cut.startswith("SMART"):
        text = text[: -len(cut)].rstrip("\n")
    assert rows({"cmd:smartctl -a /dev/sda": text})["sda"].state == "unread"


def test_a_disk_behind_a_controller_has_its_number() -> None:
    assert set(rows({"cmd:smartctl -a -d megaraid,8 /dev/bus/0": SAS_TEXT})) == {"bus/0:megaraid,8"}


def test_several_outputs_in_one_text_are_several_disks() -> None:
    found = rows({"cmd:smartctl -a": TEXT + "\n" + SAS_TEXT})
    assert {name: row.protocol for name, row in found.items()} == {"ZC1A7WQ9": "ATA", "0TG4D5XA": "SCSI"}


def test_the_brief_table_of_smartctl_x() -> None:
    brief = """smartctl 7.3
SMART overall-health self-assessment test result: PASSED
ID# ATTRIBUTE_NAME          FLAGS    VALUE WORST THRESH FAIL RAW_VALUE
  5 Reallocated_Sector_Ct   PO--CK   001   001   010    NOW  4088
197 Current_Pending_Sector  -O--C-   100   100   000    -    8
                            ||||||_ K auto-keep
"""
    row = rows({"cmd:smartctl -x /dev/sda": brief})["sda"]
    assert (row.pending, row.reallocated, row.failing) == (8, 4088, "Reallocated_Sector_Ct")


NVME_LOG = """Smart Log for NVME device:nvme0 namespace-id:ffffffff
critical_warning                        : 0x5
temperature                             : 38 C (311 Kelvin)
available_spare                         : 7%
available_spare_threshold               : 10%
percentage_used                         : 105%
media_errors                            : 12
power_on_hours                          : 9,120
"""


@pytest.mark.parametrize(
    "key", ["cmd:nvme smart-log /dev/nvme0", "cmd:nvme smart-log", "slug:nvme_smart-log__dev_nvme0n1"]
)
def test_text_of_nvme_smart_log(key: str) -> None:
    row = rows({key: NVME_LOG, "/sys/block/nvme0n1/dev": "259:0\n"})["nvme0n1"]
    assert (row.critical_warning, row.spare, row.used, row.uncorrected, row.temperature) == (5, 0.07, 1.05, 12, 38)


@pytest.mark.parametrize("sign", [",", ".", " ", "\N{NARROW NO-BREAK SPACE}"])
def test_thousands_as_a_locale_separates_them(sign: str) -> None:
    """With spaces only the first digits were read: 12 of 12,345 errors of media."""
    counted = NVME_LOG.replace(": 12\n", f": 12{sign}345\n").replace("9,120", f"9{sign}120")
    text = NVME_TEXT.replace("Errors:    12\n", f"Errors:    12{sign}345\n").replace("FAILED!", "PASSED")
    found = rows({"cmd:nvme smart-log /dev/nvme0n1": counted, "cmd:smartctl -a /dev/nvme1n1": text})
    assert [found[name].uncorrected for name in ("nvme0n1", "nvme1n1")] == [12345, 12345]
    assert found["nvme0n1"].power_on == 9120 * 3600


@pytest.mark.parametrize("cut", ["198 Offline_Unc", "199 UDMA_CRC_Error_Count    0x003e   200"])
def test_of_a_table_that_is_cut_off_a_failed_assessment_is_read(cut: str) -> None:
    whole = TEXT.replace("test result: PASSED", "test result: FAILED!")
    assert whole != TEXT
    fields = parse_text(whole[: whole.index(cut) + len(cut)])
    assert fields["passed"] is False
    assert "attributes" not in fields
    assert "pending" not in fields


def test_a_log_that_is_cut_off_is_not_read() -> None:
    text = NVME_LOG[: NVME_LOG.index("media_errors")]
    assert rows({"cmd:nvme smart-log /dev/nvme0n1": text})["nvme0n1"].state == "unread"


def test_redaction_drops_world_wide_names_in_parts_and_keeps_the_rest() -> None:
    for text in (ata({197: 3}), TEXT):
        kept = smart.without_names(text.encode())
        assert b"2752131924" not in kept
        assert b"0a4069094" not in kept
        assert smart.without_names(kept) == kept
        row = rows({"cmd:smartctl -a /dev/sda": kept.decode()})["sda"]
        assert row.state == "answered"
        assert row.pending


def test_the_pace_is_in_minutes() -> None:
    assert SMART.pace >= 600
    assert SMART.deadline > smart.PROMPT


SELFTEST = """smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)

=== START OF READ SMART DATA SECTION ===
SMART Self-test log structure revision number 1
Num  Test_Description    Status                  Remaining  LifeTime(hours)  LBA_of_first_error
# 1  Extended offline    Completed: read failure       90%     41233         1953525168
# 2  Short offline       Completed without error       00%     41000         -
"""


@pytest.mark.parametrize("change", [str, lambda text: re.sub(r" +", " ", text)])
@pytest.mark.parametrize(("result", "passed"), [
    ("Completed: read failure", False), ("Completed without error", True),
    ("Completed: servo/seek failure", False), ("Failed in segment --> 3", False),
])  # fmt: skip
def test_the_log_of_self_tests_alone_has_the_newest_result(
    change: Callable[[str], str], result: str, *, passed: bool
) -> None:
    text = change(SELFTEST.replace("Completed: read failure", result))
    row = row_of("sdc", "cmd:smartctl -l selftest /dev/sdc", Output(text.encode()), parse_text)
    assert (row.state, row.selftest, row.selftest_passed) == (ANSWERED, result, passed)
