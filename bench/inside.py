"""What the inside of a large box costs: CPU milliseconds as JSON.

    python bench/inside.py --frames 40

240 phys on 8 HBAs and their expanders, 96 drives, 48 slots for memory, two NUMA nodes, memory controllers. `round` is
to read all of it, to make rows of it and to judge these: as root as on a live node, else through --root, which costs
twice as much a file; `sas` is the part of it that the slowest source alone takes to read. `frame` is what it adds to
a frame in which nothing of it was read; `dimms` is to parse 48 slots, from the raw table to rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.fabric.interrupts import INTERRUPTS
from sdstop.collectors.fabric.numa import NUMA
from sdstop.collectors.fabric.port_readings import PHYS
from sdstop.collectors.fabric.sas import SAS
from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.edac import EDAC
from sdstop.collectors.memory.readings import TABLE
from sdstop.core.collector import providers_of
from sdstop.core.diagnosis import Diagnosis
from sdstop.core.evidence import Evidence, Frame
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.history import History
from sdstop.core.replay import Replay
from sdstop.node.live import LiveHost
from sdstop.rules import RULES
from sdstop.sampler.runner import sample
from sdstop.sampler.scheduler import ChangeFilter

_HBAS, _DRIVES, _LANES, _EXPANDED = 8, 12, 8, 22
_INSIDE = (SAS, HBA, NUMA, DIMMS, EDAC, INTERRUPTS)


class Tree:
    """A tree of files that grows; paths as on the node."""

    def __init__(self, root: Path) -> None:
        """Start empty."""
        self.root = root

    def file(self, path: str, text: str | bytes) -> None:
        """Write a file."""
        where = self.root / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())

    def files(self, base: str, values: Mapping[str, object]) -> None:
        """Write attributes of a folder."""
        for name, value in values.items():
            self.file(f"{base}/{name}", str(value))

    def link(self, path: str, target: str) -> None:
        """Make a link to a path of the node."""
        where = self.root / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        depth = len(path.strip("/").split("/")) - 1
        where.symlink_to("../" * depth + target.lstrip("/"))


def build(tree: Tree) -> None:
    """Write the node."""
    for n in range(2):
        base = f"/sys/devices/system/node/node{n}"
        tree.files(base, {"cpulist": f"{n * 16}-{n * 16 + 15}", "distance": "10 21", "numastat": "local_node 1\n"
                          "other_node 1\nnuma_miss 0", "meminfo": f"Node {n} MemTotal: 98765432 kB"})  # fmt: skip
        mc = f"/sys/devices/system/edac/mc/mc{n}"
        tree.files(mc, {"mc_name": "x", "size_mb": 1, "ce_count": 0, "ue_count": 0, "ce_noinfo_count": 0,
                        "ue_noinfo_count": 0, "seconds_since_reset": 9})  # fmt: skip
        for slot in range(24):
            tree.files(f"{mc}/dimm{slot}", {"dimm_label": f"CPU_SrcID#{n}_MC#0_Chan#{slot}_DIMM#0", "size": 1,
                       "dimm_location": "channel 0 slot 0", "dimm_ce_count": 0, "dimm_ue_count": 0})  # fmt: skip
    for hba in range(_HBAS):
        _hba(tree, hba)
    tree.file(TABLE, table(48))


def _hba(tree: Tree, hba: int) -> None:
    node, address, above = hba // 4, f"0000:{0x10 + hba:02x}:00.0", f"0000:{0x80 * (hba // 4):02x}:{hba % 4 + 1:02x}.0"
    root = f"/sys/devices/pci{above[:7]}/{above}/{address}"
    link = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": 8, "max_link_speed": "8.0 GT/s PCIe",
            "max_link_width": 8}  # fmt: skip
    tree.files(root, {"class": "0x010700", "vendor": "0x1000", "device": "0x0097", "numa_node": node} | link)
    tree.files(root.rpartition("/")[0], {"class": "0x060400", "vendor": "0x8086", "device": "0x6f04"} | link)
    for place, name in ((root, address), (root.rpartition("/")[0], above)):
        tree.link(f"/sys/bus/pci/devices/{name}", place)
    for irq in range(16):
        tree.file(f"{root}/msi_irqs/{hba * 16 + irq}", "msix")
        tree.file(f"/proc/irq/{hba * 16 + irq}/effective_affinity_list", str(node * 16 + irq))
    fabric = f"{root}/host{hba}/port-{hba}:0/expander-{hba}:0"
    for n in range(_LANES + _EXPANDED):
        own = n < _LANES
        name = f"phy-{hba}:{n}" if own else f"phy-{hba}:0:{n - _LANES}"
        bay = n - _LANES
        tree.files(f"/sys/class/sas_phy/{name}", {
            "negotiated_linkrate": "12.0 Gbit", "maximum_linkrate_hw": "12.0 Gbit", "phy_identifier": max(bay, n),
            "sas_address": "0x5000c500a", "invalid_dword_count": 0, "running_disparity_error_count": 0,
            "loss_of_dword_sync_count": 0, "phy_reset_problem_count": 0,
        })  # fmt: skip
        port = f"port-{hba}:0" if own or bay >= _DRIVES else f"port-{hba}:0:{bay}"
        tree.link(f"/sys/class/sas_phy/{name}/device/port", f"{fabric}/{port}")
        tree.files(f"/sys/class/sas_port/{port}", {"num_phys": 1})
        if not own and bay < _DRIVES:
            _drive(tree, hba, bay, f"{fabric}/{port}/end_device-{hba}:0:{bay}")
    tree.files(f"/sys/class/sas_expander/expander-{hba}:0", {"vendor_id": "V", "product_id": "P"})
    tree.files(f"{fabric}/sas_device/expander-{hba}:0", {"device_type": "edge expander", "sas_address": "0x5"})
    tree.link(f"/sys/class/sas_device/expander-{hba}:0", f"{fabric}/sas_device/expander-{hba}:0")


def _drive(tree: Tree, hba: int, bay: int, place: str) -> None:
    end, disk = place.rpartition("/")[2], hba * _DRIVES + bay
    name = f"sd{chr(97 + disk // 26)}{chr(97 + disk % 26)}"
    tree.files(f"{place}/sas_device/{end}", {"device_type": "end device", "sas_address": "0x5", "bay_identifier": bay,
                                             "enclosure_identifier": "0x5"})  # fmt: skip
    tree.link(f"/sys/class/sas_device/{end}", f"{place}/sas_device/{end}")
    tree.files(f"{place}/target/block/{name}/queue", {"rotational": 1})
    tree.link(f"/sys/block/{name}", f"{place}/target/block/{name}")


def table(slots: int) -> bytes:
    """Return a firmware's table of two processors and so many slots, all filled."""
    parts = []
    for n in range(2):
        area = bytearray(0x26)
        area[0], area[1], area[0x14], area[0x0C] = 1, 3, 0x41, 2
        parts.append(_structure(4, n, bytes(area), f"CPU{n}", "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz"))
    parts.append(_structure(16, 16, struct.pack("<BBBIHH", 3, 3, 6, 0x1000000, 0xFFFE, slots)))
    for n in range(slots):
        area = bytearray(0x54)
        struct.pack_into("<HHHHHBBBBBHH", area, 0, 16, 0xFFFE, 72, 64, 0x4000, 9, 0, 1, 2, 0x1A, 0x80, 3200)
        struct.pack_into("<BBBBB", area, 0x13, 3, 0, 0, 4, 2)
        struct.pack_into("<IH", area, 0x18, 0, 3200)
        name = f"P{n // 24 + 1}-DIMM{'ABCDEFGH'[n % 8]}{n % 24 // 8 + 1}"
        bank = f"P{n // 24}_Node0_Channel{n % 8}_Dimm{n % 24 // 8}"
        parts.append(_structure(17, 100 + n, bytes(area), name, bank, "Maker", "PART"))
    return b"".join(parts) + _structure(127, 9999, b"")


