"""Replay: conversion of frames of raw evidence to snapshots.

Live views and opened captures use the same engine.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from msgspec.structs import replace

from sdstop.core.collector import LIVE, Collector, Command
from sdstop.core.evidence import Defect, Evidence, Frame, Outcome, RunMark, command_key, http_key, http_keys, slug
from sdstop.core.format import safe
from sdstop.core.guard import Guard, Part
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed, Output, Reply, TimedOut, Unreadable
from sdstop.core.model import Reading, Rows, schema
from sdstop.core.snapshot import DerivedRows, Run, Snapshot, snapshot

_STILL = 5.0
"""Seconds after which evidence without a recorded new read is assumed to be unchanged."""
_TREE = "tree:"
"""Pseudo-key touched by reads that depend on which paths or commands exist; changes when any appears or vanishes."""

_ERRORS: Mapping[Outcome, type[Unreadable]] = {
    Outcome.ABSENT: Absent,
    Outcome.DENIED: Denied,
    Outcome.FAILED: Failed,
    Outcome.TIMEOUT: TimedOut,
}


_LONGEST_TARGET = 1024
"""Maximum number of characters of a link's target that is followed; those of sysfs have up to 250."""
_MOST_REAL = 1 << 16
"""Maximum number of folders whose links are remembered."""

_Read = tuple[Outcome, str, dict[type[Reading], Rows], bool]
"""Outcome of a run, its reason, its tables, and whether it is about recorded evidence."""


