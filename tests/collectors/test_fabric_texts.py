"""lspci, lsscsi, numactl, lscpu and smp_utils as recorded text."""
# ruff: noqa: E501, RUF001  # lines as wide as programs print them

from __future__ import annotations

import pytest

from sdstop.collectors.fabric import lspci, lsscsi, smp
from sdstop.collectors.fabric.numa_text import NUMA_TEXT, fault_of_numactl, parse_numactl
from sdstop.collectors.fabric.port_readings import SasPhy
from sdstop.collectors.fabric.readings import NumaNode
from sdstop.collectors.fabric.sas import SAS
from sdstop.core.evidence_host import EvidenceHost
from sdstop.readings import lscpu

HEAD = "03:00.0 RAID bus controller [0104]: Broadcom / LSI MegaRAID SAS-3 3108 [Invader] [1000:005d] (rev 02)\n"


@pytest.mark.parametrize(
    ("said", "speed", "width"),
    [
        ("\t\tLnkSta:\tSpeed 8GT/s, Width x4, TrErr- Train- SlotClk+ DLActive-", 8e9, 4),
        ("\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (ok)", 2.5e9, 8),
        ("        LnkSta: Speed 16GT/s (ok), Width x16 (ok)", 16e9, 16),
        ("\t\tLnkSta:\tSpeed unknown, Width x0", None, None),
        ("\tCapabilities: <access denied>", None, None),
    ],
)
def test_link_state(said: str, speed: float | None, width: int | None) -> None:
    (function,) = lspci.parse(f"{HEAD}{said}\n")
    assert function.link("LnkSta") == (speed, width)
    assert (function.address, function.kind, function.ids) == ("0000:03:00.0", "raid", "1000:005d")


def test_link_capability_and_bridges() -> None:
    bridge = (
        "10000:e0:06.0 PCI bridge: Intel Corporation Device 4c09\n\tBus: primary=e0, secondary=e1, subordinate=e1\n"
    )
    drive = "10000:e1:00.0 Non-Volatile memory controller: Samsung SM981\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n"
    above, below = lspci.parse(bridge + drive)
    assert below.link("LnkCap") == (8e9, 4)
    assert lspci.above(below, {above.secondary or "": above}) == [above]


def test_devices_and_hosts_of_lsscsi() -> None:
    text = (
        "[0:0:30:0]   enclosu NEWISYS  NDS-4602-CS      0112  -          /dev/sg30\n"
        "[1:0:8:0]    disk    TOSHIBA  MG07SCA14TA      0101  /dev/sdi   /dev/sg8   14.0TB\n"
        "[2:0:0:0]    disk    sas:0x5000c50000000001          /dev/sdj   /dev/sg9\n"
        "[N:0:1:1]    disk    QEMU NVMe Ctrl__1                          /dev/nvme0n1\n"
        "[3]    ahci\n"
    )
    devices, hosts = lsscsi.parse(text)
    assert [(each.host, each.type, each.device, each.model) for each in devices] == [
        (0, "enclosu", None, "NEWISYS NDS-4602-CS"), (1, "disk", "sdi", "TOSHIBA MG07SCA14TA"), (2, "disk", "sdj", None),
    ]  # fmt: skip
    assert [(each.number, each.driver) for each in hosts] == [(3, "ahci")]


def test_numactl_and_its_end() -> None:
    text = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 8 9\nnode 0 size: 100 MB\nnode 1 cpus:\nnode 1 size: 0 MB\n"
    whole = f"{text}node distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n"
    assert parse_numactl(whole) == {
        0: {"cpus": "0-1,8-9", "memory": 100 << 20, "distance": "10 21"}, 1: {"cpus": "", "memory": 0, "distance": "21 10"},
    }  # fmt: skip
    assert (fault_of_numactl(whole), fault_of_numactl(text)) == ("", "0 of 2 nodes")


