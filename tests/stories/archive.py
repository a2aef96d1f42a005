"""Capture archive made by hand: files at their own paths, and in each frame only what changed.

The same files give the same tar stream, byte for byte: members stand in the order of their names, without times
and owners. What gzip makes of it depends on the version of zlib; an archive that holds the same stream already is
not written again.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from sdstop.capture.reader import PACKED

Files = Mapping[str, str | bytes]
"""What one frame shows: `/absolute/path`, `commands/SLUG/stdout` or `answers/SLUG.json` to text, or to bytes."""


class Archive:
    """A capture that grows by frames; `finish` writes it."""

    def __init__(self, path: Path, host: str, *, taken: float, monotonic: float) -> None:
        """Start a capture of the folder `path`; the first frame is of these times."""
        self._path = path
        self._host = host
        self._top = f"sdstop-{host}"  # as sdstop's own archives have it
        self._taken = taken
        self._monotonic = monotonic
        self._moments: list[tuple[float, float]] = []
        self._shown: dict[str, str | bytes] = {}
        self._members: dict[str, bytes] = {}

    def add(self, files: Files, elapsed: float) -> None:
        """Add the frame that was taken `elapsed` seconds after the first."""
        self._moments.append((self._taken + elapsed, self._monotonic + elapsed))
        frame = f"frames/{len(self._moments):04d}"
        for name, text in files.items():
            if self._shown.get(name) != text:
                self._shown[name] = text
                self._put(f"{frame}/{name.lstrip('/')}", text)

    def links(self, links: Mapping[str, str]) -> None:
        """Add the symbolic links, which are the same in all frames."""
        self._put("static/links.json", json.dumps(links, indent=1, sort_keys=True) + "\n")

    def finish(self) -> None:
        """Add the manifest and write capture.tar.gz; make the folder if it does not exist."""
        moments = ",\n".join(f'  {{"taken": {taken:.3f}, "monotonic": {mono:.3f}}}' for taken, mono in self._moments)
        head = f'{{\n "schema": "sdstop.capture/1",\n "host": {json.dumps(self._host)},\n'
        self._put("manifest.json", f'{head} "frames": [\n{moments}\n ]\n}}\n')
        self._path.mkdir(parents=True, exist_ok=True)
        pack(self._members, self._path / PACKED)

    def _put(self, member: str, text: str | bytes) -> None:
        self._members[f"{self._top}/{member}"] = text.encode("ascii") if isinstance(text, str) else text


def pack(members: Mapping[str, bytes], path: Path) -> None:
    """Write members, by name, as a tar archive compressed by gzip; keep a file that holds the same."""
    raw = stream(members)
    if path.exists() and gzip.decompress(path.read_bytes()) == raw:
        return
    path.write_bytes(gzip.compress(raw, 9, mtime=0))


def pack_folder(folder: Path) -> None:
    """Replace the files of a fixture that was written by hand with capture.tar.gz; README.md stays."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent != folder]
    files += [path for path in folder.iterdir() if path.is_file() and path.name not in {"README.md", PACKED}]
    pack({f"{folder.name}/{path.relative_to(folder)}": path.read_bytes() for path in files}, folder / PACKED)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path in files:
            path.unlink()


def stream(members: Mapping[str, bytes]) -> bytes:
    """Return the tar stream of members, by name: pax (POSIX.1-2001), mode 0644, no times and no owners."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(members):
            header = tarfile.TarInfo(name)
            header.size = len(members[name])
            archive.addfile(header, io.BytesIO(members[name]))
    return made.getvalue()
