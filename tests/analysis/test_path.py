"""Data paths: loads, waits of layers, limits, and figures that do not add up."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from sdstop.analysis.path import DataPath, data_path
from sdstop.analysis.path.load import device_load, implied_wait
from sdstop.analysis.path.sentences import limit_sentence, second_sentence
from sdstop.analysis.path.stage import Stage, StageKind
from sdstop.analysis.path.subjects import path_subjects
from sdstop.collectors import BUILTIN
from sdstop.core.collector import texts_of
from sdstop.core.evidence import Origin
from sdstop.core.finding import Severity
from sdstop.core.history import Window
from sdstop.core.session import Session
from sdstop.pasted.reader import read_nodes
from tests.fixtures import opened, untimed
from tests.nodes.block import IDLE, Load, Node, raid10

MEMBERS = ("sda", "sdb", "sdc", "sdd")
Loads = Callable[[str, int], Load]


def _window(loads: Loads, *, devices: tuple[str, ...] = (*MEMBERS, "md0"), progress: str = "") -> Window:
    node = Node(devices, loads, raid10("md0", MEMBERS, progress=progress))
    latest = node.session(20).latest
    assert latest is not None
    return latest.window


def _path(window: Window, name: str = "") -> DataPath:
    chosen = [subject for subject in path_subjects(window) if name in subject.name]
    assert chosen, name
    return data_path(window, chosen[0])


@functools.cache
def _recorded(name: str) -> Window:
    origin, frames = opened(name)
    session = Session(origin, BUILTIN, ())
    session.feed_all(frames)
    assert session.latest is not None
    return session.latest.window


def _stage(path: DataPath, kind: StageKind, at: int = 0) -> Stage:
    return [stage for stage in path.stages if stage.kind is kind][at]


def _even(array: Load, member: Load) -> Loads:
    return lambda device, _: array if device == "md0" else member


def test_outstanding_requests_and_a_rate_imply_a_wait() -> None:
    assert implied_wait(16.0, 500.0) == pytest.approx(0.032)
    assert implied_wait(16.0, 0.0) is None
    assert implied_wait(0.0, 500.0) is None
    assert implied_wait(None, 500.0) is None


def test_own_wait_is_the_wait_less_that_of_the_parts() -> None:
    """A mirror's write uses two members at once, so their mean wait counts once."""
    window = _window(
        _even(Load(reads=40, writes=60, wait=0.015, queue=1.5), Load(reads=10, writes=30, wait=0.012, queue=0.5))
    )
    path = _path(window)
    array, disks = _stage(path, StageKind.ARRAY), _stage(path, StageKind.DISKS)
    assert array.requests == pytest.approx(100)
    assert array.wait == pytest.approx(0.015)
    assert array.below == pytest.approx(0.012)
    assert array.own == pytest.approx(0.003)
    assert disks.requests == pytest.approx(160)
    assert disks.own == pytest.approx(0.012)
    assert path.mismatches == ()
    assert "12.0 of 15.0 ms in 4 disks" in limit_sentence(path.stages, {})


def test_no_requests_have_no_wait() -> None:
    path = _path(_window(lambda *_: IDLE))
    assert _stage(path, StageKind.ARRAY).wait is None
    assert _stage(path, StageKind.ARRAY).own is None
    assert path.longest == 0
    assert limit_sentence(path.stages, {}) == "No requests in the last seconds"


def test_clients_without_a_source_are_unknown() -> None:
    client = _path(_window(lambda *_: IDLE)).stages[0]
    assert client.kind is StageKind.CLIENT
    assert not client.known
    assert client.reason


def test_a_member_that_answers_far_slower_is_shown_alone() -> None:
    def loads(device: str, _: int) -> Load:
        wait = 0.08 if device == "sdc" else 0.01
        return Load(reads=0, writes=60, wait=0.05) if device == "md0" else Load(writes=30, wait=wait, queue=1.0)

    path = _path(_window(loads))
    slow, rest = _stage(path, StageKind.DISKS), _stage(path, StageKind.DISKS, 1)
    assert (slow.name, rest.name) == ("sdc", "3 disks")
    assert slow.peers == pytest.approx(0.01)
    assert limit_sentence(path.stages, {}) == "Slowest: sdc takes 80.0 ms a request, its peers 10.0 ms"


def test_a_member_less_than_twice_as_slow_is_not() -> None:
    def loads(device: str, _: int) -> Load:
        wait = 0.019 if device == "sdc" else 0.01
        return Load(reads=0, writes=60, wait=0.02) if device == "md0" else Load(writes=30, wait=wait)

    assert _stage(_path(_window(loads)), StageKind.DISKS).name == "4 disks"


