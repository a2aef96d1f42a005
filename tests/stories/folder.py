"""Write a capture by hand: files at their own paths, and in each frame only what changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, str | bytes]
"""What one frame shows: `/absolute/path`, `commands/SLUG/stdout` or `answers/SLUG.json` to text, or to bytes."""


class Folder:
    """A capture that grows by frames; `finish` writes its manifest."""

    def __init__(self, path: Path, host: str, *, taken: float, monotonic: float) -> None:
        """Start below a folder in which there are no frames; the first frame is of these times."""
        self._path = path
        self._host = host
        self._taken = taken
        self._monotonic = monotonic
        self._moments: list[tuple[float, float]] = []
        self._written: dict[str, str | bytes] = {}

    def add(self, files: Files, elapsed: float) -> None:
        """Write the frame that was taken `elapsed` seconds after the first."""
        root = self._path / "frames" / f"{len(self._moments) + 1:04d}"
        root.mkdir(parents=True)
        self._moments.append((self._taken + elapsed, self._monotonic + elapsed))
        for name, text in files.items():
            if self._written.get(name) != text:
                self._written[name] = text
                _write(root / name.lstrip("/"), text)

    def links(self, links: Mapping[str, str]) -> None:
        """Write the symbolic links, which are the same in all frames."""
        _write(self._path / "static" / "links.json", json.dumps(links, indent=1, sort_keys=True) + "\n")

    def finish(self) -> None:
        """Write the manifest."""
        moments = ",\n".join(f'  {{"taken": {taken:.3f}, "monotonic": {mono:.3f}}}' for taken, mono in self._moments)
        head = f'{{\n "schema": "sdstop.capture/1",\n "host": {json.dumps(self._host)},\n'
        _write(self._path / "manifest.json", f'{head} "frames": [\n{moments}\n ]\n}}\n')


def _write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("ascii") if isinstance(text, str) else text)
