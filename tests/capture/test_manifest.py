"""The index of a capture: lines in the usual form are read faster, and never differently."""

from __future__ import annotations

import random

import pytest

from sdstop.capture import manifest
from sdstop.capture.manifest import CaptureIndex, read_index
from tests.fuzz import damaged

FILE = (
    b'{"duration": 2.1e-05, "frame": 1, "key": "/proc/a", "kind": "file", "member": "frames/0001/proc/a",'
    b' "monotonic": 12.5, "outcome": "ok", "sha256": "ab", "taken": 17.5}'
)
OTHER = (
    b'{"detail": "no such file", "duration": 0, "frame": 12, "key": "cmd:x \\u00e9", "kind": "other", "member": null,'
    b' "monotonic": null, "outcome": "absent", "sha256": null, "taken": 1, "exit": -1, "stderr": "a/b", "fault": "x"}'
)


def read(text: bytes) -> tuple[CaptureIndex, list[str]]:
    notes = list[str]()
    return read_index({"index.jsonl": text}, notes), notes


@pytest.mark.parametrize("seed", range(4))
def test_damaged_lines_are_read_as_by_the_tolerant_reader(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    lines = [damaged(chance.choice((FILE, OTHER)), chance, chance.randrange(3)) for _ in range(3000)]
    fast = read(b"\n".join(lines))
    monkeypatch.setattr(manifest, "_usual", lambda _: None)
    assert read(b"\n".join(lines)) == fast
    assert len(fast[0].lines) > 1000
    assert fast[1]


def test_both_forms_are_usual() -> None:
    assert manifest._usual(FILE) is not None
    assert manifest._usual(OTHER) is not None
    assert manifest._usual(FILE.replace(b'"sha256"', b'"sha257"')) is None