# --- conservation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("served", "fits"), [(23, False), (24, True), (30, True)])
def test_requests_of_an_array_must_reach_its_members(served: int, fits: bool) -> None:  # noqa: FBT001
    """Of 128 reads a second at least three quarters (96) must be seen below: 4 x 24."""
    window = _window(_even(Load(reads=128, wait=0.01), Load(reads=served, wait=0.01)))
    found = _path(window).mismatches
    assert (found == ()) is fits
    if not fits:
        assert found[0].text == "md0 does 128 reads/s, its 4 parts 92, merged ones included"
        assert second_sentence((), found) == f"Does not add up: {found[0].text}"


def test_few_requests_prove_nothing() -> None:
    assert _path(_window(_even(Load(reads=10), Load(reads=0)))).mismatches == ()


def test_bytes_of_an_array_must_reach_its_members() -> None:
    window = _window(_even(Load(writes=40, size=1 << 20, wait=0.01), Load(writes=20, size=1 << 16, wait=0.01)))
    assert [m.text for m in _path(window).mismatches] == ["md0 writes 40.0 MiB/s, its 4 parts 5.0 MiB/s"]


@pytest.mark.parametrize(("writes", "fits"), [(106, True), (108, False)])
def test_members_carry_no_more_than_the_array_can_cause(writes: int, fits: bool) -> None:  # noqa: FBT001
    """40 writes of 64 KiB to two legs are 5 MiB/s below; beyond 13.3 MiB/s (2 x 5 / 0.75) they have another cause."""
    window = _window(
        _even(Load(writes=40, size=1 << 16, wait=0.001), Load(writes=writes, size=1 << 15, wait=0.001)),
    )
    assert (_path(window).mismatches == ()) is fits


def test_a_rebuild_adds_to_what_members_carry() -> None:
    progress = "[==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec"
    loads = _even(Load(writes=40, size=1 << 16, wait=0.01), Load(writes=400, size=1 << 17, wait=0.1))
    assert _path(_window(loads), "md0").mismatches != ()
    assert _path(_window(loads, progress=progress), "md0").mismatches == ()


@pytest.mark.parametrize(("wait", "fits"), [(0.010, False), (0.018, True)])
def test_an_array_is_not_twice_as_fast_as_its_members(wait: float, fits: bool) -> None:  # noqa: FBT001
    window = _window(_even(Load(reads=100, wait=wait), Load(reads=25, wait=0.030)))
    assert (_path(window).mismatches == ()) is fits


# --- recorded kernels whose truth is known ----------------------------------------------------------------


def test_a_cgroup_limit_is_the_stage_at_its_limit() -> None:
    """vm-cgroup-io-max: 100 reads a second are allowed, tasks are stalled nearly always, the disk takes 2 ms."""
    path = _path(_recorded("vm-cgroup-io-max"), "vda for blocking")
    limit, disk = _stage(path, StageKind.LIMIT), _stage(path, StageKind.DISKS)
    assert [stage.name for stage in path.stages if stage.full] == ["limit 100 IOPS read"]
    assert limit.least
    assert limit.own is not None
    assert limit.own > 0.005
    assert disk.wait is not None
    assert disk.wait < 0.003
    assert "adds at least" in limit_sentence(path.stages, {})
    assert _stage(path, StageKind.HOST).reason == "not visible from the guest"


def test_a_limit_without_stalls_has_an_unknown_wait() -> None:
    limit = _stage(_path(_recorded("vm-cgroup-io-max"), "vda for asynchronous"), StageKind.LIMIT)
    assert limit.full
    assert limit.wait is None
    assert limit.own is None


def test_a_cache_has_its_device_as_a_branch() -> None:
    path = _path(_recorded("vm-dm-cache"), "vg0/vol")
    disks = {stage.name: stage.branch for stage in path.stages if stage.kind is StageKind.DISKS}
    assert disks == {"vdb": True, "vda": False}


def test_a_slow_member_of_a_real_array_is_named() -> None:
    path = _path(_recorded("vm-md-slow-member"), "md0")
    slow = next(stage for stage in path.stages if stage.peers)
    assert slow.full
    assert slow.wait is not None
    assert slow.peers is not None
    assert slow.wait > 10 * slow.peers
    said = limit_sentence(path.stages, {})
    assert said.startswith(f"At its limit: {slow.name}, busy 100% of the time; a request takes ")
    assert ", its peers " in said
    assert path.mismatches == ()


def test_one_frame_moves_nothing_and_not_zero_bytes() -> None:
    origin, frames = opened("draid-one-dimm")
    session = Session(origin, BUILTIN, ())
    session.feed(frames[0])
    path = _path(session.head().window, "rebuild of")
    through = [stage for stage in path.stages if stage.kind in {StageKind.HBA, StageKind.PCIE, StageKind.MEMORY}]
    assert [stage.kind for stage in through] == [StageKind.HBA, StageKind.PCIE, StageKind.MEMORY]
    assert all((stage.bytes, stage.used, stage.full) == (None, None, False) for stage in through)
    assert all(stage.carries for stage in through)


