"""RAID controllers: what storcli, perccli and ssacli print, and what the rules make of it. All texts are hand-made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sdstop.collectors.health import ssacli
from sdstop.collectors.health.raid import PROGRAMS, PROGRAMS_2, QUESTIONS, RAID
from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core.evidence import Evidence, Outcome, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.core.host import Absent, Denied, Malformed
from sdstop.rules.arrays.cache_unprotected import CACHE_UNPROTECTED
from sdstop.rules.arrays.raid_volume_degraded import RAID_VOLUME_DEGRADED
from sdstop.rules.disks.disk_failing import DISK_FAILING
from tests.nodes.frames import Judged
from tests.nodes.raid import controller, disk, reply, volume

ALL, VOLUMES, DISKS = (command_key((PROGRAMS[0], *words)) for words in QUESTIONS)
DRIVER = {"/sys/bus/pci/drivers/megaraid_sas/0000:3b:00.0/class": "0x010400\n"}


GOOD_DISKS = reply({**disk(0), **disk(1), **disk(2)})


def read(files: dict[str, str]) -> dict[str, Any]:
    found = list(RAID.read(EvidenceHost.of(files)))
    return {str(getattr(row, row.__struct_fields__[0])): row for row in found}


def judged(text: str, volumes: str | None = None, disks: str = GOOD_DISKS) -> Judged:
    files = {ALL: text, VOLUMES: volumes or volume(), DISKS: disks}
    return Judged((RAID,), [DISK_FAILING, CACHE_UNPROTECTED, RAID_VOLUME_DEGRADED], [(0.0, {**DRIVER, **files})])


def test_what_is_read() -> None:
    found = read({**DRIVER, ALL: controller(), VOLUMES: volume(), DISKS: GOOD_DISKS})
    known: RaidController = found["c0"]
    assert (known.battery, known.protected, known.address, known.patrol) == ("Optimal", True, "0000:3b:00.0", "168 hrs")
    whole: RaidVolume = found["c0/v1"]
    assert (whole.device, whole.write_back, whole.configured, whole.whole) == ("sda", True, True, True)
    member: RaidDisk = found["c0/e32/s2"]
    assert (member.volume, member.predicted, member.alert, member.temperature) == ("c0/v1", 0, False, 32)
    assert (member.serial, member.wwn) == ("S0K1NPV2", "5000C5006EA2B1F2")


def test_a_good_controller_is_good() -> None:
    said = judged(controller())
    assert [each for each in said.all if isinstance(each, Finding)] == []
    good = {
        (each.rule, subject)
        for each in said.all
        if isinstance(each, RuledOut)
        for subject in (each.subject, *each.others)
    }
    assert good >= {
        ("cache-unprotected", "c0"), ("raid-volume-degraded", "c0/v1"), ("disk-failing", "c0/e32/s0"),
        ("disk-failing", "c0/e32/s1"), ("disk-failing", "c0/e32/s2"),
    }  # fmt: skip


@pytest.mark.parametrize("word", ["Failed", "Dgd (Needs Attention)", "Degraded", "Missing", "Replacement required"])
def test_a_bad_battery_with_cached_writes_can_lose_them(word: str) -> None:
    said = judged(controller(battery=word)).finding("c0", "cache-unprotected")
    assert (said.severity, said.title) == (Severity.CRITICAL, "WRITE CACHE WITHOUT BATTERY")
    forced = judged(controller(battery=word, cache="RAWBD")).finding("c0", "cache-unprotected")
    assert forced.severity is Severity.CRITICAL


def test_a_bad_battery_with_write_through_is_slow() -> None:
    said = judged(controller(battery="Failed", cache="RWTD"), volume(cache="RWTD")).finding("c0", "cache-unprotected")
    assert (said.severity, said.title) == (Severity.WARNING, "WRITE CACHE OFF")
    assert "write-through instead of write-back: c0/v1" in said.cause


def test_write_through_instead_of_write_back_with_a_good_battery() -> None:
    said = judged(controller(cache="RWTD"), volume(cache="RWTD")).finding("c0", "cache-unprotected")
    assert said.severity is Severity.WARNING


def test_write_through_as_configured_is_good() -> None:
    assert judged(controller(cache="RWTD"), volume("WriteThrough", "RWTD")).ruled_out("c0", "cache-unprotected").summary
    none = judged(controller(battery=None, cache="NRWTD"), volume("WriteThrough", "NRWTD"))
    assert none.ruled_out("c0", "cache-unprotected").summary.startswith("0 volumes")


def test_an_unknown_word_for_the_battery_is_not_good() -> None:
    assert judged(controller(battery="Sulking")).unchecked("c0", "cache-unprotected").gap is Gap.FAULTY


def test_a_predicted_failure_is_critical_and_a_few_media_errors_are_not() -> None:
    text = reply({**disk(0), **disk(1, predicted=1), **disk(2, alert="Yes")})
    said = judged(controller(), disks=text)
    assert said.finding("c0/e32/s1", "disk-failing").severity is Severity.CRITICAL
    assert said.finding("c0/e32/s2", "disk-failing").severity is Severity.CRITICAL
    assert said.finding("c0/e32/s1").advice[1].__str__() == "storcli64 /c0/e32/s1 show all"
    text = reply({**disk(0, media=9), **disk(1, media=10), **disk(2)})
    said = judged(controller(), disks=text)
    assert said.ruled_out("c0/e32/s0", "disk-failing").summary
    assert said.finding("c0/e32/s1", "disk-failing").severity is Severity.WARNING


@pytest.mark.parametrize("word", ["Offln", "Failed", "UBad", "Msng"])
def test_a_failed_disk_and_its_volume(word: str) -> None:
    said = judged(controller(state="Dgrd", disks={0: word, 1: "Onln", 2: "Rbld"}), disks=reply({}))
    assert said.finding("c0/e32/s0", "disk-failing").title == "RAID DISK FAILED"
    assert isinstance(said.of("c0/e32/s1", "disk-failing"), Unchecked)  # its predicted failures are not reported


@pytest.mark.parametrize(
    ("state", "severity"),
    [("Optl", None), ("Dgrd", Severity.CRITICAL), ("Pdgd", Severity.CRITICAL), ("OfLn", Severity.CRITICAL)],
)
def test_the_states_of_a_volume(state: str, severity: Severity | None) -> None:
    said = Judged((RAID,), [RAID_VOLUME_DEGRADED], [(0.0, {**DRIVER, ALL: controller(state=state)})])
    assert getattr(said.of("c0/v1"), "severity", None) is severity
    strange = Judged((RAID,), [RAID_VOLUME_DEGRADED], [(0.0, {**DRIVER, ALL: controller(state="Odd")})])
    assert strange.unchecked("c0/v1").gap is Gap.FAULTY


def test_a_volume_being_rebuilt_is_a_warning() -> None:
    text = controller(state="Dgrd", disks={0: "Onln", 1: "Onln", 2: "Rbld"})
    said = Judged((RAID,), [RAID_VOLUME_DEGRADED], [(0.0, {**DRIVER, ALL: text})])
    assert said.finding("c0/v1").severity is Severity.WARNING


def test_counts_that_are_not_available_are_unknown() -> None:
    text = reply({**disk(0, predicted="N/A", media="N/A", alert="N/A"), **disk(1), **disk(2)})
    said = judged(controller(), disks=text)
    assert said.unchecked("c0/e32/s0", "disk-failing").reason == "state Onln; predicted failures not reported"


@pytest.mark.parametrize("text", ["", "{", '{"Controllers": 3}', '{"Controllers": [{}]}', "Segmentation fault"])
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        read({**DRIVER, ALL: text or " "})


@pytest.mark.parametrize("place", ["", "32", "a:1", "32:\x1b[31m", 7])
def test_a_disk_without_a_place_is_malformed(place: object) -> None:
    text = reply({"PD LIST": [{"EID:Slt": place, "State": "Onln"}]})
    with pytest.raises(Malformed):
        read({**DRIVER, ALL: text})


def test_without_a_controller_no_program_is_run() -> None:
    with pytest.raises(Absent, match="no such RAID controller"):
        read({"/sys/bus/pci/drivers/ahci/0000:00:17.0/class": "0x010601\n"})
    missing = Evidence(ALL, Outcome.ABSENT, detail="storcli64 is not installed")
    host = EvidenceHost.of(DRIVER)
    host.apply([missing])
    with pytest.raises(Absent, match="not installed"):
        list(RAID.read(host))


def test_a_missing_privilege_is_denied() -> None:
    host = EvidenceHost.of(DRIVER)
    host.apply([Evidence(ALL, data=b"Permission denied", exit=1)])
    with pytest.raises(Denied):
        list(RAID.read(host))


TEXT = """CLI Version = 007.1211.0000.0000 Nov 07, 2019
Operating system = Linux 5.10.0
Controller = 0
Status = Success
Description = None

