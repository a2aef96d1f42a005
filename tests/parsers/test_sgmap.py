"""What sg_map prints, and what follows where nobody kept more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.fabric.hba_text import HBA_TEXT
from sdstop.collectors.fabric.readings import DiskPath
from sdstop.collectors.fabric.sgmap import ScsiDevice, parse
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Severity
from sdstop.rules.fabric.hba_oversubscribed import HBA_OVERSUBSCRIBED
from sdstop.rules.fabric.hba_unbalanced import HBA_UNBALANCED
from tests.nodes.frames import Judged
from tests.nodes.hba import Card, files

PART = """/dev/sg0  0 0 0 0  0  /dev/sda  TOSHIBA   MG07SCA14TA       0101
/dev/sg1  0 0 1 0  0  /dev/sdb  TOSHIBA   MG07SCA14TA       0101
/dev/sg8  1 0 8 0  0  /dev/sdi  TOSHIBA   MG07SCA14TA       0101
/dev/sg16  4 0 16 0  0  /dev/sdq  TOSHIBA   MG07SCA14TA       0101
/dev/sg30  0 0 30 0  13  NEWISYS   NDS-4602-CS       0112
/dev/sg31  -1 -1 -1 -1  -1  not present
"""


def test_disks_and_an_enclosure() -> None:
    found = parse(PART)
    assert found[2] == ScsiDevice(1, 0, "sdi", "TOSHIBA", "MG07SCA14TA")
    assert found[4] == ScsiDevice(0, 13, None, "NEWISYS", "NDS-4602-CS")
    assert len(found) == 5


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("/dev/sg0  2 0 0 0  0  /dev/sda", ScsiDevice(2, 0, "sda", None, None)),
        ("/dev/sg0  2 0 0 0  0  /dev/sda  ATA       QEMU HARDDISK     2.5+",
         ScsiDevice(2, 0, "sda", "ATA", "QEMU HARDDISK")),
        ("/dev/sg2  2 0 0 0  3", ScsiDevice(2, 3, None, None, None)),
    ],
)  # fmt: skip
def test_other_lines(line: str, row: ScsiDevice) -> None:
    assert parse(line) == [row]


@given(st.text(max_size=60))
def test_no_text_raises_anything(text: str) -> None:
    for line in (text, f"/dev/sg0  0 0 0 0  0  {text}", f"/dev/sg0  {text}"):
        assert all(row.host >= 0 for row in parse(line))


def mapped(*counts: int) -> dict[str, str]:
    """Return what is kept of hosts with so many disks each."""
    lines, disk = [], 0
    for host, count in enumerate(counts):
        for _ in range(count):
            name = f"sd{chr(97 + disk // 26)}{chr(97 + disk % 26)}"
            lines.append(f"/dev/sg{disk}  {host} 0 {disk} 0  0  /dev/{name}  TOSHIBA   MG07SCA14TA       0101\n")
            disk += 1
    return {"slug:sg_map_-i_-x": "".join(lines)}


def test_the_way_to_a_disk_by_its_host() -> None:
    host = EvidenceHost.of({"slug:sg_map_-i_-x": PART})
    paths = [row for row in HBA_TEXT.read(host) if isinstance(row, DiskPath)]
    assert [(row.device, row.hba, row.host) for row in paths] == [
        ("sda", "host0", "host0"), ("sdb", "host0", "host0"), ("sdi", "host1", "host1"), ("sdq", "host4", "host4"),
    ]  # fmt: skip
    source = paths[2].source()
    assert source is not None
    assert source.key == "slug:sg_map_-i_-x"
    assert source.needle in PART


def test_sysfs_counts_where_there_is_any() -> None:
    host = EvidenceHost.of(files(Card(0x82, ("sda",))) | {"slug:sg_map_-i_-x": PART})
    assert [row.hba for row in HBA.read(host) if isinstance(row, DiskPath)] == ["0000:82:00.0"]


def test_how_disks_are_spread_is_judged_and_what_the_links_carry_is_not() -> None:
    said = Judged([BLOCKDEV, HBA, HBA_TEXT], [HBA_OVERSUBSCRIBED, HBA_UNBALANCED], [(0.0, mapped(15, 15, 15, 15))])
    assert (
        "TOSHIBA MG07SCA14TA evenly on 4 HBAs (host0: 15, host1: 15"
        in said.ruled_out("host0", "hba-unbalanced").summary
    )
    assert "not recorded" in said.unchecked("", "hba-oversubscribed").reason
    uneven = Judged([BLOCKDEV, HBA, HBA_TEXT], [HBA_UNBALANCED], [(0.0, mapped(45, 15))]).finding("host0")
    assert uneven.severity is Severity.INFO
    assert uneven.cause == "45 disks on this HBA, 30.0 on average on 2 identical ones."
    assert "TOSHIBA MG07SCA14TA" in {value.value for value in uneven.values}
