"""Replay: conversion of frames of raw evidence to snapshots.

Live views and opened captures use the same engine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain, dropwhile, takewhile
from typing import Any, cast

from msgspec.structs import replace

from sdstop.core.absence import IfPresent
from sdstop.core.collector import LIVE, Collector, Command, Need
from sdstop.core.column_series import Reprint
from sdstop.core.columns import Batch, Columns
from sdstop.core.evidence import RAN, Defect, Evidence, Frame, Outcome, RunMark
from sdstop.core.evidence_host import TREE, EvidenceHost
from sdstop.core.expression import expression
from sdstop.core.families import in_use
from sdstop.core.format import safe
from sdstop.core.guard import Guard, Part
from sdstop.core.host import Absent, Denied, Failed, Malformed, TimedOut
from sdstop.core.known import Known
from sdstop.core.model import Reading, Rows, key_of
from sdstop.core.shared_rows import share
from sdstop.core.snapshot import Run, Snapshot, derived, snapshot

_STILL = 5.0
"""Seconds after which evidence without a recorded new read is assumed to be unchanged."""


_Read = tuple[Outcome, str, dict[type[Reading], Rows], bool]
"""Outcome of a run, its reason, its tables, and whether it is about recorded evidence."""


class Replay:
    """Converter of successive frames to snapshots."""

    def __init__(
        self,
        collectors: Sequence[Collector],
        host: EvidenceHost | None = None,
        known: frozenset[str] | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Start before the first frame; an exception in a collector makes its run a failed one.

        `known` are the collectors that existed when the capture was recorded; newer ones run on the evidence that is
        available. None: every collector runs as recorded in the frames.
        """
        self.collectors = tuple(collectors)
        self._younger = frozenset(c.name for c in collectors) - known if known is not None else frozenset[str]()
        self.host = host or EvidenceHost()
        self._guard = guard or Guard()
        self._live = {collector.name for collector in collectors if collector.is_live}
        self._runs: dict[str, Run] = {}
        self._shown: Snapshot | None = None
        self._changed: set[str] = set()
        """Collectors whose evidence has changed since their last run."""
        self.reprints: dict[str, Reprint] = {}
        """What prints evidence again that was parsed last, by key."""
        self._unread: dict[str, str] = {}
        self._tests: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {}
        """Tests of evidence that is never empty, and of evidence that every user can read, by collector."""
        self._parts = {collector.name: parts for collector in collectors if (parts := _parts_of(collector))}

    def copy(self) -> Replay:
        """Return a replay in the same state."""
        made = Replay(self.collectors, self.host.copy(), guard=self._guard)
        made._younger, made._unread, made._tests = self._younger, dict(self._unread), self._tests
        made._runs, made._shown, made._changed = dict(self._runs), self._shown, set(self._changed)
        made.reprints = dict(self.reprints)
        return made

    def feed(self, frame: Frame) -> Snapshot:
        """Apply the evidence of a frame, run the collectors that ran, and return the state of the node at that time."""
        partial = {key: self.host.state.get(key) for parts in self._parts.values() for key in parts}
        changed = self.host.apply(frame.evidence)
        recorded = frame.ran if frame.ran is not None and not self._younger else None
        for collector in self.collectors:
            name = collector.name
            before = self._runs.get(name)
            if recorded is not None and name not in recorded:  # nearly all, of a frame of a few sources
                if before is not None and name not in self._changed and self._concerns(before, changed, partial.get):
                    self._changed.add(name)  # until it runs: another source has read the same evidence
                continue
            concerned = before is None or not before.keys.isdisjoint(changed)
            if concerned and before is not None and frame.ran is not None and name not in self._younger:
                concerned = self._concerns(before, changed, partial.get)  # else a change is the only sign of a run
            if collector.name in self._changed:
                concerned = True
            elif concerned and before is not None:
                self._changed.add(collector.name)  # until it runs: another source has read the same evidence
            mark = self._mark(collector, frame, before, concerned=concerned)
            if mark is None:
                continue
            if before is not None and before.duration is None and mark.duration is not None:
                concerned = True  # the run is no longer hanging, whatever blocked it
            self._changed.discard(collector.name)
            self._runs[collector.name] = self._run(collector, frame, mark, before, concerned=concerned)
        return self._shot(frame, changed)

    def _mark(self, collector: Collector, frame: Frame, before: Run | None, *, concerned: bool) -> RunMark | None:
        """Return the run of a collector in a frame, None if it did not run."""
        if collector.name in self._younger:
            return RunMark(frame.monotonic) if concerned or _stale(before, frame) else None
        if frame.ran is None:
            return RunMark(frame.monotonic) if concerned or collector.pace <= LIVE else None
        return frame.ran.get(collector.name)

    def moved(self, frame: Frame, gone: Iterable[str]) -> tuple[Replay, Snapshot]:
        """Return a replay at another moment, whichever is earlier, and the state of the node then; this one stays.

        `frame` has all evidence that may differ from that known here, and the last runs of the collectors that ran in
        between; the keys `gone` were not known then. Collectors whose evidence is equal are not run again. The state is
        that of a replay that begins with a frame of everything known.
        """
        made = Replay(self.collectors, self.host.copy(), guard=self._guard)
        made._younger, made._unread, made._tests = self._younger, self._unread, self._tests
        gone, different = set(gone), list[Evidence]()
        for item in frame.evidence:
            if item.same(self.host.state.get(item.key)):
                made.host.state[item.key] = item
            else:
                different.append(item)
        changed = made.host.apply(different)
        for key in [key for key in gone if key in self.host.state]:
            made.host.drop(key)
            changed |= {key, TREE}
        for collector in self.collectors:
            before_run = self._runs.get(collector.name)
            if frame.ran is None or collector.name in self._younger:
                mark: RunMark | None = RunMark(frame.monotonic)
            else:
                known = None if before_run is None else RunMark(before_run.started, before_run.duration)
                mark = frame.ran.get(collector.name, None if RAN + collector.name in gone else known)
            if mark is None:
                continue
            same = (
                before_run is not None
                and not made._concerns(before_run, changed, self.host.state.get)
                and collector.name not in self._changed
                and (before_run.duration is None) == (mark.duration is None)
            )
            made._runs[collector.name] = made._run(collector, frame, mark, before_run, concerned=not same, first=True)
        return made, made._shot(frame, changed)

    def _concerns(self, run: Run, changed: set[str], before: Callable[[str], Evidence | None]) -> bool:
        """Return whether a change of evidence, which was another one `before`, may change the rows of a run."""
        if run.keys.isdisjoint(changed):
            return False
        parts = self._parts.get(run.collector)
        return parts is None or not all(
            key in parts and _is_alike(parts[key], before(key), self.host.state.get(key)) for key in run.keys & changed
        )

    def _shot(self, frame: Frame, changed: set[str]) -> Snapshot:
        self._find_unread(changed)
        runs = {c.name: self._runs[c.name] for c in self.collectors if c.name in self._runs}
        self._shown = shot = snapshot(frame.number, frame.taken, frame.monotonic, runs, self._shown)
        return replace(shot, unread=self._unread) if self._unread else shot

    def _run(
        self, collector: Collector, frame: Frame, mark: RunMark, before: Run | None, *, concerned: bool,
        first: bool = False,
    ) -> Run:  # fmt: skip
        """Return a run; one that is the `first` has no rates, whichever moment the run before it is of."""
        base: dict[type[Reading], Rows]
        recorded = True
        defects: tuple[Defect, ...]
        noted = frame.ran is not None and collector.name not in self._younger
        if not concerned and before is not None:
            outcome, reason, keys, recorded = before.outcome, before.reason, before.keys, before.recorded
            defects = before.defects
            tables = before.tables
            base = {f: tables[f] for f in in_use(collector.families) if f in tables} if tables else {}
            if len(base) == len(tables):
                base = cast("dict[type[Reading], Rows]", tables)
        elif noted and mark.duration is None and _may_hang_here(collector, frame):
            outcome, reason, keys, defects, base = Outcome.TIMEOUT, _RUNNING, frozenset(), (), {}
        else:
            self.host.touched, self.host.defects, self.host.last = set(), {}, ""
            tests = self._tests.get(collector.name)
            if tests is None:
                tests = self._tests[collector.name] = collector.filled(), collector.everyone()
            self.host.is_filled, self.host.is_for_everyone = tests
            outcome, reason, base, recorded = self._read(collector)
            defects = tuple(self.host.defects)
            same = before is not None and before.keys == self.host.touched
            keys = before.keys if before is not None and same else self.host.keys_read()  # 90 s of runs are kept
            if outcome is Outcome.OK and not noted and not self._recorded(keys):
                outcome, reason, base, recorded = Outcome.ABSENT, "not recorded", {}, False
        if mark.duration is None and noted and outcome is not Outcome.TIMEOUT:
            outcome, reason, base, recorded = Outcome.TIMEOUT, _RUNNING, {}, True
        if first:
            before = None
        last = before if before is None or before.ok else before.last
        seconds = None
        made = base
        # In an overlong run the time at which counters were read is unknown: no rates from it or to it.
        late = any(r is not None and (r.duration or 0) > collector.deadline for r in (mark, last))
        if outcome is Outcome.OK and last is not None and not late and mark.started > last.started:
            seconds = mark.started - last.started
            for derivation in collector.derives:
                earlier = last.tables.get(derivation.source)
                if earlier is not None:
                    made = made if made is not base else dict(base)
                    made[derivation.target] = derived(derivation, earlier, base[derivation.source], seconds)
        taken = frame.taken - (frame.monotonic - mark.started)
        since, began = taken, mark.started
        if before is not None and before.outcome is outcome:
            since, began = before.since, before.began
        return Run(
            collector.name, outcome, reason, mark.started, taken, since, mark.duration, seconds, made, keys,
            None if outcome is Outcome.OK else last, recorded, began, defects, collector.devices,
            collector.name in self._live,
        )  # fmt: skip

    def _find_unread(self, changed: set[str]) -> None:
        """Turn runs without evidence into unread ones where another output of the same program was recorded.

        Outputs that any collector reads do not count; the others are kept with their first lines. An output that was
        lost or emptied counts as well: its text is unknown.
        """
        if TREE not in changed or not (outputs := [k for k in self.host.spoken() if k.startswith(("cmd:", "slug:"))]):
            return
        self._unread = {}
        read = [run.keys for run in self._runs.values() if run.outcome is not Outcome.UNREAD]
        left: dict[str, list[Evidence]] = {}
        for key in sorted(outputs):
            item = self.host.state[key]
            if item.outcome is not Outcome.ABSENT and not any(key in keys for keys in read):
                if item.outcome is Outcome.OK and item.data.strip():
                    self._unread[key] = _first_line(item)
                left.setdefault(_PROGRAM.split(key.partition(":")[2], maxsplit=1)[0], []).append(item)
        for collector in self.collectors if left else ():
            run = self._runs.get(collector.name)
            if run is None or run.outcome is not Outcome.ABSENT or run.recorded:
                continue
            commands = [need for need in collector.needs if isinstance(need, Command)]
            asked = ((command, item) for command in commands for item in left.get(command.argv[0], ()))
            found = next((item for command, item in asked if _tells(item, command)), None)
            if found is not None:
                reason = f"recorded in another form: {_begins(found)}"
                self._runs[collector.name] = replace(
                    run, outcome=Outcome.UNREAD, reason=reason, recorded=True, keys=frozenset((*run.keys, found.key))
                )

    def _read(self, collector: Collector) -> _Read:
        return self._guard.call(
            Part.SOURCE, collector.name, lambda: self._parsed(collector), lambda said: (Outcome.FAILED, said, {}, True)
        )

    def _parsed(self, collector: Collector) -> _Read:
        try:
            tables = self._tables(collector)
        except Absent as error:
            if not error.recorded and self.host.defects:  # it was recorded, and its content is lost
                return Outcome.UNREAD, next(iter(self.host.defects)).text, {}, True
            return Outcome.ABSENT, str(error), {}, error.recorded
        except Denied as error:
            return Outcome.DENIED, str(error), {}, True
        except TimedOut as error:
            return Outcome.TIMEOUT, str(error), {}, True
        except Failed as error:
            return Outcome.FAILED, str(error), {}, True
        except Malformed as error:
            item = self.host.state.get(self.host.last)
            begins = f"; {_begins(item)}" if item is not None else ""
            return Outcome.UNREAD, f"not understood: {error}{begins}", {}, True
        else:
            return Outcome.OK, self._lacking(collector, tables), tables, True

    def _tables(self, collector: Collector) -> dict[type[Reading], Rows]:
        """Run a collector and return its tables. Raises the same errors."""
        readings = iter(collector.read(self.host))
        first = next(readings, None)  # before the families are imported: most sources are absent
        tables: dict[type[Reading], dict[Any, Reading]] = {family: {} for family in collector.families}
        columns: dict[type[Reading], Columns] = {}
        keys: dict[type[Reading], Callable[[Reading], Hashable]] = {}
        for reading in chain(() if first is None else (first,), readings):
            family = type(reading)
            if isinstance(reading, Batch):
                columns[reading.of] = Columns(reading.of, reading.values, self._like(collector, reading.of))
                if reading.reprint is not None:
                    self.reprints[reading.reprint.key] = reading.reprint
                continue
            key = keys.get(family)
            if key is None:  # read declarations on the first row: most families have none
                key = keys[family] = key_of(family)
            tables[family][key(reading)] = reading
        for family, rows in tables.items():
            if family.numerous and family not in columns:
                columns[family] = Columns.of(family, rows, self._like(collector, family))
        if isinstance(self.host.state, Known):  # that of a live node, which keeps 90 s of runs
            before = self._runs.get(collector.name)
            known = {} if before is None else before.tables
            return {**{family: share(rows, known.get(family, {})) for family, rows in tables.items()}, **columns}
        return {**tables, **columns}

    def _like(self, collector: Collector, family: type[Reading]) -> Columns | None:
        """Return the table of the run before, which unchanged columns are shared with."""
        before = self._runs.get(collector.name)
        rows = None if before is None else before.tables.get(family)
        return rows if isinstance(rows, Columns) else None

    def _recorded(self, keys: Iterable[str]) -> bool:
        """Return whether any of the requested evidence is recorded; without it an empty result is meaningless."""
        return any(key in self.host.state for key in keys)

    def _lacking(self, collector: Collector, tables: Mapping[type[Reading], Rows]) -> str:
        """Return which data of a successful run was denied, or is in doubt."""
        said = [collector.lacks(tables)] if collector.lacks is not None else []
        defects = list(self.host.defects)
        said += [defect.text for defect in defects[:1]]
        said += [f"and {len(defects) - 1} more in doubt"] if len(defects) > 1 else []
        keys = sorted(key for key in self.host.touched & self.host.denied if not self.host.is_for_everyone(key))
        if keys:
            first = f"{keys[0]}: denied, {self.host.state[keys[0]].detail}"
            said.append(first if len(keys) == 1 else f"{first}; and {len(keys) - 1} more denied")
        return "; ".join(filter(None, said))