Basics :
======
Controller = zero
Model = Cisco 12G Modular Raid Controller with 2GB cache (max 16 drives)
PCI Address = 00:3c:00:00

Status :
======
Controller Status = Optimal

Scheduled Tasks :
===============
Patrol Read Reoccurrence = 168 hrs

VD LIST :
=======

---------------------------------------------------------------
DG/VD TYPE  State Access Consist Cache Cac sCC       Size Name
---------------------------------------------------------------
0/0   RAID1 Dgrd  RW     No      NRAWBD -   OFF 557.861 GB os
1/1   RAID0 Optl  RW     Yes     NRWTD -   OFF 371.597 GB
---------------------------------------------------------------

EID=Enclosure Device ID| VD=Virtual Drive| DG=Drive Group|Rec=Recovery

PD LIST :
=======

------------------------------------------------------------------------------
EID:Slt DID State DG       Size Intf Med SED PI SeSz Model            Sp Type
------------------------------------------------------------------------------
134:1    16 Onln   1 371.597 GB SAS  SSD N   N  512B PX05SVB040       U  -
134:2    17 Offln  0 557.861 GB SAS  HDD N   N  512B ST600MM0208      U  -
134:3    18 Onln   0 557.861 GB SAS  HDD N   N  512B ST600MM0208      U  -
 :4      19 JBOD   - 557.861 GB SAS  HDD N   N  512B ST600MM0208      U  -
