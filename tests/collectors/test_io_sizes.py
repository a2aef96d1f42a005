"""Request sizes out of tracefs' hist files."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.diskstats import DISKSTATS as DISKSTATS_COLLECTOR
from sdstop.collectors.block.io_sizes import EVENTS, INSTANCE, IO_SIZES, names, parse
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.replay import Replay
from sdstop.core.snapshot import Snapshot
from sdstop.readings.disk import Disk
from sdstop.readings.iosize import RequestSizes, between, not_whole
from tests.fixtures import opened

ISSUE = f"{INSTANCE}/events/block/block_rq_issue/hist"
QUEUE = f"{INSTANCE}/events/block/block_bio_queue/hist"
DISKSTATS = " 254 0 vda 1 0 8 1 0 0 0 0 0 1 1\n 152 16 etherd/e0.1 1 0 8 1 0 0 0 0 0 1 1\n"
HEAD = "# event histogram\n#\n# trigger info: hist:keys=dev,bytes,rwbs:vals=hitcount:size=8192 [active]\n#\n\n"
TOTALS = "\nTotals:\n    Hits: 9\n    Entries: 3\n    Dropped: 4\n"
VDA = 254 << 20


def row(dev: int, size: object, rwbs: str | None, count: int, name: str = "bytes") -> str:
    kind = "" if rwbs is None else f", rwbs: {rwbs:<50}"
    return f"{{ dev: {dev:>10}, {name}: {size:>10}{kind} }} hitcount: {count:>10}\n"


def node(**more: str) -> EvidenceHost:
    files = {"issue": (ISSUE, ""), "queue": (QUEUE, "")}
    return EvidenceHost.of({"/proc/diskstats": DISKSTATS} | {files[name][0]: text for name, text in more.items()})


def sizes(host: EvidenceHost) -> dict[tuple[str, str, str], RequestSizes]:
    rows = [row for row in IO_SIZES.read(host) if isinstance(row, RequestSizes)]
    return {(row.counter, row.device, row.direction): row for row in rows}


class TestText:
    def test_each_device_and_direction_is_a_row(self) -> None:
        issue = HEAD + row(VDA, 512, "R", 3) + row(VDA, 512, "RA", 4) + row(VDA, 4096, "WS", 2) + TOTALS
        queue = HEAD + row(152 << 20 | 16, 8, "W", 5, "nr_sector") + row(9 << 20, 1, "D", 1, "nr_sector") + TOTALS
        found = sizes(node(issue=issue, queue=queue))
        assert {key: (row.counts, row.exact, row.lost) for key, row in found.items()} == {
            ("issue", "vda", "read"): ({512: 7}, 1, 4),
            ("issue", "vda", "write"): ({4096: 2}, 1, 4),
            ("queue", "etherd/e0.1", "write"): ({4096: 5}, 1, 4),
            ("queue", "9:0", "discard"): ({512: 1}, 1, 4),
        }
        assert found["issue", "vda", "write"].source() is not None

    @pytest.mark.parametrize(
        ("rwbs", "size", "direction"),
        [
            ("R", 4096, "read"), ("RAM", 4096, "read"), ("WSM", 512, "write"), ("FWFS", 512, "write"),
            ("WFS", 512, "write"), ("DS", 512, "discard"), ("DE", 512, "discard"), ("FF", 0, "flush"),
            ("F", 0, "flush"), ("FWS", 0, "flush"), ("FFS", 0, "flush"), ("N", 20, None), ("NS", 0, None),
            ("R", 0, None), ("", 512, None),
        ],
    )  # fmt: skip
    def test_the_letters_say_what_a_request_does(self, rwbs: str, size: int, direction: str | None) -> None:
        counts = parse(row(VDA, size, rwbs, 1)).counts
        assert list(counts.get((254, 0), {})) == ([] if direction is None else [direction])

    @pytest.mark.parametrize(
        ("name", "size", "most", "exact"),
        [
            ("bytes", "~ 2^12", 4096, False), ("nr_sector", "~ 2^3", 4096, False),
            ("bytes", "~ 4096-4607", 4607, False), ("nr_sector", "~ 8-15", 7680, False), ("nr_sector", "7", 3584, True),
        ],
    )  # fmt: skip
    def test_of_a_range_the_upper_end_is_told(self, name: str, size: str, most: int, *, exact: bool) -> None:
        found = parse(row(VDA, size, None, 6, name))
        assert found.counts == {(254, 0): {"": {most: 6}}}
        assert found.exact is exact

    def test_a_last_line_that_was_cut_is_left_out(self) -> None:
        whole = HEAD + row(VDA, 512, "R", 3) + row(VDA, 4096, "R", 12)
        for end in range(len(HEAD), len(whole) + 1):
            counts = parse(whole[:end]).counts
            assert counts.get((254, 0), {}).get("read", {}) in ({}, {512: 3}, {512: 3, 4096: 12})
            assert parse(whole[:end]).lost is None

    def test_nothing_counted_yet_is_no_row(self) -> None:
        assert sizes(node(issue=HEAD + TOTALS)) == {}

    @pytest.mark.parametrize(
        "line", ["{ dev: 8388608 } hitcount: 3", "{ bytes: 512 } hitcount: 3", "{ dev: x, bytes: 1 } hitcount: 1"]
    )
    def test_other_keys_are_said(self, line: str) -> None:
        with pytest.raises(Malformed, match="hitcount"):
            sizes(node(issue=f"{HEAD}{line}\n"))

    @given(st.text(alphabet="{}: devbytsrwn_o0123456789~^-,hitcounRWFDS\n#", max_size=300))
    def test_no_text_does_more_than_be_malformed(self, text: str) -> None:
        with contextlib.suppress(Malformed):
            parse(text)
        names(text)

    @given(
        st.dictionaries(
            st.tuples(st.integers(0, 4095), st.integers(0, (1 << 20) - 1)),
            st.dictionaries(st.integers(1, 1 << 30), st.integers(1, 1 << 60), min_size=1),
            max_size=5,
        )
    )
    def test_what_the_kernel_prints_is_read(self, counts: dict[tuple[int, int], dict[int, int]]) -> None:
        text = HEAD + "".join(
            row(major << 20 | minor, size, "W", count)
            for (major, minor), its in counts.items() for size, count in its.items()
        )  # fmt: skip
        assert parse(text + TOTALS).counts == {device: {"write": its} for device, its in counts.items()}


class TestAbsence:
    def test_it_says_which_option_counts(self) -> None:
        host = EvidenceHost(
            [Evidence(key, Outcome.ABSENT, detail="no such file") for key in (ISSUE, QUEUE)]
            + [Evidence(f"list:{EVENTS}", data=b"enable\nfilter\nformat\nhist\nid\ntrigger")]
        )
        with pytest.raises(Absent, match="--io-sizes counts"):
            sizes(host)

    def test_it_says_that_the_kernel_cannot(self) -> None:
        host = EvidenceHost(
            [Evidence(key, Outcome.ABSENT, detail="no such file") for key in (ISSUE, QUEUE)]
            + [Evidence(f"list:{EVENTS}", data=b"enable\nfilter\nformat\nid\ntrigger")]
        )
        with pytest.raises(Absent, match="kernel lacks CONFIG_HIST_TRIGGERS"):
            sizes(host)

    def test_who_may_not_look_is_told_so_and_nothing_is_missing(self) -> None:
        host = EvidenceHost([Evidence(key, Outcome.DENIED, detail="needs root") for key in (ISSUE, QUEUE)])
        with pytest.raises(Absent, match=r"--io-sizes counts .*\(needs root\)"):
            sizes(host)

    def test_a_capture_without_it_does_not_speak_for_the_node(self) -> None:
        with pytest.raises(Absent) as caught:
            sizes(EvidenceHost())
        assert not caught.value.recorded


def shots(name: str) -> list[Snapshot]:
    replay = Replay([IO_SIZES], known=frozenset())
    return [replay.feed(frame) for frame in opened(name)[1]]


class TestRealKernel:
    def test_sizes_of_a_load_are_those_that_it_was_told_to_have(self) -> None:
        course = shots("vm-io-sizes")
        before, after = (shot.rows(RequestSizes)["issue", "vda", "write"] for shot in (course[0], course[-1]))
        came = between(before, after)
        assert came is not None
        assert set(came) == {512, 3584, 4096, 8192, 65536}
        assert {row.device for row in course[-1].rows(RequestSizes).values()} == {"vda", "vdb", "vdc"}
        queue = course[-1].rows(RequestSizes)["queue", "vda", ""]
        assert (queue.exact, queue.lost) == (0, 0)

    @pytest.mark.parametrize(
        ("name", "hurt"), [("vm-aoe-4200", False), ("vm-aoe-8700", False), ("vm-aoe-4000", True), ("vm-aoe-9000", True)]
    )
    def test_the_mtu_of_a_target_shows_in_the_sizes_at_its_disk(self, name: str, *, hurt: bool) -> None:
        rows = shots(name)[-1].rows(RequestSizes)
        share = not_whole(rows["issue", "vda", "write"].counts, 4096)
        assert share is not None
        assert (share > 0.5) is hurt
        assert hurt or share == 0
        assert not_whole(rows["issue", "etherd/e0.0", "write"].counts, 4096) == 0

    def test_the_option_counts_what_the_disk_counts(self) -> None:
        replay = Replay([DISKSTATS_COLLECTOR, IO_SIZES])
        course = [replay.feed(frame) for frame in opened("vm-io-sizes-option")[1]]
        counted = [shot for shot in course if abs(shot.runs["io-sizes"].started - shot.runs["diskstats"].started) < 0.1]
        first, last = counted[0], counted[-1]
        for direction in ("read", "write"):
            key = ("issue", "vda", direction)
            before, after = first.rows(RequestSizes)[key], last.rows(RequestSizes)[key]
            came = between(before, after)
            assert came
            assert set(came) == {512, 3584, 4096, 8192, 65536}
            disks = [shot.rows(Disk)["vda"] for shot in (first, last)]
            done = [disk.reads if direction == "read" else disk.writes for disk in disks]
            assert abs(sum(came.values()) - (done[1] - done[0])) <= 4  # the load keeps as many in flight
            assert (after.exact, after.lost) == (1, 0)