def _structure(kind: int, handle: int, area: bytes, *strings: str) -> bytes:
    return struct.pack("<BBH", kind, len(area) + 4, handle) + area + (
        b"".join(text.encode() + b"\0" for text in strings) or b"\0"
    ) + b"\0"  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of a piece of work."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


class Judge:
    """Frames are replayed and judged, each timed."""

    def __init__(self) -> None:
        """Start before the first frame."""
        self._replay = Replay(BUILTIN)
        self._history = History(providers_of(BUILTIN))
        self._diagnosis = Diagnosis(RULES)
        self.phys = 0

    def feed(self, frame: Frame) -> None:
        """Let a frame pass."""
        shot = self._replay.feed(frame)
        self._history.add(shot)
        window = self._history.window(self._replay.host.evidence)
        assert window is not None
        self._diagnosis.add(window)
        self.phys = len(shot.runs["sas"].tables.get(SAS.families[0], ())) if "sas" in shot.runs else 0


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description="What the inside of a large box costs.")
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    where = Path("/dev/shm")  # memory: a disk's file system would take part in what is measured
    folder = tempfile.mkdtemp(prefix="sdstop-inside-", dir=where if where.is_dir() else None)
    child = os.fork()  # which may get another root
    if child == 0:
        status = 1
        try:
            build(Tree(Path(folder)))
            # Whatever is imported late is imported now, while it can be found.
            sample(LiveHost(folder, _INSIDE), _INSIDE, 1, 1e9, 1.0)
            if os.geteuid() == 0:
                os.chroot(folder)
            measure(LiveHost("/" if os.geteuid() == 0 else folder, _INSIDE), options.frames, options.rounds)
            sys.stdout.flush()
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shutil.rmtree(folder)
    sys.exit(status)