------------------------------------------------------------------------------

Cachevault_Info :
===============

------------------------------------
Model  State   Temp Mode MfgDate
------------------------------------
CVPM05 Dgd (Needs Attention) 32C  -    2017/11/28
------------------------------------
"""


def test_text_of_storcli() -> None:
    found = read({"cmd:storcli64 /call show all": TEXT})
    assert (found["c0"].battery, found["c0"].protected) == ("Dgd (Needs Attention)", False)
    assert (found["c0/v0"].state, found["c0/v0"].forced, found["c0/v1"].write_back) == ("Dgrd", True, False)
    assert (found["c0/e134/s2"].good, found["c0/e134/s2"].volume, found["c0/s4"].state) == (False, "c0/v0", "JBOD")


def test_details_of_disks_in_text() -> None:
    text = """Controller = 0
Status = Success

Drive /c0/e252/s0 :
=================

--------------------------------------------------------
EID:Slt DID State DG       Size Intf Med Model
--------------------------------------------------------
252:0     4 Onln   0 666.666 GB SATA SSD INTEL SSDSC2KB480G8
--------------------------------------------------------

Drive /c0/e252/s0 - Detailed Information :
========================================

Drive /c0/e252/s0 State :
=======================
Media Error Count = 3
Drive Temperature =  22C (71.60 F)
Predictive Failure Count = 2
S.M.A.R.T alert flagged by drive = No

Drive /c0/e252/s0 Device attributes :
===================================
SN = BTYF
WWN = 55DEADBEEF666666
"""
    row = read({"slug:storcli64__call_eall_sall_show_all": text})["c0/e252/s0"]
    assert (row.predicted, row.media_errors, row.temperature, row.wwn) == (2, 3, 22, "55DEADBEEF666666")


@pytest.mark.parametrize("cut", ["134:2 ", "0/0   RAID1", "CVPM05"])
def test_a_table_that_is_cut_off_is_malformed(cut: str) -> None:
    with pytest.raises(Malformed):
        read({"cmd:storcli64 /call show all": TEXT[: TEXT.index(cut)]})


SSACLI = """
Smart Array P420i in Slot 0 (Embedded)
   Bus Interface: PCI
   Serial Number: 5001438013631A40
   Controller Status: OK
   Firmware Version: 6.64-0
   Cache Status: Temporarily Disabled
   Cache Status Details: Cache disabled; low batteries.
   No-Battery Write Cache: Disabled
   Battery/Capacitor Count: 1
   Battery/Capacitor Status: Failed (Replace Batteries)
   PCI Address (Domain:Bus:Device.Function): 0000:05:00.0

   Array: A
      Interface Type: SAS

      Logical Drive: 1
         Size: 558.7 GB
         Fault Tolerance: 1
         Status: Interim Recovery Mode
         Caching:  Enabled
         Disk Name: /dev/sda

      physicaldrive 1I:1:1
         Port: 1I
         Bay: 1
         Status: Predictive Failure
         Serial Number: S0K1NPV7
         Model: HP      EG0600FBVFP
         Current Temperature (C): 41

      physicaldrive 1I:1:2
         Status: Failed
