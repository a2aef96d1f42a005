"""flush-disabled: nobarrier on disks with a volatile cache, directly and below a stack."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.df import DF_TEXT, without_options
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.core.finding import Finding, RuledOut, Unchecked
from sdstop.core.retention import mount_table
from sdstop.rules.filesystems.flush_disabled import FLUSH_DISABLED
from tests.nodes.frames import Judged, check


def judged(options: str, cache: str | None, device: str = "/dev/sdb") -> Judged:
    base = "/sys/block/sdb"
    files = {f"{base}/dev": "8:16\n", f"{base}/size": "99\n", "/sys/block/dm-0/dev": "253:0\n"}
    files |= {"/sys/block/dm-0/dm/name": "vg0-home\n", "/sys/block/dm-0/size": "9\n"}
    files |= {"link:/sys/block/dm-0/slaves/sdb": "../../sdb", f"{base}/queue/rotational": "1\n"}
    files |= {f"{base}/queue/write_cache": f"{cache}\n"} if cache is not None else {}
    files["/proc/self/mounts"] = mount_table(f"{device} /srv ext4 {options} 0 0\n".encode()).decode()
    return Judged((BLOCKDEV, MOUNTED), [FLUSH_DISABLED], [(0.0, files)])


@pytest.mark.parametrize(("options", "cache", "kind"), [
    ("rw,relatime,nobarrier", "write back", Finding), ("rw,barrier=0", "write back", Finding),
    ("rw,nobarrier", "write through", RuledOut), ("ro,nobarrier", "write back", RuledOut),
    ("rw,nobarrier", None, Unchecked), ("rw,nobarrier", "none", Unchecked),
])  # fmt: skip
@pytest.mark.parametrize("device", ["/dev/sdb", "/dev/mapper/vg0-home"])
def test_mount_options_and_caches(options: str, cache: str | None, kind: type, device: str) -> None:
    said = judged(options, cache, device).of("/srv")
    assert isinstance(said, kind)
    if isinstance(said, Finding):
        check(said)
        assert said.cause == "Mounted with nobarrier; sdb has a write-back cache."


def test_one_disk_of_two_whose_cache_is_unknown_leaves_it_unchecked() -> None:
    files = {"link:/sys/block/dm-0/slaves/sdb": "../../sdb", "link:/sys/block/dm-0/slaves/sdc": "../../sdc"}
    files |= {f"/sys/block/{name}/size": "99\n" for name in ("sdb", "sdc", "dm-0")}
    files |= {"/sys/block/dm-0/dm/name": "vg0-home\n", "/sys/block/sdb/queue/write_cache": "write through\n"}
    files["/proc/self/mounts"] = "/dev/mapper/vg0-home /srv ext4 rw,nobarrier 0 0\n"
    for more, kind in ({}, Unchecked), ({"/sys/block/sdc/queue/write_cache": "write through\n"}, RuledOut):
        said = Judged((BLOCKDEV, MOUNTED), [FLUSH_DISABLED], [(0.0, files | more)]).of("/srv")
        assert isinstance(said, kind)


@pytest.mark.parametrize("options", ["rw,relatime", "rw,barrier=1", ""])
def test_others_are_not_judged(options: str) -> None:
    """Captures of older versions do not have the option, so that its absence shows nothing."""
    assert judged(options, "write back").all == ()


def test_the_output_of_mount_has_the_option() -> None:
    text = "/dev/sdb on /srv type ext4 (rw,nobarrier,password=x)\n"
    assert without_options(text.encode()) == b"/dev/sdb on /srv type ext4 (rw,nobarrier)\n"
    files = {"cmd:mount": text, "/sys/block/sdb/queue/write_cache": "write back\n", "/sys/block/sdb/dev": "8:16\n"}
    assert Judged((BLOCKDEV, DF_TEXT), [FLUSH_DISABLED], [(0.0, files)]).finding("/srv").title
