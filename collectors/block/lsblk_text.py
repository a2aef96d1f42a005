"""Block devices and the links between them, from recorded output of lsblk with any columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdstop.collectors.block.attributes import kind_of
from sdstop.collectors.block.lsblk import DM_TYPES, FORM, LsblkRow, parse, size
from sdstop.collectors.block.mount_readings import MountPoint
from sdstop.collectors.block.readings import BlockDevice, BlockLink
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.recorded import outputs
from sdstop.core.text import whole

_TYPES = {"part": "partition", "rom": "rom", "loop": "loop"}
_MD = expression(r"raid\d+|linear|md")


class _Device:
    """A device with its cells of all outputs, the devices above it in a tree, and the keys of the outputs."""

    def __init__(self, row: LsblkRow, key: str) -> None:
        self.name = row.name
        self.key = key
        self.cells: dict[str, str] = {}
        self.above: dict[str, None] = {}

    def add(self, row: LsblkRow) -> None:
        for name, cell in row.cells.items():
            if cell and not self.cells.get(name):
                self.cells[name] = cell
        if row.above is not None:
            self.above[row.above] = None

    @property
    def type(self) -> str:
        return self.cells.get("TYPE", "")

    @property
    def is_mapped(self) -> bool:
        """Whether it is a device of device mapper, which is shown by the name of its mapping."""
        number = self.cells.get("MAJ:MIN", "").strip()
        return self.type in DM_TYPES or (_MD.fullmatch(self.type) is not None and not self.name.startswith("md")
                                         and bool(number) and not number.startswith("9:"))  # fmt: skip

    @property
    def device(self) -> str:
        """The kernel name, where it is known."""
        said = self.cells.get("KNAME")
        if said:
            return said.removeprefix("/dev/").replace("!", "/")
        minor = whole(self.cells.get("MAJ:MIN", "").strip().partition(":")[2])
        return f"dm-{minor}" if self.is_mapped and minor is not None else self.name

    @property
    def kind(self) -> str:
        if self.is_mapped:
            return "dm"
        if self.type in _TYPES:
            return _TYPES[self.type]
        names = ["device"] if self.type == "disk" else []
        return kind_of(self.name.replace("/", "!"), names)


def read(host: Host) -> Iterable[Reading]:
    """Return the devices of all outputs together, the links between them, and the mount points.

    Raises Absent without an output, Malformed if none is understood.
    """
    found: dict[str, _Device] = {}
    faults: list[tuple[str, Malformed]] = []
    for output in outputs(host, "lsblk"):
        try:
            rows = parse(output)
        except Malformed as error:
            faults.append((output.key, error))
            continue
        for row in rows:
            found.setdefault(row.name, _Device(row, output.key)).add(row)
    if not found:
        if faults:
            raise faults[0][1]
        raise Absent("cmd:lsblk", "not recorded", recorded=False)
    for key, why in faults:
        host.defect(key, f"not understood: {why}")
    return [row for each in found.values() for row in _readings(each, found)]


def _readings(each: _Device, all_: Mapping[str, _Device]) -> Iterable[Reading]:
    row = _device(each, all_)
    yield row
    relation = "partition" if row.kind == "partition" else "slave"
    above = [all_[name].device for name in each.above if name in all_]
    parent = each.cells.get("PKNAME")
    for name in above or ([parent.removeprefix("/dev/")] if parent else []):
        yield BlockLink(row.device, name, relation, each.key)
    points = (each.cells.get("MOUNTPOINTS") or each.cells.get("MOUNTPOINT") or "").split("\n")
    for point in filter(lambda point: point.startswith("/"), points):
        path = f"/dev/mapper/{each.name}" if each.is_mapped else f"/dev/{each.name}"
        yield MountPoint(point=point, filesystem=each.cells.get("FSTYPE", ""), device=path, origin=each.key)


def _device(each: _Device, all_: Mapping[str, _Device]) -> BlockDevice:
    cells = each.cells
    kind = each.kind
    above = [all_[name].device for name in each.above if name in all_]
    parent = above[0] if above else (cells.get("PKNAME") or "").removeprefix("/dev/") or None
    read_ahead, wwn = whole(cells.get("RA")), cells.get("WWN")
    return BlockDevice(
        each.device,
        kind,
        parent if kind == "partition" else None,
        cells.get("MAJ:MIN", "").strip() or None,
        vendor=cells.get("VENDOR") or None,
        model=cells.get("MODEL") or None,
        revision=cells.get("REV") or None,
        serial=cells.get("SERIAL") or None,
        wwn=wwn or None,
        hctl=cells.get("HCTL") or None,
        dm_name=each.name if kind == "dm" else None,
        scheduler=cells.get("SCHED") or None,
        state=cells.get("STATE") or None,
        size=size(cells.get("SIZE")),
        rotational=whole(cells.get("ROTA")),
        read_only=whole(cells.get("RO")),
        logical_block_size=whole(cells.get("LOG-SEC")),
        physical_block_size=whole(cells.get("PHY-SEC")),
        minimum_io=whole(cells.get("MIN-IO")),
        optimal_io=whole(cells.get("OPT-IO")),
        read_ahead=None if read_ahead is None else read_ahead * 1024,
        nr_requests=whole(cells.get("RQ-SIZE")),
        told=each.key,
    )


LSBLK = Collector(
    "lsblk",
    "Block devices in recorded output of lsblk",
    read,
    (BlockDevice, BlockLink, MountPoint),
    (Need("cmd:lsblk*", "devices, sizes and links, from captures only; never run"),),
    SLOW,
    forms=(FORM,),
)
