"""What views of many things take of a frame to paint: CPU milliseconds as JSON.

    python bench/views.py --hbas 8 --disks 125 --nodes 60 --devices 12 --volumes 500 --frames 20

A node with as many disks behind each HBA, and a cluster of as many nodes, devices and limited volumes. Frames of moving
counters are judged before the clock starts; it runs while a view makes its rows, sorts them and paints what is seen of
them on 80x24, or with all of the tree unfolded (`unfolded`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sdstop.core.session import Session
from sdstop.tui.app import Dashboard
from sdstop.tui.terminal import Options
from tests.nodes import cluster as clusternode
from tests.nodes.fabric import FabricNode, boxes

MIB = 1 << 20


def fabric(hbas: int, disks: int) -> Session:
    """Return a session over HBAs with disks."""
    return FabricNode(boxes(hbas, disks), again=False).session()


def cluster(nodes: int, devices: int, volumes: int) -> Session:
    """Return a session over a cluster in fault sets of five nodes, with limited volumes."""
    told = [clusternode.cluster(), *clusternode.parts(sets=max(nodes // 5, 1), nodes=5, devices=devices)]
    told += [
        {"is": "Limit", "volume": f"v{at}", "owner": "10.0.0.9", "kind": "powerflex", "direction": "total",
         "limited": "both", "iops": 500.0, "bandwidth": 26.0 * MIB, "requests_rate": float(at % 510),
         "bytes_rate": float(MIB), "sharers": 1, "origin": clusternode.TOLD, "used_origin": clusternode.TOLD}
        for at in range(volumes)
    ]  # fmt: skip
    return clusternode.session(told)


async def painted(session: Session, keys: Sequence[str], frames: int) -> float:
    """Return what it takes to paint the view that these keys lead to, the median of some frames."""
    app = Dashboard(session, None, Options(ascii=False, version=""))
    async with app.run_test(size=(80, 24)) as pilot:
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        took = []
        for _ in range(frames):
            scene = app.scene
            assert scene is not None
            scene.window._memo.clear()  # noqa: SLF001  # what views share is worked out once a frame
            began = time.process_time()
            app.main.shown.show(scene)
            took.append((time.process_time() - began) * 1000)
            await pilot.pause()
        return median(took)


def main() -> None:
    """Print what each view takes."""
    parser = argparse.ArgumentParser(description="What views of many things take of a frame to paint.")
    for name, count in (("hbas", 8), ("disks", 125), ("nodes", 60), ("devices", 12), ("volumes", 500), ("frames", 20)):
        parser.add_argument(f"--{name}", type=int, default=count)
    options = parser.parse_args()
    node = fabric(options.hbas, options.disks)
    whole = cluster(options.nodes, options.devices, options.volumes)
    found = {
        name: asyncio.run(painted(session, keys, options.frames))
        for name, session, keys in (
            ("fabric", node, ("5",)), ("unfolded", node, ("5", "z")), ("cluster", whole, ("7",)),
            ("volumes", whole, ("8",)),
        )
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
