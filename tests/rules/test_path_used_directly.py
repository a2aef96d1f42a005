"""path-used-directly: a path that is mounted, or below a volume, beside the map or without one."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.readings import TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.core.evidence import command_key
from sdstop.core.finding import Damage, Severity
from sdstop.rules.paths.path_used_directly import PATH_USED_DIRECTLY
from tests.nodes.frames import Judged

NAME = "path-used-directly"
WWID = "naa.600a098038314c4a5d2b4e5a2f6d3731"


def disk(name: str, minor: int, wwid: str = WWID, size: int = 131072) -> dict[str, str]:
    base = f"/sys/block/{name}"
    return {
        f"list:{base}": "device\nsize\nqueue",
        f"{base}/dev": f"8:{minor}\n",
        f"{base}/size": f"{size}\n",
        f"link:{base}/device": f"../../../{minor}:0:0:0",
        f"{base}/device/wwid": f"{wwid}\n",
        f"{base}/device/model": "LUN C-Mode\n",
    }


def judged(*, mounts: str = "", members: str = "8:0 8:16", more: dict[str, str] | None = None) -> Judged:
    """Judge two paths, sda and sdb, and a map of those whose numbers are `members`, none if empty."""
    files = {
        "list:/sys/block": "sda\nsdb" + ("\ndm-0" if members else ""),
        **disk("sda", 0),
        **disk("sdb", 16),
        "/proc/self/mounts": mounts,
        **(more or {}),
    }
    if members:
        paths = " ".join(f"{number} A 0 0 1" for number in members.split())
        files |= {
            "/sys/block/dm-0/dm/uuid": "mpath-3600a098038314c4a5d2b4e5a2f6d3731",
            "/sys/block/dm-0/dm/name": "mpatha",
            "/sys/block/dm-0/dev": "253:0",
            "list:/sys/block/dm-0": "dm\nslaves\ndev",
            "list:/sys/block/dm-0/slaves": "sda\nsdb" if "8:16" in members else "sda",
            command_key(STATUS): f"mpatha: 0 131072 multipath 2 0 1 0 1 1 A 0 {len(members.split())} 2 {paths}\n",
            command_key(TABLE): "mpatha: 0 131072 multipath 0 0 1 1 service-time 0 0 2\n",
        }
    return Judged((BLOCKDEV, MOUNTED, DM_STATUS), [PATH_USED_DIRECTLY], [(0.0, files)])


def test_paths_that_only_the_map_uses_are_good() -> None:
    said = judged(mounts="/dev/mapper/mpatha /srv xfs rw\n")
    assert said.ruled_out("sda", NAME).summary == "2 of 2 paths in the map, none used directly"
    said.ruled_out("sdb", NAME)


def test_a_path_that_is_mounted_beside_the_map_is_found() -> None:
    finding = judged(mounts="/dev/sdb /srv xfs rw\n", members="8:0").finding("sdb", NAME)
    assert (finding.severity, finding.damage) == (Severity.WARNING, Damage.REDUNDANCY)
    assert finding.title == "PATH USED DIRECTLY"
    assert finding.cause == "/srv uses this path, 1 of 2 to the same disk."


def test_two_paths_without_a_map_are_found_once_one_is_used() -> None:
    assert judged(mounts="/dev/sda /srv xfs rw\n", members="").finding("sda", NAME).title == (
        "SEVERAL PATHS, NO MULTIPATH MAP"
    )
    assert judged(members="").ruled_out("sda", NAME).summary == "0 of 2 paths in the map, none used directly"


@pytest.mark.parametrize(
    "other", [disk("sdb", 16, wwid="naa.600a098038314c4a5d2b4e5a2f6d3732"), disk("sdb", 16, size=131080)]
)
def test_disks_that_differ_are_two_disks(other: dict[str, str]) -> None:
    """Some cheap disks have one world wide name for a whole model."""
    assert judged(mounts="/dev/sda /srv xfs rw\n", members="", more=other).silent(NAME)


def test_a_volume_on_a_path_is_a_use() -> None:
    volume = {
        "list:/sys/block": "sda\nsdb\ndm-0\ndm-1",
        "/sys/block/dm-1/dev": "253:1",
        "/sys/block/dm-1/dm/name": "vg0-data",
        "/sys/block/dm-1/dm/uuid": "LVM-Ue44eq1dG638mLoNITSnMMkH34nqGsi5593hCjXTEMKjeD6ztTEigHYCvZwxJ001",
        "list:/sys/block/dm-1": "dm\nslaves\ndev",
        "list:/sys/block/dm-1/slaves": "sdb",
    }
    finding = judged(members="8:0", more=volume).finding("sdb", NAME)
    assert "uses this path, 1 of 2" in finding.cause
