"""A window in which everything is there several times: each thing has copies with names of their own, equally faulty.

Names are changed where a reading declares them, so joins, groups and volumes are those of the original, for each copy.
Evidence is not multiplied: what a finding cites of a copy is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from sdstop.core.history import DistinctRuns, Window
from sdstop.core.model import Fact, Label, Name, Reading, Rows, key_of, schema
from sdstop.core.snapshot import Run, snapshot
from sdstop.core.topologies import Topologies

_UNTOUCHED = frozenset({None, Name.EVIDENCE, Name.TEXT, Name.USER})
_NUMBER = re.compile(r"\d{1,4}:\d{1,7}")
_ADDRESS = re.compile(r"[\da-f]{4,8}(:[\da-f]{2}:[\da-f]{2}\.[0-7])")
"""Address of a PCI device; each copy is in a domain of its own."""
_SCSI = re.compile(r"(?:host|expander-|end_device-|port-|phy-)[\d:]+")
"""Host, expander or phy: copied like HBAs and disks, because more disks behind one HBA are another fault."""
_WORD = re.compile(r"[^\s,/@=:]+")


def _suffix(copy: int, *, digits: bool) -> str:
    if digits:
        return f"{copy:04}"
    letters = ""
    for _ in range(3):
        copy, letter = divmod(copy, 26)
        letters += chr(ord("a") + letter)
    return letters


def _copied(text: str, copy: int) -> str:
    """Return a name that keeps its form: sda becomes sdabaa, md0 becomes md00001, 1:3b:00.0 one of domain 10001."""
    if address := _ADDRESS.fullmatch(text):
        return f"{0x10000 + copy:04x}{address[1]}"
    if _NUMBER.fullmatch(text):
        return f"{text}{copy:04}"
    last = list(_WORD.finditer(text))
    if "," in text or " " in text:
        return _WORD.sub(lambda word: word[0] + _suffix(copy, digits=word[0][-1].isdecimal()), text)
    return text[: last[-1].end()] + _suffix(copy, digits=last[-1][0][-1].isdecimal()) if last else text


@cache
def _named(family: type[Reading]) -> tuple[str, ...]:
    """Return the fields that hold names, and those that may hold MAJOR:MINOR."""
    found = [
        column.name
        for column in schema(family).columns
        if isinstance(column.mark, Label | Fact) and (column.mark.names not in _UNTOUCHED or column.mark.plain)
    ]
    return tuple(found)


def _is_name(family: type[Reading], field: str, text: str) -> bool:
    mark = schema(family).column(field).mark
    return any(form.fullmatch(text) for form in (_NUMBER, _ADDRESS, _SCSI)) or (
        isinstance(mark, Label | Fact) and mark.names is not None
    )


def _rows(family: type[Reading], rows: Rows, copies: int) -> dict[Any, Reading]:
    """Return rows of the copies; a row without a name in its key is that of the whole node, and stays alone."""
    key = key_of(family)
    found: dict[Any, Reading] = {}
    for row in rows.values():
        texts = {name: text for name in _named(family) if isinstance(text := getattr(row, name), str) and text}
        texts = {name: text for name, text in texts.items() if _is_name(family, name, text)}
        for copy in range(copies):
            changed = {name: _copied(text, copy) for name, text in texts.items()}
            made = replace(row, **changed)
            found.setdefault(key(made), made)
    return found


class Copies:
    """Makes windows with copies of all things in one window."""

    def __init__(self, window: Window, copies: int) -> None:
        self._copies = copies
        self._runs: dict[int, Run] = {}
        shots, before = [], None
        for shot in window.snapshots:
            runs = {name: self._run(run) for name, run in shot.runs.items()}
            before = snapshot(shot.number, shot.taken, shot.monotonic, runs, before)
            shots.append(before)
        self.window = Window(tuple(shots), window.evidence, window.providers, None, Topologies(), DistinctRuns())

    def _run(self, run: Run) -> Run:
        known = self._runs.get(id(run))
        if known is None:
            tables: Mapping[Any, Rows] = {of: _rows(of, rows, self._copies) for of, rows in run.tables.items()}
            last = None if run.last is None else self._run(run.last)
            known = self._runs[id(run)] = replace(run, tables=tables, last=last, memo={})
        return known
