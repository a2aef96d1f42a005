"""A storage node with HBAs, expanders and disks as files of sysfs, whose phys are read once more after five minutes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sdstop.collectors import BUILTIN
from sdstop.collectors.fabric.port_readings import DEVICES, EXPANDERS, PHYS, PORTS
from sdstop.collectors.fabric.readings import PCI
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from tests.nodes.block import IDLE, STARTED, Load, Node, disk_name
from tests.nodes.hba import Card
from tests.nodes.sas import COUNTERS


def names(count: int, start: int = 0) -> tuple[str, ...]:
    """Return sda, sdb, ..."""
    return tuple(disk_name(number) for number in range(start, start + count))


@dataclass
class Box(Card):
    """A card whose disks sit in the bays of an enclosure with one expander.

    `errors` of the expander's phys by number, `then` those five minutes later; `rates` of those that are not at 12
    Gbit/s.
    """

    errors: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    then: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    rates: dict[int, str] = field(default_factory=dict)
    product: str = "NDS-4602-CS     "
    lanes: int = 4

    def phys(self, *, later: bool = False) -> dict[str, str]:
        """Return the files of its phys, ports and expander."""
        host = self.number
        found: dict[str, str] = {}
        root = self.files()[f"link:{PCI}/{self.address}"][6:]
        expander = f"expander-{host}:0"
        for lane in range(8):
            up = lane < self.lanes
            found |= self._phy(f"phy-{host}:{lane}", lane, "12.0 Gbit" if up else "Unknown", (0, 0, 0, 0))
            if up:
                found[f"link:{PHYS}/phy-{host}:{lane}/device/port"] = f"../../port-{host}:0"
        base = f"{DEVICES}/{expander}"
        found |= {
            f"{PORTS}/port-{host}:0/num_phys": f"{self.lanes}\n",
            f"{base}/device_type": "edge expander\n",
            f"{base}/sas_address": f"0x500093d0016c{host:04x}\n",
            f"link:{base}": f"{root}/host{host}/port-{host}:0/{expander}/sas_device/{expander}",
            f"{EXPANDERS}/{expander}/vendor_id": "NEWISYS \n",
            f"{EXPANDERS}/{expander}/product_id": f"{self.product}\n",
        }
        for n in range(len(self.disks)):
            errors = (self.then if later else {}).get(n) or self.errors.get(n) or (0, 0, 0, 0)
            found |= self._phy(f"phy-{host}:0:{n}", n, self.rates.get(n, "12.0 Gbit"), errors)
            port, end = f"port-{host}:0:{n}", f"end_device-{host}:0:{n}"
            found |= {
                f"link:{PHYS}/phy-{host}:0:{n}/device/port": f"../../{port}",
                f"{PORTS}/{port}/num_phys": "1\n",
                f"{DEVICES}/{end}/device_type": "end device\n",
                f"{DEVICES}/{end}/sas_address": f"0x5000c500{host:04x}{n:04x}\n",
                f"{DEVICES}/{end}/enclosure_identifier": f"0x500093d0016c{host:04x}\n",
                f"{DEVICES}/{end}/bay_identifier": f"{n}\n",
                f"link:{DEVICES}/{end}": f"{root}/host{host}/port-{host}:0/{expander}/{port}/{end}/sas_device/{end}",
            }
        for n in range(len(self.disks), len(self.disks) + 8):
            found |= self._phy(f"phy-{host}:0:{n}", n, self.rates.get(n, "Unknown"), self.errors.get(n, (0, 0, 0, 0)))
        return found

    def _phy(self, name: str, number: int, rate: str, errors: Sequence[int]) -> dict[str, str]:
        base = f"{PHYS}/{name}"
        counted = dict(zip(COUNTERS, errors, strict=True)) if rate not in {"Unknown", "Phy disabled"} else {}
        return {
            f"{base}/negotiated_linkrate": f"{rate}\n",
            f"{base}/maximum_linkrate_hw": "12.0 Gbit\n",
            f"{base}/phy_identifier": f"{number}\n",
            f"{base}/sas_address": f"0x500605b0{self.number:04x}0000\n",
            **{f"{base}/{counter}": f"{count}\n" for counter, count in counted.items()},
        }


def boxes(cards: int, disks: int, **settings: object) -> list[Box]:
    """Return like cards, each with so many disks, on NUMA nodes in turn."""
    return [
        Box(number=0x82 + n, disks=names(disks, n * disks), node=n % 2, **settings)  # type: ignore[arg-type]
        for n in range(cards)
    ]


def load(device: str, second: int) -> Load:
    """Return what disks do: all but every ninth read."""
    del second
    return IDLE if len(device) % 9 == 0 else Load(reads=40 + 7 * (len(device) + ord(device[-1]) % 13), size=1 << 19)


@dataclass
class FabricNode:
    """The node: at the end, phys are read a second time."""

    boxes: Sequence[Box]
    mdstat: str = "Personalities :\nunused devices: <none>\n"
    files: dict[str, str] = field(default_factory=dict)
    name: str = "node-1"
    again: bool = True

    def frames(self, seconds: int = 4) -> list[Frame]:
        """Return a frame a second, and at last one five minutes later."""
        found: dict[str, str] = dict(self.files)
        for box in self.boxes:
            found |= box.files() | box.phys()
        devices = [disk for box in self.boxes for disk in box.disks]
        for disk in devices:
            found[f"/sys/block/{disk}/size"] = "27344764928\n"
        frames = Node(devices, load, self.mdstat, found).frames(seconds)
        if self.again:
            frames += self._later(frames[-1], found)
        return frames

    def _later(self, last: Frame, before: dict[str, str]) -> Iterator[Frame]:
        changed: dict[str, str] = {}
        for box in self.boxes:
            changed |= box.phys(later=True)
        at = STARTED + last.monotonic - 1000.0 + 300.0
        items = [Evidence(k, data=t.encode(), taken=at) for k, t in changed.items() if before.get(k) != t]
        yield Frame(last.number + 1, at, last.monotonic + 300.0, tuple(items))
        tail = Node([disk for box in self.boxes for disk in box.disks], load, self.mdstat).frames(3)
        for frame in tail:
            yield Frame(last.number + 1 + frame.number, at + frame.number, last.monotonic + 300.0 + frame.number,
                        frame.evidence)  # fmt: skip

    def session(self, rules: Sequence[Rule] = ()) -> Session:
        """Return a session that was fed all frames."""
        session = Session(Origin(self.name), BUILTIN, rules)
        session.feed_all(self.frames())
        return session
