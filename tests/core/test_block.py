"""Blocks of frames: stories come back as they were, damage is noticed, and a part can be read without the others."""

import os
import random
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sdstop.capture.reader import open_capture
from sdstop.core.block import Block
from sdstop.core.evidence import Evidence, Frame, Outcome, RunMark
from sdstop.core.growing_block import GrowingBlock
from sdstop.core.open_block import OpenBlock
from sdstop.core.versions import Damaged

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
STORIES = sorted(["clone-convoy", "hba-lost", "iostat-only", "scaleio-cloud", "vm-hot-plug", "vm-swap-storm"])


def packed(frames: list[Frame]) -> Block:
    growing = GrowingBlock()
    for frame in frames:
        growing.add(frame)
    return Block.loaded(growing.packed().dumped())


def rounded(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=2e-6)


def check(frame: Frame, back: Frame) -> None:
    assert (back.number, back.taken, back.monotonic) == (frame.number, rounded(frame.taken), rounded(frame.monotonic))
    before = {item.key: item for item in frame.evidence}
    after = {item.key: item for item in back.evidence}
    assert after.keys() == before.keys()
    for key, item in before.items():
        assert after[key].same(item), key
        times = after[key].taken, after[key].monotonic, after[key].duration
        assert times == (rounded(item.taken), rounded(item.monotonic), rounded(item.duration)), key
    if frame.ran is None:
        assert back.ran is None
    else:
        assert back.ran is not None
        assert {n: (m.started, m.duration) for n, m in back.ran.items()} == {
            n: (rounded(m.started), rounded(m.duration)) for n, m in frame.ran.items()
        }


@pytest.mark.parametrize("story", STORIES)
def test_a_story_comes_back(story: str) -> None:
    frames = open_capture(FIXTURES / story)[1]
    back = OpenBlock(packed(frames)).frames()
    assert len(back) == len(frames)
    for frame, other in zip(frames, back, strict=True):
        check(frame, other)


