"""A node with memory modules, NUMA nodes, HBAs and network cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sdstop.collectors import BUILTIN
from sdstop.collectors.fabric.readings import NET, NODES
from sdstop.collectors.memory.readings import TABLE
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.rule import Rule
from sdstop.core.session import Session
from tests.nodes.block import STARTED, Node
from tests.nodes.fabric import Box
from tests.nodes.firmware import Board


@dataclass
class HostNode:
    """Each of `memory` is a NUMA node's (KiB, free KiB) with `cpus` processors; `cards` are network cards' nodes."""

    board: Board | None = None
    memory: Sequence[tuple[int, int]] = ((67108864, 33554432), (67108864, 6710886))
    cpus: int = 2
    boxes: Sequence[Box] = ()
    cards: dict[str, int] = field(default_factory=dict)
    later: dict[int, Sequence[Evidence]] = field(default_factory=dict)
    name: str = "node-1"
    live: bool = False

    def files(self) -> dict[str, str]:
        """Return what does not change."""
        found = {
            "/proc/meminfo": "MemTotal: 134217728 kB\nMemFree: 40265318 kB\nMemAvailable: 80265318 kB\n",
            "/proc/loadavg": "1.50 2.50 3.50 2/300 4242\n",
            "/proc/pressure/io": "some avg10=12.50 avg60=1.00 avg300=0.10 total=5\nfull avg10=0.00 avg60=0.00 "
            "avg300=0.00 total=0\n",
        }
        for number, (total, free) in enumerate(self.memory):
            base = f"{NODES}/node{number}"
            first = number * self.cpus
            found |= {
                f"{base}/cpulist": f"{first}-{first + self.cpus - 1}\n",
                f"{base}/distance": " ".join("10" if n == number else "21" for n in range(len(self.memory))) + "\n",
                f"{base}/meminfo": f"Node {number} MemTotal: {total} kB\nNode {number} MemFree: {free} kB\n",
            }
        for box in self.boxes:
            found |= box.files()
        for card, node in self.cards.items():
            found |= {
                f"{NET}/{card}/device/numa_node": f"{node}\n",
                f"{NET}/{card}/speed": "10000\n",
                f"{NET}/{card}/carrier": "1\n",
                f"{NET}/{card}/operstate": "up\n",
                f"{NET}/{card}/type": "1\n",
            }
        return found

    def frames(self, seconds: int = 12) -> list[Frame]:
        """Return a frame a second; the processors of node0 are busy 3 parts of 4, the others 1."""
        later: dict[int, list[Evidence]] = {number: [*self.later.get(number, ())] for number in range(1, seconds + 2)}
        if self.board is not None:
            later[1].append(Evidence(TABLE, data=self.board.table(), taken=STARTED))
        for number in range(1, seconds + 2):
            lines = [f"cpu{n} {self._busy(n) * number} 0 0 {(100 - self._busy(n)) * number} 0 0 0 0"
                     for n in range(self.cpus * len(self.memory))]  # fmt: skip
            text = (
                "cpu  0 0 0 0 0 0 0 0\n" + "\n".join(lines) + "\nbtime 1789990000\nprocs_running 1\nprocs_blocked 0\n"
            )
            later[number].append(Evidence("/proc/stat", data=text.encode()))
            if number % 10 == 1:
                later[number] += [
                    Evidence(f"{NODES}/node{n}/numastat", data=f"numa_hit 9\nnuma_miss 0\nlocal_node {900 * number}\n"
                             f"other_node {100 * number * n}\n".encode())
                    for n in range(len(self.memory))
                ]  # fmt: skip
        disks = [disk for box in self.boxes for disk in box.disks]
        return Node(disks or ("sda",), files=self.files(), later=later).frames(seconds)

    def _busy(self, cpu: int) -> int:
        return 75 if cpu < self.cpus else 25

    def session(self, rules: Sequence[Rule] = ()) -> Session:
        """Return a session that was fed all frames."""
        session = Session(Origin(self.name, live=self.live), BUILTIN, rules)
        session.feed_all(self.frames())
        return session
