"""Rules of time zones, and times shown in them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.evidence import UNDATED
from sdstop.core.format import clock, lasting, times_in, timestamp, utc, zone_word
from sdstop.core.zone import FACT, rule_of, zone, zone_for
from sdstop.node.zone import time_zone

BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
SUMMER, WINTER = 1_790_000_000.0, 1_763_730_202.0  # 2026-09-21 14:13:20Z, 2025-11-21 13:03:22Z
ZONES = Path("/usr/share/zoneinfo")


@pytest.mark.needs("zones")
@pytest.mark.parametrize("name", ["Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Africa/Casablanca", "Etc/UTC"])
@pytest.mark.parametrize("taken", [SUMMER, WINTER])
def test_a_node_s_rule_gives_its_offsets(name: str, taken: float) -> None:
    rule = rule_of((ZONES / name).read_bytes(), taken)
    assert rule is not None
    ruled = zone(rule)
    assert ruled is not None
    wanted = datetime.fromtimestamp(taken, ZoneInfo(name)).utcoffset()
    assert datetime.fromtimestamp(taken, ruled).utcoffset() == wanted
    assert name == "Etc/UTC" or name.split("/")[1] not in rule


@pytest.mark.parametrize(
    "rule", [None, "", "Europe/Berlin", "zurich-1", "<zurich>-1", "CET", "CET-99", "CET-1CEST,M3.5.0", "CET-1\n", "A-1"]
)
def test_other_texts_are_not_rules(rule: str | None) -> None:
    assert zone(rule) is None
    assert zone_for("node", {FACT: rule} if rule is not None else {}) is UTC


@given(st.binary(max_size=200))
def test_damaged_zone_files_have_none(data: bytes) -> None:
    for start in (b"", b"TZif2" + bytes(15)):
        rule = rule_of(start + data, SUMMER)
        assert rule is None or zone(rule) is not None


@pytest.mark.needs("zones")
def test_utc_needs_no_table_of_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless its file has changes of the offset, as that of a zone that is UTC only since some year."""
    utc_file, abidjan = (ZONES / "Etc/UTC").read_bytes(), (ZONES / "Africa/Abidjan").read_bytes()
    assert abidjan.endswith(b"\nGMT0\n")
    assert rule_of(abidjan, SUMMER) == "GMT0"
    monkeypatch.setitem(sys.modules, "zoneinfo", None)
    assert rule_of(utc_file, SUMMER) == "UTC0"
    for other in (abidjan, abidjan[:44] + b"\nUTC0\n", b"TZif\nUTC0\n"):
        with pytest.raises(ImportError):
            rule_of(other, SUMMER)


def test_times_are_shown_with_their_offset() -> None:
    assert (utc(WINTER), timestamp(WINTER)) == ("13:03:22Z", "2025-11-21 13:03:22Z")
    with times_in(zone(BERLIN)):
        assert (clock(WINTER), utc(WINTER), utc(SUMMER)) == ("14:03:22", "14:03:22+01", "16:13:20+02")
        assert timestamp(SUMMER) == "2026-09-21 16:13:20+02"
        assert lasting(WINTER, WINTER + 45, 45.0) == "over: 14:03:22+01 to 14:04:07+01 (45s)"
        assert (zone_word(WINTER), utc(UNDATED + 3)) == ("+01", "+3.0s")
    with times_in(zone("<-0330>3:30")):
        assert utc(WINTER) == "09:33:22-03:30"
    assert zone_word(WINTER) == "UTC"


def test_the_zone_is_that_of_the_node_or_as_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {FACT: BERLIN}
    assert zone_for("utc", facts) is UTC
    assert zone_for("node", {}) is UTC  # a capture that does not tell
    with times_in(zone_for("node", facts)):
        assert utc(WINTER) == "14:03:22+01"


def test_a_node_s_zone_is_read_below_its_root(tmp_path: Path) -> None:
    assert time_zone(str(tmp_path)) == "UTC0"  # a node without the file is in UTC
    (tmp_path / "etc").mkdir()
    (tmp_path / "zones").mkdir()
    (tmp_path / "etc/localtime").symlink_to("/zones/Home")
    (tmp_path / "zones/Home").write_bytes(b"TZif nothing")
    assert time_zone(str(tmp_path)) is None
    body = bytes(15) + bytes(12) + (0).to_bytes(4, "big") + (1).to_bytes(4, "big") + (4).to_bytes(4, "big")
    body += bytes(6) + b"UTC\0"
    (tmp_path / "zones/Home").write_bytes((b"TZif2" + body) * 2 + f"\n{BERLIN}\n".encode())
    assert time_zone(str(tmp_path)) == BERLIN
    (tmp_path / "etc/localtime").unlink()
    (tmp_path / "etc/localtime").symlink_to("localtime")
    assert time_zone(str(tmp_path)) in {None, "UTC0"}
