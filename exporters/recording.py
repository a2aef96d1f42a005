"""Recording writer: appends frames to a recording (sdstop.recordings.database), bounded in age and size.

A block of frames is one transaction that reaches the disk before the next one is begun: a crash or a power cut loses
at most the frames since. A block that cannot be written, as on a full disk, is lost; the recorder continues, and the
next block includes the changes of the lost one. One process writes a recording while others read it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sdstop.capture.kind import MAGIC
from sdstop.core.block import Block, stored_text
from sdstop.core.evidence import RAN, Evidence, Frame, Origin, Outcome, RunMark
from sdstop.core.expression import expression
from sdstop.core.format import safe
from sdstop.core.growing_block import GrowingBlock
from sdstop.core.minute import Minute
from sdstop.core.open_block import OpenBlock
from sdstop.core.versions import Damaged
from sdstop.exporters.minutes import MinuteMeter
from sdstop.recordings.schema import APPLICATION, FIRST_VERSION, TABLES, VERSION, RecordedOrigin

BLOCK_SECONDS = 30.0
"""Seconds of frames in a block; a crash loses no more."""
BLOCK_BYTES = 16 << 20
"""Bytes of evidence that end a block early, to limit memory."""
_SERIES = 10
"""Maximum blocks that share the first texts of one of them: a day of 100 disks takes half of the bytes so."""
_SHARE = 0.05
"""Maximum share of a recording that is dropped at once, with such a series."""
_PAGE = 4096
"""Bytes of a page of the database."""
_MOST_MINUTES = 1500
"""Minutes that are kept while the disk is full."""
_CREATE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN_TIME = 5.0
"""Seconds to wait for a reader that holds the file."""
_OF_PROCESS = expression(r"(?:[a-z]+:)?/proc/\d+/")
"""Keys of evidence of a process."""


class NotRecorded(Exception):  # noqa: N818
    """Raised if a recording cannot be begun or continued; the reason continues after the path."""


class RecordingLimits(Struct, frozen=True):
    """Seconds of frames, and bytes of the file, that a recording keeps; the oldest blocks go first."""

    seconds: float = 7 * 86400.0
    bytes: int = 1 << 30


class RecordingWriter:
    """Writer of one recording. Context manager: leaving it writes the last block."""

    def __init__(self, path: str | os.PathLike[str], origin: Origin, limits: RecordingLimits) -> None:
        """Create a recording, or continue one with a new run. Raises NotRecorded."""
        self.path = Path(path)
        self.lost = 0
        """Number of frames lost since the start."""
        self.trouble = ""
        """Why the newest block could not be written, "" if it was."""
        self._limits = limits
        self._block = GrowingBlock()
        self._size = 0
        self._owed: dict[str, Evidence] = {}
        self._owed_marks: dict[str, RunMark] = {}
        self._names: dict[str, int] = {}
        self._meter = MinuteMeter(origin)
        self._minutes: list[Minute] = []
        self._base = _BaseBlock()
        self._lock = self._locked()
        try:
            self._store = self._opened()
            self._run = self._begun(origin)
        except sqlite3.Error as error:
            os.close(self._lock)
            raise NotRecorded(f"cannot be written: {error}") from error
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, frame: Frame) -> None:
        """Append a frame; write the block if it is long enough. Failures set `trouble`."""
        if self._owed or self._owed_marks:
            frame = self._with_owed(frame)
        self._block.add(frame)
        self._noted(self._meter.add(frame))
        self._size += sum(len(item.data) for item in frame.evidence)
        moments = self._block.moments
        if moments[-1].monotonic - moments[0].monotonic >= BLOCK_SECONDS or self._size >= BLOCK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the frames added since the last block. Failures set `trouble`."""
        growing, self._size = self._block, 0
        if not growing.moments:
            return
        block = growing.packed()
        try:
            number = self._write(growing, block)
            self.trouble = ""
            self._base = self._next_base(number, growing, block)
        except (sqlite3.Error, OSError) as error:
            if self._store.in_transaction:
                self._store.rollback()
            self._names.clear()
            self.trouble = safe(error, 200)
            self.lost += len(growing.moments)
            opened = OpenBlock(block, self._base.texts.get)
            self._base = _BaseBlock()
            for key in opened.keys:
                item = opened.latest(key)
                if item is not None:
                    self._owed[key] = item
            self._owed_marks.update(opened.last_runs())
        self._block = GrowingBlock(self._base.number, self._base.texts)

    def _next_base(self, number: int, growing: GrowingBlock, block: Block) -> _BaseBlock:
        """Return the base of the next block: that of this one, or this one; none if blocks are dropped singly."""
        seconds = growing.moments[-1].monotonic - growing.moments[0].monotonic
        most = min(_SERIES, _SHARE * self._limits.seconds / max(seconds, 1.0), _SHARE * self._limits.bytes / block.size)
        if self._base.number and self._base.blocks + 1 < most:
            return replace(self._base, blocks=self._base.blocks + 1)
        if block.base or most < 2:
            return _BaseBlock()  # the next one needs no other
        return _BaseBlock(number, growing.first_texts(), 1)

    def close(self) -> None:
        """Write the last block and close the file. Repeated calls have no effect."""
        if self._lock < 0:
            return
        try:
            self._noted(self._meter.ended())
            self.flush()
            with contextlib.suppress(sqlite3.Error):  # readers of the closed file then need no files beside it
                self._store.execute("PRAGMA journal_mode = DELETE")
            self._store.close()
        except sqlite3.Error as error:
            self.trouble = safe(error, 200)
        finally:
            os.close(self._lock)
            self._lock = -1

    def _noted(self, minute: Minute | None) -> None:
        """Keep a minute until the next block is written."""
        if minute is not None:
            self._minutes = [*self._minutes, minute][-_MOST_MINUTES:]

    def _with_owed(self, frame: Frame) -> Frame:
        """Return a frame that also holds what changed in lost blocks."""
        evidence = {**self._owed, **{item.key: item for item in frame.evidence}}
        ran = None if frame.ran is None else {**self._owed_marks, **frame.ran}
        self._owed, self._owed_marks = {}, {}
        return replace(frame, evidence=tuple(evidence.values()), ran=ran)

    def _locked(self) -> int:
        """Return a locked descriptor of the file. It stays open, because closing it would end SQLite's locks."""
        try:
            lock = os.open(self.path, _CREATE, 0o600)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "invalid path"
            raise NotRecorded(f"cannot be written: {why}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            head = os.pread(lock, len(MAGIC), 0)
        except BlockingIOError as error:
            os.close(lock)
            raise NotRecorded("is being written by another process") from error
        except OSError as error:
            os.close(lock)
            raise NotRecorded(f"cannot be written: {error.strerror}") from error
        if head and head != MAGIC:
            os.close(lock)
            raise NotRecorded("exists and is not a recording")
        return lock

    def _opened(self) -> sqlite3.Connection:
        store = sqlite3.connect(self.path, timeout=_OWN_TIME, isolation_level=None)
        (application,) = store.execute("PRAGMA application_id").fetchone()
        tables = store.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if tables and application != APPLICATION:
            store.close()
            raise NotRecorded("exists and is not a recording")
        (version,) = store.execute("PRAGMA user_version").fetchone()
        if tables and not FIRST_VERSION <= version <= VERSION:
            store.close()
            raise NotRecorded(f"has version {version} of the recording's schema (supported: {VERSION})")
        if not tables:
            store.execute("PRAGMA auto_vacuum = INCREMENTAL")
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("PRAGMA synchronous = FULL")
        store.execute(f"PRAGMA journal_size_limit = {BLOCK_BYTES}")
        if not tables:
            store.execute("BEGIN IMMEDIATE")
            store.execute(f"PRAGMA application_id = {APPLICATION}")
            store.execute(f"PRAGMA user_version = {VERSION}")
            for statement in TABLES.values():
                store.execute(statement)
            store.execute("CREATE INDEX block_times ON block (run, last)")
            store.execute("CREATE INDEX changed_blocks ON changed (block)")
            store.execute("COMMIT")
            store.execute("PRAGMA wal_checkpoint(PASSIVE)")
        elif version < VERSION:
            store.execute("BEGIN IMMEDIATE")
            if version == FIRST_VERSION:
                store.execute(TABLES["minute"])
            store.execute(f"PRAGMA user_version = {VERSION}")
            store.execute("COMMIT")
        return store

    def _begun(self, origin: Origin) -> int:
        said = RecordedOrigin(
            stored_text(origin.name), origin.privileged, dict(origin.facts), sorted(origin.collectors or ())
        )
        done = self._store.execute("INSERT INTO run (origin) VALUES (?)", (msgspec.json.encode(said),))
        return int(done.lastrowid or 0)

    def _write(self, growing: GrowingBlock, block: Block) -> int:
        """Write a block and return its number. Raises sqlite3.Error."""
        first, last = growing.moments[0], growing.moments[-1]
        keys = sorted({*growing.keys, *(f"{RAN}{name}" for name in growing.collectors)})
        self._store.execute("BEGIN IMMEDIATE")
        done = self._store.execute(
            "INSERT INTO block (run, first, last, frames, data) VALUES (?, ?, ?, ?, ?)",
            (self._run, first.taken, last.taken, len(growing.moments), block.dumped()),
        )
        number = int(done.lastrowid or 0)
        rows = [(self._named(key), number) for key in keys]
        self._store.executemany("INSERT OR REPLACE INTO changed (name, block) VALUES (?, ?)", rows)
        minutes = [(self._run, number, msgspec.msgpack.encode(minute)) for minute in self._minutes]
        self._store.executemany("INSERT INTO minute (run, block, data) VALUES (?, ?, ?)", minutes)
        self._drop(block.base or number, last.taken)
        self._store.execute("COMMIT")
        self._minutes = []
        self._store.execute("PRAGMA incremental_vacuum")
        self._into_file()
        return number

    def _into_file(self) -> None:
        """Move the log to the file itself, because people copy that alone, and the log can hold hours of a node."""
        with contextlib.suppress(sqlite3.Error):  # it is in the log, and readers use both
            self._store.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _named(self, key: str) -> int:
        number = self._names.get(key)
        if number is None:
            text = stored_text(key)
            row = self._store.execute("SELECT id FROM name WHERE key = ?", (text,)).fetchone()
            if row is None:
                row = (self._store.execute("INSERT INTO name (key) VALUES (?)", (text,)).lastrowid,)
            number = self._names[key] = int(row[0] or 0)
        return number

    def _drop(self, newest: int, now: float) -> None:
        """Remove blocks beyond the limits, and keep the newest version of their evidence as the base.

        A block that others need goes together with them; `newest` is the first one that has to stay.
        """
        needed: tuple[int, OpenBlock | None] = (0, None)
        while True:
            row = self._store.execute("SELECT id, run, last, data FROM block ORDER BY id LIMIT 1").fetchone()
            if row is None or row[0] == newest:
                break
            number, run, last, data = row
            base = _base_of(data)
            orphan = base > 0 and base == needed[0]
            if not orphan and last >= now - self._limits.seconds and self._used() <= self._limits.bytes:
                break
            opened = self._rebase(run, data, needed[1] if orphan else None)
            if not base:
                needed = number, opened
            self._store.execute("DELETE FROM block WHERE id = ?", (number,))
            self._store.execute("DELETE FROM changed WHERE block = ?", (number,))
            self._store.execute("DELETE FROM minute WHERE block <= ?", (number,))
            if self._store.execute("SELECT 1 FROM block WHERE run = ? LIMIT 1", (run,)).fetchone() is None:
                self._store.execute("DELETE FROM base WHERE run = ?", (run,))
                self._store.execute("DELETE FROM run WHERE id = ? AND id != ?", (run, self._run))
                self._forget()

    def _rebase(self, run: int, data: bytes, base: OpenBlock | None) -> OpenBlock | None:
        """Keep the newest evidence of a block that is dropped, and return the block; None if it is damaged."""
        try:
            opened = OpenBlock(Block.loaded(data), None if base is None else base.first_text)
            known = {key: opened.latest(key) for key in opened.keys}
            marks = opened.last_runs()
        except Damaged:
            return None  # it was damaged on the disk; there is nothing to keep
        rows = [
            (self._named(key), run, msgspec.msgpack.encode(_stored(item)))
            for key, item in known.items()
            if item is not None and not _gone(item)
        ]
        rows += [(self._named(f"{RAN}{name}"), run, msgspec.msgpack.encode(mark)) for name, mark in marks.items()]
        gone = [(self._named(key),) for key, item in known.items() if item is not None and _gone(item)]
        self._store.executemany("DELETE FROM base WHERE name = ?", gone)
        self._store.executemany("INSERT OR REPLACE INTO base (name, run, data) VALUES (?, ?, ?)", rows)
        return opened

    def _forget(self) -> None:
        """Remove names that nothing uses."""
        self._store.execute(
            "DELETE FROM name WHERE id NOT IN (SELECT name FROM changed) AND id NOT IN (SELECT name FROM base)"
        )
        self._names.clear()

    def _used(self) -> int:
        (pages,) = self._store.execute("PRAGMA page_count").fetchone()
        (free,) = self._store.execute("PRAGMA freelist_count").fetchone()
        return int(pages - free) * _PAGE


class _BaseBlock(Struct, frozen=True):
    """Block whose first texts the next one continues: its number (0: none), these texts, and blocks that do so."""

    number: int = 0
    texts: dict[str, bytes] = {}
    blocks: int = 0


def _base_of(data: bytes) -> int:
    """Return the number of the block that a stored one needs, 0 for none."""
    try:
        return Block.loaded(data).base
    except Damaged:
        return 0


def _gone(item: Evidence) -> bool:
    """Return whether evidence is of a process that has ended: nothing asks for it again."""
    return item.outcome is Outcome.ABSENT and _OF_PROCESS.match(item.key) is not None


def _stored(item: Evidence) -> Evidence:
    return replace(item, key=stored_text(item.key), detail=stored_text(item.detail), fault=stored_text(item.fault))
