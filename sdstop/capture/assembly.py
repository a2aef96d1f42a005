"""Assembly: frames out of a capture's files, its manifest and its index, as far as each is there."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from sdstop.capture.archive import Contents
from sdstop.capture.index import Index, Line
from sdstop.capture.layout import DOCUMENTS, layout_key, read_layer
from sdstop.capture.manifest import MOST_FRAMES, Manifest, Moment, clocked
from sdstop.core.evidence import Evidence, Frame, Outcome
from sdstop.core.format import safe
from sdstop.core.host import LARGEST, LARGEST_REPLY

_MEMBER = re.compile(r"(?:frames/([0-9]{1,9})|static)(?:/(.*))?")

Layers = Mapping[int, dict[str, Evidence]]


def assemble(contents: Contents, manifest: Manifest, index: Index) -> list[Frame]:
    """Put the frames together, at least one; what is amiss is added to the contents' notes."""
    numbers = _numbers(contents, manifest, index)
    _shorten(contents)
    places = {
        name: (int(match[1]) if match[1] else numbers[0], match[2])
        for name in contents.files
        if (match := _MEMBER.fullmatch(name))
    }
    layers = _layers(contents, places, numbers)
    evidence = _evidence(contents, index, places, layers)
    moments = ((n, manifest.moments.get(n, Moment()).or_else(index.moments.get(n, Moment()))) for n in numbers)
    return clocked(moments, evidence, contents.notes)


def _numbers(contents: Contents, manifest: Manifest, index: Index) -> list[int]:
    """Return the numbers of the frames, in order: of those with files, and those in which nothing changed."""
    notes = contents.notes
    matches = (_MEMBER.fullmatch(name) for name in contents.folders)
    there = {int(match[1]) for match in matches if match and match[1]}
    moments = manifest.moments.keys() | index.moments.keys()
    known = there | moments
    if contents.cut:  # the manifest may promise more than has come
        reached = max(there | index.moments.keys(), default=0)
        known = {number for number in known if number <= reached}
    own = (int(m[1]) for line in index.lines if line.member and (m := _MEMBER.match(line.member)) and m[1])
    if removed := set(own) & known - there:
        notes.append(f"frames taken out: {len(removed)}")
    numbers = sorted(known - removed) or [1]
    whole = index.moments.keys() if contents.cut else moments if moments and not manifest.complete else known
    if len(numbers) > 1 and numbers[-1] not in whole:
        notes.append(f"frame {numbers.pop()} was cut off and is left out")
    elif not manifest.complete:
        notes.append("the recording was not finished")
    if gaps := [f"{a + 1}-{b - 1}" if b - a > 2 else f"{a + 1}" for a, b in pairwise(numbers) if b - a > 1]:
        notes.append(f"missing frames: {', '.join(gaps[:3])}{' and more' if len(gaps) > 3 else ''}")
    if len(numbers) > MOST_FRAMES:
        notes.append(f"only the first {MOST_FRAMES} frames are shown")
        contents.complete = False
    return numbers[:MOST_FRAMES]


def _shorten(contents: Contents) -> None:
    """Cut what is longer than a live host would have given."""
    for name, data in contents.files.items():
        match = _MEMBER.fullmatch(name) if len(data) > LARGEST else None
        if match and match[2] not in DOCUMENTS:
            largest = LARGEST_REPLY if (match[2] or "").startswith("http/") else LARGEST
            if len(data) <= largest:
                continue
            contents.files[name] = data[:largest]
            contents.notes.append(f"{safe(name)} is larger than {largest >> 20} MiB: the rest was left out")


def _layers(contents: Contents, places: Mapping[str, tuple[int, str]], numbers: Sequence[int]) -> Layers:
    """Return the evidence of each frame as its files tell it; what is static is part of the first."""
    static: dict[str, bytes] = {}
    files: dict[int, dict[str, bytes]] = {number: {} for number in numbers}
    for name, (number, rest) in places.items():
        if number in files and rest:
            (static if name.startswith("static/") else files[number])[rest] = contents.files[name]
    layers = {number: read_layer(files[number], contents.notes) for number in numbers}
    layers[numbers[0]] = read_layer(static, contents.notes) | layers[numbers[0]]
    return layers


def _evidence(
    contents: Contents, index: Index, places: Mapping[str, tuple[int, str]], layers: Layers
) -> dict[int, tuple[Evidence, ...]]:
    """Return the evidence of each frame, with what the index knows of it."""
    sums = _Sums()
    indexed: dict[int, dict[str, Evidence]] = defaultdict(dict)
    lost: dict[int, set[str]] = defaultdict(set)
    for line in index.lines:
        place = places.get(line.member) if line.member else None
        number = line.frame
        if number not in layers:
            continue
        key = line.evidence.key
        own = place is not None and place[0] == number
        if not own and line.member and key in layers[number]:
            continue  # somebody put it into this frame by hand
        data, stderr = _data(line, place, contents.files, layers), _stderr(line, contents.files)
        if data is None or stderr is None:
            lost[number].add(key)
            continue
        sums.compare(line, data)
        indexed[number][key] = line.evidence.holding(data, stderr)
        by_name = layout_key(place[1]) if place is not None and own else None
        if by_name not in {None, key}:
            layers[number].pop(by_name, None)
    if sums.changed:
        contents.notes.append(f"evidence changed after it was recorded: {sums.changed}")
    if lost:
        contents.notes.append(f"evidence lost: {sum(map(len, lost.values()))}")
        contents.complete = False
    return _merged(layers, indexed, lost)


def _merged(
    layers: Layers, indexed: Mapping[int, dict[str, Evidence]], lost: Mapping[int, Iterable[str]]
) -> dict[int, tuple[Evidence, ...]]:
    known: set[str] = set()
    frames = {}
    for number, layer in layers.items():
        found = layer | indexed.get(number, {})
        for key in sorted(known.intersection(lost.get(number, ())) - found.keys()):
            # what was known before has changed, and how is not known: it must not go on as if it had not
            found[key] = Evidence(key, Outcome.FAILED, detail="lost from the capture")
        known.update(found)
        frames[number] = tuple(found.values())
    return frames


def _data(line: Line, place: tuple[int, str] | None, files: Mapping[str, bytes], layers: Layers) -> bytes | None:
    if line.member is None:
        return b""
    if place is None or place[0] not in layers:
        return None
    if place[1] in DOCUMENTS:
        item = layers[place[0]].get(line.evidence.key)
        return None if item is None else item.data
    return files[line.member]


def _stderr(line: Line, files: Mapping[str, bytes]) -> bytes | None:
    return b"" if line.stderr is None else files.get(line.stderr)


class _Sums:
    """Compares data with the checksums of the index, each piece once: a hostile index may name one often."""

    def __init__(self) -> None:
        self.changed = 0
        self._known: dict[tuple[str | None, str], str] = {}

    def compare(self, line: Line, data: bytes) -> None:
        if line.sha256 is None or len(data) >= LARGEST:
            return
        document = (line.member or "").rpartition("/")[2] in DOCUMENTS
        piece = (line.member, line.evidence.key if document else "")
        if piece not in self._known:
            self._known[piece] = hashlib.sha256(data).hexdigest()
            self.changed += self._known[piece] != line.sha256
