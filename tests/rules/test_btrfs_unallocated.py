"""btrfs-unallocated: no space for another chunk, of texts and of mounted file systems."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.filesystems.chunks import BTRFS_CHUNKS, amount, parse_df, parse_usage
from sdstop.collectors.filesystems.readings import BtrfsSpace
from sdstop.core.finding import Severity
from sdstop.core.host import Malformed
from sdstop.rules.filesystems.btrfs_unallocated import BTRFS_UNALLOCATED
from tests.nodes.frames import Judged
from tests.pasted.corpus import findings, judged, ruled_out

GIB = 1 << 30
UUID = "6a0b1c2d-1111-2222-3333-444455556666"
BASE = f"/sys/fs/btrfs/{UUID}"
NAME = "btrfs-unallocated"


def sysfs(unallocated: int, used: int, *, size: int = 1000 * GIB, devices: str = "sdb", numbers: str = "1") -> Judged:
    metadata = 20 * GIB
    files = {
        "list:/sys/fs/btrfs": f"{UUID}\nfeatures",
        f"list:{BASE}/devices": devices,
        f"list:{BASE}/devinfo": numbers,
        **{f"{BASE}/devices/{name}/size": f"{size // 512}\n" for name in devices.split("\n")},
        f"{BASE}/allocation/data/disk_total": f"{size - 2 * metadata - unallocated}\n",
        f"{BASE}/allocation/data/total_bytes": f"{size - 2 * metadata - unallocated}\n",
        f"{BASE}/allocation/data/bytes_used": f"{GIB}\n",
        f"{BASE}/allocation/metadata/disk_total": f"{2 * metadata}\n",
        f"{BASE}/allocation/metadata/total_bytes": f"{metadata}\n",
        f"{BASE}/allocation/metadata/bytes_used": f"{used}\n",
        f"{BASE}/allocation/system/disk_total": "0\n",
        f"{BASE}/allocation/global_rsv_size": f"{GIB // 2}\n",
        f"{BASE}/allocation/global_rsv_reserved": f"{GIB // 2}\n",
    }
    return Judged((BTRFS_CHUNKS,), [BTRFS_UNALLOCATED], [(0.0, files), (60.0, files)])


@pytest.mark.parametrize(
    ("used", "severity"),
    [
        (int(19.0 * GIB), Severity.CRITICAL),  # 97.5% with the reserve
        (int(18.8 * GIB), Severity.WARNING),
        (int(16.6 * GIB), Severity.WARNING),  # 85.5%
        (int(16.4 * GIB), Severity.INFO),
    ],
)
def test_a_mounted_one_by_the_share_of_its_metadata(used: int, severity: Severity) -> None:
    assert sysfs(GIB - 512, used).finding("sdb").severity is severity
    passed = sysfs(GIB, used).ruled_out("sdb")
    assert passed.summary.startswith("1 GiB unallocated, metadata ")


def test_with_a_missing_device_the_space_is_unknown() -> None:
    assert not sysfs(0, 19 * GIB + GIB // 2, numbers="1\n2").unchecked("sdb").calm


def test_a_small_file_system_has_small_chunks() -> None:
    assert sysfs(300 << 20, 19 * GIB, size=50 * GIB).ruled_out("sdb").summary.startswith("300 MiB unallocated")
    assert sysfs(200 << 20, 19 * GIB, size=50 * GIB).finding("sdb").severity is Severity.CRITICAL


USAGE = """Overall:
    Device size:\t\t 100.00GiB
    Device unallocated:\t\t   {free}
    Device missing:\t\t     0.00B
    Global reserve:\t\t 512.00MiB\t(used: {reserve})

Data,single: Size:80.00GiB, Used:{data}GiB (50.00%)
   /dev/sdb\t  80.00GiB

Metadata,{profile}: Size:10.00GiB, Used:{meta}GiB (50.00%)
   /dev/sdb\t  10.00GiB

Unallocated:
   /dev/sdb\t   {free}
   /dev/sdc\t   {other}
"""
GOOD = {"free": "1.00MiB", "other": "1.00MiB", "reserve": "0.00B", "data": "40.00", "meta": "4.00", "profile": "RAID1"}


def shown(**changes: str) -> bytes:
    return f"[root@a ~]# btrfs fi usage /srv\n{USAGE.format(**(GOOD | changes))}[root@a ~]# \n".encode()


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, ""),  # information: metadata half full
        ({"meta": "9.60"}, "critical"),
        ({"meta": "8.50"}, "warning"),
        ({"data": "79.50"}, "critical"),
        ({"reserve": "16.00KiB"}, "critical"),
        ({"meta": "9.60", "free": "5.00GiB", "other": "5.00GiB"}, "good"),
        ({"meta": "9.60", "free": "5.00GiB"}, "critical"),  # RAID1 needs both
        ({"meta": "9.60", "free": "5.00GiB", "profile": "single"}, "good"),
        ({"meta": "9.60", "free": "1.50GiB", "profile": "DUP"}, "critical"),  # both copies on one device
        ({"meta": "9.60", "free": "2.50GiB", "profile": "DUP"}, "good"),
    ],
)
def test_an_output_by_room_and_use(changes: dict[str, str], found: str) -> None:
    session = judged(shown(**changes))
    expected = {f"{found} {NAME} /srv"} if found in {"critical", "warning"} else set()
    assert findings(session) == expected
    assert (f"{NAME} /srv" in ruled_out(session)) == (found == "good")


def test_df_alone_does_not_show_unallocated_space() -> None:
    table = "Data, single: total=80.00GiB, used=40.00GiB\nMetadata, DUP: total=10.00GiB, used=9.80GiB\n"
    session = judged(f"[root@a ~]# btrfs fi df /srv\n{table}[root@a ~]# \n".encode())
    assert findings(session) == set()
    (said,) = [each for each in session.head().judgement.unchecked if each.rule == NAME]
    assert (said.reason, said.calm) == ("metadata 98.0% used; unallocated space not shown", False)


def test_sizes() -> None:
    assert [amount(each) for each in ("0.00B", "1.50KiB", "2.00TiB", "3.00GB", "42", "1,5GiB", "GiB")] == [
        0, 1536, 2 << 40, 3_000_000_000, 42, None, None,
    ]  # fmt: skip


@given(st.text("Overal:\n Dvicsuntd,12.GiB()/", max_size=300))
def test_any_text_is_read_or_malformed(text: str) -> None:
    row = parse_usage(USAGE.format(**GOOD) + text, "cmd:btrfs fi usage /srv", "/srv")
    assert isinstance(row, BtrfsSpace)
    for parse in (parse_usage, parse_df):
        with contextlib.suppress(Malformed):
            assert isinstance(parse(text, "cmd:btrfs fi usage /srv", "/srv"), BtrfsSpace)
