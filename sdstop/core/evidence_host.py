"""EvidenceHost: a host that answers from recorded evidence, as of the newest frame applied to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn

from sdstop.core.evidence import Defect, Evidence, Outcome, command_key, http_key, http_keys, slug
from sdstop.core.host import Absent, Denied, Failed, Host, Output, Reply, TimedOut, Unreadable
from sdstop.core.key_set import MANY, KeySet
from sdstop.core.known import Known

TREE = "tree:"
"""Pseudo-key touched by reads that depend on which paths or commands exist; changes when any appears or vanishes."""
_LONGEST_TARGET = 1024
"""Maximum number of bytes of a link's target that is followed; those of sysfs have up to 250."""
_BEGINNING = 1 << 16
"""Number of bytes of an output by which its form is recognized."""
_MOST_REAL = 1 << 16
"""Maximum number of folders whose links are remembered."""
_SURE = 2
"""Bytes of a file that are never all blank: shorter ones may be empty."""
_LONG_LIST = 2048
"""Bytes of a listing from which its names are kept: several sources list a thousand disks."""
_DIGITS = 32
"""Maximum number of bytes of an attribute that is one number."""

_REFUSED = "denied, although every user can read it"

_ERRORS: Mapping[Outcome, type[Unreadable]] = {
    Outcome.ABSENT: Absent,
    Outcome.DENIED: Denied,
    Outcome.FAILED: Failed,
    Outcome.TIMEOUT: TimedOut,
}


def _undeclared(_: str) -> bool:
    return False