def test_numastat_joins_the_nodes() -> None:
    numastat = "                           node0           node1\nnuma_hit    8  7\nnuma_miss   0  3\nlocal_node  5  6\nother_node  1  2\n"
    host = EvidenceHost.of({"cmd:numastat": numastat, "cmd:lscpu": "Socket(s): 1\nNUMA node0 CPU(s): 0-3\n"})
    found = {row.node: row for row in NUMA_TEXT.read(host) if isinstance(row, NumaNode)}
    assert (found["node1"].local, found["node1"].missed, found["node1"].memory) == (6, 3, None)


@pytest.mark.parametrize(
    ("text", "sockets", "cpus"),
    [
        ("Sockel:                       2\nNUMA-Knoten0 CPU(s):          0-7\n", 2, "0-7"),
        ("Socket(s)\xa0:                           2\nNœud NUMA\xa00 de processeur(s)\xa0:      0-7\n", 2, "0-7"),
        ("ソケット数:                           2\nNUMA ノード 0 CPU:                    0-7\n", 2, "0-7"),
        ("座：                                  2\nNUMA 节点0 CPU：                      0-7\n", 2, "0-7"),
        ("Сокетов:                              2\nNUMA node0 CPU(s):                    0-7\n", 2, "0-7"),
    ],
)
def test_lscpu_in_other_languages(text: str, sockets: int, cpus: str) -> None:
    table = lscpu.parse(text)
    assert (table.sockets, dict(table.cpus)) == (sockets, {0: cpus})


def test_lscpu_shows_its_end_and_a_hypervisor() -> None:
    text = "NUMA node(s):       2\nNUMA node0 CPU(s):  0\nHypervisor vendor:  KVM\n"
    assert lscpu.fault(text) == "1 of 2 NUMA nodes"
    assert lscpu.parse(text).virtual


FULL = """\
Discover response:
  phy identifier: 5
  attached SAS device type: SAS or SATA device
  negotiated logical link rate: phy enabled, 12 Gbps
  attached SAS address: 0x5000c50000000afd
  zone group: 8
Discover response:
  phy identifier: 6
  attached SAS device type: no device attached
  negotiated logical link rate: phy enabled; unknown rate
  attached SAS address: 0x0
"""
LIST = "phy_id=5\n  att_dev_type=2\n  att_sas_addr=0x5000c50000000afd\n  dev_slot_num=2\n  neg_phy_lrate=10\n  zg=8\n"


def test_other_forms_of_smp_discover() -> None:
    up, none = smp.parse_phys(FULL)
    assert up == smp.Phy(5, "up", 1_200_000_000, "0x5000c50000000afd", "end device", 8)
    assert (none.number, none.state, none.attached) == (6, "none", None)
    assert smp.parse_phys(LIST) == [smp.Phy(5, "up", 600_000_000, "0x5000c50000000afd", "edge expander", 8, 2)]


LOG = """\
Report phy error log response:
  Expander change count: 567
  phy identifier: 52
  invalid dword count: 168
  running disparity error count: 172
  loss of dword synchronization count: 5
  phy reset problem count: 0
"""


@pytest.mark.parametrize(
    ("key", "phy"),
    [
        ("cmd:smp_rep_phy_err_log", "phy-expander:52"),
        ("cmd:smp_rep_phy_err_log -p $i /dev/bsg/expander-1:0", "phy-1:0:52"),
        ("cmd:smp_rep_phy_err_log --phy=52 /dev/bsg/expander-1:0", "phy-1:0:52"),
    ],
)
def test_a_loop_over_phys(key: str, phy: str) -> None:
    host = EvidenceHost.of({key: LOG + LOG.replace("52", "53") + "Report phy error log result: Phy vacant\n"})
    found = {row.phy: row for row in SAS.read(host) if isinstance(row, SasPhy)}
    assert found[phy].invalid_dwords == 168
    source = found[phy].source("invalid_dwords")
    assert source is not None
    assert source.key == key
    assert not host.defects


def test_a_cut_log_is_noted() -> None:
    host = EvidenceHost.of({"cmd:smp_rep_phy_err_log": LOG + LOG[:80]})
    assert len([row for row in SAS.read(host) if isinstance(row, SasPhy)]) == 1
    assert [defect.reason for defect in host.defects] == ["1 of the error logs incomplete"]
