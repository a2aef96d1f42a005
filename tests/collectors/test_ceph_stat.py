"""One part of Ceph's health in a line: its faults by Ceph's names, what proves nothing, and what is cut."""

from __future__ import annotations

import json

import pytest

from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.stat_text import CEPH_STAT, groups_of, monitors_of, osds_of
from sdstop.core.finding import Gap
from sdstop.core.host import Malformed
from sdstop.rules.ceph.ceph_health import CEPH_HEALTH
from tests.nodes.frames import Judged

USAGE = "; 41 TiB data, 123 TiB used, 94 TiB / 218 TiB avail"


@pytest.mark.parametrize(
    ("states", "codes", "good"),
    [
        ("8 active+clean", (), True),
        ("1 active+clean+scrubbing+deep, 7 active+clean", (), True),
        ("1 active+remapped+backfilling, 7 active+clean", (), True),
        ("1 active+undersized+degraded, 7 active+clean", ("PG_DEGRADED",), None),
        ("1 down, 7 active+clean", ("PG_AVAILABILITY",), None),
        ("1 stale+down, 7 active+clean", ("PG_AVAILABILITY",), None),
        ("1 unknown, 7 active+clean", (), None),  # no manager has seen it yet
        ("1 active+clean+inconsistent, 7 active+clean", ("PG_DAMAGED",), None),
        ("1 active+remapped+backfill_toofull, 7 active+clean", ("PG_BACKFILL_FULL",), None),
        ("1 active+marvellous, 7 active+clean", (), None),  # a state of a later version is never good
        ("1 peering, 7 active+clean", (), None),  # about to serve
    ],
)
def test_placement_groups(states: str, codes: tuple[str, ...], good: bool | None) -> None:  # noqa: FBT001
    for before in ("", "v1234: "):
        part = groups_of(f"{before}8 pgs: {states}{USAGE}\n")
        assert (tuple(check.code for check in part.checks), part.good) == (codes, good)


@pytest.mark.parametrize(
    "text", ["", "8 pgs: 7 active+clean; 1 B data", "8 pgs: 4 active+clean, four down; 1 B data", "no pgs"]
)
def test_states_that_do_not_add_up_are_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        groups_of(text)


@pytest.mark.parametrize(
    ("text", "codes", "good"),
    [
        ("3 osds: 3 up (since 28s), 3 in (since 11m); epoch: e12", (), True),
        ("3 osds: 2 up (since 28s), 3 in (since 11m); epoch: e12", ("OSD_DOWN",), None),
        ("3 osds: 2 up (since 28s), 2 in (since 11m); epoch: e12", (), None),  # down and out, or two different ones
        ("     osdmap e10: 3 osds: 3 up, 3 in\n            flags sortbitwise,require_jewel_osds", (), True),
        ("     osdmap e10: 3 osds: 3 up, 3 in\n            flags noout,sortbitwise", ("OSDMAP_FLAGS",), None),
    ],
)
def test_osds(text: str, codes: tuple[str, ...], good: bool | None) -> None:  # noqa: FBT001
    part = osds_of(text)
    assert (tuple(check.code for check in part.checks), part.good) == (codes, good)


@pytest.mark.parametrize("quorum", [("a", "b", "c"), ("a", "c")])
def test_monitors_in_both_forms(quorum: tuple[str, ...]) -> None:
    every = "a=[v2:192.0.2.1:3300/0,v1:192.0.2.1:6789/0],b=192.0.2.2:6789/0,c=192.0.2.3:6789/0"
    line = (
        f"e3: 3 mons at {{{every}}} removed_ranks: {{}}, election epoch 42, leader 0 a, quorum 0,1 {','.join(quorum)}"
    )
    said = {"quorum_names": list(quorum), "monmap": {"mons": [{"name": name} for name in "abc"]}}
    for text in (line, json.dumps(said)):
        part = monitors_of(text)
        assert part.monitors == {name: name in quorum for name in "abc"}
        assert part.good is (True if len(quorum) == 3 else None)
        assert [check.code for check in part.checks] == ([] if len(quorum) == 3 else ["MON_DOWN"])


@pytest.mark.parametrize(
    "text", ["", "e3: 3 mons at {a=192.0.2.1:6789/0}, election epoch 4, quorum 0 a", '{"quorum_na']
)
def test_monitors_that_do_not_add_up_are_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        monitors_of(text)


def test_a_cut_line_is_not_good() -> None:
    said = Judged((CEPH_STAT,), [CEPH_HEALTH], [(0.0, {"cmd:ceph osd stat": "3 osds: 2 up, 2 in"})])
    assert said.unchecked("ceph", "ceph-health").gap is Gap.FAULTY


def test_a_health_beside_the_lines_is_read_instead() -> None:
    files = {"cmd:ceph health detail": "HEALTH_OK\n", "cmd:ceph osd stat": "3 osds: 2 up, 3 in; epoch: e12\n"}
    said = Judged((CEPH, CEPH_STAT), [CEPH_HEALTH], [(0.0, files)])
    assert len(said.window.rows(CEPH.families[0])) == 1
