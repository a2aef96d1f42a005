"""Tables of multipathd show paths and show maps status."""

from __future__ import annotations

import pytest

from sdstop.collectors.devicemapper.multipathd_text import MULTIPATHD_TEXT, parse_maps, parse_paths
from sdstop.collectors.devicemapper.readings import MultipathPath, MultipathState
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.core.host import Malformed
from sdstop.rules.paths.path_failed import PATH_FAILED
from tests.nodes.frames import Judged

HEAD = "hcil    dev dev_t pri dm_st  chk_st       dev_st  next_check\n"
ORPHAN = "2:0:0:0 sdz 65:0  1   undef  undef        unknown orphan\n"
MAPS = "name   failback  queueing paths dm-st  write_prot\n"


def path(number: int, state: str, check: str, online: str = "running") -> str:
    return (
        f"7:0:0:{number} sd{chr(97 + number)} 8:{16 * number:<3} 50  {state:<6} {check:<12} {online} XXX....... 7/20\n"
    )


def paths(*rows: tuple[str, str]) -> str:
    return HEAD + "".join(path(number, *row) for number, row in enumerate(rows))


@pytest.mark.parametrize(
    ("state", "check", "online", "said"),
    [
        ("active", "ready", "running", "active"),
        ("active", "ghost", "running", "active"),
        ("active", "i/o pending", "running", "active"),
        ("active", "faulty", "running", "failed"),
        ("active", "ready", "offline", "failed"),
        ("failed", "ready", "running", "failed"),
        ("undef", "faulty", "running", "failed"),
        ("active", "i/o timeout", "running", "failed"),
    ],
)
def test_states(state: str, check: str, online: str, said: str) -> None:
    rows = list(parse_paths(HEAD + path(0, state, check, online), "k"))
    assert [row.state for row in rows if isinstance(row, MultipathPath)] == [said]


@pytest.mark.parametrize(("state", "check"), [("undef", "undef"), ("active", "curious"), ("failing", "undef")])
def test_an_unknown_state_is_malformed(state: str, check: str) -> None:
    with pytest.raises(Malformed):
        list(parse_paths(HEAD + path(0, state, check), "k"))


def judged(text: str, key: str = "cmd:multipathd show paths", **more: str) -> Judged:
    return Judged((MULTIPATHD_TEXT,), [PATH_FAILED], [(0.0, {key: text, **more})])


def test_a_failed_path_is_a_finding_without_a_map() -> None:
    finding = judged(paths(("active", "ready"), ("failed", "faulty"))).finding("multipathd")
    assert (finding.severity, finding.title) == (Severity.WARNING, "PATH FAILED: 1 of 2 left")
    assert "multipath -ll   # paths and their checker" in finding.steps


def test_paths_that_work_are_not() -> None:
    assert isinstance(judged(paths(*[("active", "ready")] * 4)).of("multipathd"), RuledOut)


def test_a_path_without_a_map_is_not_good() -> None:
    verdict = judged(paths(("active", "ready")) + ORPHAN).of("multipathd")
    assert isinstance(verdict, Unchecked)
    assert verdict.gap is Gap.FAULTY
    assert "1 without a map" in verdict.reason


@pytest.mark.parametrize(("queueing", "queues"), [("on", 1), ("off", 0), ("12 chk", 1), ("60 sec", 1), ("-", None)])
def test_maps(queueing: str, queues: int | None) -> None:
    (row,) = parse_maps(f"{MAPS}mpatha immediate {queueing:<8} 0     active rw\n", "k")
    assert (row.mapping, row.active, row.paths, row.queues, row.read_only) == ("mpatha", 0, 0, queues, 0)


def test_a_map_with_paths_may_have_failed_ones() -> None:
    verdict = judged(f"{MAPS}mpatha immediate off      2     active rw\n", "cmd:multipathd show maps status").of(
        "mpatha"
    )
    assert isinstance(verdict, Unchecked)


def test_where_the_topology_was_recorded_the_table_is_not_used() -> None:
    topology = "mpatha (36001405a) dm-0 LIO,IBLOCK\nsize=64M features='0' hwhandler='0' wp=rw\n"
    said = judged(paths(("failed", "faulty")), **{"cmd:multipath -ll": topology})
    assert not [each for each in said.all if isinstance(each, Finding)]


def test_rows_of_states_only() -> None:
    assert [type(row) for row in parse_paths(HEAD + ORPHAN, "k")] == []
    assert [type(row) for row in parse_paths(paths(("active", "ready")), "k")] == [MultipathState, MultipathPath]
