"""What the topology costs: CPU milliseconds to build it, to see that it is unchanged, and microseconds of a query.

python bench/graph.py --disks 1000 --arrays 200 --volumes 1000
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.collectors.devicemapper.volume_readings import LogicalVolume
from sdstop.collectors.fabric.port_readings import SasDevice
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.joins import ThingKind
from sdstop.core.model import Reading, schema
from sdstop.core.thing import Thing
from sdstop.core.topologies import Topologies
from sdstop.core.topology import Topology
from sdstop.readings.disk import Disk

R = TypeVar("R", bound=Reading)
Tables = Mapping[type[Reading], Mapping[Hashable, Reading]]

_HBAS = 4
_EXPANDERS = 20


def row(family: type[R], **fields: Any) -> R:
    """Return a row of which only some fields matter: numbers are 0, texts and anything optional None."""
    numbers = {column.name: None if column.optional or column.is_text else 0 for column in schema(family).columns}
    return family(**{**numbers, **fields})


def disk_name(number: int) -> str:
    """Return sda, sdb ... sdaa, sdab ..."""
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(97 + letter) + letters
    return f"sd{letters}"


def tables(disks: int, arrays: int, volumes: int) -> Tables:
    """Return the tables of a node: disks behind expanders as members of arrays, volumes of LVM."""
    found: dict[type[Reading], dict[Hashable, Reading]] = {}

    def add(key: Hashable, made: Reading) -> None:
        found.setdefault(type(made), {})[key] = made

    for number in range(_HBAS):
        add(
            number, row(Hba, hba=f"0000:{number:02x}:00.0", kind="sas", port=f"0000:00:{number:02x}.0", node=number % 2)
        )
    for number in range(_EXPANDERS):
        host = number % _HBAS
        device = f"expander-{host}:{number}"
        add(device, row(SasDevice, device=device, kind="edge expander", above=f"host{host}", host=f"host{host}"))
    for number in range(disks):
        name, expander = disk_name(number), number % _EXPANDERS
        host = expander % _HBAS
        end, above = f"end_device-{host}:{expander}:{number}", f"expander-{host}:{expander}"
        add(name, row(Disk, major=8, minor=16 * number, device=name))
        wwn = f"0x5000c500{number:08x}"
        whole = {"by_id": f"wwn-{wwn}", "by_path": f"pci-0000:{host:02x}:00.0-sas-phy{number}-lun-0", "wwn": wwn}
        add(name, row(BlockDevice, device=name, kind="disk", number=f"8:{16 * number}", model="ST8000", **whole))
        add(name, row(DiskPath, device=name, hba=f"0000:{host:02x}:00.0", host=f"host{host}", expander=above,
                      end_device=end, enclosure=f"0x500304800{expander:07x}", bay=number // _EXPANDERS))  # fmt: skip
        add(end, row(SasDevice, device=end, kind="end device", above=above, host=f"host{host}",
                     enclosure=f"0x500304800{expander:07x}", bay=number // _EXPANDERS))  # fmt: skip
        array = f"md{number * arrays // disks}"
        add((array, name), row(Member, array=array, device=name, slot=number % (disks // arrays),
                                     state="in_sync", size=8 << 40))  # fmt: skip
        add((array, name), row(BlockLink, device=array, below=name, relation="slave"))
    for number in range(arrays):
        add(f"md{number}", row(Disk, major=9, minor=number, device=f"md{number}"))
        add(f"md{number}", row(BlockDevice, device=f"md{number}", kind="md", number=f"9:{number}"))
        add(f"md{number}", row(Array, array=f"md{number}", state="clean", level="raid6", raid_disks=disks // arrays))
    for number in range(volumes):
        name, volume, array = f"dm-{number}", f"vg{number % arrays}/vol{number}", f"md{number % arrays}"
        mapping = volume.replace("/", "-")
        add(name, row(Disk, major=253, minor=number, device=name))
        add(name, row(BlockDevice, device=name, kind="dm", number=f"253:{number}", dm_name=mapping,
                      dm_uuid=f"LVM-{number:032x}"))  # fmt: skip
        add(mapping, row(MappedDevice, mapping=mapping, volume=volume, device=name, targets="linear"))
        add(volume, row(LogicalVolume, volume=volume, type="linear", devices=array))
        add((name, array), row(BlockLink, device=name, below=array, relation="slave"))
    return found


def spent(work: Callable[[], object], times: int = 1) -> float:
    """Return the least CPU of one call, in milliseconds, of five rounds."""
    work()
    gc.collect()
    rounds = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(times):
            work()
        rounds.append((time.process_time() - began) * 1000 / times)
    return min(rounds)


def asked(known: Topology, thing: Thing) -> None:
    """Ask what a rule, a view and the engine ask about one thing: five queries."""
    known.find(thing.name)
    known.below(thing)
    known.above(thing)
    known.part_of(thing)
    known.affected(thing)


def main() -> None:
    """Print the figures as JSON."""
    options = argparse.ArgumentParser(description=__doc__)
    for name, default in (("disks", 1000), ("arrays", 200), ("volumes", 1000)):
        options.add_argument(f"--{name}", type=int, default=default)
    chosen = options.parse_args()
    node = tables(chosen.disks, chosen.arrays, chosen.volumes)
    known = Topologies()
    topology = known.of(node)
    again = [{family: dict(rows) for family, rows in node.items()} for _ in range(2)]
    turns = iter(range(1 << 30))
    things = [thing for kind in (ThingKind.DEVICE, ThingKind.ARRAY, ThingKind.VOLUME) for thing in topology.of(kind)]

    def queries() -> None:
        fresh = Topology(topology.structure, topology.tables)
        began = time.process_time()
        for thing in things:
            asked(fresh, thing)
        each.append((time.process_time() - began) * 1e6 / (5 * len(things)))

    each: list[float] = []
    found = {
        "things": len(topology.things),
        "build": spent(lambda: Topologies().of(node)),
        "unchanged": spent(lambda: known.of(again[next(turns) % 2])),
        "groups": spent(lambda: Topology(topology.structure, topology.tables).groups()),
        "common": spent(lambda: Topology(topology.structure).common(things[: chosen.disks])),
    }
    spent(queries)
    found["query"] = min(each)
    print(json.dumps({name: round(value, 4) for name, value in found.items()}, indent=1))


if __name__ == "__main__":
    main()
