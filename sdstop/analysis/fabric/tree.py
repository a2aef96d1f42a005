"""HBAs, expanders, slots and disks as a tree, built from sysfs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct, field

from sdstop.analysis.fabric.hba_throughput import KINDS
from sdstop.analysis.latest import latest_rows
from sdstop.collectors.fabric.port_readings import SasDevice, SasPhy
from sdstop.collectors.fabric.readings import DiskPath, Hba
from sdstop.collectors.fabric.sas import COUNTERS
from sdstop.core.format import natural
from sdstop.core.history import Window

T = TypeVar("T")

_IDLE = frozenset({None, "up", "Unknown", "Phy disabled"})
"""States of phys that are up or have nothing to report."""
_ORDER = {kind: place for place, kind in enumerate(("sas", "raid", "scsi", "sata", "ata", "ide", "storage", "nvme"))}


def total(phy: SasPhy) -> int | None:
    """Return the largest counter of a phy, because several counters count the same damaged word."""
    known = [value for name in COUNTERS if (value := getattr(phy, name)) is not None]
    return max(known, default=None)


class FabricNode(Struct, frozen=True, kw_only=True):
    """Node of the fabric.

    An HBA, a SCSI host whose HBA is unknown, an expander, a disk, a device without a disk, or a phy that should be up
    but is not.

    `phys` lead to the node: for an HBA its own, for a disk those of the expander or HBA that it is attached to. `owned`
    are an expander's own phys. `disks` are the block devices in the node and below it.
    """

    key: str
    kind: str
    name: str
    hba: Hba | None = None
    hosts: tuple[str, ...] = ()
    device: SasDevice | None = None
    path: DiskPath | None = None
    phys: tuple[SasPhy, ...] = ()
    owned: tuple[SasPhy, ...] = ()
    below: tuple[FabricNode, ...] = ()
    disks: tuple[str, ...] = ()

    @property
    def names(self) -> Iterator[str]:
        """Names that findings can use for the node."""
        yield self.name
        yield from self.hosts
        if self.hba is not None:
            yield self.hba.hba
        if self.device is not None:
            yield self.device.device
        yield from (phy.phy for phy in self.phys)

    @property
    def counted(self) -> Iterator[SasPhy]:
        """Every phy in the node and below it, each once."""
        if self.kind in {"disk", "device", "phy"}:
            yield from self.phys
            return
        yield from self.phys if self.kind != "expander" else self.owned
        for node in self.below:
            if node.kind == "expander":
                yield from node.counted

    @property
    def carries(self) -> float | None:
        """Bytes per second of data on the phys that lead to the node, None if unknown."""
        known = [phy.rate for phy in self.phys if phy.rate is not None]
        return float(sum(known)) if known else None


class FabricTree(Struct, frozen=True, eq=False):
    """Known topology of the fabric.

    `chains` maps a name to the keys of the nodes that contain it, outermost first; `others` counts storage functions
    without disks for which none can be expected.
    """

    roots: tuple[FabricNode, ...]
    chains: Mapping[str, tuple[str, ...]]
    others: int
    expanders: int
    memo: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, cached until phys or disk paths are read again."""
        if key not in self.memo:
            self.memo[key] = make()
        return cast("T", self.memo[key])


def fabric_tree(window: Window) -> FabricTree:
    """Return the topology at the window's end."""
    built = _FabricBuilder(window)
    roots, others = built.roots()
    chains: dict[str, tuple[str, ...]] = {}

    def trace(node: FabricNode, above: tuple[str, ...]) -> int:
        chain = (*above, node.key)
        for name in node.names:
            chains.setdefault(name, chain)
        below = sum(trace(part, chain) for part in node.below)
        for phy in node.owned:  # phys that lead to a device are named after it
            chains.setdefault(phy.phy, chain)
        return below + (node.kind == "expander")

    expanders = sum(trace(node, ()) for node in roots)
    return FabricTree(tuple(roots), chains, others, expanders)