def _parts_of(collector: Collector) -> dict[str, Callable[[bytes], Hashable]]:
    """Return the functions that take the part that a collector uses from evidence, by key."""
    needs = (need for need in collector.needs if isinstance(need, Need))
    return {need.what: need.part for need in needs if need.part is not None}


def _is_alike(part: Callable[[bytes], Hashable], old: Evidence | None, new: Evidence | None) -> bool:
    """Return whether both versions of a piece of evidence are whole, and equal in a part."""
    if old is None or new is None or any(item.outcome is not Outcome.OK or item.fault for item in (old, new)):
        return False
    try:
        return part(old.data) == part(new.data)
    except Malformed:
        return False


_RUNNING = "still running"
"""Reason for a run that hangs."""


def _may_hang_here(collector: Collector, frame: Frame) -> bool:
    """Return whether the sampler may hang in the import of a source, not in a read: then it would hang here, too."""
    waits = isinstance(collector.read, IfPresent) and not collector.read.is_imported
    return waits and not any(item.outcome is Outcome.TIMEOUT for item in frame.evidence)


_PROGRAM = expression("[ _]")
"""Separator of a program from its arguments, in a command and in a slug."""
_LONGEST_LINE = 80
"""Cells of a line of output quoted in a reason."""


_OBJECTS = frozenset({"ip", "dmsetup"})
"""Programs with an object behind the first options: `ip -d link`. They accept abbreviations of it."""


