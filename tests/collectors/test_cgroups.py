"""Control groups' limits: formats of both versions, names, and which groups are asked."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.analysis.limits.limiting import limit_analyses
from sdstop.collectors.limits.cgroups import CGROUPS, limited_groups, parse_answer, read
from sdstop.collectors.limits.cgroups import QUESTION as LIMITED
from sdstop.collectors.limits.controlgroup import (
    GroupIoTotals,
    Throttle,
    joined,
    parse_device,
    parse_max,
    parse_pressure,
    parse_service,
    parse_stat,
)
from sdstop.collectors.limits.readings import group_name
from sdstop.core.collector import Question
from sdstop.core.columns import Batch, Columns
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.core.host import Absent, Failed, Malformed
from sdstop.node import folders
from sdstop.node.live import LiveHost
from sdstop.rules.limits import volume_qos_saturated
from sdstop.rules.limits.volume_qos_saturated import VOLUME_QOS_SATURATED
from sdstop.sampler.runner import run
from tests.nodes.frames import Files, Judged, value
from tests.nodes.resting import RestingHost

V2 = "/sys/fs/cgroup"
V1 = "/sys/fs/cgroup/blkio"


def limits(files: Mapping[str, str]) -> list[Any]:
    batches = [batch for batch in read(EvidenceHost.of(files)) if isinstance(batch, Batch)]
    return [row for batch in batches for row in Columns(batch.of, batch.values).values()]


def test_io_max() -> None:
    text = "254:0 rbps=max wbps=1048576 riops=100 wiops=max\n8:16 rbps=max wbps=max riops=max wiops=max\n"
    assert parse_max(text) == {
        "254:0": (Throttle(100, None), Throttle(None, 1048576)),
        "8:16": (Throttle(), Throttle()),
    }


def test_io_stat_may_lack_all_numbers() -> None:
    text = "8:16 \n254:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0 cost.usage=12\n"
    assert parse_stat(text) == {"8:16": GroupIoTotals(), "254:0": GroupIoTotals(192, 1459200, 353, 314773504)}


def test_pressure_is_a_time() -> None:
    some = "some avg10=43.19 avg60=9.84 avg300=2.14 total=7755972\n"
    assert parse_pressure(some + "full avg10=39.19 avg60=8.96 avg300=1.95 total=7085972\n") == 7.755972
    assert parse_pressure("") is None
    assert parse_pressure("full avg10=0 avg60=0 avg300=0 total=5\n") is None


def test_version_1_has_a_file_for_each_limit() -> None:
    assert joined(
        {"read_bps": parse_device("254:0 1048576\n", "x"), "write_iops": parse_device("254:0 50\n", "x")}
    ) == {"254:0": (Throttle(None, 1048576), Throttle(50, None))}
    serviced = "254:0 Read 192\n254:0 Write 353\n254:0 Sync 545\n254:0 Async 0\n254:0 Total 545\nTotal 545\n"
    assert parse_service(serviced, "x") == {"254:0": (192, 353)}


PARSERS: list[Callable[[str], object]] = [
    parse_max, parse_stat, parse_pressure, lambda t: parse_device(t, "x"), lambda t: parse_service(t, "x")
]  # fmt: skip
LINES = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.from_regex(r"[0-9]{1,3}:[0-9]{1,3} (rbps|wios|Read|some|total)[= ]([0-9]{1,22}|max|-1|x)", fullmatch=True),
        st.from_regex(r"some avg10=[0-9.]{1,4} total=[0-9]{0,22}", fullmatch=True),
    ),
    max_size=4,
).map("\n".join)


@pytest.mark.parametrize("parser", PARSERS, ids=["max", "stat", "pressure", "device", "service"])
@given(text=LINES)
def test_any_text_is_read_or_malformed(parser: Callable[[str], object], text: str) -> None:
    with contextlib.suppress(Malformed):
        parser(text)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 4095), st.integers(0, 1 << 20)), st.tuples(*[st.none() | st.integers(0, 1 << 63)] * 4)
    )
)
def test_what_the_kernel_writes_is_read_back(limits_of: dict[tuple[int, int], tuple[int | None, ...]]) -> None:
    def line(number: tuple[int, int], values: tuple[int | None, ...]) -> str:
        shown = ["max" if v is None else str(v) for v in values]
        keys = zip(("rbps", "wbps", "riops", "wiops"), shown, strict=True)
        return f"{number[0]}:{number[1]} " + " ".join(f"{key}={word}" for key, word in keys)

    read_back = parse_max("\n".join(line(number, values) for number, values in limits_of.items()))
    assert read_back == {
        f"{major}:{minor}": (Throttle(riops, rbps), Throttle(wiops, wbps))
        for (major, minor), (rbps, wbps, riops, wiops) in limits_of.items()
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/machine.slice/machine-qemu\\x2d3\\x2dweb.scope", "machine-qemu-3-web.scope"),
        ("/system.slice/docker-" + "0123456789ab" * 5 + "abcd.scope", "docker-0123456789ab.scope"),
        ("/docker/" + "f" * 64, "docker/ffffffffffff"),
        ("/qemu.slice/100.scope", "qemu.slice/100.scope"),
        ("/lxc/101", "lxc/101"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-fio.scope", "user@1000.service/app-fio.scope"),
        ("/system.slice/backup.service", "backup.service"),
        ("", "/"),
    ],
)
def test_names_that_people_know(path: str, name: str) -> None:
    assert group_name(path) == name


ANSWER = {f"answer:{LIMITED}": json.dumps({"v1": [], "v2": ["/a.slice"], "groups": 3})}
GROUP = {
    **ANSWER,
    f"{V2}/a.slice/io.max": "254:0 rbps=max wbps=1048576 riops=100 wiops=max\n",
    f"{V2}/a.slice/io.stat": "254:0 rbytes=409600 wbytes=0 rios=100 wios=0 dbytes=0 dios=0\n",
    f"{V2}/a.slice/io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n",
    "link:/sys/dev/block/254:0": "../../devices/virtual/block/cciss!c0d0",
}


def test_a_row_for_each_direction_with_a_limit() -> None:
    reads, writes = limits(GROUP)
    assert (reads.volume, reads.owner, reads.direction, reads.iops, reads.bandwidth) == (
        "cciss/c0d0", "a.slice", "read", 100, None
    )  # fmt: skip
    assert (reads.used_requests, reads.used_bytes, reads.stalled) == (100, 409600, 2.5)
    assert (writes.direction, writes.limited, writes.bandwidth, writes.used_bytes) == ("write", "bandwidth", 1 << 20, 0)


def test_a_group_that_has_gone_or_lost_its_limits_has_no_row() -> None:
    with pytest.raises(Absent):
        limits(ANSWER)
    with pytest.raises(Absent):
        limits({**GROUP, f"{V2}/a.slice/io.max": ""})
    no_counters = {key: text for key, text in GROUP.items() if not key.endswith("io.stat")}
    assert limits(no_counters)[0].used_requests is None  # not 0: nobody says so


def test_version_1() -> None:
    base = f"{V1}/vm/blkio.throttle."
    rows = limits(
        {
            f"answer:{LIMITED}": json.dumps({"v1": ["/vm"], "v2": [], "groups": 3}),
            f"{base}write_iops_device": "8:0 50\n",
            f"{base}io_serviced": "8:0 Read 7\n8:0 Write 30\nTotal 37\n",
            f"{base}io_service_bytes": "8:0 Read 28672\n8:0 Write 122880\nTotal 151552\n",
        }
    )
    assert [(r.volume, r.owner, r.direction, r.iops, r.used_requests, r.used_bytes) for r in rows] == [
        ("8:0", "vm", "write", 50, 30, 122880)
    ]
    assert rows[0].origin == f"{base}write_iops_device"


def test_captures_of_others_have_the_files_alone() -> None:
    files = {key: text for key, text in GROUP.items() if not key.startswith("answer:")}
    deeper = {key.replace("/a.slice/", "/a.slice/b.service/"): text for key, text in files.items()}
    assert {row.owner for row in limits({**files, **deeper})} == {"a.slice", "b.service"}
    with pytest.raises(Absent) as known:
        limits({f"{V2}/cgroup.controllers": "io"})
    assert known.value.recorded
    with pytest.raises(Absent) as unknown:
        limits({"/proc/diskstats": ""})
    assert not unknown.value.recorded


@pytest.mark.parametrize("said", [None, [], {"v2": [], "v1": [1]}, {"v2": ["x"], "v1": []}, {"v2": []}])
def test_another_answer_is_malformed(said: object) -> None:
    with pytest.raises(Malformed):
        parse_answer(said)


def tree(groups: Mapping[str, str]) -> Mapping[str, str]:
    return {
        f"{V2}/cgroup.controllers": "cpu io memory\n",
        **{f"{V2}/{path}/io.max": text for path, text in groups.items()},
    }


def test_groups_with_a_limit_are_found() -> None:
    groups = {"a": "", "a/b": "8:0 rbps=1\n", "c": "", "c/d": "", "c/d/e": "8:0 wiops=9\n"}
    assert limited_groups(EvidenceHost.of(tree(groups))) == {"v2": ["/a/b", "/c/d/e"], "v1": [], "groups": 6}
    old = {f"{V1}/blkio.throttle.read_bps_device": "", f"{V1}/vm/blkio.throttle.write_iops_device": "8:0 9\n"}
    assert limited_groups(EvidenceHost.of(old)) == {"v2": [], "v1": ["/vm"], "groups": 2}


def test_a_node_without_the_controller_is_told() -> None:
    with pytest.raises(Absent, match="mounted"):
        limited_groups(EvidenceHost())
    with pytest.raises(Absent, match="io controller"):
        limited_groups(EvidenceHost.of({f"{V2}/cgroup.controllers": "cpu memory\n"}))


def test_a_flood_of_groups_ends_the_search(tmp_path: Path) -> None:
    files = {f"/{number}/io.max": "8:0" for number in range(3)}
    for path in files:
        (tmp_path / path[1:]).parent.mkdir()
        (tmp_path / path[1:]).write_text("8:0")
    every = (["/0", "/1", "/2"], 4)
    assert (
        folders.folders_with(str(tmp_path), ["io.max"], 4) == LiveHost().holding(str(tmp_path), ["io.max"], 4) == every
    )
    recorded = EvidenceHost.of({f"/top{path}": text for path, text in files.items()})
    assert recorded.holding("/top", ["io.max"]) == every
    for host, top in (LiveHost(), str(tmp_path)), (recorded, "/top"):
        with pytest.raises(Failed, match="more than 3"):
            host.holding(top, ["io.max"], 3)


def test_groups_are_looked_for_again_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("sdstop.node.live.time.monotonic", lambda: now)
    found = iter(([], ["/a"]))
    question = Question("groups", "a test", answer=lambda _: next(found), holds=10.0)
    host = LiveHost(collectors=[replace(CGROUPS, needs=(question,))])
    assert host.answer("groups") == []
    now = 109.9
    assert host.answer("groups") == []
    now = 110.0
    assert host.answer("groups") == ["/a"]


def course(rate: int, stalled: float, seconds: int = 12) -> list[tuple[float, Files]]:
    """Return readings of a group held to 100 reads a second."""
    return [
        (
            float(t),
            {
                **GROUP,
                f"{V2}/a.slice/io.stat": f"254:0 rbytes={4096 * rate * t} wbytes=0 rios={rate * t} wios=0\n",
                f"{V2}/a.slice/io.pressure": f"some avg10=0 avg60=0 avg300=0 total={int(stalled * t * 1e6)}\n",
            },
        )
        for t in range(seconds)
    ]


def test_a_group_whose_tasks_wait_for_its_limit() -> None:
    said = Judged((CGROUPS,), [VOLUME_QOS_SATURATED], course(97, 0.9))
    finding = said.finding("vol:cciss/c0d0@a.slice")
    assert finding.severity is Severity.WARNING
    assert value(finding, "least_wait") == pytest.approx(0.9 / 97)
    assert finding.title == "AT IOPS LIMIT: reads"
    assert finding.cause.startswith("97.0% of 100 IOPS")
    assert finding.steps[1].startswith("echo '254:0 riops=max' > /sys/fs/cgroup/a.slice/io.max")
    assert finding.steps[2].startswith("systemctl show -p IOReadIOPSMax a.slice")


def both(reads: list[int], writes: list[int], raised: int = 99) -> list[tuple[float, Files]]:
    """Return the use of a limit on reads and of one on writes, which is `raised`, as requests in each second."""
    shown: list[tuple[float, Files]] = []
    for t in range(len(reads) + 1):
        done = f"rbytes=0 wbytes=0 rios={sum(reads[:t])} wios={sum(writes[:t])}"
        files = {f"{V2}/a.slice/io.max": f"254:0 rbps=max wbps=max riops=100 wiops={100 if t < raised else 200}\n",
                 f"{V2}/a.slice/io.stat": f"254:0 {done}\n"}  # fmt: skip
        shown.append((float(t), {**GROUP, **files}))
    return shown


def test_a_limit_near_by_does_not_hide_another_that_is_reached() -> None:
    """Reads are at 92 % of theirs all the time, writes at 98 % of theirs for most of it."""
    said = Judged((CGROUPS,), [VOLUME_QOS_SATURATED], both([92] * 10, [98, 98, 50] * 3 + [98]))
    assert said.finding("vol:cciss/c0d0@a.slice").title == "AT IOPS LIMIT: writes"
    near = Judged((CGROUPS,), [VOLUME_QOS_SATURATED], both([92] * 10, [98, 50, 50] * 3 + [98]))
    assert near.ruled_out("vol:cciss/c0d0@a.slice").summary.startswith("reads: 92.0% of 100 IOPS in 10 samples; writes")


@given(
    st.lists(st.tuples(st.integers(0, 130), st.integers(0, 130)), min_size=1, max_size=14),
    st.integers(1, 20),
)
def test_courses_tell_the_same_as_an_analysis_of_each_limit(uses: list[tuple[int, int]], raised: int) -> None:
    reads, writes = map(list, zip(*uses, strict=True))
    said = Judged((CGROUPS,), [VOLUME_QOS_SATURATED], both(reads, writes, raised))
    limits = VOLUME_QOS_SATURATED.limits()
    analyses = limit_analyses(said.window)
    alone = volume_qos_saturated._judge(said.window, "vol:cciss/c0d0@a.slice", analyses, limits)
    [verdict] = VOLUME_QOS_SATURATED.verdicts(said.window, limits, ())
    assert verdict == alone


def test_requests_in_flight_stall_no_task_and_wait_all_the_same() -> None:
    """With libaio a task waits for the limit without being counted as stalled: the rate alone shows it."""
    finding = Judged((CGROUPS,), [VOLUME_QOS_SATURATED], course(100, 0.0)).finding("vol:cciss/c0d0@a.slice")
    assert (finding.severity, finding.confidence) == (Severity.WARNING, 0.8)
    near = Judged((CGROUPS,), [VOLUME_QOS_SATURATED], course(96, 0.0)).finding("vol:cciss/c0d0@a.slice")
    assert near.severity is Severity.INFO
    Judged((CGROUPS,), [VOLUME_QOS_SATURATED], course(80, 0.9)).ruled_out("vol:cciss/c0d0@a.slice")


@pytest.mark.live
def test_this_machine_answers_in_the_shape_that_is_read() -> None:
    try:
        said = LiveHost(collectors=[CGROUPS]).answer(LIMITED)
    except Absent:
        return  # a kernel without the controller
    assert said["groups"] >= 1
    parse_answer(said)


def test_a_limit_is_read_as_seldom_as_limits_are_searched_for() -> None:
    host = RestingHost()
    host.apply(EvidenceHost.of(GROUP).state.values())
    for expected in ({"io.max", "io.stat"}, {"io.stat"}):
        host.touched = set()
        with contextlib.suppress(Absent):  # a live node is read for its evidence alone
            list(read(host))
        assert {key.rpartition("/")[2] for key in host.touched if "/a.slice/io." in key} - {"io.pressure"} == expected
    assert 7.5 <= host.rested[f"{V2}/a.slice/io.max"] <= 12.5


def test_a_sampler_keeps_looking_at_groups_whose_limits_it_knows() -> None:
    """A source that finds nothing is asked less often; at rest, io.max is not read, and counters are."""
    host = RestingHost()
    host.apply(EvidenceHost.of(GROUP).state.values())
    assert [run(CGROUPS, host) for _ in range(3)] == [True, True, True]
    bare = RestingHost()
    bare.apply(EvidenceHost.of({**GROUP, f"{V2}/a.slice/io.max": ""}).state.values())
    assert not run(CGROUPS, bare)


@pytest.mark.parametrize(("file", "text"), [("io.stat", "254:0 rbytes=x"), ("io.pressure", "some avg10=0 total=x")])
def test_the_file_that_is_not_understood_is_named(file: str, text: str) -> None:
    files = {**GROUP, f"{V2}/a.slice/{file}": text, f"{V2}/z.slice/io.max": GROUP[f"{V2}/a.slice/io.max"],
             f"answer:{LIMITED}": json.dumps({"v1": [], "v2": ["/a.slice", "/z.slice"], "groups": 2})}  # fmt: skip
    run_ = Judged((CGROUPS,), [], [(0.0, files)]).window.now.runs["cgroups"]
    assert f'/a.slice/{file} begins "{text}"' in run_.reason
