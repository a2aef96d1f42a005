"""Recording that is read: its runs, frames and minutes, and the state before a block (sdstop.recordings.schema).

Recordings are untrusted: the schema is checked before any table is read, and a damaged block is left out and noted.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.block import BaseTexts, Block, BlockMoment, block_moments, original_text, stored_text
from sdstop.core.evidence import RAN, Evidence, Frame, Origin, RunMark
from sdstop.core.format import bytes_, plural, safe
from sdstop.core.minute import Minute
from sdstop.core.open_block import OpenBlock
from sdstop.core.versions import Damaged
from sdstop.recordings.schema import APPLICATION, FIRST_VERSION, RECORDING, TABLES, VERSION, RecordedOrigin

_UNWRITABLE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
"""Errors of a folder in which the index of the log cannot be created."""
MOST_FRAMES = 100_000
"""Maximum number of frames in a block."""
_MOST_MINUTES = 200_000
"""Maximum summaries of minutes."""
_PATIENCE = 1.0
"""Seconds that closing waits for a read that hangs."""
_LONGEST = 64 << 20
"""Maximum bytes of a value."""
_BASES = 2
"""Blocks that others continue that are kept; a jump may lead from those of one to those of another."""


class NoRecording(Exception):  # noqa: N818
    """Raised if a file is not a recording that can be read; the reason continues after the path."""


class RecordedRun(Struct, frozen=True):
    """A run of the recorder: Unix times of its first and last frame, its first and last block, number of frames."""

    id: int
    origin: RecordedOrigin
    first: float
    last: float
    blocks: tuple[int, int]
    frames: int


class BlockPlace(Struct, frozen=True, gc=False):
    """Place of a block: its run by index, the Unix times of its first and last frame, and the number of frames."""

    id: int
    run: int
    first: float
    last: float
    frames: int


class Recording:
    """Recording that is open for reading, by any thread. Context manager. Its methods raise NoRecording."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a file, which may be growing. It is not changed."""
        self.notes: list[str] = []
        """What could not be read."""
        self._path = Path(path)
        self._lock = threading.RLock()
        self._bases: OrderedDict[int, OpenBlock] = OrderedDict()
        """Blocks that others continue; of 1000 disks, the first one of a run takes 17 ms to open."""
        self._store = self._opened()
        with self._reading():
            self._store.execute("PRAGMA trusted_schema = OFF")
            self._store.execute("PRAGMA query_only = ON")
            self._store.execute("PRAGMA cell_size_check = ON")
            self._store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            self._check()
            self.runs = self._read_runs()
        if not self.runs:
            self.close()
            raise NoRecording("is a recording without a frame")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, after any read in progress: sqlite3 of Python 3.11 crashes if another thread reads then.

        After _PATIENCE seconds of a read that hangs, the file stays open.
        """
        if self._lock.acquire(timeout=_PATIENCE):
            try:
                self._store.close()
            finally:
                self._lock.release()

    def origin(self, run: RecordedRun) -> Origin:
        """Return the origin of a run's frames."""
        said = run.origin
        others = len(self.runs) - 1
        more = f"{plural(others, 'other run')} of the recorder in this file: --at TIME opens them" if others else ""
        collectors = frozenset(said.collectors)
        return Origin(
            original_text(said.host), note="; ".join(filter(None, [more, *self.notes])), privileged=said.privileged,
            facts=said.facts, collectors=collectors, made=RECORDING,
        )  # fmt: skip

    def frames(self, run: RecordedRun, since: float, until: float) -> Iterator[Frame]:
        """Yield the frames of a run between two Unix times, each inclusive.

        The first one holds all that was known at its time. Without a frame between the times, the one before them is
        yielded.
        """
        known: dict[str, Evidence] | None = None
        marks: dict[str, RunMark] = {}
        began = False
        before: Frame | None = None
        for number in self._blocks(run, since, until):
            opened = self.opened(number)
            if opened is None:
                continue
            if known is None:
                known, marks = self._known(run, number)
            try:
                found = opened.frames()
            except Damaged as error:
                self._lost(number, error)
                continue
            for frame in found:
                if frame.taken > until:
                    break
                if began:
                    yield frame
                    continue
                known.update((item.key, item) for item in frame.evidence)
                marks.update(frame.ran or {})
                began = frame.taken >= since
                ran = None if frame.ran is None else dict(marks)
                before = replace(frame, evidence=tuple(known.values()), ran=ran)
                if began:
                    yield before
        if not began and before is not None:
            yield before

    def blocks(self) -> list[BlockPlace]:
        """Return the places of all blocks, run by run; those that cannot hold frames are noted."""
        runs = {run.id: index for index, run in enumerate(self.runs)}
        with self._reading():
            rows = self._store.execute("SELECT id, run, first, last, frames FROM block ORDER BY run, id").fetchall()
            found = [
                msgspec.convert(
                    {"id": number, "run": runs[run], "first": first, "last": last, "frames": frames}, BlockPlace
                )
                for number, run, first, last, frames in rows
                if run in runs
            ]
        good = [each for each in found if 0 < each.frames <= MOST_FRAMES and math.isfinite(each.first + each.last)]
        if len(good) < len(found):
            self.notes.append(f"damaged blocks: {len(found) - len(good)}")
        return good

    def minutes(self) -> list[tuple[int, Minute]]:
        """Return the summaries of all minutes with the index of their run, run by run; damaged ones are left out."""
        if not self._has_minutes:
            return []
        runs = {run.id: index for index, run in enumerate(self.runs)}
        with self._reading():
            rows = self._store.execute("SELECT run, data FROM minute ORDER BY run, id LIMIT ?", (_MOST_MINUTES,))
            found = [(runs[run], data) for run, data in rows if run in runs]
        minutes = []
        for run, data in found:
            with contextlib.suppress(msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError):
                minute = msgspec.msgpack.decode(data, type=Minute)
                minutes += [(run, minute)] if minute.usable else []
        if len(minutes) < len(found):
            self.notes.append(f"damaged minutes: {len(found) - len(minutes)}")
        return minutes

    def moments(self, number: int) -> list[BlockMoment]:
        """Return the times of a block's frames, none if it is damaged, which is noted, or was dropped for its age."""
        try:
            data = self._data(number)
            return block_moments(data) if data is not None else []
        except (Damaged, NoRecording) as error:
            self._lost(number, error)
            return []

    def block_frames(self, number: int) -> list[Frame]:
        """Return the frames of a block, none if it is damaged, which is noted, or was dropped for its age."""
        opened = self.opened(number)
        try:
            return [] if opened is None else opened.frames()
        except Damaged as error:
            self._lost(number, error)
            return []

    def known(
        self, run: RecordedRun, before: int, names: Sequence[int] | None = None
    ) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
        """Return the newest version of all evidence of a run, and the last run of all collectors, before a block.

        `names` restricts it to the evidence with these names. Nothing is known if that is damaged, which is noted.
        """
        try:
            return self._known(run, before, names)
        except NoRecording as error:
            self._note(f"known evidence {error}")
            return {}, {}

    def holds(self, number: int) -> bool:
        """Return whether a block was not dropped for its age since the file was opened. Raises NoRecording."""
        with self._reading():
            return self._store.execute("SELECT 1 FROM block WHERE id = ?", (number,)).fetchone() is not None

    def opened(self, number: int) -> OpenBlock | None:
        """Return a block whose evidence is read when asked for; None if it is damaged, which is noted, or dropped."""
        with self._lock:
            opened = self._bases.get(number)
        if opened is not None:
            return opened
        try:
            data = self._data(number)
            if data is None:
                return None  # dropped for its age since
            block = Block.loaded(data)
            return OpenBlock(block, self._first_texts(block.base))
        except (Damaged, NoRecording) as error:
            self._lost(number, error)
            return None

    def changed(self, since: int, until: int) -> dict[int, str]:
        """Return the names, with their keys, of the evidence that changed in the blocks from one to before another.

        Raises NoRecording.
        """
        with self._reading():
            rows = self._store.execute(
                "SELECT id, key FROM name"
                " WHERE id IN (SELECT DISTINCT name FROM changed WHERE block >= ? AND block < ?)",
                (since, until),
            ).fetchall()
            return {number: original_text(_text(key)) for number, key in rows}

    def names(self, keys: Iterable[str]) -> dict[int, str]:
        """Return the names, with their keys, of evidence. Raises NoRecording."""
        found = dict[int, str]()
        with self._reading():
            for key in keys:
                row = self._store.execute("SELECT id FROM name WHERE key = ?", (stored_text(key),)).fetchone()
                if row is not None:
                    found[row[0]] = key
        return found

    def _opened(self) -> sqlite3.Connection:
        where = self._path.absolute().as_uri()
        growing = any(os.path.lexists(f"{self._path}{suffix}") for suffix in ("-wal", "-shm"))
        try:
            store = sqlite3.connect(f"{where}?mode=ro", uri=True, timeout=5.0, check_same_thread=False)
            try:
                store.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            except (sqlite3.OperationalError, UnicodeDecodeError) as error:
                store.close()
                if growing and getattr(error, "sqlite_errorcode", 0) & 0xFF not in _UNWRITABLE:
                    raise
                alone = f"{where}?mode=ro&immutable=1"  # in a directory that is read-only
                store = sqlite3.connect(alone, uri=True, check_same_thread=False)
                if growing:
                    self._note(f"{self._path.name}-wal cannot be read in a read-only folder; newer frames are missing")
        except (sqlite3.Error, UnicodeDecodeError) as error:  # messages quote the file
            raise NoRecording(_cut(self._path) or f"cannot be opened: {safe(error)}") from error
        return store

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except (sqlite3.Error, msgspec.MsgspecError, OverflowError, ValueError, Damaged) as error:
            raise NoRecording(_cut(self._path) or f"is damaged: {safe(error)}") from error

    def _check(self) -> None:
        (application,) = self._store.execute("PRAGMA application_id").fetchone()
        (version,) = self._store.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            (tables,) = self._store.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            grows = "is an empty SQLite database; a recording that grows has its frames in the file FILE-wal beside it"
            raise NoRecording("is an SQLite database, not a recording" if tables else grows)
        if not FIRST_VERSION <= version <= VERSION:
            raise NoRecording(f"has version {version} of the recording's schema (supported: {VERSION})")
        self._has_minutes = version > FIRST_VERSION
        found = dict(self._store.execute("SELECT name, sql FROM sqlite_schema WHERE type != 'index'"))
        tables = {name: sql for name, sql in TABLES.items() if name != "minute" or self._has_minutes}
        if {name: sql for name, sql in found.items() if not name.startswith("sqlite_")} != tables:
            raise NoRecording("has other tables than a recording")

    def _read_runs(self) -> list[RecordedRun]:
        rows = self._store.execute(
            "SELECT run.id, origin, min(first), max(last), min(block.id), max(block.id), sum(frames)"
            " FROM run JOIN block ON block.run = run.id GROUP BY run.id ORDER BY run.id"
        )
        found = (
            (number, msgspec.json.decode(_bytes(said), type=RecordedOrigin), start, end, (one, other), frames)
            for number, said, start, end, one, other, frames in rows
        )
        names = RecordedRun.__struct_fields__
        return [msgspec.convert(dict(zip(names, row, strict=True)), RecordedRun) for row in found]

    def _blocks(self, run: RecordedRun, since: float, until: float) -> list[int]:
        """Return the blocks between two times, and the one before them."""
        with self._reading():
            found = self._store.execute(
                "SELECT id FROM block WHERE run = ? AND first <= ? AND last >= ? ORDER BY id", (run.id, until, since)
            ).fetchall()
            start = found[0][0] if found else run.blocks[1] + 1
            earlier = self._store.execute(
                "SELECT id FROM block WHERE run = ? AND id < ? ORDER BY id DESC LIMIT 1", (run.id, start)
            ).fetchone()
        return [number for (number,) in ([earlier] if earlier and not found else []) + found]

    def _data(self, number: int) -> bytes | None:
        """Return the bytes of a block, None if there is none. Raises NoRecording for a damaged page or column."""
        with self._reading():
            row = self._store.execute("SELECT data FROM block WHERE id = ?", (number,)).fetchone()
            return None if row is None else _bytes(row[0])

    def _lost(self, number: int, error: Exception) -> None:
        self._note(f"block {number} is damaged: {safe(error)}".replace("is damaged: is damaged", "is damaged"))

    def _note(self, said: str) -> None:
        if said not in self.notes:
            self.notes.append(said)

    def _known(
        self, run: RecordedRun, before: int, names: Sequence[int] | None = None
    ) -> tuple[dict[str, Evidence], dict[str, RunMark]]:
        """Return the same as `known`. Raises NoRecording.

        Nothing is known before a block that was dropped for its age: the base may be newer than it.
        """
        with self._reading():
            only = "" if names is None else f" AND name.id IN ({','.join(str(int(name)) for name in names)})"
            found = self._store.execute(
                "SELECT key, data FROM base JOIN name ON name.id = name WHERE run = ?"  # noqa: S608  # numbers
                f" AND ? >= (SELECT min(id) FROM block WHERE block.run = base.run){only}",
                (run.id, before),
            )
            base = {original_text(_text(key)): _bytes(data) for key, data in found.fetchall()}
            newest = self._store.execute(
                "SELECT key, max(block) FROM name JOIN changed ON name.id = name"  # noqa: S608  # numbers
                f" WHERE block >= ? AND block < ?{only} GROUP BY name",
                (run.blocks[0], before),
            ).fetchall()
        known: dict[str, Evidence] = {}
        marks: dict[str, RunMark] = {}
        with self._reading():
            for key, data in base.items():
                if key.startswith(RAN):
                    marks[key.removeprefix(RAN)] = msgspec.msgpack.decode(data, type=RunMark)
                else:
                    item = msgspec.msgpack.decode(data, type=Evidence)
                    known[key] = replace(
                        item, key=key, detail=original_text(item.detail), fault=original_text(item.fault)
                    )
        by_block: dict[int, list[str]] = {}
        with self._reading():
            for key, number in newest:
                by_block.setdefault(number, []).append(original_text(_text(key)))
        for number, keys in sorted(by_block.items()):
            for key in keys:  # that of the base is older, also if this block is damaged
                known.pop(key, None)
                marks.pop(key.removeprefix(RAN), None) if key.startswith(RAN) else None
            opened = self.opened(number)
            if opened is not None:
                self._take(opened, number, keys, known, marks)
        return known, marks

    def _take(
        self, opened: OpenBlock, number: int, keys: list[str], known: dict[str, Evidence], marks: dict[str, RunMark]
    ) -> None:
        """Add the newest evidence and runs of a block that have these keys to the known ones; none if it is damaged."""
        ran: Mapping[str, RunMark] = {}
        try:
            if any(key.startswith(RAN) for key in keys):
                ran = opened.last_runs()
            for key in keys:
                if key.startswith(RAN):
                    marks.update({name: ran[name] for name in [key.removeprefix(RAN)] if name in ran})
                elif (item := opened.latest(key)) is not None:
                    known[key] = item
        except Damaged as error:
            self._lost(number, error)

    def _first_texts(self, number: int) -> BaseTexts | None:
        """Return a function for the first texts of a block that others continue, None if there is none."""
        if number <= 0:
            return None
        with self._lock:
            found = self._bases.get(number)
            if found is None:
                data = self._data(number)
                if data is None:
                    raise Damaged(f"block {number}, which it continues, is missing")
                found = self._bases[number] = OpenBlock(Block.loaded(data))
            self._bases.move_to_end(number)
            while len(self._bases) > _BASES:
                self._bases.popitem(last=False)
        return found.first_text


def _cut(path: Path) -> str:
    """Return that a file is shorter than its header states (sqlite.org/fileformat2.html, 1.3), "" if it is not."""
    try:
        with path.open("rb") as file:
            head, size = file.read(100), os.fstat(file.fileno()).st_size
    except OSError:
        return ""
    if len(head) < 100 or head[24:28] != head[92:96]:  # otherwise the number of pages does not hold
        return ""
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    whole = (page if page > 1 else 1 << 16) * pages
    return f"is cut: it has {bytes_(size)} of {bytes_(whole)}" if size < whole else ""


def _bytes(value: object) -> bytes:
    """Return the value of a column of bytes: SQLite allows any type in it. Raises Damaged."""
    if not isinstance(value, bytes):
        raise Damaged("a column of bytes has something else")
    return value


def _text(value: object) -> str:
    """Return the value of a column of text. Raises Damaged."""
    if not isinstance(value, str):
        raise Damaged("a column of text has something else")
    return value