@pytest.mark.parametrize("story", STORIES)
def test_a_block_that_continues_another_comes_back_and_needs_it(story: str) -> None:
    frames = open_capture(FIXTURES / story)[1]
    first, other = GrowingBlock(), frames[len(frames) // 2 :]
    for frame in frames[: len(frames) // 2] or frames:
        first.add(frame)
    base = OpenBlock(Block.loaded(first.packed().dumped()))
    second = GrowingBlock(7, first.first_texts())
    for frame in other:
        second.add(frame)
    block = Block.loaded(second.packed().dumped())
    assert block.base == 7
    for frame, back in zip(other, OpenBlock(block, base.first_text).frames(), strict=True):
        check(frame, back)
    shared = {key for key in first.first_texts() if base.first_text(key) is not None}
    assert shared == set(first.first_texts())


def test_a_block_without_the_one_that_it_continues_is_damaged() -> None:
    text = b"".join(b"%d\n" % at for at in range(3000))
    growing = GrowingBlock(7, {"/proc/a": text})
    growing.add(Frame(1, 1e9, 1.0, (Evidence("/proc/a", data=text),)))
    growing.add(Frame(2, 1e9, 2.0, (Evidence("/proc/a", data=text.replace(b"\n7\n", b"\n9\n")),)))
    block = growing.packed()
    assert OpenBlock(block, {"/proc/a": text}.get).frames()[1].evidence[0].data.count(b"\n9\n") == 2
    with pytest.raises(Damaged, match="the text that it continues is missing"):
        OpenBlock(block).frames()
    with pytest.raises(Damaged):
        OpenBlock(block, {"/proc/a": b"1 2 3"}.get).frames()


def test_it_is_smaller_than_deflated_evidence() -> None:
    frames = open_capture(FIXTURES / "clone-convoy")[1]
    deflated = sum(len(zlib.compress(item.data, 6)) for frame in frames for item in frame.evidence)
    assert packed(frames).size < deflated / 5


FRAMES = [
    Frame(
        at, 1e9 + at, at + 0.5,
        (Evidence("/proc/diskstats", data=b"".join(b"8 %d sd%d %d %d\n" % (n, n, at * n, at) for n in range(900))),
         Evidence("/x", Outcome.OK, b"1", "", 1e9, 2.0) if at % 2 else Evidence("/x", Outcome.DENIED, detail="root")),
        {"disks": RunMark(at + 0.1, None if at == 3 else 0.01)},
    )
    for at in range(1, 9)
]  # fmt: skip


def test_one_piece_of_evidence_is_read_without_the_others() -> None:
    block = packed(FRAMES)
    assert len(block.large) == 1
    opened = OpenBlock(replace(block, large=[b"destroyed"]))
    assert opened.keys == {"/proc/diskstats", "/x"}
    latest = opened.latest("/x", 2)
    assert latest is not None
    assert latest.data == b"1"
    assert latest.outcome is Outcome.OK
    assert opened.latest("/y") is None
    assert opened.last_runs().keys() == {"disks"}
    with pytest.raises(Damaged, match=r"/proc/diskstats|inflated"):
        opened.frames()


def test_a_changed_byte_of_evidence_is_noticed() -> None:
    block = packed(FRAMES)
    piece = msgspec.msgpack.decode(zlib.decompress(block.large[0]))
    piece[5][0][1] = piece[5][0][1].replace(b"sd7", b"sd6")
    changed = replace(block, large=[zlib.compress(msgspec.msgpack.encode(piece))])
    with pytest.raises(Damaged, match="hash"):
        OpenBlock(changed).frames()


@pytest.mark.parametrize("seed", range(25))
def test_damage_costs_a_block_and_nothing_else(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(packed(FRAMES).dumped())
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(data))
        data[place : place + chance.randrange(1, 40)] = chance.randbytes(chance.randrange(0, 40))
    try:
        back = OpenBlock(Block.loaded(bytes(data))).frames()
    except Damaged:
        return
    assert len(back) == len(FRAMES)
    for frame, other in zip(FRAMES, back, strict=True):
        check(frame, other)


@pytest.mark.parametrize("story", STORIES)
def test_a_moment_is_read_without_the_rest(story: str) -> None:
    frames = open_capture(FIXTURES / story)[1]
    opened = OpenBlock(packed(frames))
    known: dict[str, Evidence] = {}
    for index, frame in enumerate(frames):
        known.update((item.key, item) for item in frame.evidence)
        found, coming = opened.around(known, index)
        assert found.keys() == known.keys()
        assert all(item.same(known[key]) for key, item in found.items())
        after = {item.key: item for item in frames[index + 1].evidence} if index + 1 < len(frames) else {}
        assert coming.keys() == after.keys()
        assert all(item.same(after[key]) for key, item in coming.items())


@pytest.mark.parametrize("seed", range(25))
def test_a_moment_of_a_damaged_block_is_refused_in_one_way(seed: int) -> None:
    chance = random.Random(seed)
    block = packed(FRAMES)
    parts = [bytearray(zlib.decompress(part)) for part in (block.contents, *block.large)]
    for part in parts:  # as somebody writes who knows the form
        place = chance.randrange(len(part))
        part[place : place + chance.randrange(1, 9)] = chance.randbytes(chance.randrange(0, 9))
    contents, *large = (zlib.compress(bytes(part)) for part in parts)
    try:
        opened = OpenBlock(replace(block, contents=contents, large=large))
        for index in range(len(opened.moments)):
            opened.around(opened.keys, index)
            opened.last_runs(index)
            opened.runs(index)
    except Damaged:
        return


def test_a_bomb_is_refused() -> None:
    squeezer = zlib.compressobj(9)
    begun = squeezer.compress(bytes(1 << 20)) + squeezer.flush(zlib.Z_FULL_FLUSH)
    again = squeezer.compress(bytes(1 << 20)) + squeezer.flush(zlib.Z_FULL_FLUSH)  # needs nothing of what is before it
    bomb = Block(begun + again * 299, [])
    with pytest.raises(Damaged, match="larger than allowed"):
        OpenBlock(bomb)


def test_nothing_is_a_block() -> None:
    for data in (b"", b"\xc0", msgspec.msgpack.encode([b"", []]), os.urandom(100)):
        with pytest.raises(Damaged):
            OpenBlock(Block.loaded(data))