class EvidenceHost(Host):
    """Host backed by evidence alone; reads of missing evidence raise Absent, "not recorded"."""

    def __init__(self, evidence: Iterable[Evidence] = ()) -> None:
        """Start with initial evidence; `apply` adds more."""
        self.state: dict[str, Evidence] = {}
        self.touched: set[str] = set()
        self.denied: set[str] = set()
        self.defects: dict[Defect, None] = {}
        self.last = ""
        """Key of the evidence read last, which a parser that fails is likely to have been given."""
        self._links: dict[str, str] = {}
        self._real: dict[str, tuple[str, int]] = {}
        self._spoken: list[str] = []  # keys other than paths, few among thousands: only these are searched
        self._folders: dict[str, set[str]] | None = None
        self.apply(evidence)

    @classmethod
    def of(cls, files: Mapping[str, str | bytes]) -> EvidenceHost:
        """Create a host from `{key: content}`, for tests and pasted text."""
        return cls(Evidence(k, data=v.encode() if isinstance(v, str) else v) for k, v in files.items())

    def apply(self, evidence: Iterable[Evidence]) -> set[str]:
        """Add the evidence of a frame.

        Return the keys that changed, and _TREE if paths appeared or vanished.
        """
        changed = set()
        for item in evidence:
            key = item.key
            before = self.state.get(key)
            self.state[key] = item
            changed.add(key)
            if before is None:
                if not key.startswith(("/", "link:/", "list:/")):
                    self._spoken.append(key)
            elif before.outcome is item.outcome and not (key.startswith("link:") and before.data != item.data):
                continue
            if item.outcome is Outcome.DENIED:
                self.denied.add(key)
            elif self.denied:
                self.denied.discard(key)
            if key.startswith(("/", "link:", "cmd:", "slug:", "http")):
                changed.add(_TREE)
                if key.startswith("link:"):
                    self._real.clear()
                    self._links.pop(key[5:], None)
                    if item.outcome is Outcome.OK:
                        self._links[key[5:]] = item.data.decode("utf-8", "surrogateescape")
        if _TREE in changed:
            self._folders = None
        return changed

    def evidence(self, key: str) -> Evidence | None:
        """Return the evidence with a key, without marking it as read."""
        known = self.state.get(key)
        if known is not None:
            return known
        kind = key.partition(":")[0]
        others = {"cmd": f"slug:{slug(key[4:])}", "http": self._http(key) if kind == "http" else None}
        other = self._resolve(key) if key.startswith("/") else others.get(kind)
        return self.state.get(other) if other is not None else None

    def read(self, path: str) -> bytes:
        """Return a recorded file."""
        return self._take(path).data

    def link(self, path: str) -> str:
        """Return the target of a recorded link."""
        return self._take(f"link:{path}").data.decode("utf-8", "surrogateescape")

    def entries(self, path: str) -> list[str]:
        """Return a recorded listing, or the names implied by the recorded paths below the directory."""
        key = f"list:{path}"
        self.touched.add(key)  # it may be recorded later
        if key in self.state:
            return self._take(key).data.decode("utf-8", "surrogateescape").split("\n") if self._take(key).data else []
        real = self._resolve(path)
        self.touched.update((_TREE, f"list:{real}"))
        folders = self._tree()
        names = folders.get(path, set()) | folders.get(real, set())
        if not names:
            raise Absent(path, "not recorded", recorded=False)
        return sorted(names)

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        """Return the output of a recorded command."""
        del deadline
        key = command_key(argv)
        self.touched.add(key)  # it may be recorded later
        item = self._take(key if key in self.state else f"slug:{slug(' '.join(argv))}", key)
        return Output(item.data, item.stderr, item.exit or 0)

    def answer(self, question: str) -> Any:
        """Return a recorded answer."""
        key = f"answer:{question}"
        try:
            return json.loads(self._take(key).data)
        except (ValueError, RecursionError) as error:
            raise Failed(key, "not JSON") from error

    def request(self, method: str, path: str, body: Any = None, deadline: float = 20.0) -> Reply:
        """Return a recorded reply: to the same body, to an unrecorded body, or the only reply for the path."""
        del deadline
        exact = http_key(method, path, body)
        self.touched.update(http_keys(exact))  # it may be recorded later
        found = self._http(exact)
        if found is None:
            self.touched.add(_TREE)
        item = self._take(found or exact, exact)
        head = item.stderr.decode("utf-8", "replace")
        kinds = (line.partition(":")[2] for line in head.splitlines() if line.lower().startswith("content-type:"))
        return Reply(item.data, 200 if item.exit is None else item.exit, next(kinds, "").strip())

    def recorded(self, program: str) -> list[str]:
        """Return the recorded commands of a program (argv, or the slug if only that was recorded)."""
        self.touched.add(_TREE)
        keys = (key.partition(":") for key in self._spoken)
        found = (rest for kind, _, rest in keys if kind in {"cmd", "slug"})
        return sorted(r for r in found if r == program or r.startswith((f"{program} ", f"{program}_")))

    def recorded_output(self, name: str) -> Output:
        """Return the output of a command listed by `recorded`."""
        item = self._take(f"cmd:{name}" if f"cmd:{name}" in self.state else f"slug:{name}")
        return Output(item.data, item.stderr, item.exit or 0)

    def defect(self, key: str, reason: str, subject: str = "", *, contradiction: bool = False) -> None:
        """Note that a piece of evidence is incomplete or contradicts itself."""
        self.defects[Defect(key, reason, subject, contradiction)] = None

    def spoken(self) -> list[str]:
        """Return the keys of evidence other than files, listings and links: commands, answers, HTTP."""
        return self._spoken

    def _http(self, key: str) -> str | None:
        """Return the key under which an HTTP exchange is recorded.

        The exchange may be recorded by its slug only, or without its request body. Another version of sdstop may have
        sent a different body: if there is exactly one such reply, it is used.
        """
        asked = http_keys(key)
        found = next((name for name in asked if name in self.state), None)
        if found is None:
            starts = tuple(f"{name}~" for name in asked if "~" not in name)
            others = [name for name in self._spoken if name.startswith(starts)]
            found = others[0] if len(others) == 1 else None
        return found

    def _take(self, key: str, shown: str = "") -> Evidence:
        item = self.state.get(key)
        self.touched.add(key if item is None else item.key)  # use the string object that is stored anyway
        if item is None:
            kind, _, path = key.rpartition(":") if key.startswith("link:") else ("", "", key)
            real = self._resolve(posixpath.dirname(path)) + "/" + posixpath.basename(path)
            real = f"{kind}:{real}" if kind else self._resolve(real)
            self.touched.update((real, _TREE))
            item = self.state.get(real)
        if item is None:
            raise Absent(shown or key, "not recorded", recorded=False)
        if item.fault:
            self.defect(item.key, item.fault)
        if item.outcome is not Outcome.OK:
            self._refuse(item)
        self.last = item.key
        return item

    def _refuse(self, item: Evidence) -> NoReturn:
        raise _ERRORS[item.outcome](item.key, item.detail)

    def _resolve(self, path: str) -> str:
        """Follow recorded links in every part of a path, at most 40 of them."""
        if not self._links or not path.startswith("/"):
            return path
        folder, _, name = path.rpartition("/")
        real, _ = self._folder(folder)
        is_plain = f"{real}/{name}" not in self._links and name not in {"", ".", ".."}
        return f"{real}/{name}" if is_plain else self._folder(path)[0] or "/"

    def _folder(self, path: str) -> tuple[str, int]:
        """Return a folder without links, and how many were followed; kept, because its files are read one by one."""
        known = self._real.get(path)
        if known is None:
            if len(self._real) >= _MOST_REAL:
                self._real.clear()
            folder, _, name = path.rpartition("/")
            known = self._real[path] = self._walked(*self._folder(folder), name) if path else ("", 0)
        return known

    def _walked(self, done: str, hops: int, name: str) -> tuple[str, int]:
        """Go on from a folder without links to a name in it, which may be a link to a link."""
        todo = [name]
        while todo:
            part = todo.pop()
            if not part:
                continue
            if part == "..":
                done = posixpath.dirname(done) if done.count("/") > 1 else ""
                continue
            step = f"{done}/{part}"
            target = self._links.get(step)
            while target is not None and hops < 40 and "/" not in target and target not in {"", ".", ".."}:
                hops += 1
                step = f"{done}/{target}"
                target = self._links.get(step)
            if target is None or hops >= 40 or len(target) > _LONGEST_TARGET:
                done = step
                continue
            hops += 1
            if target.startswith("/"):
                done = ""
            todo.extend(p for p in reversed(target.split("/")) if p and p != ".")
        return done, hops

    def _tree(self) -> dict[str, set[str]]:
        if self._folders is None:
            folders: dict[str, set[str]] = {}
            for key, item in self.state.items():
                path = key.removeprefix("link:")
                if not path.startswith("/") or item.outcome is Outcome.ABSENT:
                    continue
                while path != "/":
                    folder, _, name = path.rpartition("/")
                    folder = folder or "/"
                    names = folders.setdefault(folder, set())
                    if name in names:
                        break
                    names.add(name)
                    path = folder
            self._folders = folders
        return self._folders


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
        self._runs: dict[str, Run] = {}
        self._families: Mapping[type[Reading], Run] = {}

    def feed(self, frame: Frame) -> Snapshot:
        """Apply the evidence of a frame, run the collectors that ran, and return the state of the node at that time."""
        changed = self.host.apply(frame.evidence)
        for collector in self.collectors:
            before = self._runs.get(collector.name)
            concerned = before is None or not before.keys.isdisjoint(changed)
            if collector.name in self._younger:
                if not concerned and not _stale(before, frame):
                    continue
                mark = RunMark(frame.monotonic)
            elif frame.ran is None:
                if not (concerned or collector.pace <= LIVE):
                    continue
                mark = RunMark(frame.monotonic)
            else:
                known = frame.ran.get(collector.name)
                if known is None:
                    continue
                mark = known
                if before is not None and before.duration is None and mark.duration is not None:
                    concerned = True  # the run is no longer hanging, whatever blocked it
            self._runs[collector.name] = self._run(collector, frame, mark, before, concerned=concerned)
        self._find_unread(changed)
        runs = {c.name: self._runs[c.name] for c in self.collectors if c.name in self._runs}
        shot = snapshot(frame.number, frame.taken, frame.monotonic, runs, self._families)
        self._families = shot.by_family
        return shot

    def _run(self, collector: Collector, frame: Frame, mark: RunMark, before: Run | None, *, concerned: bool) -> Run:
        base: dict[type[Reading], Rows]
        recorded = True
        defects: tuple[Defect, ...]
        noted = frame.ran is not None and collector.name not in self._younger
        if not concerned and before is not None:
            outcome, reason, keys, recorded = before.outcome, before.reason, before.keys, before.recorded
            defects = before.defects
            base = {f: before.tables[f] for f in collector.families if f in before.tables}
        else:
            self.host.touched, self.host.defects, self.host.last = set(), {}, ""
            outcome, reason, base, recorded = self._read(collector)
            keys, defects = frozenset(self.host.touched), tuple(self.host.defects)
            if outcome is Outcome.OK and not noted and not self._recorded(keys):
                outcome, reason, base, recorded = Outcome.ABSENT, "not recorded", {}, False
        if mark.duration is None and noted and outcome is not Outcome.TIMEOUT:
            outcome, reason, base, recorded = Outcome.TIMEOUT, "still running", {}, True
        last = before if before is None or before.ok else before.last
        seconds = None
        tables: dict[type[Reading], Rows] = dict(base)
        # In an overlong run the time at which counters were read is unknown: no rates from it or to it.
        late = any(r is not None and (r.duration or 0) > collector.deadline for r in (mark, last))
        if outcome is Outcome.OK and last is not None and not late and mark.started > last.started:
            seconds = mark.started - last.started
            for derivation in collector.derives:
                earlier = last.tables.get(derivation.source)
                if earlier is not None:
                    tables[derivation.target] = DerivedRows(derivation, earlier, base[derivation.source], seconds)
        taken = frame.taken - (frame.monotonic - mark.started)
        since, began = taken, mark.started
        if before is not None and before.outcome is outcome:
            since, began = before.since, before.began
        return Run(
            collector.name, outcome, reason, mark.started, taken, since, mark.duration, seconds, tables, keys,
            None if outcome is Outcome.OK else last, recorded, began, defects,
        )  # fmt: skip

    def _find_unread(self, changed: set[str]) -> None:
        """Turn runs without evidence into unread ones where another output of the same program was recorded.

        Outputs that any collector reads do not count.
        """
        if _TREE not in changed or not (outputs := [k for k in self.host.spoken() if k.startswith(("cmd:", "slug:"))]):
            return
        read = frozenset[str]().union(*(run.keys for run in self._runs.values() if run.outcome is not Outcome.UNREAD))
        left: dict[str, Evidence] = {}
        for key in sorted(outputs):
            item = self.host.state[key]
            if key not in read and item.outcome is Outcome.OK and item.data.strip():
                left.setdefault(_PROGRAM.split(key.partition(":")[2], maxsplit=1)[0], item)
        for collector in self.collectors if left else ():
            run = self._runs.get(collector.name)
            if run is None or run.outcome is not Outcome.ABSENT or run.recorded:
                continue
            programs = (need.argv[0] for need in collector.needs if isinstance(need, Command))
            found = next((left[program] for program in programs if program in left), None)
            if found is not None:
                reason = f"recorded in another form: {_begins(found)}"
                self._runs[collector.name] = replace(
                    run, outcome=Outcome.UNREAD, reason=reason, recorded=True, keys=run.keys | {found.key}
                )

    def _read(self, collector: Collector) -> _Read:
        return self._guard.call(
            Part.SOURCE, collector.name, lambda: self._parsed(collector), lambda said: (Outcome.FAILED, said, {}, True)
        )

    def _parsed(self, collector: Collector) -> _Read:
        try:
            tables: dict[type[Reading], dict[Any, Reading]] = {family: {} for family in collector.families}
            keys: dict[type[Reading], Callable[[Reading], Hashable]] = {}
            for reading in collector.read(self.host):
                family = type(reading)
                key = keys.get(family)
                if key is None:  # read declarations on the first row: most families have none
                    key = keys[family] = schema(family).key
                tables[family][key(reading)] = reading
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
            return Outcome.OK, self._lacking(collector, tables), dict(tables), True

    def _recorded(self, keys: Iterable[str]) -> bool:
        """Return whether any of the requested evidence is recorded; without it an empty result is meaningless."""
        return any(key in self.host.state for key in keys)

    def _lacking(self, collector: Collector, tables: Mapping[type[Reading], Rows]) -> str:
        """Return which data of a successful run was denied, or is in doubt."""
        said = [collector.lacks(tables)] if collector.lacks is not None else []
        defects = list(self.host.defects)
        said += [defect.text for defect in defects[:1]]
        said += [f"and {len(defects) - 1} more in doubt"] if len(defects) > 1 else []
        keys = sorted(self.host.touched & self.host.denied)
        if keys:
            first = f"{keys[0]}: denied, {self.host.state[keys[0]].detail}"
            said.append(first if len(keys) == 1 else f"{first}; and {len(keys) - 1} more denied")
        return "; ".join(filter(None, said))


_PROGRAM = re.compile("[ _]")
"""Separator of a program from its arguments, in a command and in a slug."""
_LONGEST_LINE = 80


def _begins(item: Evidence) -> str:
    """Return the key of a piece of evidence and its first line."""
    lines = item.data[:4096].decode("utf-8", "replace").strip().splitlines()
    return f'{item.key} begins "{safe(lines[0] if lines else "", _LONGEST_LINE)}"'


def _stale(run: Run | None, frame: Frame) -> bool:
    """Return whether a run of a collector newer than its capture is so old that unchanged counters count as idle.

    The times of its reads are not recorded. Only changes are, and rates are computed from change to change.
    """
    return run is not None and frame.monotonic - run.started >= _STILL
