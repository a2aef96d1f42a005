"""What was asked of the node: every file, link, list, command and answer of the frames, with when and how it went."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sdstop.core.evidence import Evidence, Frame, Outcome, http_keys, slug

_KINDS = {"link": "link", "list": "folder", "cmd": "command", "slug": "command", "answer": "answer", "http": "request",
          "http-slug": "request"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that was asked, as often as its answer was kept (what did not change is not kept again).

    `first` and `last` are Unix seconds, `longest` seconds, None where nobody noted it; `outcome` is that of the last
    time, `worst` the first that was no good answer, "" if all were.
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
        """What was asked, without the kind."""
        return self.key if self.kind == "file" else self.key.partition(":")[2]


def asked(frames: Iterable[Frame]) -> list[Asked]:
    """Return everything that was asked: commands first, then requests and answers, then files; each by name."""
    found: dict[str, Asked] = {}
    for frame in frames:
        for item in frame.evidence:
            found[item.key] = _more(found.get(item.key), item, frame)
    return sorted(found.values(), key=lambda each: (_ORDER.index(each.kind), each.key))


_ORDER = ("command", "request", "answer", "file", "link", "folder", "other")


def _more(known: Asked | None, item: Evidence, frame: Frame) -> Asked:
    kind = "file" if item.key.startswith("/") else _KINDS.get(item.key.partition(":")[0], "other")
    when = item.taken if item.taken is not None else frame.taken
    worst = known.worst if known is not None else ""
    if not worst and item.outcome is not Outcome.OK:
        worst = f"{item.outcome}: {item.detail}" if item.detail else str(item.outcome)
    spans = [span for span in (known.longest if known is not None else None, item.duration) if span is not None]
    return Asked(
        item.key,
        kind,
        1 + (known.times if known is not None else 0),
        when if known is None else known.first,
        when,
        item.outcome,
        worst,
        max(spans, default=None),
        max(len(item.data), known.size if known is not None else 0),
        item.exit,
    )


def quoted(frames: Iterable[Frame], wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Evidence]:
    """Return the evidence that was known under each key by the frame of that number.

    Of a hand-made capture it may be known by its slug alone.
    """
    numbers: dict[str, set[tuple[str, int]]] = {}
    for key, number in wanted:
        for name in _names(key):
            numbers.setdefault(name, set()).add((key, number))
    found: dict[tuple[str, int], Evidence] = {}
    for frame in frames:
        for item in frame.evidence:
            for key, number in numbers.get(item.key, ()):
                if frame.number <= number or (key, number) not in found:
                    found[key, number] = item
    return found


def _names(key: str) -> list[str]:
    kind = key.partition(":")[0]
    if kind == "cmd":
        return [key, f"slug:{slug(key[4:])}"]
    return http_keys(key) if kind == "http" else [key]
