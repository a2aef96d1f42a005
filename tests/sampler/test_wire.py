"""Packets: frames arrive as they went, and half a frame never does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.evidence import Evidence, Frame, Outcome, RunMark
from sdstop.core.parcel import TOGETHER, Parcel, Parcels
from sdstop.sampler import wire
from sdstop.sampler.scheduler import Sent

EVIDENCE = st.builds(
    Evidence,
    st.text(st.characters(exclude_categories=())),
    st.sampled_from(Outcome),
    st.binary(max_size=100) | st.binary(max_size=100).map(lambda b: b * 2000),
    st.text(st.characters(exclude_categories=())),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.floats(allow_nan=False),
    st.binary(max_size=9),
    st.none() | st.integers(-64, 255),
)
MARKS = st.dictionaries(st.text(), st.builds(RunMark, st.floats(allow_nan=False), st.none() | st.floats(0, 9)))


class TestWire:
    @given(
        st.lists(
            st.tuples(st.floats(0, 9), st.floats(0, 9), st.lists(EVIDENCE, max_size=9), MARKS, st.booleans()),
            max_size=4,
        )
    )
    def test_frames_come_as_they_went(self, frames: list[Sent]) -> None:
        assembly = wire.FrameAssembly()
        packets = list(wire.packets(*frames))
        assert all(len(packet) <= wire.PACKET for packet in packets)
        arrived = [frame for packet in packets for frame in assembly.add(packet)]
        assert arrived == [Frame(n, t, m, tuple(e), r, quiet=q) for n, (t, m, e, r, q) in enumerate(frames, 1)]

    @given(st.lists(EVIDENCE, min_size=1), st.lists(EVIDENCE), st.data())
    def test_half_a_frame_of_a_killed_worker_is_forgotten(
        self, lost: list[Evidence], kept: list[Evidence], data: st.DataObject
    ) -> None:
        assembly = wire.FrameAssembly()
        padded = [*lost, Evidence("/large", data=b"x" * 3 * wire.PACKET)]
        packets = list(wire.packets((1.0, 1.0, padded, {}, False)))
        for packet in packets[: data.draw(st.integers(0, len(packets) - 1))]:
            assert not assembly.add(packet)
        assembly.add(wire.hello(7))
        arrived = [frame for packet in wire.packets((2.0, 2.0, kept, {}, True)) for frame in assembly.add(packet)]
        assert arrived == [Frame(1, 2.0, 2.0, tuple(kept), {}, quiet=True)]
        assert assembly.worker == 7

    def test_a_large_first_frame_comes_whole(self) -> None:
        evidence = [Evidence(f"/{number}", data=b"x" * 50) for number in range(3 * TOGETHER + 1)]
        assembly = wire.FrameAssembly()
        arrived = [assembly.add(packet) for packet in wire.packets((1.0, 1.0, evidence, {}, False))]
        assert arrived[:-1] == [[]] * (len(arrived) - 1)
        assert arrived[-1] == [Frame(1, 1.0, 1.0, tuple(evidence), {})]

    @given(st.lists(st.lists(EVIDENCE, min_size=1, max_size=9), max_size=4), st.lists(EVIDENCE, max_size=9))
    def test_evidence_in_batches_comes_in_its_order(self, packed: list[list[Evidence]], loose: list[Evidence]) -> None:
        batched = Parcels([Parcel(pieces) for pieces in packed], loose)
        every = [*(piece for pieces in packed for piece in pieces), *loose]
        assert (len(batched), list(batched), [*batched[1:3]]) == (len(every), every, every[1:3])
        assembly = wire.FrameAssembly()
        arrived = [f for packet in wire.packets((1.0, 1.0, batched, {}, False)) for f in assembly.add(packet)]
        assert arrived == [Frame(1, 1.0, 1.0, tuple(every), {})]

    def test_small_frames_share_a_packet(self) -> None:
        def frame(number: int, size: int) -> Sent:
            return float(number), float(number), [Evidence("/proc/diskstats", data=b"x" * size)], {}, number < 5

        watches = [frame(number, 600) for number in range(6)]
        assert len(list(wire.packets(*watches))) == 1
        nearly = [frame(number, wire.PACKET - 200) for number in range(3)]
        assert len(list(wire.packets(*nearly))) == 3
        mixed = [frame(0, 9), frame(1, 2 * wire.PACKET), frame(2, 9)]
        packets, assembly = list(wire.packets(*mixed)), wire.FrameAssembly()
        assert [packet[:1] for packet in packets] == [b"F", b"P", b"P", b"B", b"E", b"F"]
        assert [f.number for packet in packets for f in assembly.add(packet)] == [1, 2, 3]
