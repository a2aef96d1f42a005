"""Recording: days of frames of a node in one SQLite file, which can be read while it is written.

    run      one row for each start of the recorder: host, facts and collectors
    block    successive frames of a run in compact form (sdstop.core.block), half a minute each
    name     keys of evidence; `ran:NAME` is the key of a collector's runs
    changed  the blocks in which a key changed
    base     the newest version of a key in the blocks that were dropped for their age
    minute   load and events of each minute, for the time bar (sdstop.core.minute); recordings of version 1 have none

Frames hold changes only; the state at a time is the newest version of each key up to then.
"""

from __future__ import annotations

from msgspec import Struct, field

APPLICATION = 0x53445354
"""`application_id` of a recording: "SDST"."""
VERSION = 3
"""`user_version`: version of the schema. Recordings of version 2 have differences of numbers in 8 bytes only; those of
version 1 have no table `minute`, too, and get one when they are continued."""
FIRST_VERSION = 1
RECORDING = "a recording"
"""Value of Origin.made for a recording."""
TABLES = {
    "run": "CREATE TABLE run (id INTEGER PRIMARY KEY, origin BLOB NOT NULL)",
    "block": "CREATE TABLE block (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, first REAL NOT NULL,"
    " last REAL NOT NULL, frames INTEGER NOT NULL, data BLOB NOT NULL)",
    "name": "CREATE TABLE name (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)",
    "changed": "CREATE TABLE changed (name INTEGER NOT NULL, block INTEGER NOT NULL,"
    " PRIMARY KEY (name, block)) WITHOUT ROWID",
    "base": "CREATE TABLE base (name INTEGER PRIMARY KEY, run INTEGER NOT NULL, data BLOB NOT NULL)",
    "minute": "CREATE TABLE minute (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, block INTEGER NOT NULL,"
    " data BLOB NOT NULL)",
}
"""Statements that create the tables. `first` and `last` are the Unix times of a block's first and last frame."""


class RecordedOrigin(Struct, frozen=True):
    """Description of a run, stored as JSON."""

    host: str
    privileged: bool | None = None
    facts: dict[str, str] = field(default_factory=dict)
    collectors: list[str] = field(default_factory=list)