"""


def test_ssacli() -> None:
    found = read({command_key(ssacli.DETAIL): SSACLI, "/sys/bus/pci/drivers/hpsa/0000:05:00.0/class": "0x010400\n"})
    known = found["slot 0"]
    assert (known.protected, known.cache, known.forced, known.address) == (
        False,
        "Temporarily Disabled",
        False,
        "0000:05:00.0",
    )
    assert (found["slot 0/ld 1"].device, found["slot 0/ld 1"].whole) == ("sda", False)
    first, second = found["slot 0/1I:1:1"], found["slot 0/1I:1:2"]
    assert (first.predicted, first.good, first.temperature, second.good) == (1, True, 41, False)
    said = Judged(
        (RAID,),
        [DISK_FAILING, CACHE_UNPROTECTED, RAID_VOLUME_DEGRADED],
        [(0.0, {"cmd:hpssacli ctrl all show config detail": SSACLI})],
    )
    assert {(each.rule, each.subject, each.severity.value) for each in said.all if isinstance(each, Finding)} == {
        ("disk-failing", "slot 0/1I:1:1", "critical"), ("disk-failing", "slot 0/1I:1:2", "critical"),
        ("cache-unprotected", "slot 0", "warning"), ("raid-volume-degraded", "slot 0/ld 1", "critical"),
    }  # fmt: skip


def test_write_cache_without_battery_of_hpe() -> None:
    text = SSACLI.replace("No-Battery Write Cache: Disabled", "No-Battery Write Cache: Enabled")
    said = Judged((RAID,), [CACHE_UNPROTECTED], [(0.0, {"cmd:ssacli ctrl all show config detail": text})])
    assert said.finding("slot 0").severity is Severity.CRITICAL


def test_a_disk_without_a_status_is_cut_off() -> None:
    with pytest.raises(Malformed):
        read({"cmd:ssacli ctrl all show config detail": SSACLI[: SSACLI.rindex("Status: Failed")]})


SHORT = """
Smart Array P440ar in Slot 0 (Embedded)   (sn: PDNLH0BRH8V3LM)

   Port Name: 1I
   Internal Drive Cage at Port 1I, Box 1, OK

   Array A (SAS, Unused Space: 0  MB)

      logicaldrive 1 (558.73 GB, RAID 1, Interim Recovery Mode)
      logicaldrive 2 (1.1 TB, RAID 1+0, OK)

      physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SAS HDD, 600 GB, OK)
      physicaldrive 1I:1:2 (port 1I:box 1:bay 2, SAS HDD, 600 GB, Failed)
      physicaldrive 1I:1:3 (port 1I:box 1:bay 3, SAS HDD, 600 GB, Predictive Failure)
      physicaldrive 1I:1:4 (port 1I:box 1:bay 4, SAS HDD, 600 GB, OK, spare)
"""


def test_the_short_form_of_ssacli() -> None:
    key = "cmd:ssacli ctrl all show config"
    found = read({key: SHORT})
    assert (found["slot 0/ld 1"].whole, found["slot 0/ld 1"].level, found["slot 0/ld 2"].whole) == (False, "1", True)
    disks = [found[f"slot 0/1I:1:{number}"] for number in (1, 2, 3, 4)]
    assert [(disk.good, disk.predicted) for disk in disks] == [(True, 0), (False, 0), (True, 1), (True, 0)]
    said = Judged((RAID,), [DISK_FAILING, RAID_VOLUME_DEGRADED], [(0.0, {key: SHORT})])
    assert {(each.rule, each.subject) for each in said.all if isinstance(each, Finding)} == {
        ("disk-failing", "slot 0/1I:1:2"), ("disk-failing", "slot 0/1I:1:3"), ("raid-volume-degraded", "slot 0/ld 1"),
    }  # fmt: skip


def test_a_bad_battery_is_a_warning_although_no_volume_is_shown() -> None:
    text = (
        "Smart Array P440ar in Slot 0 (Embedded)\n   Controller Status: OK\n   Cache Status: OK\n"
        "   Battery/Capacitor Status: {}\n"
    )
    for word, severity in (("Failed (Replace Batteries)", Severity.WARNING), ("OK", None)):
        said = Judged((RAID,), [CACHE_UNPROTECTED], [(0.0, {"cmd:ssacli ctrl all show status": text.format(word)})])
        found = [each.severity for each in said.all if isinstance(each, Finding)]
        assert found == ([severity] if severity else [])


@pytest.mark.parametrize(("word", "severity"), [
    ("Needs Attention", Severity.WARNING), ("Failed", Severity.CRITICAL), ("Optimal", None),
])  # fmt: skip
def test_a_controller_that_reports_a_fault_nothing_else_shows(word: str, severity: Severity | None) -> None:
    said = judged(controller().replace('"Controller Status": "Optimal"', f'"Controller Status": "{word}"'))
    found = [(each.rule, each.subject, each.severity) for each in said.all if isinstance(each, Finding)]
    assert found == ([("raid-volume-degraded", "c0", severity)] if severity else [])


def test_a_fault_of_a_controller_that_a_volume_or_disk_explains_is_one_finding() -> None:
    text = controller(state="Dgrd", disks={0: "Onln", 1: "Onln", 2: "Offln"})
    said = judged(text.replace('"Controller Status": "Optimal"', '"Controller Status": "Needs Attention"'))
    assert "c0" not in {each.subject for each in said.all if isinstance(each, Finding)}


STORCLI2 = """
CLI Version = 008.0007.0000.0012 Apr 12, 2024
Operating system = Linux6.1.0
Controller = 0
Status = Success
Description = None

