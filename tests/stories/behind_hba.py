"""A node with two HBAs: one of them stops answering and takes its disks along; and the same node with both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sdstop.collectors.fabric.readings import BLOCK, PCI
from tests.nodes.block import disk_name
from tests.nodes.hba import Card
from tests.nodes.system import Shape
from tests.stories.disks import disk_number
from tests.stories.rows import IN_FLIGHT, IO_TICKS, Rows
from tests.stories.scene import Stories
from tests.stories.told import Evidence, Told, moved

_STARTED = 1_796_900_000.0
_STEP = 2
_LOOKS = 31
_LOST_AT = 20
_SHELF = 12
"""Disks behind each expander."""
_SHELVES = (0x3B, 0x3B, 0x86, 0x86)
"""Bus of the HBA of each shelf."""
_READS, _WRITES, _SIZE = 40.0, 25.0, 32768.0
_MDSTAT = "Personalities : [raid10]\n{arrays}unused devices: <none>\n"


def _disks(shelf: int) -> list[str]:
    return [disk_name(shelf * _SHELF + place) for place in range(_SHELF)]


@dataclass(frozen=True, slots=True)
class Shelves:
    """The node; `lost` is the second in which the first HBA stops answering, None for never."""

    taken: float
    lost: int | None

    def write(self, path: Path) -> None:
        """Write the capture."""
        calm = Shape("vault12", cpus=16, load=1.5, iowait=0.02)
        shape = calm if self.lost is None else replace(calm, load=9.0, iowait=0.4, stalled=0.5)
        devices = {disk_name(n): disk_number(n) for n in range(len(_SHELVES) * _SHELF)} | {
            f"md{shelf}": (9, shelf) for shelf in range(len(_SHELVES))
        }
        Told(shape, self.taken, _STEP, _LOOKS, self._told, devices, self._counted).write(path)

    def _counted(self, second: int) -> Rows:
        """Return what disks and arrays have counted; those behind the lost HBA keep two requests and more."""
        found: Rows = {}
        for shelf, bus in enumerate(_SHELVES):
            lost = self.lost if bus == _SHELVES[0] else None
            passed = second if lost is None else min(second, lost)
            each = moved(passed, reads=_READS, read=_READS * _SIZE, read_wait=0.006, writes=_WRITES,
                         written=_WRITES * _SIZE, write_wait=0.004, busy=0.31)  # fmt: skip
            array = moved(passed, reads=_READS * _SHELF, read=_READS * _SHELF * _SIZE, read_wait=0.006,
                          writes=_WRITES * _SHELF / 2, written=_WRITES * _SHELF / 2 * _SIZE, write_wait=0.004,
                          busy=0.9)  # fmt: skip
            for place, name in enumerate([*_disks(shelf), f"md{shelf}"]):
                numbers = list(array if name.startswith("md") else each)
                if lost is not None and second >= lost:
                    numbers[IN_FLIGHT] = 64 if name.startswith("md") else 3 + place % 4
                    numbers[IO_TICKS] += (second - lost) * 1000
                found[name] = numbers
        return found

    def _told(self, second: int) -> Evidence:
        arrays = "".join(
            f"md{shelf} : active raid10 "
            + " ".join(f"{name}[{slot}]" for slot, name in enumerate(_disks(shelf)))
            + "\n      23441278976 blocks super 1.2 512K chunks 2 near-copies [12/12] [UUUUUUUUUUUU]\n\n"
            for shelf in range(len(_SHELVES))
        )
        files: dict[str, str | bytes] = {"/proc/mdstat": _MDSTAT.format(arrays=arrays), "outcomes.json": "{}\n"}
        return files | self._fixed() if not second else files

    def _fixed(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for shelf, bus in enumerate(_SHELVES):
            names = tuple(_disks(shelf))
            files = Card(bus, names, node=0 if bus == _SHELVES[0] else 1).files()
            place = sum(other == bus for other in _SHELVES[:shelf])
            found |= {path: _moved(text, bus, place) if BLOCK in path else text for path, text in files.items()}
            for slot, name in enumerate(names):
                major, minor = disk_number(shelf * _SHELF + slot)
                found[f"{BLOCK}/{name}/dev"] = f"{major}:{minor}\n"
                found[f"{BLOCK}/{name}/size"] = "7814037168\n"
                found[f"link:{BLOCK}/md{shelf}/slaves/{name}"] = f"../../{name}"
            found[f"{BLOCK}/md{shelf}/dev"] = f"9:{shelf}\n"
            found[f"{BLOCK}/md{shelf}/size"] = "46882557952\n"
        return found


def _moved(target: str, bus: int, place: int) -> str:
    """Return the target of a disk's link as behind the expander with this number."""
    for before in ("port-{0}:", "expander-{0}:", "end_device-{0}:", "target{0}:", "/{0}:"):
        name = before.format(bus)
        target = target.replace(f"{name}0", f"{name}{place}")
    return target


