"""A rebuild as md tells it: the line in /proc/mdstat and the attributes beside it (drivers/md/md.c)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

_STEP = 3.0
_MARKS = 10


@dataclass(slots=True)
class Recovery:
    """Follows `done` and `total`, KiB of each device; speed as md has it, over the marks of the last 3 to 30 s.

    Marks are set only while something is done: in a stall the speed just fades.
    """

    total: int
    minimum: str = "1000 (system)"
    maximum: str = "200000 (system)"
    _marks: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_MARKS))
    _recorded: int = 0

    def look(self, now: float, done: int) -> tuple[str, dict[str, str]]:
        """Return the line and the attributes at `now` seconds."""
        if not self._marks:
            self._marks.append((now, done))
        since, had = self._marks[0]
        passed, moved = max(1, int(now - since)), done - had
        if now - self._marks[-1][0] >= _STEP and done != self._marks[-1][1]:
            self._marks.append((now, done))
        # sync_completed moves in steps of a sixteenth.
        if done - self._recorded > self.total // 16 or not self._recorded:
            self._recorded = done
        speed = moved // passed
        left = (self.total - done) * 2 // (moved * 2 // 32 + 1) * passed >> 5
        per_mille = done * 1000 // self.total
        bars = done * 20 // self.total
        line = (
            f"      [{'=' * bars}>{'.' * (20 - bars)}]  recovery ={per_mille // 10:3d}.{per_mille % 10}% "
            f"({done}/{self.total}) finish={left // 60}.{left % 60 // 6}min speed={speed}K/sec\n"
        )
        return line, {
            "sync_action": "recover",
            "sync_completed": f"{self._recorded * 2} / {self.total * 2}",
            "sync_speed_min": self.minimum,
            "sync_speed_max": self.maximum,
            "sync_min": "0",
            "sync_max": "max",
            "last_sync_action": "recovery",
        }


def idle(last: str = "none") -> dict[str, str]:
    """Return the attributes while nothing is synchronised."""
    return {
        "sync_action": "idle", "sync_completed": "none", "sync_speed_min": "1000 (system)",
        "sync_speed_max": "200000 (system)", "sync_min": "0", "sync_max": "max", "last_sync_action": last,
    }  # fmt: skip