class EvidenceHost(Host):
    """Host backed by evidence alone; reads of missing evidence raise Absent, "not recorded"."""

    def __init__(self, evidence: Iterable[Evidence] = (), *, state: Known | None = None) -> None:
        """Start with initial evidence; `apply` adds more. A live node has a `state` that keeps most in buffers."""
        self.state: dict[str, Evidence] | Known = {} if state is None else state
        self.touched: set[str] = set()
        self.denied: set[str] = set()
        self.defects: dict[Defect, None] = {}
        self.last = ""
        """Key of the evidence read last, which a parser that fails is likely to have been given."""
        self.is_filled: Callable[[str], object] = _undeclared
        """Whether evidence with a key is never empty (see Need)."""
        self.is_for_everyone: Callable[[str], object] = _undeclared
        """Whether every user of a node can read evidence with a key (see Need)."""
        self._has_links = False
        self._real: dict[str, tuple[str, int]] = {}
        self._spoken: list[str] = []  # keys other than paths, few among thousands: only these are searched
        self._folders: dict[str, set[str]] | None = None
        self._lists: dict[str, tuple[bytes, list[str]]] = {}
        self._programs: dict[str, list[str]] = {}
        self.apply(evidence)

    @classmethod
    def of(cls, files: Mapping[str, str | bytes]) -> EvidenceHost:
        """Create a host from `{key: content}`, for tests and pasted text."""
        return cls(Evidence(k, data=v.encode() if isinstance(v, str) else v) for k, v in files.items())

    def apply(self, evidence: Iterable[Evidence]) -> set[str]:
        """Add the evidence of a frame.

        Return the keys that changed, and TREE if paths appeared or vanished.
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
                    self._programs = {}
            elif before.outcome is item.outcome and not (key.startswith("link:") and before.data != item.data):
                continue
            if item.outcome is Outcome.DENIED:
                self.denied.add(key)
            elif self.denied:
                self.denied.discard(key)
            if key.startswith(("/", "link:", "cmd:", "slug:", "http")):
                changed.add(TREE)
                if key.startswith("link:"):
                    self._real.clear()
                    self._has_links = True
        if TREE in changed:
            self._folders = None
        return changed

    def drop(self, key: str) -> None:
        """Forget a piece of evidence."""
        if key not in self.state:
            return
        self.state.pop(key)
        self.denied.discard(key)
        if key in self._spoken:
            self._spoken.remove(key)
            self._programs = {}
        self._real.clear()
        self._folders = None

    def copy(self) -> EvidenceHost:
        """Return a host with the same evidence."""
        made = EvidenceHost()
        made.state, made.denied = self.state.copy(), set(self.denied)
        made._has_links, made._spoken = self._has_links, list(self._spoken)  # same class
        return made

    def keys_read(self) -> AbstractSet[str]:
        """Return the keys in `touched`; many of a live node in a compact form."""
        few = len(self.touched) < MANY or not isinstance(self.state, Known)
        return frozenset(self.touched) if few else KeySet(self.touched)

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

    def maybe(self, path: str) -> str | None:
        """Return a small recorded attribute without surrounding whitespace, or None if not readable."""
        item = self.state.get(path)
        if item is None and self._is_missing(path):
            return None
        if item is None or item.outcome is not Outcome.OK or item.fault or len(item.data) < _SURE:
            return super().maybe(path)
        self.touched.add(item.key)  # what reading does, without three calls for each of thousands of attributes
        self.last = item.key
        return item.data.decode("utf-8", "surrogateescape").strip()

    def number(self, path: str) -> int | None:
        """Return a recorded attribute that contains a single integer, None for anything else."""
        item = self.state.get(path)
        if item is not None and item.outcome is Outcome.OK and not item.fault and _SURE <= len(item.data) <= _DIGITS:
            word = item.data.strip()
            if word.isdigit():
                self.touched.add(item.key)
                self.last = item.key
                return int(word)
        return super().number(path)

    def target(self, path: str) -> str | None:
        """Return the last component of a recorded link's target, None for anything but a link."""
        key = f"link:{path}"
        return None if key not in self.state and self._is_missing(key) else super().target(path)

    def link(self, path: str) -> str:
        """Return the target of a recorded link."""
        return self._take(f"link:{path}").data.decode("utf-8", "surrogateescape")

    def entries(self, path: str) -> list[str]:
        """Return a recorded listing, or the names implied by the recorded paths below it. Raises Absent without any."""
        key = f"list:{path}"
        self.touched.add(key)  # it may be recorded later
        if key in self.state:
            return self._listed(key, self._take(key).data)
        real = self._resolve(path)
        self.touched.update((TREE, f"list:{real}"))
        folders = self._tree()
        names = folders.get(path, set()) | folders.get(real, set())
        if not names:
            raise Absent(path, "not recorded", recorded=False)
        return sorted(names)

    def _listed(self, key: str, data: bytes) -> list[str]:
        """Return the names in a listing; those in a long one are the same objects for each source that reads it."""
        if len(data) < _LONG_LIST:
            return data.decode("utf-8", "surrogateescape").split("\n") if data else []
        known = self._lists.get(key)
        if known is None or known[0] != data:
            known = self._lists[key] = data, data.decode("utf-8", "surrogateescape").split("\n")
        return known[1].copy()

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        """Return the output of a recorded command."""
        del deadline
        key = command_key(argv)
        self.touched.add(key)  # it may be recorded later
        item = self._take(key if key in self.state else f"slug:{slug(' '.join(argv))}", key)
        return Output(item.data, item.stderr, item.exit or 0, item.fault)

    def answer(self, question: str) -> Any:
        """Return a recorded answer, as JSON has it. Raises Failed if it is not JSON."""
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
            self.touched.add(TREE)
        item = self._take(found or exact, exact)
        head = item.stderr.decode("utf-8", "replace")
        kinds = (line.partition(":")[2] for line in head.splitlines() if line.lower().startswith("content-type:"))
        return Reply(item.data, 200 if item.exit is None else item.exit, next(kinds, "").strip())

    def recorded(self, program: str) -> list[str]:
        """Return the recorded commands of a program (argv, or the slug if only that was recorded)."""
        self.touched.add(TREE)
        known = self._programs.get(program)
        if known is None:
            keys = (key.partition(":") for key in self._spoken)
            found = (rest for kind, _, rest in keys if kind in {"cmd", "slug"})
            known = sorted(r for r in found if r == program or r.startswith((f"{program} ", f"{program}_")))
            self._programs[program] = known
        return list(known)

    def recorded_output(self, name: str) -> Output:
        """Return the output of a command listed by `recorded`."""
        item = self._take(f"cmd:{name}" if f"cmd:{name}" in self.state else f"slug:{name}")
        return Output(item.data, item.stderr, item.exit or 0, item.fault)

    def recorded_texts(self, program: str, shows: Callable[[str], bool]) -> list[str]:
        """Return the keys of recorded outputs of a program that `shows` accepts; the others do not count as read."""
        found = []
        for name in self.recorded(program):
            item = self.state[f"cmd:{name}" if f"cmd:{name}" in self.state else f"slug:{name}"]
            if item.outcome is Outcome.OK and shows(item.data[:_BEGINNING].decode("utf-8", "surrogateescape")):
                found.append(item.key)
        return found

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
        if item is None:
            self.touched.add(key)
            item = self._linked(key)
            if item is None:
                raise Absent(shown or key, "not recorded", recorded=False)
        else:
            self.touched.add(item.key)  # the string object that is stored anyway
        if item.fault:
            self.defect(item.key, item.fault)
        if item.outcome is not Outcome.OK:
            self._refuse(item)
        if len(item.data) < _SURE and not item.data.strip():
            self._doubt(shown or key, item)
        self.last = item.key
        return item

    def _is_missing(self, key: str) -> bool:
        """Return whether nothing was recorded under a key, also behind links; without an exception: many lack it."""
        self.touched.add(key)
        return self._linked(key) is None

    def _linked(self, key: str) -> Evidence | None:
        """Return the evidence of a file, or of a link itself, whose path leads through links; None without any."""
        is_link = key.startswith("link:")
        path = key[5:] if is_link else key
        folder, _, name = path.rpartition("/")
        if self._has_links and folder.startswith("/"):
            path = f"{self._folder(folder)[0]}/{name}"
            if not is_link and (name in {"", ".", ".."} or self._target(path) is not None):
                path = self._resolve(path)
        real = f"link:{path}" if is_link else path
        self.touched.update((real, TREE))
        return self.state.get(real)

    def _doubt(self, asked: str, item: Evidence) -> None:
        """Note that a piece of evidence is empty if the node never returns it so; a link always has a target."""
        if not item.exit and (asked.startswith("link:") or self.is_filled(asked)):
            self.defect(item.key, "empty")

    def _refuse(self, item: Evidence) -> NoReturn:
        if item.outcome is Outcome.DENIED and self.is_for_everyone(item.key):
            self.defect(item.key, _REFUSED)
            raise Failed(item.key, _REFUSED)
        raise _ERRORS[item.outcome](item.key, item.detail)

    def _resolve(self, path: str) -> str:
        """Follow recorded links in every part of a path, at most 40 of them."""
        if not self._has_links or not path.startswith("/"):
            return path
        folder, _, name = path.rpartition("/")
        real, _ = self._folder(folder)
        is_plain = name not in {"", ".", ".."} and self._target(f"{real}/{name}") is None
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

    def _target(self, path: str) -> str | None:
        """Return the target of a recorded link, None for anything else and for one that is not followed."""
        item = self.state.get(f"link:{path}")
        if item is None or item.outcome is not Outcome.OK or len(item.data) > _LONGEST_TARGET:
            return None
        return item.data.decode("utf-8", "surrogateescape")

    def _walked(self, done: str, hops: int, name: str) -> tuple[str, int]:
        """Go on from a folder without links to a name in it, which may be a link to a link."""
        todo = [name]
        while todo:
            part = todo.pop()
            if not part:
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            step = f"{done}/{part}"
            target = self._target(step)
            while target is not None and hops < 40 and "/" not in target and target not in {"", ".", ".."}:
                hops += 1
                step = f"{done}/{target}"
                target = self._target(step)
            if target is None or hops >= 40:
                done = step
                continue
            hops += 1
            if target.startswith("/"):
                done = ""
            todo += [p for p in reversed(target.split("/")) if p and p != "."]
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
