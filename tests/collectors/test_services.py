"""Storage services at the limits of their control group."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.limits.readings import SERVICES_QUESTION, ServiceGroup
from sdstop.collectors.limits.services import SERVICES, ServiceSearch, parse, search
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.host import Absent, Malformed
from sdstop.rules.limits.service_limited import SERVICE_LIMITED
from tests.nodes.frames import Judged

OSD = "/sys/fs/cgroup/system.slice/ceph-osd@1.service"
FILES = {
    f"{OSD}/cgroup.procs": "4711\n4712\n",
    f"{OSD}/cpu.max": "200000 100000\n",
    f"{OSD}/cpu.stat": "usage_usec 91\nnr_periods 812\nnr_throttled 401\nthrottled_usec 9\n",
    f"{OSD}/memory.max": "4294967296\n",
    f"{OSD}/memory.current": "4294000000\n",
    f"{OSD}/memory.events": "low 0\nhigh 0\nmax 97\noom 3\noom_kill 2\noom_group_kill 0\n",
    f"{OSD}/memory.pressure": "some avg10=1.00 avg60=1.00 avg300=1.00 total=2500000\n",
    f"{OSD}/pids.events": "max 0\n",
    "/proc/4711/comm": "ceph-osd\n",
    "/proc/4712/comm": "bash\n",
}


def test_the_files_of_a_group() -> None:
    assert list(SERVICES.read(EvidenceHost.of(FILES))) == [
        ServiceGroup(
            group="/system.slice/ceph-osd@1.service", programs="ceph-osd", quota=2.0, periods=812, throttled=401,
            memory_max=4294967296, memory_used=4294000000, memory_stalled=2.5, killed=2,
        )
    ]  # fmt: skip


def test_a_limit_of_a_slice_counts_for_the_services_below() -> None:
    top = "/sys/fs/cgroup/storage.slice"
    files = {
        f"{top}/cpu.max": "50000 100000\n",
        f"{top}/smbd.service/cpu.max": "max 100000\n",
        f"{top}/smbd.service/cgroup.procs": "7\n",
        "/proc/7/comm": "smbd\n",
    }
    assert search(EvidenceHost.of(files)) == {top: ("smbd",)}


def _many(*more: str) -> dict[str, str]:
    slices = "/sys/fs/cgroup/system.slice"
    return FILES | {f"{slices}/{name}.service/cpu.max": "max 100000\n" for name in (*map(str, range(200)), *more)}


def test_groups_are_searched_again_if_one_appears_and_after_ten_minutes() -> None:
    now = [0.0]
    look = ServiceSearch(lambda: now[0])

    def reads(seconds: float, *more: str) -> int:
        """Return the number of files read."""
        now[0] = seconds
        host = EvidenceHost.of(_many(*more))
        assert [each["group"] for each in look(host)] == ["/system.slice/ceph-osd@1.service"]
        return len(host.touched)

    calm = [reads(seconds) for seconds in (5.0, 60.0, 120.0)]
    assert max(calm[1:]) < 20
    assert reads(130.0, "new") < 20
    assert reads(180.0, "new") > 200
    assert reads(240.0, "new") < 20
    assert reads(780.0, "new") > 200


def test_a_limit_of_a_new_service_is_found_within_a_minute() -> None:
    now = [0.0]
    look = ServiceSearch(lambda: now[0])
    new = "/sys/fs/cgroup/system.slice/smbd.service"
    smbd = {f"{new}/cgroup.procs": "9\n", "/proc/9/comm": "smbd\n", f"{new}/cpu.max": "50000 100000\n"}
    assert len(look(EvidenceHost.of(FILES))) == 1
    now[0] = 60.0
    assert len(look(EvidenceHost.of(FILES | smbd))) == 2


def test_version_1_of_control_groups() -> None:
    base = "/sys/fs/cgroup/cpu,cpuacct/system.slice/smb.service"
    files = {
        f"{base}/cgroup.procs": "7\n",
        f"{base}/cpu.cfs_quota_us": "50000\n",
        f"{base}/cpu.cfs_period_us": "100000\n",
        f"{base}/cpu.stat": "nr_periods 10\nnr_throttled 9\nthrottled_time 123456789\n",
        "/proc/7/comm": "smbd\n",
    }
    (row,) = SERVICES.read(EvidenceHost.of(files))
    assert isinstance(row, ServiceGroup)
    assert (row.group, row.quota, row.periods, row.throttled) == ("/system.slice/smb.service", 0.5, 10, 9)


@pytest.mark.parametrize("name", ["cron", "postgres", "sh", "ceph-osd-helper"])
def test_other_programs_do_not_count(name: str) -> None:
    with pytest.raises(Absent):
        SERVICES.read(EvidenceHost.of({**FILES, "/proc/4711/comm": f"{name}\n"}))


def test_a_service_without_limits_does_not_count() -> None:
    unlimited = {f"{OSD}/cpu.max": "max 100000\n", f"{OSD}/memory.max": "max\n"}
    with pytest.raises(Absent):
        SERVICES.read(EvidenceHost.of({**FILES, **unlimited}))


@pytest.mark.parametrize("said", [None, {}, [3], [{}], [{"group": "/a"}], [{"group": "/a", "programs": [1]}]])
def test_anything_else_is_malformed(said: Any) -> None:
    with pytest.raises(Malformed):
        parse(said)


@given(st.dictionaries(st.sampled_from(sorted(FILES)), st.text(max_size=40)))
def test_damaged_files_never_fail(damage: dict[str, str]) -> None:
    try:
        rows = SERVICES.read(EvidenceHost.of({**FILES, **damage}))
    except (Absent, Malformed):
        return
    for row in rows:
        assert isinstance(row, ServiceGroup)
        assert (row.periods or 0) >= 0


def judged(first: dict[str, Any], last: dict[str, Any], seconds: int = 30, **always: Any) -> Verdict:
    """Return the verdict on a group whose counters are these at the start and at the end."""
    base = {"group": "/system.slice/ceph-osd@1.service", "programs": ["ceph-osd"], **always}
    shown = []
    for at in range(0, seconds + 1, 5):
        share = at / seconds if seconds else 0.0
        row = base | {key: round(value + (last[key] - value) * share, 6) for key, value in first.items()}
        row = {
            key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in row.items()
        }
        row |= {key: int(row[key]) for key in first if key != "memory_stalled"}
        shown.append((float(at), {f"answer:{SERVICES_QUESTION}": json.dumps([row])}))
    return Judged((SERVICES,), [SERVICE_LIMITED], shown).of("ceph-osd@1.service")


@pytest.mark.parametrize(("throttled", "found"), [(75, True), (74, False), (0, False), (300, True)])
def test_a_quarter_of_the_periods_is_too_much(throttled: int, found: bool) -> None:  # noqa: FBT001
    verdict = judged({"periods": 0, "throttled": 0}, {"periods": 300, "throttled": throttled}, quota=2.0)
    assert isinstance(verdict, Finding if found else RuledOut)
    if isinstance(verdict, Finding):
        assert verdict.severity is Severity.WARNING
        assert verdict.cause.startswith("ceph-osd may use 2 processors")


@pytest.mark.parametrize(("throttled", "found"), [(29, False), (30, True)])
def test_less_than_one_throttled_period_a_second_does_not_matter(throttled: int, found: bool) -> None:  # noqa: FBT001
    """Seen on a real kernel: a program that works once in seconds uses its quota up in most of its few periods."""
    verdict = judged({"periods": 0, "throttled": 0}, {"periods": 40, "throttled": throttled}, quota=2.0)
    assert isinstance(verdict, Finding if found else RuledOut)


def test_a_virtual_machine_at_its_quota_is_mentioned() -> None:
    verdict = judged(
        {"periods": 0, "throttled": 0}, {"periods": 300, "throttled": 300}, quota=1.0, programs=["qemu-system-x86"]
    )
    assert isinstance(verdict, Finding)
    assert verdict.severity is Severity.INFO


@pytest.mark.parametrize(("seconds", "gap"), [(5, Gap.SIGNS), (10, Gap.SIGNS), (0, Gap.EARLY)])
def test_a_short_time_is_a_sign(seconds: int, gap: Gap) -> None:
    verdict = judged({"periods": 0, "throttled": 0}, {"periods": 50, "throttled": 50}, seconds, quota=2.0)
    assert isinstance(verdict, Unchecked)
    assert verdict.gap is gap


@pytest.mark.parametrize(("stalled", "found"), [(12.0, True), (11.9, False)])
def test_waits_for_memory(stalled: float, found: bool) -> None:  # noqa: FBT001
    verdict = judged({"memory_stalled": 0.0, "killed": 4}, {"memory_stalled": stalled, "killed": 4}, memory_max=1 << 32)
    assert isinstance(verdict, Finding if found else RuledOut)


@pytest.mark.parametrize(("name", "limit"), [("killed", {"memory_max": 1 << 32}), ("refused", {"tasks_max": 400})])
def test_events_count_if_they_are_new(name: str, limit: dict[str, int]) -> None:
    assert isinstance(judged({name: 2, "periods": 0}, {name: 3, "periods": 9}, quota=2.0, **limit), Finding)
    assert isinstance(judged({name: 2, "periods": 0}, {name: 2, "periods": 9}, quota=2.0, **limit), RuledOut)
