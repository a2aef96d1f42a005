"""Multipath maps: the status and table of device mapper's target, as real kernels print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.multipath import parse_queues, parse_status
from sdstop.collectors.devicemapper.readings import TABLE, MultipathPath, MultipathState
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.core.evidence import command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed
from tests.pasted.corpus import judged, ruled_out

ONE_DOWN = "2 0 1 0 1 1 A 0 2 2 8:16 A 0 0 1 8:0 F 1 0 1 "
TWO_GROUPS = "2 0 4 0 2 1 A 0 1 2 8:16 A 0 0 1 E 0 1 2 8:0 F 3 0 1"
NODE = {
    "list:/sys/block": "dm-0\nsda\nsdb",
    "/sys/block/dm-0/dm/uuid": "mpath-36001405a",
    "/sys/block/dm-0/dm/name": "mpatha",
    "/sys/block/sda/dev": "8:0",
    "/sys/block/sdb/dev": "8:16",
    command_key(STATUS): f"mpatha: 0 131072 multipath {ONE_DOWN}\n",
    command_key(
        TABLE
    ): "mpatha: 0 131072 multipath 1 queue_if_no_path 1 alua 1 1 service-time 0 2 2 8:16 1 1 8:0 1 1\n",
}


def test_paths_have_state_group_and_failures() -> None:
    assert [(p.number, p.state, p.fails, p.group, p.group_state) for p in parse_status(ONE_DOWN)] == [
        ("8:16", "active", 0, 1, "active"),
        ("8:0", "failed", 1, 1, "active"),
    ]
    assert [(p.number, p.state, p.fails, p.group, p.group_state) for p in parse_status(TWO_GROUPS)] == [
        ("8:16", "active", 0, 1, "active"),
        ("8:0", "failed", 3, 2, "enabled"),
    ]
    assert parse_status("2 0 0 0 0 0") == []  # a map whose last path was removed


@pytest.mark.parametrize("text", ["", "2 0 1", "2 0 1 0 1 1 A 0 2 2 8:16", "2 0 1 0 1 1 X 0 0 0", "9 0 0 0 1 1 A"])
def test_a_status_that_ends_early_is_no_status(text: str) -> None:
    with pytest.raises(Malformed):
        parse_status(text)


@given(st.text(alphabet="0129 AEDF:\t", max_size=60))
def test_no_text_does_more_than_fail(text: str) -> None:
    try:
        paths = parse_status(text)
    except Malformed:
        return
    assert all(path.state in {"active", "failed"} for path in paths)


@pytest.mark.parametrize(
    ("table", "queues"),
    [
        ("1 queue_if_no_path 1 alua 1 1 service-time 0 1 2 8:16 1 1", True),
        ("3 retain_attached_hw_handler queue_mode bio 0 1 1 round-robin 0 1 1 8:0 1", False),
        ("0 1 alua 1 1 service-time 0 1 2 8:16 1 1", False),
        ("3 queue_if_no_path", None),
        ("", None),
    ],
)
def test_whether_requests_wait(table: str, queues: bool | None) -> None:  # noqa: FBT001
    assert parse_queues(table) is queues


def test_rows_of_a_node() -> None:
    state, *paths = DM_STATUS.read(EvidenceHost.of(NODE))
    assert isinstance(state, MultipathState)
    assert (state.mapping, state.device, state.paths, state.active, state.queues) == ("mpatha", "dm-0", 2, 1, 1)
    assert [(p.path, p.state) for p in paths if isinstance(p, MultipathPath)] == [("sdb", "active"), ("sda", "failed")]


def test_a_whole_status_of_another_tool_serves_too() -> None:
    files = {key: text for key, text in NODE.items() if not key.startswith("cmd:")}
    files["slug:dmsetup_status"] = f"vg0-a: 0 8 linear \nmpatha: 0 131072 multipath {ONE_DOWN}\n"
    files["slug:dmsetup_table"] = NODE[command_key(TABLE)].replace("1 queue_if_no_path", "0")
    state, *_ = DM_STATUS.read(EvidenceHost.of(files))
    assert isinstance(state, MultipathState)
    assert (state.paths, state.active, state.queues) == (2, 1, 0)


def test_a_map_whose_line_is_not_understood_has_no_number_of_paths() -> None:
    state, *more = DM_STATUS.read(EvidenceHost.of(NODE | {command_key(STATUS): "mpatha: 0 131072 multipath 2 0 1\n"}))
    assert isinstance(state, MultipathState)
    assert (state.paths, state.active, more) == (None, None, [])


def test_what_older_versions_recorded_of_the_maps_alone_serves_too() -> None:
    files = {key: text for key, text in NODE.items() if not key.startswith("cmd:")}
    files["cmd:dmsetup status --noflush --target multipath"] = NODE[command_key(STATUS)]
    files["cmd:dmsetup table --target multipath"] = NODE[command_key(TABLE)]
    state, *paths = DM_STATUS.read(EvidenceHost.of(files))
    assert isinstance(state, MultipathState)
    assert (state.paths, state.active, state.queues, len(paths)) == (2, 1, 1, 2)


@pytest.mark.parametrize(
    ("checks", "is_good"),
    [
        (("ready running", "ghost running", "undef unknown"), True),
        (("shaky running", "i/o pending running", "delayed running", "faulty offline", "ready offline"), False),
    ],
)
def test_only_a_path_that_its_checker_found_ready_is_good(checks: tuple[str, ...], *, is_good: bool) -> None:
    for check in checks:
        text = f"""mpatha (36001405a1b2c3d400001111222233334) dm-0 LIO-ORG,IBLOCK
size=64M features='1 queue_if_no_path' hwhandler='1 alua' wp=rw
`-+- policy='service-time 0' prio=50 status=active
  |- 7:0:0:0 sdb 8:16 active ready running
  `- 6:0:0:0 sda 8:0  active {check}
"""
        session = judged(f"[root@a ~]# multipath -ll\n{text}[root@a ~]# ".encode())
        assert ("path-failed mpatha" in ruled_out(session)) is is_good
