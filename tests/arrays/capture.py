"""Write a simulated array as a capture folder."""

from __future__ import annotations

import json
from pathlib import Path

from tests.arrays import evidence
from tests.arrays.simulation import simulate
from tests.arrays.spec import ArraySpec

_STARTED = 1_790_000_000.0


def write_capture(
    folder: Path,
    spec: ArraySpec,
    seed: int,
    seconds: int,
    interval: float = 1.0,
    *,
    host: str = "simulated",
    started: float = _STARTED,
) -> None:
    """Write the frames of `simulate` below `folder`, which must not exist yet.

    The layout is that of a capture made by hand: a manifest, then `frames/0001/...` with files at their own path;
    what did not change since the frame before is left out, so links and sizes stand in the first frame only.
    """
    folder.mkdir(parents=True)
    times = []
    written: dict[str, str] = {}
    for number, frame in enumerate(simulate(spec, seed, seconds, interval), start=1):
        root = folder / "frames" / f"{number:04d}"
        files = {"/proc/diskstats": frame.diskstats, "/proc/mdstat": frame.mdstat, **frame.files}
        for path, text in files.items():
            if written.get(path) != text:
                written[path] = text
                target = root / path.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="ascii")
        if number == 1:
            _write_json(root / "links.json", evidence.links(spec))
        root.mkdir(parents=True, exist_ok=True)
        times.append({"taken": round(started + (number - 1) * interval, 3), "monotonic": round(frame.monotonic, 3)})
    _write_json(folder / "manifest.json", {"schema": "sdstop.capture/1", "host": host, "frames": times})


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="ascii")