def measure(host: LiveHost, frames: int, rounds: int) -> None:
    """Print what rounds and the frames between them take."""
    full, bare = Judge(), Judge()
    costs: dict[str, list[float]] = {"round": [], "sas": [], "frame": [], "without": [], "dimms": []}
    number = 0
    delta = ChangeFilter()
    for turn in range(rounds):
        number += 1
        moment = 300.0 * turn
        taken: list[Frame] = []
        costs["sas"].append(timed(lambda: sample(host, (SAS,), 1, 1e9, 1.0)))
        read = timed(lambda: taken.append(_news(delta, sample(host, _INSIDE, number, 1e9 + moment, moment))))  # noqa: B023
        costs["round"].append(read + timed(lambda: full.feed(taken[0])))  # noqa: B023
        bare.feed(Frame(number, 1e9 + moment, moment, (), {}))
        for second in range(1, frames + 1):
            number += 1
            frame = Frame(number, 1e9 + moment + second, moment + second, _moved(number), {})
            costs["frame"].append(timed(lambda: full.feed(frame)))  # noqa: B023
            costs["without"].append(timed(lambda: bare.feed(frame)))  # noqa: B023
    if full.phys != _HBAS * (_LANES + _EXPANDED):
        sys.exit(f"{full.phys} phys were read")
    dimms = EvidenceHost([Evidence(TABLE, data=table(48))])
    costs["dimms"] = [timed(lambda: list(DIMMS.read(dimms))) for _ in range(rounds * 3)]
    found = {name: median(values) for name, values in costs.items()}
    found["frame"] = max(0.0, found["frame"] - found.pop("without"))
    print(json.dumps(found))


def _news(delta: ChangeFilter, frame: Frame) -> Frame:
    """Return what the sampler would send of a frame, with an error more on one phy: the rest stands still."""
    evidence = delta.news(frame.evidence)
    more = Evidence(f"{PHYS}/phy-0:0:3/invalid_dword_count", data=f"{frame.number}\n".encode())
    return replace(frame, evidence=(*(item for item in evidence if item.key != more.key), more))


def _moved(number: int) -> tuple[Evidence, ...]:
    """Return what changes every second in any case."""
    return (Evidence("/proc/uptime", data=f"{number}.00 1.00\n".encode()),)


if __name__ == "__main__":
    main()