def _tells(item: Evidence, command: Command) -> bool:
    """Return whether a recorded output takes the place of a command's, or did so until it was lost or emptied."""
    there = item.outcome is not Outcome.OK or item.data.strip() or command.filled
    return bool(there) and _shows_same(command.argv, item)


def _shows_same(argv: Sequence[str], item: Evidence) -> bool:
    """Return whether a recorded command shows the same as `argv`: `ip -d a`, but not `ip rule`, for `ip addr`."""
    pairs = zip(_object(argv[1:]), _object(_PROGRAM.split(item.key.partition(":")[2])[1:]), strict=False)
    return argv[0] not in _OBJECTS or all(one.startswith(other) or other.startswith(one) for one, other in pairs)


def _object(words: Sequence[str]) -> list[str]:
    """Return the plain words behind the options in front."""
    said = dropwhile(lambda word: word.startswith("-") or word.isdigit(), words)
    return [*takewhile(str.isalpha, said)]


def _begins(item: Evidence) -> str:
    """Return the key of a piece of evidence and its first line, or why it has none."""
    if item.outcome is not Outcome.OK or not item.data.strip():
        return f"{item.key}: {item.detail or 'empty'}"
    return f'{item.key} begins "{_first_line(item)}"'


def _first_line(item: Evidence) -> str:
    lines = item.data[:4096].decode("utf-8", "replace").strip().splitlines()
    return safe(lines[0] if lines else "", _LONGEST_LINE)


def _stale(run: Run | None, frame: Frame) -> bool:
    """Return whether a run of a collector newer than its capture is so old that unchanged counters count as idle.

    The times of its reads are not recorded. Only changes are, and rates are computed from change to change.
    """
    return run is not None and frame.monotonic - run.started >= _STILL
