"""Turn a raw recording of a virtual machine into a fixture: `python -m tests.fixtures_from_vm RECORDING FOLDER`.

A raw recording has `static/` (read once), `s0000/`, `s0001/` ... (files under their own absolute path and
`meta.json` with `time` and `monotonic`), and `static/links.json`. A file that begins with `!` holds the error
that reading it gave. Written is FOLDER/capture.tar.gz, with what collectors read; the same recording gives the
same bytes.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sdstop.capture.reader import PACKED
from sdstop.core.evidence import Evidence, Frame, Outcome
from sdstop.exporters.capture import CaptureWriter

HOST = "sdsvm"  # what the machine calls itself

_STATIC = ("/proc/version", "/proc/cpuinfo", "/sys/block/*", "/sys/class/net/*")
_SAMPLED = (
    "/proc/diskstats", "/proc/mdstat", "/proc/stat", "/proc/meminfo", "/proc/net/dev", "/proc/pressure/*",
    "/sys/block/*/md/*",
)  # fmt: skip
# It moves and was read only once, or says again what another file says; commands printed averages since boot.
_DROPPED = (
    "*/uevent",
    "*/stat",
    "*/inflight",
    "*/events*",
    "/sys/class/net/*/statistics/*",
    "/sys/class/net/*carrier_*",
)
_DENIED = {"Permission denied", "Operation not permitted"}
_MEMBER = re.compile(r"/sys/block/(md[^/]+)/md/dev-([^/]+)/")


def convert(recording: Path, folder: Path, host: str = HOST) -> Path:
    """Write the capture of a raw recording into a folder; what was there before is gone."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PACKED
    path.unlink(missing_ok=True)
    with CaptureWriter(path, host, privileged=True) as writer:
        for frame in frames(recording):
            writer.add(frame)
        writer.finish()
    return path


def frames(recording: Path) -> Iterator[Frame]:
    """Yield the recording's frames, each with what changed."""
    links: dict[str, str] = json.loads((recording / "static/links.json").read_text(encoding="utf-8"))
    fixed = _read(recording / "static", _STATIC)
    known: dict[str, Evidence] = {}
    for number, sample in enumerate(sorted(recording.glob("s[0-9]*")), start=1):
        meta = json.loads((sample / "meta.json").read_text(encoding="utf-8"))
        read = _read(sample, _SAMPLED)
        if number == 1:
            md = {key for key in fixed if fnmatch.fnmatchcase(key, "/sys/block/*/md/*")}  # sampled too
            read = {key: item for key, item in fixed.items() if key not in md} | read
        else:
            read |= {key: _absent(key) for key in known.keys() - read.keys() if _wanted(key, _SAMPLED)}
        read |= _links(links, read)
        changed = {key: item for key, item in read.items() if not item.same(known.get(key))}
        known |= changed
        yield Frame(number, meta["time"], meta["monotonic"], tuple(changed[key] for key in sorted(changed)))


def _read(root: Path, patterns: tuple[str, ...]) -> dict[str, Evidence]:
    files = (path for path in root.rglob("*") if path.is_file())
    found = {f"/{path.relative_to(root)}": path for path in files}
    return {key: _evidence(key, path.read_bytes()) for key, path in found.items() if _wanted(key, patterns)}


def _wanted(key: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(key, p) for p in patterns) and (
        key in patterns or not any(fnmatch.fnmatchcase(key, p) for p in _DROPPED)
    )


def _evidence(key: str, data: bytes) -> Evidence:
    if not data.startswith(b"!"):
        return Evidence(key, data=data)
    error = data[1:].decode().strip()
    outcome = Outcome.DENIED if error in _DENIED else Outcome.FAILED
    return Evidence(key, Outcome.ABSENT if error == "No such file or directory" else outcome, detail=error)


def _absent(key: str) -> Evidence:
    return Evidence(key, Outcome.ABSENT, detail="no such file")


def _links(recorded: Mapping[str, str], read: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """Return the links as they were then.

    They were recorded once; but md makes and removes those between an array and a member together with the
    member's folder `md/dev-NAME`, which every sample has.
    """
    now = dict(recorded)
    members = {(m[1], m[2]) for key, e in read.items() if e.outcome is Outcome.OK and (m := _MEMBER.match(key))}
    arrays = {array for array, _ in members}
    for link in recorded:
        match = re.fullmatch(r"/sys/block/(md[^/]+)/slaves/(.+)|/sys/block/(.+)/holders/(md[^/]+)", link)
        if match and (match[1] or match[4]) in arrays:
            del now[link]
    for array, member in members:
        below, above = (_device(recorded, name) for name in (member, array))
        now[f"/sys/block/{array}/slaves/{member}"] = posixpath.relpath(below, f"{above}/slaves")
        now[f"/sys/block/{member}/holders/{array}"] = posixpath.relpath(above, f"{below}/holders")
    found = {f"link:{path}": Evidence(f"link:{path}", data=target.encode()) for path, target in now.items()}
    return found | {f"link:{path}": _absent(f"link:{path}") for path in recorded.keys() - now.keys()}


def _device(links: Mapping[str, str], name: str) -> str:
    return posixpath.normpath(f"/sys/block/{links[f'/sys/block/{name}']}")


def main() -> None:
    """Convert the recording that is named."""
    parser = argparse.ArgumentParser(description="Turn a raw recording of a virtual machine into a fixture.")
    parser.add_argument("recording", type=Path, help="unpacked recording: a folder with static/ and s0000/")
    parser.add_argument("folder", type=Path, help="fixture folder to write capture.tar.gz into")
    arguments = parser.parse_args()
    convert(arguments.recording, arguments.folder)


if __name__ == "__main__":
    main()
