"""lvdisplay, vgdisplay and pvdisplay: a block of lines for each thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.devicemapper.lvm_display import rows
from sdstop.core.host import Malformed
from tests.fixtures import FIXTURES
from tests.pasted.corpus import findings, judged, ruled_out

TEXT = (FIXTURES / "texts/devicemapper/lvdisplay.txt").read_text()
POOL = TEXT.partition("# lvdisplay\n")[2].partition("  --- Logical volume ---\n  LV Path                /dev/vg0/vm1")[
    0
]


def check(pool: str) -> tuple[set[str], set[str]]:
    session = judged(f"# lvdisplay\n{pool}# \n".encode())
    return findings(session), ruled_out(session)


def test_every_block_is_a_row() -> None:
    found = rows(TEXT)
    assert [row.get("lv_name") or row.get("pv_name") or row["vg_name"] for row in found] == [
        "vms", "vm1", "backup", "vg0", "/dev/sda3", "[unknown]",
    ]  # fmt: skip
    assert found[2] == {
        "lv_name": "backup", "vg_name": "vg0", "lv_size": "2.00g", "segtype": "snapshot", "origin": "root",
        "lv_health_status": "invalid snapshot",
    }  # fmt: skip
    assert (found[3]["vg_size"], found[3]["vg_free"]) == ("<276.25g", "14.01g")


@pytest.mark.parametrize(
    ("share", "severity"), [("79.90", ""), ("80.10", "warning"), ("94.90", "warning"), ("95.10", "critical")]
)
def test_a_pool_is_judged_by_its_share_and_never_good(share: str, severity: str) -> None:
    found, good = check(POOL.replace("91.52", share))
    assert found == ({f"{severity} thin-pool-filling vg0/vms"} if severity else set())
    assert not {each for each in good if each.endswith(" vg0/vms")}


def test_up_to_2_02_88_the_name_is_a_path_and_units_are_ambiguous() -> None:
    found = rows(POOL.replace("LV Name                vms", "LV Name                /dev/vg0/vms").replace("GiB", "GB"))
    assert (found[0]["lv_name"], found[0]["lv_size"]) == ("vms", "")


def test_the_segments_of_a_volume_are_not_its_values() -> None:
    text = (
        POOL.rstrip()
        + "\n  --- Segments ---\n  Logical extents 0 to 51198:\n    Type\t\tthin-pool\n    LV Size 1.00 GiB\n"
    )
    assert rows(text) == rows(POOL)


def test_an_inactive_snapshot_of_an_inactive_volume_may_be_intact() -> None:
    block = TEXT.partition("/dev/vg0/backup")[2].partition("# vgdisplay")[0]
    block = f"  --- Logical volume ---\n  LV Path                /dev/vg0/backup{block}"
    assert check(block)[0] == {"critical snapshot-filling vg0/backup"}
    assert check(block.replace("LV Status              available", "LV Status              NOT available"))[0] == set()


@given(st.text() | st.lists(st.sampled_from(TEXT.splitlines())).map("\n".join))
def test_any_text_is_parsed_or_malformed(text: str) -> None:
    try:
        assert all(rows(text))
    except Malformed:
        return
