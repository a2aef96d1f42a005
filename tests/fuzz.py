"""Fuzz: captures, recordings, sosreports and pasted text, damaged by chance, through every opener and every report.

    python -m tests.fuzz --minutes 5 [--seed 1] [--kind archive]

What opens is replayed, judged and told as text, JSON, Markdown and HTML, some of it under other names. The openers may
raise Unopenable and nothing else; no parser, rule or report may fail; nothing that controls a terminal may come out. A
case is made from the seed and its number alone, and what broke it is kept in a file.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import lzma
import random
import re
import sqlite3
import sys
import tarfile
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sdstop.capture.kind import is_recording
from sdstop.capture.reader import PACKED, OpenError, open_capture, open_recording
from sdstop.collectors import BUILTIN
from sdstop.core.block import Block
from sdstop.core.collector import Texts, texts_of
from sdstop.core.lookback import Lookback
from sdstop.core.period import Period
from sdstop.core.session import Session
from sdstop.core.versions import Damaged
from sdstop.exporters.recording import RecordingLimits, RecordingWriter
from sdstop.exporters.report.document import document, plain
from sdstop.exporters.report.html.page import page
from sdstop.exporters.report.postmortem import postmortem
from sdstop.exporters.report.series import ReportSeries
from sdstop.exporters.report.text import text_report
from sdstop.redaction import credentials
from sdstop.redaction.pseudonym import Pseudonyms
from sdstop.redaction.redactor import Redactor
from sdstop.rules import RULES
from tests.fixtures import FIXTURES, names

FRAMES = 4
"""Frames of a case that are looked at."""
REDACTED = 0.2
"""Share of the cases that are redacted."""
LONGEST = 30.0
"""Seconds that a case may take."""
_BUG = re.compile(r"(?:error in this rule: )?[A-Z]\w*(?:Error|Exception|Warning|Exit|Iteration|Interrupt): ")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TOKENS = (
    b"0", b"-1", b"9" * 25, b"18446744073709551616", b"4294967295", b"1e400", b"nan", b"0x", b"\xff\xfe", b"\0", b"\n",
    b"\n\n", b"\t", b" ", b"%", b"/", b"../", b"\x1b[2J", b"\xe2\x80\xae", b"\xc2\x9b", b"{", b"}", b"[", b"]", b'"',
    b":", b",", b"null", b"true", b'{"a":', b"[[[[", b"\\u0000", b"-", b"=", b"(", b")", b"\xd9\xa3", b"\xc2\xb2",
)  # fmt: skip


class Escaped(Exception):  # noqa: N818
    """Something came out that may not."""


def damaged(data: bytes, chance: random.Random, times: int) -> bytes:
    """Return data with so many small or large wounds."""
    raw = bytearray(data)
    for _ in range(times):
        at = chance.randrange(len(raw) + 1)
        size = min(len(raw) - at, int(2 ** chance.uniform(0, 12)))
        match chance.randrange(7):
            case 0 if at < len(raw):
                raw[at] ^= 1 << chance.randrange(8)
            case 1:
                raw[at:at] = chance.choice(_TOKENS)
            case 2:
                raw[at : at + chance.randrange(1, 9)] = chance.choice(_TOKENS)
            case 3:
                del raw[at : at + size]
            case 4:
                raw[at:at] = raw[at : at + size]
            case 5:
                other = chance.randrange(len(raw) + 1)
                raw[at : at + size] = raw[other : other + size]
            case 6:
                lines = bytes(raw).split(b"\n")
                line = chance.randrange(len(lines))
                words = lines[line].split(b" ")
                words[chance.randrange(len(words))] = chance.choice(_TOKENS)
                raw = bytearray(b"\n".join([*lines[:line], b" ".join(words), *lines[line + 1 :]]))
    return bytes(raw[: chance.randrange(len(raw) + 1)] if chance.random() < 0.05 else raw)


@cache
def _story(name: str) -> Mapping[str, bytes]:
    """Return the files of a fixture, by their names below its folder."""
    top = FIXTURES / name
    packed = top / PACKED
    if packed.exists():
        return _members(gzip.decompress(packed.read_bytes()))
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def _members(raw: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        files = ((member.name.partition("/")[2], archive.extractfile(member)) for member in archive if member.isreg())
        return {name: file.read() for name, file in files if file is not None}


@cache
def _sosreport() -> Mapping[str, bytes]:
    return _members(lzma.decompress((FIXTURES / "vm-sosreport" / "sosreport.tar.xz").read_bytes()))


@cache
def _pasted() -> tuple[bytes, ...]:
    """Return what somebody may paste: commands with their prompt, and what they print."""
    pieces = []
    for name in names():
        for path, data in _story(name).items():
            parts = path.split("/")
            if parts[-1] == "stdout" and "commands" in parts:
                pieces.append(b"$ " + parts[-2].replace("_", " ").encode() + b"\n" + data[:4000] + b"\n")
            elif parts[-1] in {"mdstat", "status"}:
                pieces.append(b"# cat /proc/" + parts[-1].encode() + b"\n" + data[:4000] + b"\n")
    return tuple(dict.fromkeys(pieces))


def _wounded(files: Mapping[str, bytes], chance: random.Random) -> dict[str, bytes]:
    """Return the files with wounds in some: mostly in what the format is made of, which is read first."""
    found = dict(files)
    papers = [name for name in found if name.endswith((".json", ".jsonl")) or "manifest" in name]
    for _ in range(chance.randrange(1, 12)):
        name = chance.choice(papers if papers and chance.random() < 0.2 else list(found))
        match chance.randrange(12):
            case 0 if len(found) > 2:
                del found[name]
                papers = [each for each in papers if each in found]
            case 1:
                found[f"{name}/{chance.choice(['x', '..', 'a' * 300, chr(27)])}"] = found[name]
            case 2:
                found[name] = found[chance.choice(list(found))]
            case _:
                found[name] = damaged(found[name], chance, chance.randrange(1, 6))
    return found


def _tar(files: Mapping[str, bytes], top: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _archive(folder: Path, chance: random.Random) -> Path:
    files = _story(chance.choice(names()))
    raw = _tar(_wounded(files, chance) if chance.random() < 0.7 else files, "sdstop-node")
    if chance.random() < 0.3:
        raw = damaged(raw, chance, chance.randrange(1, 8))
    packed = gzip.compress(raw, 1)
    if chance.random() < 0.2:
        packed = damaged(packed, chance, chance.randrange(1, 4))
    path = folder / "case.tar.gz"
    path.write_bytes(packed)
    return path


def _folder(folder: Path, chance: random.Random) -> Path:
    top = folder / "case"
    for name, data in _wounded(_story(chance.choice(names())), chance).items():
        path = top / name.replace("\0", "_")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError:  # no file system has such a name
            continue
    return top


def _sos(folder: Path, chance: random.Random) -> Path:
    raw = _tar(_wounded(_sosreport(), chance), "sosreport-node-2026-11-21-abcdefg")
    path = folder / "sosreport-case.tar.gz"
    path.write_bytes(gzip.compress(damaged(raw, chance, chance.randrange(3)), 1))
    return path


def _text(folder: Path, chance: random.Random) -> Path:
    pieces = chance.sample(_pasted(), chance.randrange(1, 6))
    path = folder / "case.txt"
    path.write_bytes(damaged(b"".join(pieces), chance, chance.randrange(1, 10)))
    return path


@cache
def _recorded(name: str) -> bytes:
    """Return a story as a recording of several blocks and two runs."""
    origin, frames = open_capture(FIXTURES / name, _texts())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "whole.sdstop")
        for later in (0.0, 9000.0):
            with RecordingWriter(path, origin, RecordingLimits(bytes=1 << 30)) as writer:
                for number, frame in enumerate(frames[:_RECORDED], 1):
                    writer.add(replace(frame, taken=frame.taken + later, monotonic=frame.monotonic + later))
                    if number % 3 == 0:
                        writer.flush()
        return path.read_bytes()


def _recording(folder: Path, chance: random.Random) -> Path:
    path = folder / "case.sdstop"
    whole = _recorded(chance.choice(names()))
    path.write_bytes(whole)
    if chance.random() < 0.8:
        store = sqlite3.connect(path, isolation_level=None)
        for _ in range(chance.randrange(1, 6)):
            _hurt(store, chance)
        store.close()
    if chance.random() < 0.25:
        raw = path.read_bytes()
        path.write_bytes(raw[:100] + damaged(raw[100:], chance, chance.randrange(1, 6)))
    return path


def _hurt(store: sqlite3.Connection, chance: random.Random) -> None:
    """Change a row of a recording, or remove it."""
    table, column = chance.choice(_COLUMNS)
    rows = store.execute(f"SELECT rowid, {column} FROM {table}").fetchall()  # noqa: S608  # names from a list
    if not rows:
        return
    place, old = chance.choice(rows)
    match chance.randrange(12):
        case 0:
            store.execute(f"DELETE FROM {table} WHERE rowid = ?", [place])  # noqa: S608
            return
        case 1:
            new = chance.choice(rows)[1]
        case 2:
            new = chance.choice((None, -1, 1 << 62, 1e300, float("nan"), "text", b"", b"\x80", b"\xc1"))
        case _:
            if isinstance(old, str):
                new = damaged(old.encode(), chance, 2).decode(errors="replace")
            else:
                by = chance.choice((-1e9, -1, 0.5, 1, 1 << 31))
                new = _inside(old, chance) if isinstance(old, bytes) else (old or 0) + by
    with suppress(sqlite3.IntegrityError):  # a table that allows no such value
        store.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [new, place])  # noqa: S608


def _inside(data: bytes, chance: random.Random) -> bytes:
    """Return packed data with wounds in what is packed, so that more than a checksum looks at them."""
    times = chance.randrange(1, 4)
    try:
        return zlib.compress(damaged(zlib.decompress(data), chance, times), 1)
    except zlib.error:
        pass
    try:
        block = Block.loaded(data)
        if block.large and chance.random() < 0.4:
            at = chance.randrange(len(block.large))
            large = [_inside(each, chance) if n == at else each for n, each in enumerate(block.large)]
            return msgspec.msgpack.encode(replace(block, large=large))
        return msgspec.msgpack.encode(replace(block, contents=_inside(block.contents, chance)))
    except Damaged:
        return damaged(data, chance, times)


_RECORDED = 12
"""Frames of a run of a recording."""
_COLUMNS = (
    *[("block", "data")] * 6, ("block", "first"), ("block", "last"), ("block", "frames"), ("block", "run"),
    ("run", "origin"), ("name", "key"), ("base", "data"), ("base", "run"), ("minute", "data"), ("minute", "block"),
)  # fmt: skip
"""Columns of a recording, those that hold most of it more often."""

KINDS: Mapping[str, Callable[[Path, random.Random], Path]] = {
    "archive": _archive, "folder": _folder, "sosreport": _sos, "pasted": _text, "recording": _recording,
}  # fmt: skip


@dataclass(slots=True)
class Tally:
    """How many cases there were, and how many of them opened."""

    cases: int = 0
    opened: int = 0


@cache
def _texts() -> Texts:
    return texts_of(BUILTIN)


def look(path: Path, *, redacted: bool = False) -> bool:
    """Open, judge and tell it; return whether it opened. Raises Escaped, or whatever escaped."""
    try:
        origin, frames = open_capture(path, _texts())
    except OpenError as refused:
        _clean("the refusal", str(refused))
        return False
    if is_recording(path):
        _moments(path)
    frames = credentials.frames(frames)
    if redacted:
        redactor = Redactor(Pseudonyms(b"a key of sixteen bytes"), BUILTIN, origin.collectors)
        for frame in frames[:FRAMES]:
            redactor.learn(frame)
        origin, frames = redactor.origin(origin), [redactor.frame(frame) for frame in frames[:FRAMES]]
    session, series = Session(origin, BUILTIN, RULES, remember=900.0), ReportSeries()
    for frame in frames[:FRAMES]:
        shot = session.feed(frame).now
        series.add(shot)
        for name, run in shot.runs.items():
            if _BUG.match(run.reason):
                raise Escaped(f"collector {name}: {run.reason}")
    for verdict in session.diagnosis.now.unchecked:
        if _BUG.match(verdict.reason):
            raise Escaped(f"rule {verdict.rule}: {verdict.reason}")
    json.dumps(plain(document(session)), allow_nan=False)
    _clean("the text", text_report(session))
    _clean("the postmortem", postmortem(session))
    _clean("the page", page(session, series))
    return True


def _moments(path: Path) -> None:
    """Look at single moments of a recording, as the dashboard does: each frame alone, and the way between two."""
    try:
        origin, timeline = open_recording(path, Period(), float("inf"))
    except OpenError as refused:
        _clean("the refusal", str(refused))
        return
    lookback = Lookback(Session(origin, BUILTIN, RULES, timeline=timeline))
    count = len(timeline.frames)
    for index in {0, 1, count // 3, count // 2, count - 1}:
        if index < count:
            number = timeline.frames[index].number
            timeline.at(timeline.frames[index].monotonic)
            timeline.taken_by(timeline.frames[index].taken)
            timeline.recall(index, index + 2)
            timeline.moved(timeline.frames[count - 1 - index].number, index)
            look = lookback.glance(index) or lookback.at(index)
            if look.now.number != number:
                raise Escaped(f"frame {look.now.number} shown as {number}")
    timeline.close()


def _in_time(path: Path, *, redacted: bool) -> bool:
    began = time.monotonic()
    opened = look(path, redacted=redacted)
    took = time.monotonic() - began
    if took > LONGEST:
        raise Escaped(f"took {took:.0f} s")
    return opened


def _clean(what: str, text: str) -> None:
    found = _CONTROL.search(text.replace("\n", "").replace("\t", ""))
    if found is not None:
        raise Escaped(f"{what} holds {found[0]!r}: {text[max(found.start() - 40, 0) : found.end() + 40]!r}")


def run(kind: str, seed: int, cases: Iterator[int], keep: Path | None = None) -> Tally:
    """Try cases of a kind. Raises what escaped, with the case in a note; the input is copied to `keep`."""
    tally = Tally()
    for number in cases:
        chance = random.Random(f"{kind} {seed} {number}")
        with tempfile.TemporaryDirectory() as folder:
            path = KINDS[kind](Path(folder), chance)
            try:
                tally.opened += _in_time(path, redacted=chance.random() < REDACTED)
            except Exception as error:
                if keep is not None and path.is_file():
                    keep.write_bytes(path.read_bytes())
                error.add_note(f"{kind}, seed {seed}, case {number}")
                raise
        tally.cases += 1
    return tally


def _until(end: float, start: int = 0) -> Iterator[int]:
    number = start
    while time.monotonic() < end:
        yield number
        number += 1


def main() -> int:
    """Fuzz for some minutes, every kind for as long; print what broke, and how many cases held."""
    parser = argparse.ArgumentParser(description="Damaged captures, through every opener and report.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kind", choices=KINDS, action="append")
    options = parser.parse_args()
    kinds = options.kind or list(KINDS)
    broken = 0
    for kind in kinds:
        end = time.monotonic() + options.minutes * 60 / len(kinds)
        number = cases = opened = 0
        while time.monotonic() < end:
            keep = Path(tempfile.gettempdir(), f"fuzz-{kind}-{options.seed}-{number}")
            try:
                tally = run(kind, options.seed, iter([number]), keep)
                opened += tally.opened
            except Exception:  # noqa: BLE001  # that is what is looked for
                broken += 1
                traceback.print_exc(limit=-6)
            cases += 1
            number += 1
        print(f"{kind}: {cases} cases with seed {options.seed}, {opened} opened", flush=True)  # noqa: T201
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
