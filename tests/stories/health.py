"""Disks and RAID controllers that report how they are: failing in each way, and the healthy twin."""

from __future__ import annotations

from sdstop.collectors.health.raid import PROGRAMS, QUESTIONS
from sdstop.core.evidence import command_key
from tests.nodes.disk_health import asked, ata, nvme, scsi, standby, sysfs, sysfs_nvme
from tests.nodes.raid import controller, disk, reply, volume
from tests.nodes.system import Shape
from tests.stories.rows import Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_796_140_000.0
_STEP = 1800
_ENCLOSURE = "/sys/class/enclosure/1:0:24:0"
_SATA = ("sdb", "sdc", "sdd", "sde", "sdf")
_SAS = "sdg"
_FLASH = ("nvme0n1", "nvme1n1")
_DEVICES = {
    **{name: (8, 16 * number) for number, name in enumerate((*_SATA, _SAS), start=1)},
    **{name: (259, number) for number, name in enumerate(_FLASH)},
}


def _documents(second: int, *, healthy: bool) -> dict[str, str]:
    """Return the answers of the disks; between two of them the counts of sdc and sdd grow."""
    later = bool(second) and not healthy
    hours = 30_000 + second // 3600
    serials = {name: f"ZC1A7W0{number}" for number, name in enumerate(_SATA)}
    return {
        asked("sdb"): ata(passed=healthy, serial=serials["sdb"], hours=hours),
        asked("sdc"): ata({197: 16 if later else 0, 5: 8}, serial=serials["sdc"], hours=hours),
        asked("sdd"): ata({199: 1312 if later else 1200}, serial=serials["sdd"], hours=hours + second % 7),
        asked("sde"): standby(),
        asked("sdf"): ata({194: 41 if healthy else 63}, serial=serials["sdf"], hours=hours,
                          temperature={"current": 41 if healthy else 63}),
        asked("sdg"): scsi(defects=4 if healthy else 412),
        asked("nvme0n1"): nvme(warning=0 if healthy else 1, spare=100 if healthy else 6, used=3 if healthy else 104),
        asked("nvme1n1"): nvme(used=12, temperature=44, serial_number="S64HNG0T123457"),
    }  # fmt: skip


def _enclosure() -> dict[str, str]:
    files = {f"{_ENCLOSURE}/id": "0x500304801f2b3c7f\n"}
    for number, name in enumerate((*_SATA, _SAS)):
        slot = f"{_ENCLOSURE}/Slot {number:02d}"
        files |= {
            f"{slot}/type": "array device\n", f"{slot}/slot": f"{number}\n", f"{slot}/status": "OK\n",
            f"{slot}/fault": "0\n", f"{slot}/locate": "0\n",
            f"{slot}/device/block/{name}/dev": f"8:{16 * number + 16}\n",
        }  # fmt: skip
    return files


def _raid(*, healthy: bool) -> dict[str, str]:
    everything, volumes, disks = (command_key((PROGRAMS[0], *words)) for words in QUESTIONS)
    cache = "RWBD" if healthy else "RWTD"
    states = {0: "Onln", 1: "Onln", 2: "Onln" if healthy else "Offln"}
    known = [disk(slot, predicted=int(slot == 1 and not healthy), state=state) for slot, state in states.items()]
    return {
        "/sys/bus/pci/drivers/megaraid_sas/0000:86:00.0/class": "0x010400\n",
        everything: controller(
            battery="Optimal" if healthy else "Failed", cache=cache, state="Optl" if healthy else "Dgrd", disks=states
        ),
        volumes: volume(cache=cache, device="sdz"),
        disks: reply({name: value for each in known for name, value in each.items()}),
    }


def _more(*, healthy: bool) -> Told:
    def told(second: int) -> Evidence:
        files: dict[str, str | bytes] = dict(_documents(second, healthy=healthy))
        if second:
            return files
        for number, name in enumerate((*_SATA, _SAS), start=1):
            files |= sysfs(name, "mpt3sas", number)
        for name in _FLASH:
            files |= sysfs_nvme(name)
        return files | _enclosure() | (_raid(healthy=True) if healthy else {})

    def counted(second: int) -> Rows:
        del second
        return dict.fromkeys(_DEVICES, moved(0))

    host = "store6" if healthy else "store5"
    return Told(Shape(host), _STARTED + (86_400 if healthy else 0), _STEP, 2, told, _DEVICES, counted)


def _controller() -> Told:
    """Return a node with a RAID controller alone, which lost its battery and a disk."""

    def told(second: int) -> Evidence:
        return {} if second else _raid(healthy=False)

    return Told(Shape("store7"), _STARTED + 172_800, 10, 2, told, {"sdz": (65, 144)}, lambda _: {"sdz": moved(0)})


STORIES: Stories = {
    "disks-failing": lambda: _more(healthy=False),
    "disks-healthy": lambda: _more(healthy=True),
    "raid-no-battery": _controller,
}
