"""Evidence log: every file, link, directory listing, command and answer, with time and outcome."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sdstop.core.evidence import Evidence, Frame, Outcome, stored_keys

_KINDS = {"link": "link", "list": "folder", "cmd": "command", "slug": "command", "answer": "answer", "http": "request",
          "http-slug": "request"}  # fmt: skip


class EvidenceEntry(Struct, frozen=True, kw_only=True):
    """Everything recorded under one key. `times` counts recorded answers: an unchanged one is not recorded again.

    `first` and `last` are Unix seconds, `longest` is seconds (None if not recorded); `outcome` is that of the last
    answer, `worst` the first that was not ok, "" if all were.
    """

    key: str
    kind: str
    times: int
    first: float | None
    last: float | None
    outcome: Outcome
    worst: str
    longest: float | None
    size: int
    exit: int | None

    @property
    def name(self) -> str:
        """The key without its kind."""
        return self.key if self.kind == "file" else self.key.partition(":")[2]


def evidence_log(frames: Iterable[Frame]) -> list[EvidenceEntry]:
    """Return an entry for each key: commands first, then requests and answers, then files; each by name."""
    found: dict[str, EvidenceEntry] = {}
    for frame in frames:
        for item in frame.evidence:
            found[item.key] = _more(found.get(item.key), item, frame)
    return sorted(found.values(), key=lambda each: (_ORDER.index(each.kind), each.key))


_ORDER = ("command", "request", "answer", "file", "link", "folder", "other")


def _more(known: EvidenceEntry | None, item: Evidence, frame: Frame) -> EvidenceEntry:
    kind = "file" if item.key.startswith("/") else _KINDS.get(item.key.partition(":")[0], "other")
    when = item.taken if item.taken is not None else frame.taken
    worst = known.worst if known is not None else ""
    if not worst and item.outcome is not Outcome.OK:
        worst = f"{item.outcome}: {item.detail}" if item.detail else str(item.outcome)
    spans = [span for span in (known.longest if known is not None else None, item.duration) if span is not None]
    return EvidenceEntry(
        key=item.key,
        kind=kind,
        times=1 + (known.times if known is not None else 0),
        first=when if known is None else known.first,
        last=when,
        outcome=item.outcome,
        worst=worst,
        longest=max(spans, default=None),
        size=max(len(item.data), known.size if known is not None else 0),
        exit=item.exit,
    )


def quoted_evidence(frames: Iterable[Frame], wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Evidence]:
    """Return the evidence that was known under each key by the frame of that number.

    In a hand-made capture, evidence may be stored under its slug only.
    """
    numbers: dict[str, set[tuple[str, int]]] = {}
    for key, number in wanted:
        for name in stored_keys(key):
            numbers.setdefault(name, set()).add((key, number))
    found: dict[tuple[str, int], Evidence] = {}
    for frame in frames:
        for item in frame.evidence:
            for key, number in numbers.get(item.key, ()):
                if frame.number <= number or (key, number) not in found:
                    found[key, number] = item
    return found