def test_arithmetic_accuses_only_with_a_finding() -> None:
    path = _path(_recorded("draid-one-dimm"), "rebuild of")
    memory = _stage(path, StageKind.MEMORY)
    assert memory.derived_use
    assert not memory.full
    assert limit_sentence(path.stages, {"memory": Severity.CRITICAL}).startswith("Suspect: memory, by arithmetic")
    assert "Suspect" not in limit_sentence(path.stages, {})
    assert "4 HBAs 25.1%" in second_sentence(path.stages, path.mismatches)


def test_a_limit_of_a_cluster_without_latency() -> None:
    path = _path(_recorded("scaleio-cloud"), "canary")
    assert [stage.name for stage in path.stages if stage.full] == ["limit 500 IOPS"]
    assert _stage(path, StageKind.LIMIT).own is None
    assert _stage(path, StageKind.DISKS).name == "48 devices"
    assert path.mismatches == ()


def test_the_wait_of_a_remote_disk_is_spent_beyond_the_network() -> None:
    """Of an AoE disk this node sees the interface; network, target and its disks are one wait."""
    path = _path(_recorded("aoe-initiator"), "etherd/e0.1")
    disk, (nic, target) = _stage(path, StageKind.DISKS), [s for s in path.stages if s.kind is StageKind.NETWORK]
    assert (disk.name, disk.own, disk.used) == ("etherd/e0.1", 0.0, None)
    assert nic.name == "eth1 10 Gb/s"
    assert target.name == "target e0.1"
    assert target.own == disk.wait == disk.below
    assert "network, target and its disks together" in target.note
    assert "etherd/e0.1" not in second_sentence(path.stages, path.mismatches)


@pytest.mark.parametrize(("story", "name", "session"), [("nvme-target-dead", "nvme1n1", "nvme1")])
def test_a_dead_target_is_accused_on_the_paths_of_its_disks(story: str, name: str, session: str) -> None:
    path = _path(_recorded(story), name)
    said = limit_sentence(path.stages, {session: Severity.CRITICAL})
    assert said.startswith("Accused by a finding: target nqn.")
    assert name not in second_sentence(path.stages, path.mismatches, {session: Severity.CRITICAL})


def test_a_mounted_disk_has_a_path_with_its_mount_points() -> None:
    path = _path(_recorded("vm-nvme-tcp-dead"), "vdc")
    assert path.subject.name == "vdc on /opt/sdstop"
    assert _stage(path, StageKind.CLIENT).name == "programs on /opt/sdstop"
    assert "/opt/sdstop" in path.subject.subjects


# --- waits that outstanding requests imply ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "devices"), [("vm-md-slow-member", ("vde", "md0")), ("vm-md-clones", ("vdb", "vdd", "vdg", "md0"))]
)
def test_without_ticks_the_requests_in_flight_imply_the_wait_that_the_ticks_measured(
    name: str, devices: tuple[str, ...]
) -> None:
    """Two recordings of a real kernel, whose ticks are the truth."""
    measured = _recorded(name)
    session = untimed(name)
    assert session.latest is not None
    for device in devices:
        truth, derived = device_load(measured, device), device_load(session.latest.window, device)
        assert truth is not None
        assert derived is not None
        assert (truth.derived, derived.derived) == (False, True)
        assert derived.read_wait is derived.write_wait is None
        assert derived.wait == pytest.approx(truth.wait, rel=0.12), device
        assert derived.requests == pytest.approx(truth.requests)


def _without_columns(printed: str, heading: str) -> str:
    """Return a report of iostat without the columns whose headings end so."""
    kept: list[int] | None = None
    lines = []
    for line in printed.splitlines():
        cells = line.split()
        if cells[:1] == ["Device"]:
            kept = [at for at, cell in enumerate(cells) if not cell.endswith(heading)]
        elif not cells:
            kept = None
        lines.append(" ".join(cells[at] for at in kept) if kept is not None else line)
    return "\n".join(lines) + "\n"


def test_without_await_the_queue_that_iostat_prints_implies_it() -> None:
    """Four writers of 1 MiB each, recorded by `iostat -x -d 1 4` (sysstat 12.6.1); its own w_await is the truth."""
    recorded = Path(__file__).with_name("iostat-four-writers.txt").read_text(encoding="utf-8")
    windows = []
    for printed in (recorded, _without_columns(recorded, "await")):
        session = Session(Origin("here"), BUILTIN, ())
        session.feed_all(read_nodes(printed.encode(), texts_of(BUILTIN))[0][1])
        assert session.latest is not None
        windows.append(session.latest.window)
    whole, cut = windows
    truth, derived = device_load(whole, "vda"), device_load(cut, "vda")
    assert truth is not None
    assert derived is not None
    assert (truth.derived, derived.derived) == (False, True)
    assert truth.wait == pytest.approx(0.00198)
    assert derived.wait == pytest.approx(truth.wait, rel=0.1)