Virtual Drives = 2

VD LIST :
=======

-------------------------------------------------------------------------------
DG/VD TYPE  State Access CurrentCache DefaultWriteCache       Size Name
-------------------------------------------------------------------------------
1/1   RAID1 Optl  RW     NR,WB        WB                 3.637 TiB os
2/2   RAID5 Dgrd  RW     R,WT         WB                14.550 TiB data
-------------------------------------------------------------------------------

PD LIST :
=======

--------------------------------------------------------------------------------------
EID:Slt PID State    Status  DG Size      Intf Med SED_Type SeSz Model       Sp LU/NS Count Alt-EID
--------------------------------------------------------------------------------------
322:0   312 Conf     Online  1  3.637 TiB SAS  HDD -        512B ST4000NM001A U            1 -
322:1   313 Conf     Offline 2  3.637 TiB SAS  HDD -        512B ST4000NM001A U            1 -
322:2   314 UConf    Good    -  3.637 TiB SAS  SSD -        512B KPM6XRUG3T84 U            1 -
322:3   315 ConfDgrd Online  2  3.637 TiB SAS  HDD -        512B ST4000NM001A U            1 -
322:4   316 Conf     Odd     2  3.637 TiB SAS  HDD -        512B ST4000NM001A U            1 -
--------------------------------------------------------------------------------------
"""


def test_text_of_storcli2() -> None:
    """By its documentation and by programs that read it; never compared with a real one."""
    found = read({"cmd:storcli2 /c0 show all": STORCLI2})
    assert (found["c0/v1"].whole, found["c0/v1"].write_back, found["c0/v1"].configured) == (True, True, True)
    assert (found["c0/v2"].whole, found["c0/v2"].write_back, found["c0/v2"].configured) == (False, False, True)
    assert [found[f"c0/e322/s{slot}"].good for slot in range(5)] == [True, False, True, False, None]
    assert (found["c0/e322/s1"].state, found["c0/e322/s1"].volume, found["c0/e322/s2"].flash) == (
        "Conf Offline", "c0/v2", True,
    )  # fmt: skip


def test_storcli2_is_asked_where_the_kernel_has_its_driver() -> None:
    text = json.dumps({"Controllers": [{
        "Command Status": {"Controller": 0, "Status": "Success"},
        "Response Data": {
            "VD LIST": [{"DG/VD": "1/1", "TYPE": "RAID1", "State": "Pdgd", "CurrentCache": "NR,WB"}],
            "PD LIST": [{"EID:Slt": "322:0", "PID": 312, "State": "Conf", "Status": "Online", "DG": 1}],
        },
    }]})  # fmt: skip
    key = command_key((PROGRAMS_2[2], *QUESTIONS[0]))
    found = read({key: text, "/sys/bus/pci/drivers/mpi3mr/0000:05:00.0/class": "0x010400\n"})
    assert (found["c0/v1"].whole, found["c0/e322/s0"].good, found["c0/e322/s0"].volume) == (False, True, "c0/v1")


@pytest.mark.parametrize("row", ["2/2   RAID5 Dgrd  RW     R,WT", "322:1   313 Conf     Offline"])
def test_a_row_that_is_not_understood_makes_the_table_malformed(row: str) -> None:
    """A volume that is left out would be one that nobody misses."""
    with pytest.raises(Malformed):
        read({"cmd:storcli2 /c0 show all": STORCLI2.replace(row, "??   RAID5 Dgrd")})


def test_the_programs_only_show() -> None:
    for need in RAID.needs:
        argv = getattr(need, "argv", ())
        assert not argv or "show" in argv
        assert not {"set", "start", "stop", "add", "del", "delete", "modify"} & set(argv)
        assert "storcli" not in str(argv[:1]) or "nolog" in argv  # it would write storcli.log