class _FabricBuilder:
    """Builder that joins rows into nodes."""

    def __init__(self, window: Window) -> None:
        self.hbas = {row.hba: row for row in latest_rows(window, Hba)[0].values()}
        self.paths: dict[str, list[DiskPath]] = {}
        self.ends: dict[str, list[DiskPath]] = {}
        for path in latest_rows(window, DiskPath)[0].values():
            self.paths.setdefault(path.hba, []).append(path)
            if path.end_device is not None:
                self.ends.setdefault(path.end_device, []).append(path)
        self.above: dict[str, list[SasDevice]] = {}
        self.devices = dict(latest_rows(window, SasDevice)[0])
        for device in latest_rows(window, SasDevice)[0].values():
            self.above.setdefault(device.above or "", []).append(device)
        self.owned: dict[str, list[SasPhy]] = {}
        self.ports: dict[str, list[SasPhy]] = {}
        # A phy that does not report its port may report the address at the other end.
        named: dict[tuple[str, str], str] = {
            (d.above or "", d.address): d.port for d in self.devices.values() if d.address and d.port
        }
        for phy in latest_rows(window, SasPhy)[0].values():
            self.owned.setdefault(phy.owner or phy.phy, []).append(phy)
            port = phy.port or (named.get((phy.owner, phy.address or "")) if phy.state == "up" else None)
            if port is not None:
                self.ports.setdefault(port, []).append(phy)
        self.done: set[str] = set()

    def roots(self) -> tuple[list[FabricNode], int]:
        """Return HBAs, then hosts whose HBA is unknown; and the number of omitted functions."""
        found, others = [], 0
        of_host = {path.host: path.hba for paths in self.paths.values() for path in paths if path.host is not None}
        for name in sorted({*self.hbas, *self.paths}, key=lambda name: (self._rank(name), name)):
            hosts = tuple(sorted({host for host, hba in of_host.items() if hba == name}, key=natural))
            hba = self.hbas.get(name)
            paths = self.paths.get(name, [])
            if not paths and (hba is None or hba.kind not in KINDS or (hba.device_id or "").startswith("1af4:")):
                others += 1
            elif len(paths) == 1 and not any(self.owned.get(h) or self.above.get(h) for h in hosts):
                found.append(self._disk(paths[0], hba, hosts))
            else:
                found.append(self._hba(name, hba, hosts, paths))
        hosts_ = {*self.owned, *self.above} - set(of_host)
        found += [self._hba(host, None, (host,), []) for host in sorted(hosts_, key=natural) if host.startswith("host")]
        return found, others

    def _rank(self, name: str) -> int:
        hba = self.hbas.get(name)
        return _ORDER.get(hba.kind, len(_ORDER)) if hba is not None else len(_ORDER)

    def _hba(self, name: str, hba: Hba | None, hosts: tuple[str, ...], paths: Sequence[DiskPath]) -> FabricNode:
        parts = [node for host in hosts for node in self._attached(host)]
        # Disks without SAS data are placed by their disk path.
        lost: dict[str | None, list[DiskPath]] = {}
        for path in paths:
            if path.device not in self.done:
                lost.setdefault(path.expander, []).append(path)
        for expander, listed in lost.items():
            disks = [self._disk(path) for path in sorted(listed, key=_slot)]
            parts += disks if expander is None else [self._group(expander, disks)]
        phys = tuple(phy for host in hosts for phy in sorted(self.owned.get(host, ()), key=_number))
        kind = "hba" if hba is not None or paths else "host"
        return FabricNode(
            key=f"{kind}:{name}",
            kind=kind,
            name=name,
            hba=hba,
            hosts=hosts,
            phys=phys,
            owned=(),
            below=tuple(parts),
            disks=_all_disks(parts),
        )

    def _group(self, expander: str, disks: Sequence[FabricNode]) -> FabricNode:
        owned = tuple(sorted(self.owned.get(expander, ()), key=_number))
        return FabricNode(
            key=expander, kind="expander", name=expander, owned=owned, below=tuple(disks), disks=_all_disks(disks)
        )

    def _attached(self, owner: str, depth: int = 0) -> Iterator[FabricNode]:
        """Yield the nodes attached to a host or expander: expanders, then slots, then links that fail to establish."""
        devices = sorted(self.above.get(owner, ()), key=lambda d: (not _expands(d), d.bay is None, d.bay or 0, _num(d)))
        for device in devices:
            if device.device in self.done:
                continue
            self.done.add(device.device)
            phys = tuple(self.ports.get(device.port or "", ()))
            if _expands(device):
                known = tuple(self._attached(device.device, depth + 1)) if depth < _DEEPEST else ()
                below = (*known, *map(self._disk, self._stray(device.device)))
                owned = tuple(sorted(self.owned.get(device.device, ()), key=_number))
                yield FabricNode(
                    key=device.device,
                    kind="expander",
                    name=device.device,
                    device=device,
                    phys=phys,
                    owned=owned,
                    below=below,
                    disks=_all_disks(below),
                )
                continue
            paths = self.ends.get(device.device, [])
            for path in paths:
                yield self._disk(path, device=device, phys=phys)
            if not paths:
                yield FabricNode(
                    key=device.device,
                    kind="device",
                    name=device.device,
                    device=device,
                    phys=phys,
                )
        for phy in sorted(self.owned.get(owner, ()), key=_number):
            if phy.state not in _IDLE and total(phy) != 0:  # receiving nothing at all is normal without a cable
                yield FabricNode(key=phy.phy, kind="phy", name=phy.phy, phys=(phy,))

    def _stray(self, expander: str) -> list[DiskPath]:
        """Return the disk paths of an expander whose end devices are not reported."""
        found = (path for paths in self.paths.values() for path in paths if path.expander == expander)
        return sorted((path for path in found if path.device not in self.done), key=_slot)

    def _disk(
        self,
        path: DiskPath,
        hba: Hba | None = None,
        hosts: tuple[str, ...] = (),
        device: SasDevice | None = None,
        phys: tuple[SasPhy, ...] = (),
    ) -> FabricNode:
        self.done.add(path.device)
        return FabricNode(
            key=f"disk:{path.device}",
            kind="disk",
            name=path.device,
            hba=hba,
            hosts=hosts,
            device=device,
            path=path,
            phys=phys,
            owned=(),
            below=(),
            disks=(path.device,),
        )


_DEEPEST = 8
"""Maximum depth of cascaded expanders."""


def _expands(device: SasDevice) -> bool:
    return device.device.startswith("expander-")


def _num(device: SasDevice) -> tuple[int, str]:
    return natural(device.device)


def _number(phy: SasPhy) -> tuple[int, str]:
    return (phy.number if phy.number is not None else 1 << 16, phy.phy)


def _slot(path: DiskPath) -> tuple[int, tuple[int, str]]:
    return (path.bay if path.bay is not None else 1 << 16, natural(path.device))


def _all_disks(parts: Iterable[FabricNode]) -> tuple[str, ...]:
    return tuple(name for part in parts for name in part.disks)
