"""Frames of a capture, assembled from its files, its manifest and its index, as far as each exists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from sdstop.capture.contents import CaptureRefused, Contents
from sdstop.capture.layout import DOCUMENTS, layout_key, read_layer
from sdstop.capture.manifest import MOST_FRAMES, CaptureIndex, FrameTime, IndexLine, Manifest
from sdstop.core.checksum import sha256_of
from sdstop.core.evidence import UNDATED, Evidence, Frame, Outcome, dated
from sdstop.core.expression import expression
from sdstop.core.format import safe
from sdstop.core.host import LARGEST, LARGEST_REPLY

MOST_NAMED = 500_000
"""Maximum number of links, listings and outcomes that documents name; a node of 5000 disks has half."""
_MEMBER = expression(r"(?:frames/([0-9]{1,9})|static)(?:/(.*))?")

Layers = Mapping[int, dict[str, Evidence]]
"""Evidence by key, of each frame by number."""


def assemble(contents: Contents, manifest: Manifest, index: CaptureIndex) -> list[Frame]:
    """Return the frames, at least one; faults are added to the notes of the contents."""
    numbers = _numbers(contents, manifest, index)
    faults = _shorten(contents)
    places = {
        name: (int(match[1]) if match[1] else numbers[0], match[2])
        for name in contents.files
        if (match := _MEMBER.fullmatch(name))
    }
    layers = _layers(contents, places, numbers, faults)
    evidence = _evidence(contents, index, places, layers)
    moments = ((n, manifest.moments.get(n, FrameTime()).or_else(index.moments.get(n, FrameTime()))) for n in numbers)
    return _clocked(moments, evidence, contents.notes)


def _numbers(contents: Contents, manifest: Manifest, index: CaptureIndex) -> list[int]:
    """Return the numbers of the frames in order: those with files, and those without changes."""
    notes = contents.notes
    matches = (_MEMBER.fullmatch(name) for name in contents.folders)
    there = {int(match[1]) for match in matches if match and match[1]}
    moments = manifest.moments.keys() | index.moments.keys()
    known = there | moments
    if contents.cut:  # the manifest may list frames that are missing
        reached = max(there | index.moments.keys(), default=0)
        known = {number for number in known if number <= reached}
    own = (int(m[1]) for line in index.lines if line.member and (m := _MEMBER.match(line.member)) and m[1])
    if removed := set(own) & known - there:
        notes.append(f"removed frames: {len(removed)}")
    numbers = sorted(known - removed) or [1]
    whole = index.moments.keys() if contents.cut else moments if moments and not manifest.complete else known
    if len(numbers) > 1 and numbers[-1] not in whole:
        notes.append(f"frame {numbers.pop()} is truncated; skipped")
    elif not manifest.complete:
        notes.append("the recording is incomplete")
    if gaps := [f"{a + 1}-{b - 1}" if b - a > 2 else f"{a + 1}" for a, b in pairwise(numbers) if b - a > 1]:
        notes.append(f"missing frames: {', '.join(gaps[:3])}{' and more' if len(gaps) > 3 else ''}")
    if len(numbers) > MOST_FRAMES:
        notes.append(f"only the first {MOST_FRAMES} frames are shown")
        contents.complete = False
    return numbers[:MOST_FRAMES]


def _shorten(contents: Contents) -> dict[str, str]:
    """Cut files that are longer than a live host would have returned; return the faults of members by name."""
    faults = {name: f"cannot be read: {why}" for name, why in contents.unreadable.items()}
    for name, data in contents.files.items():
        match = _MEMBER.fullmatch(name) if len(data) > LARGEST else None
        if match and match[2] not in DOCUMENTS:
            largest = LARGEST_REPLY if (match[2] or "").startswith("http/") else LARGEST
            if len(data) <= largest:
                continue
            contents.files[name] = data[:largest]
            faults[name] = f"larger than {largest >> 20} MiB: rest ignored"
            contents.notes.append(f"{safe(name)} is {faults[name]}")
    return faults


def _layers(
    contents: Contents, places: Mapping[str, tuple[int, str]], numbers: Sequence[int], faults: Mapping[str, str]
) -> Layers:
    """Return the evidence of each frame from its files alone; static evidence belongs to the first."""
    static: dict[str, bytes] = {}
    files: dict[int, dict[str, bytes]] = {number: {} for number in numbers}
    for name, (number, rest) in places.items():
        if number in files and rest:
            (static if name.startswith("static/") else files[number])[rest] = contents.files[name]
    layers: dict[int, dict[str, Evidence]] = {}
    named = 0
    for number in numbers:
        layers[number] = read_layer(files[number], contents.notes)
        named += len(layers[number])
        if named > MOST_NAMED + len(places):
            raise CaptureRefused(f"names more than {MOST_NAMED} links, listings and outcomes")
    layers[numbers[0]] = read_layer(static, contents.notes) | layers[numbers[0]]
    for name, fault in faults.items():
        match = _MEMBER.fullmatch(name)
        key = layout_key(match[2]) if match and match[2] else None
        layer = layers.get(int(match[1]) if match and match[1] else numbers[0])
        if key is not None and layer is not None:
            known = layer.get(key)
            lost = name in contents.unreadable
            layer[key] = _lost(key, fault) if known is None or lost else replace(known, fault=fault)
    for layer in layers.values():
        layer.update((key, replace(item, fault=_CUT)) for key, item in layer.items() if _is_cut(item))
    return layers


_CUT = "truncated: its last line has no end"


def _is_cut(item: Evidence) -> bool:
    """Return whether a text of several lines ends within a line; the kernel and all commands end the last one.

    Only for evidence without a checksum: the output of a command that failed may end anywhere, and data that the index
    vouches for is whole.
    """
    data = item.data
    lines = item.key.startswith(("/proc/", "cmd:", "slug:")) and item.outcome is Outcome.OK and not item.fault
    return lines and b"\n" in data and not data.endswith((b"\n", b"\0", b"}", b"]"))


def _lost(key: str, fault: str) -> Evidence:
    return Evidence(key, Outcome.FAILED, detail=fault, fault=fault)


def _evidence(
    contents: Contents, index: CaptureIndex, places: Mapping[str, tuple[int, str]], layers: Layers
) -> dict[int, tuple[Evidence, ...]]:
    """Return the evidence of each frame, from its files and the index."""
    sums = _Checksums(len(index.lines))
    indexed: dict[int, dict[str, Evidence]] = defaultdict(dict)
    lost: dict[int, set[str]] = defaultdict(set)
    for line in index.lines:
        number, key, member = line.frame, line.key, line.member
        layer = layers.get(number)
        if layer is None:
            continue
        place = places.get(member) if member else None
        own = place is not None and place[0] == number
        if not own and member and key in layer:
            continue  # the file was added to this frame by hand
        by_name = layout_key(place[1]) if place is not None and own else None
        data, stderr = _data(line, place, contents.files, layers), _stderr(line, contents.files)
        if data is None or stderr is None:
            lost[number].add(key)
            continue
        fault = line.fault or ""
        if sums.differs(line, data):
            fault = "modified after recording"
        elif own and not fault and (known := layer.get(by_name or key)) is not None:
            fault = "" if known.fault == _CUT and line.sha256 else known.fault
        indexed[number][key] = line.holding(data, stderr, fault)
        if by_name is not None and by_name != key:
            layer.pop(by_name, None)
    if sums.changed:
        contents.notes.append(f"evidence modified after recording: {sums.changed}")
    if lost:
        contents.notes.append(f"lost evidence: {sum(map(len, lost.values()))}")
        contents.complete = False
    return _merged(layers, indexed, lost)


def _merged(
    layers: Layers, indexed: Mapping[int, dict[str, Evidence]], lost: Mapping[int, Iterable[str]]
) -> dict[int, tuple[Evidence, ...]]:
    frames = {}
    for number, layer in layers.items():
        found = layer | indexed.get(number, {})
        for key in sorted(set(lost.get(number, ())) - found.keys()):
            # The content is lost; neither an earlier one nor its absence must be taken for it.
            found[key] = _lost(key, "lost from the capture")
        frames[number] = tuple(found.values())
    return frames


def _data(line: IndexLine, place: tuple[int, str] | None, files: Mapping[str, bytes], layers: Layers) -> bytes | None:
    if line.member is None:
        return b""
    if place is None or place[0] not in layers:
        return None
    if place[1] in DOCUMENTS:
        item = layers[place[0]].get(line.key)
        return None if item is None else item.data
    return files[line.member]


def _stderr(line: IndexLine, files: Mapping[str, bytes]) -> bytes | None:
    return b"" if line.stderr is None else files.get(line.stderr)


class _Checksums:
    """Comparison of data with the checksums of the index, once per piece, as a hostile index may repeat one."""

    def __init__(self, pieces: int) -> None:
        self.changed = 0
        self._sha256 = sha256_of(pieces)
        self._known: dict[tuple[str | None, str], str] = {}

    def differs(self, line: IndexLine, data: bytes) -> bool:
        """Return whether the data is not that of the index."""
        if line.sha256 is None or len(data) >= LARGEST:
            return False
        document = (line.member or "").rpartition("/")[2] in DOCUMENTS
        piece = (line.member, line.key if document else "")
        if piece not in self._known:
            self._known[piece] = self._sha256(data)
            self.changed += self._known[piece] != line.sha256
        return self._known[piece] != line.sha256


def _clocked(
    moments: Iterable[tuple[int, FrameTime]], evidence: Mapping[int, tuple[Evidence, ...]], notes: list[str]
) -> list[Frame]:
    """Return frames with increasing times: 1 s per number where no time is known, undated if no frame has a date.

    A frame whose clock does not advance counts as a frame without a time, and loses its run marks.
    """
    frames: list[Frame] = []
    backward = 0
    for this, moment in moments:
        last = frames[-1] if frames else Frame(this - 1, UNDATED - 1, -1.0)
        step = float(this - last.number)
        monotonic, ran = moment.monotonic, moment.ran
        begins = moment.taken is not None and not dated(last.taken)
        if frames and monotonic is None and begins:
            monotonic = last.monotonic + step
        elif frames and monotonic is None and moment.taken is not None and moment.taken > last.taken:
            monotonic = last.monotonic + (moment.taken - last.taken)
        elif frames and (moment.taken is not None if monotonic is None else monotonic <= last.monotonic):
            backward += 1
            monotonic, ran = None, None
        if monotonic is None:
            monotonic = last.monotonic + step
        taken = moment.taken
        if taken is None:
            taken = last.taken + (monotonic - last.monotonic if frames else step)
        made = Frame(this, taken, monotonic, evidence[this], ran, fresh=moment.fresh, unordered=moment.unordered)
        frames.append(made)
    first = next((frame for frame in frames if dated(frame.taken)), None)
    if first is not None and not dated(frames[0].taken):  # earlier frames are dated relative to this one
        frames = [
            frame if dated(frame.taken) else replace(frame, taken=first.taken - (first.monotonic - frame.monotonic))
            for frame in frames
        ]
    if backward:
        notes.append(f"frames with a clock that does not advance, assumed 1 s apart: {backward}")
    return frames
