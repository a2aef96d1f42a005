"""Answer to the question for the kernel's log: the trail of a live node.

It is a JSON list: an object, then the lines.

    [{"boot": 1763700000, "since": 0.0, "whole": true, "suspended": 0.0, "suppressed": 0, "lost": 0, "dropped": 0,
      "unknown": 0, "behind": false},
     "[   71.204000] critical medium error, dev sdc, sector 8201 op 0x0:(READ) flags 0x0"]
"""

from __future__ import annotations

import json
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct, field

from sdstop.collectors.kernel.lines import Clock, Line, lines_of
from sdstop.collectors.kernel.trail import Trail, trail_of
from sdstop.core.host import Host, Malformed

QUESTION = "kernel.log"
_HEAD = frozenset({"boot", "since", "whole", "suspended", "suppressed", "lost", "dropped", "behind", "unknown"})
_ERROR = 3
"""Level of errors; less is worse."""
_STEP = 2.0
"""Seconds by which the clock has to be set for the time of boot to change."""


class _State(Struct):
    """Messages of one live node, and how far they were read."""

    trail: Trail = field(default_factory=Trail)
    number: int | None = None
    lost: int = 0
    unknown: int = 0
    boot: float = 0.0


class LogTrail:
    """Trail of the kernel's log of each live host: an answer that grows."""

    def __init__(self) -> None:
        """Start before the oldest message."""
        self._states: WeakKeyDictionary[Host, _State] = WeakKeyDictionary()

    def __call__(self, host: Host) -> list[Any]:
        """Return an object, and the lines that are kept. Raises Denied, or Absent without the device."""
        part = host.log_part()
        state = self._states.setdefault(host, _State())
        for record in part.records:
            if state.number is not None and record.number > state.number + 1:
                state.lost += record.number - state.number - 1
            if state.number is None:
                state.trail.whole = record.number == 0
            state.number = record.number
            known = state.trail.add(Line(Clock.BOOT, record.seconds, record.text))
            state.unknown += record.level <= _ERROR and not known
        if abs(part.boot - state.boot) > _STEP:
            state.boot = round(part.boot, 1)
        trail = state.trail
        head = {
            "boot": state.boot,
            "since": trail.begins.seconds if trail.begins is not None else None,
            "whole": trail.whole,
            "suspended": part.suspended,
            "suppressed": trail.suppressed,
            "lost": state.lost,
            "dropped": trail.dropped,
            "unknown": state.unknown,
            "behind": part.more,
        }
        return [head, *trail.lines()]


def kept_answer(said: Any) -> tuple[dict[str, Any], Trail]:
    """Return the head of an answer and its trail. Raises Malformed for anything but an object and lines."""
    if not isinstance(said, list) or not said or not isinstance(said[0], dict):
        raise Malformed(f"{QUESTION}: not a list that begins with an object")
    if not all(isinstance(line, str) for line in said[1:]):
        raise Malformed(f"{QUESTION}: a line that is not a text")
    head = said[0]
    trail = trail_of(lines_of("\n".join(said[1:]).encode("utf-8", "replace")))
    return head, trail


def kept_lines(data: bytes) -> bytes:
    """Return a recorded answer with the lines that are understood, and the numbers of its head; nothing of others."""
    try:
        said = json.loads(data)
        head, trail = kept_answer(said)
    except (ValueError, RecursionError, Malformed):
        return b""
    numbers = {name: value for name, value in head.items() if name in _HEAD and isinstance(value, int | float | None)}
    answer: list[Any] = [numbers, *trail.lines()]
    return data if answer == said else ("[" + ",\n ".join(map(json.dumps, answer)) + "]").encode()
