"""Recorded `zpool iostat`: the tree it prints, its waits, and which reports are means since the import."""
# ruff: noqa: E501  # lines as wide as zpool prints them

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.zfs.zpool_iostat import ZPOOL_IOSTAT, intervals, printed
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.readings.service import Service

HEAD = """\
              capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub   trim
pool        alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait   wait
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
"""
BODY = """\
tank         251M  1.13G     12     48  2.35K  2.98M  290us    2ms  270us    1ms  345us    1us    8us    1ms      -      -
  mirror-0   251M  1.13G     12     48  2.35K  2.98M  290us    2ms  270us    1ms  345us    1us    8us    1ms      -      -
    sda         -      -      6     48    802  1017K  299us {wait}  280us    1ms  345us    1us    8us    1ms      -      -
    /dev/sdb1   -      -      6     48    802  1017K      -    2ms  280us    1ms  345us    1us    8us    1ms      -      -
logs            -      -      -      -      -      -      -      -      -      -      -      -      -      -      -      -
  nvme0n1       0  1.13G      0  1.20K      0  2.98M      -   20us      -   20us      -      -      -      -      -      -
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
"""
TEXT = HEAD + BODY.format(wait="  1ms") + HEAD + BODY.format(wait=" 99ms") + HEAD + BODY.format(wait="  1s ")


def read(command: str, text: str) -> dict[str, Service]:
    rows = ZPOOL_IOSTAT.read(EvidenceHost.of({f"cmd:{command}": text}))
    return {row.device: row for row in rows if isinstance(row, Service)}


def test_the_tree_is_read_with_its_waits() -> None:
    rows = read("zpool iostat -vl 1 3", TEXT)
    assert {name: (row.kind, row.within) for name, row in rows.items()} == {
        "tank": ("pool", None), "tank/mirror-0": ("group", "tank"), "tank/sda": ("device", "tank/mirror-0"),
        "tank/sdb1": ("device", "tank/mirror-0"), "tank/nvme0n1": ("device", None),
    }  # fmt: skip
    disk = rows["tank/sda"]
    assert disk.read_wait == pytest.approx(299e-6)
    assert disk.write_wait == 1.0
    assert (disk.reads_per_second, disk.writes_per_second, disk.requests_per_second) == (6.0, 48.0, 54.0)
    assert (disk.seconds, disk.queue, disk.busy, disk.wait) == (1.0, None, None, None)
    assert rows["tank/sdb1"].read_wait is None
    assert rows["tank/nvme0n1"].writes_per_second == 1.2 * 1024
    assert (rows["tank/sda"].naming, rows["tank/sda"].name) == ("vdev", "tank/sda")
    source = rows["tank/sdb1"].source()
    assert source is not None
    assert (source.key, source.needle) == ("cmd:zpool iostat -vl 1 3", "/dev/sdb1")


def test_each_interval_is_an_output_of_its_own_without_the_mean_since_the_import() -> None:
    found = [read("zpool iostat -vl 1", each.data.decode()) for each in intervals("zpool iostat -vl 1", TEXT.encode())]
    assert [rows["tank/sda"].write_wait for rows in found] == [pytest.approx(0.099), 1.0]
    assert all(rows["tank/nvme0n1"].within is None for rows in found)
    every = intervals("zpool iostat -vly 5", TEXT.encode())
    assert [read("zpool iostat -vly 5", each.data.decode())["tank/sda"].write_wait for each in every] == [
        pytest.approx(0.001), pytest.approx(0.099), 1.0,
    ]  # fmt: skip
    assert {each.seconds for each in every} == {5.0}
    assert intervals("zpool status -v 1", TEXT.encode()) == []


def test_the_mean_since_the_import_is_no_sample() -> None:
    one = HEAD + BODY.format(wait="  1ms")
    with pytest.raises(Absent, match="since the import"):
        read("zpool iostat -vl", one)
    assert read("zpool iostat -vly 1 1", one)["tank/sda"].write_wait == pytest.approx(0.001)
    with pytest.raises(Absent) as error:
        read("zpool iostat -v -H -p -l -q", one)  # what sdstop runs itself
    assert not error.value.recorded
    with pytest.raises(Malformed):
        read("zpool iostat -vl 1", "cannot open 'tank': no such pool\n")


@pytest.mark.parametrize(
    ("columns", "waits"),
    [
        ("capacity operations bandwidth", False),
        ("capacity operations bandwidth total_wait disk_wait syncq_wait asyncq_wait scrub", True),  # 0.7
        ("capacity operations bandwidth total_wait disk_wait syncq_wait asyncq_wait scrub trim rebuild", True),  # 2.2
        ("capacity operations bandwidth syncq_read syncq_write asyncq_read asyncq_write scrubq_read", False),  # -q
        (
            "capacity operations bandwidth total_wait disk_wait syncq_wait asyncq_wait scrub syncq_read syncq_write",
            True,
        ),
    ],
)
def test_columns_of_every_version_by_their_heading(columns: str, *, waits: bool) -> None:
    count = sum(1 if name in {"scrub", "trim", "rebuild"} else 2 for name in columns.split())
    cells = ["1M", "2M", "3", "4", "5K", "6K", *(["7us", "8us"] if waits else []), *["-"] * 40][:count]
    text = f"    {columns}\npool alloc free read\n{'- ' * (count + 1)}\n" + f"tank  {'  '.join(cells)}\n" * 2
    row = read("zpool iostat 1 2", text)["tank"]
    assert (row.reads_per_second, row.writes_per_second) == (3.0, 4.0)
    assert row.read_wait == (pytest.approx(7e-6) if waits else None)
    assert row.write_wait == (pytest.approx(8e-6) if waits else None)


def test_without_headings_all_is_of_the_first_pool_and_no_group_is_known() -> None:
    waits = "\t".join(["290000", "2000000", *["-"] * 9])
    lines = [f"{name}\t100\t200\t0\t48\t2402\t29800\t{waits}\n" for name in ("tank", "mirror-0", "sda")]
    rows = read("zpool iostat -Hvlp 1 2", "".join(lines * 2))
    assert {name: (row.kind, row.within, row.write_wait) for name, row in rows.items()} == {
        "tank": ("pool", None, 0.002), "tank/mirror-0": ("group", None, 0.002), "tank/sda": ("device", None, 0.002),
    }  # fmt: skip
    assert len(intervals("zpool iostat -Hvlp 1 2", "".join(lines * 3).encode())) == 2


def test_pools_without_vdevs() -> None:
    line = "{}  251M  1.13G  12  48  2.35K  2.98M\n"
    head = "    capacity operations bandwidth\npool alloc free read write read write\n"
    text = head + (line.format("tank") + line.format("data")) * 3
    assert [[row.name for row in report.lines] for report in printed(text)] == [["tank", "data"]] * 3
    assert set(read("zpool iostat 1", text)) == {"tank", "data"}


words = st.sampled_from([*TEXT.split(), "\n", "  ", "\t", "capacity", "9" * 300, "-"])
texts = st.lists(words).map(" ".join) | st.lists(st.sampled_from(TEXT.splitlines())).map("\n".join) | st.text()


@given(texts, st.sampled_from(["zpool iostat -vl 1", "zpool iostat -Hlyv 2", "zpool iostat", "zpool_iostat_-vl_1"]))
def test_no_text_breaks_it(text: str, command: str) -> None:
    with contextlib.suppress(Absent, Malformed):
        read(command, text.encode("utf-8", "replace").decode())
    for each in intervals(command, text.encode("utf-8", "replace")):
        printed(each.data.decode())