_NIC, _NIC_PORT = "0000:5e:00.0", "0000:5d:02.0"
_AER = (
    ("correctable", "COR", ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")),
    ("nonfatal", "NONFATAL", ("DLP", "FCP", "TLP", "CmpltTO", "UnsupReq")),
    ("fatal", "FATAL", ("DLP", "SDES", "TLP", "CmpltTO")),
)


def _counted(address: str, **errors: int) -> dict[str, str]:
    """Return the counters of a function's errors, by the kernel's name of the error."""
    found = {}
    for kind, total, names in _AER:
        lines = [f"{name} {errors.get(name, 0)}\n" for name in names]
        count = sum(errors.get(name, 0) for name in names)
        found[f"{PCI}/{address}/aer_dev_{kind}"] = "".join([*lines, f"TOTAL_ERR_{total} {count}\n"])
    return found


def _pcie(taken: float, lanes: int, growth: float) -> Told:
    """Show a card whose slot damages packets, and a network card whose link came up with few lanes."""
    card = Card(0x3B, ("sda", "sdb"))
    fast, above = "8.0 GT/s PCIe\n", f"../../../devices/pci0000:5d/{_NIC_PORT}/{_NIC}"
    fixed = card.files() | {
        f"{PCI}/{_NIC}/class": "0x020000\n", f"{PCI}/{_NIC}/vendor": "0x15b3\n", f"{PCI}/{_NIC}/device": "0x1017\n",
        f"{PCI}/{_NIC}/current_link_speed": fast, f"{PCI}/{_NIC}/current_link_width": f"{lanes}\n",
        f"{PCI}/{_NIC}/max_link_speed": fast, f"{PCI}/{_NIC}/max_link_width": "8\n",
        f"{PCI}/{_NIC_PORT}/max_link_speed": fast, f"{PCI}/{_NIC_PORT}/max_link_width": "16\n",
        f"{PCI}/{_NIC_PORT}/class": "0x060400\n", f"{PCI}/{_NIC_PORT}/vendor": "0x8086\n",
        f"{PCI}/{_NIC_PORT}/device": "0x2030\n", f"link:{PCI}/{_NIC}": above,
        f"{PCI}/{_NIC}/net/ens3/address": "b8:ce:f6:00:11:22\n",
    }  # fmt: skip

    def told(second: int) -> Evidence:
        errors = _counted(card.address, BadTLP=412 + int(growth * second), UnsupReq=7) | _counted(_NIC, RxErr=2)
        return errors | {"outcomes.json": _NO_ARRAYS} | (fixed if not second else {})

    devices = {name: disk_number(place) for place, name in enumerate(card.disks)}
    rows = moved(0, reads=_READS, read=_READS * _SIZE, read_wait=0.006, busy=0.25)
    return Told(
        Shape("vault13", cpus=16, load=1.1), taken, 60, 6, told, devices, lambda _: dict.fromkeys(devices, rows)
    )


_NO_ARRAYS = '{"/proc/mdstat": {"outcome": "absent", "detail": "no such file"}}\n'

STORIES: Stories = {
    "pcie-errors": lambda: _pcie(_STARTED + 172_800, 1, 0.5),
    "pcie-clean": lambda: _pcie(_STARTED + 259_200, 8, 1 / 120),
    "hba-lost": lambda: Shelves(_STARTED, _LOST_AT),
    "hba-back": lambda: Shelves(_STARTED + 86_400, None),
}
