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


def test_a_part_of_usual_lines_is_read_at_once_and_never_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"".join(
        line.replace(b"/proc/a", b"/proc/%d" % number) + b"\n" for number in range(50) for line in (FILE, OTHER)
    )
    at_once = manifest._all_usual(text, 100)
    assert at_once is not None
    assert len(at_once) == 100
    monkeypatch.setattr(manifest, "_all_usual", lambda *_: None)
    assert read(text) == (CaptureIndex(at_once), [])
    monkeypatch.setattr(manifest, "_usual", lambda _: None)
    assert read(text) == (CaptureIndex(at_once), [])


@pytest.mark.parametrize(
    "part",
    [
        FILE + b"\n" + OTHER,  # the last line may be cut
        FILE + b" " + FILE + b"\n",
        FILE + b"\n\n" + FILE + b"\n",
        FILE + b"\r\n" + FILE + b"\n",
        FILE.replace(b'"frame"', b'\n"frame"') + b"\n",
        FILE.replace(b"}", b"}\n") + FILE + FILE + b"\n",
        FILE + b"\n" + FILE.replace(b'"file"', b'"frame"') + b"\n",
        FILE + b"\n" + FILE.replace(b'"ok"', b'"unread"') + b"\n",
        FILE + b"\n" + FILE.replace(b'"frame": 1', b'"frame": -1') + b"\n",
        FILE.replace(b"/proc/a", "/proc/ü".encode()) + b"\n",
        FILE.replace(b"/proc/a", b"/" + b"a" * (1 << 20)) + b"\n",
        b"",
    ],
)
def test_a_part_with_any_other_line_is_read_line_by_line(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert manifest._all_usual(part, 100) is None
    found = read(part)
    monkeypatch.setattr(manifest, "_usual", lambda _: None)
    assert read(part) == found


def test_a_part_with_too_many_lines_is_cut_where_it_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_MOST_LINES", 3)
    index, notes = read(b"".join([FILE + b"\n"] * 4))
    assert len(index.lines) == 3
    assert notes == ["the index has more than 3 lines: rest ignored"]
    assert read(b"".join([FILE + b"\n"] * 3))[1] == []
