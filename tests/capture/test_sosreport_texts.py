# ruff: noqa: E501  # lines as programs print them
"""What sos has only as text feeds the families that a live node fills from files."""

from __future__ import annotations

import pytest

from sdstop.capture.reader import open_capture
from sdstop.collectors import BUILTIN
from sdstop.collectors.block.readings import BlockLink
from sdstop.collectors.devicemapper.readings import MultipathState
from sdstop.collectors.devicemapper.volume_readings import LogicalVolume, PhysicalVolume, VolumeGroup
from sdstop.collectors.fabric.readings import DiskPath, Hba, NumaNode
from sdstop.collectors.network.path_readings import NodeAddress
from sdstop.collectors.network.readings import Bond, BondSlave, Interface, InterfaceLink
from sdstop.core.session import Session
from sdstop.core.snapshot import Snapshot
from sdstop.rules import RULES
from tests.fixtures import FIXTURES

IP = """\
2: eno1: <BROADCAST,MULTICAST,SLAVE,UP,LOWER_UP> mtu 9000 qdisc mq master bond0 state UP group default qlen 1000
    link/ether 3c:fd:fe:a1:b2:c0 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9702 numtxqueues 64
3: eno2: <NO-CARRIER,BROADCAST,MULTICAST,SLAVE,UP> mtu 9000 qdisc mq master bond0 state DOWN group default qlen 1000
    link/ether 3c:fd:fe:a1:b2:c0 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9702 numtxqueues 64
5: bond0: <BROADCAST,MULTICAST,MASTER,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP group default qlen 1000
    link/ether 3c:fd:fe:a1:b2:c0 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 65535
    bond mode active-backup active_slave eno1 miimon 100 updelay 0 downdelay 0 xmit_hash_policy layer2 addrgenmode eui64
    inet 198.51.100.5/24 brd 198.51.100.255 scope global bond0
       valid_lft forever preferred_lft forever
"""
BONDING = """\
Ethernet Channel Bonding Driver: v3.7.1 (April 27, 2011)

Bonding Mode: fault-tolerance (active-backup)
Primary Slave: None
Currently Active Slave: eno1
MII Status: up
MII Polling Interval (ms): 100
Up Delay (ms): 0

Slave Interface: eno1
MII Status: up
Speed: 10000 Mbps
Duplex: full
Link Failure Count: 0
Permanent HW addr: 3c:fd:fe:a1:b2:c0

Slave Interface: eno2
MII Status: down
Speed: Unknown
Duplex: Unknown
Link Failure Count: 3
Permanent HW addr: 3c:fd:fe:a1:b2:c2
"""
LSBLK = """\
NAME           MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINT
sda              8:0    0  3.7T  0 disk
`-md0            9:0    0  3.7T  0 raid1
  `-vg0-home   253:0    0    1T  0 lvm   /home
sdb              8:16   0  3.7T  0 disk
`-md0            9:0    0  3.7T  0 raid1
  `-vg0-home   253:0    0    1T  0 lvm   /home
"""
LVS = """\
  WARNING: Locking disabled. Be careful! This could corrupt your metadata.
  LV   VG  Attr       LSize Pool Origin Data% Meta% Move Log Cpy%Sync Convert LV Tags Devices     KRahead Rahead #Str Stripe
  home vg0 -wi-ao---- 1.00t                                                           /dev/md0(0) 128.00k   auto    1      0
"""
VGS = """\
    VG  Attr   Ext   #PV #LV #SN VSize VFree VG UUID                                VProfile #VMda VMdaFree VMdaSize
    vg0 wz--n- 4.00m   1   1   0 3.64t 2.64t ou3eDf-8Xvh-2vKX-5DUG-0Jhg-SHdZ-tEwxtB              1  506.00k 1020.00k
"""
PVS = """\
  PV       VG  Fmt  Attr PSize PFree DevSize PV UUID                                PMdaFree PMdaSize #PMda #PMdaUse 1st PE
  /dev/md0 vg0 lvm2 a--  3.64t 2.64t   3.64t 2vKXAw-5DUG-0Jhg-SHdZ-8Xvh-s8jo-5tEwxt  506.00k 1020.00k     1        1  1.00m
  /dev/sda          ---     0     0    3.64t                                              0        0      0        0     0
"""
FILES = {
    "proc/mdstat": "Personalities : [raid1]\nmd0 : active raid1 sdb[1] sda[0]\n      3906886464 blocks super 1.2 [2/2] [UU]\n"
    "\nunused devices: <none>\n",
    "proc/net/bonding/bond0": BONDING,
    "sys/class/net/eno1/flags": "0x1903\n",
    "sys/class/net/eno1/statistics/rx_errors": "0\n",
    "sos_commands/networking/ip_-d_address": IP,
    "sos_commands/networking/ethtool_eno1": "Settings for eno1:\n\tSpeed: 10000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n",
    "sos_commands/networking/ethtool_-i_eno1": "driver: i40e\nversion: 2.8.20-k\nfirmware-version: 6.01\n",
    "sos_commands/block/lsblk": LSBLK,
    "sos_commands/lvm2/lvs_-a_-o_lv_tags_devices_lv_kernel_read_ahead_--config_global_locking_type_0": LVS,
    "sos_commands/lvm2/vgs_-v_-o_vg_mda_count_vg_mda_free_--config_global_locking_type_0": VGS,
    "sos_commands/lvm2/pvs_-a_-v_-o_pv_mda_free_pv_mda_size_--config_global_locking_type_0": PVS,
    "sos_commands/multipath/multipath_-ll": (FIXTURES / "texts/devicemapper/multipath-0.4.8.txt").read_text(),
    "sos_commands/multipath/multipath_-v4_-ll": "Nov 21 16:32:11 | sda: not found in pathvec\n  #1 (thing)\n",
    "sos_commands/pci/lspci_-nnvv": (FIXTURES / "texts/fabric/lspci-hba-downgraded.txt").read_text().partition("root@nas1:~# lsscsi")[0],
    "sos_commands/scsi/sg_map_-x": "/dev/sg0  0 0 0 0  0  /dev/sda\n/dev/sg1  0 0 1 0  0  /dev/sdb\n",
    "sos_commands/processor/lscpu": (FIXTURES / "texts/memory/one-dimm-german.txt").read_text().partition("\n\n")[0],
    "version.txt": "sosreport: 3.9\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("sos")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    origin, frames = open_capture(folder)
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    return session.head().now


def test_interfaces_and_their_mtu(now: Snapshot) -> None:
    rows = now.rows(Interface)
    assert {name: (row.kind, row.mtu, row.carrier) for name, row in rows.items()} == {
        "eno1": ("physical", 9000, True), "eno2": ("physical", 9000, False), "bond0": ("bond", 9000, True),
    }  # fmt: skip
    assert (rows["eno1"].speed, rows["eno1"].driver, rows["eno2"].speed) == (1_250_000_000, "i40e", None)
    assert {row.address for row in now.rows(NodeAddress).values()} == {"198.51.100.5"}
    assert ("eno2", "bond0", "bond") in now.rows(InterfaceLink)


def test_bonds_of_proc(now: Snapshot) -> None:
    assert now.rows(Bond)["bond0"].mode == "active-backup"
    slave = now.rows(BondSlave)["bond0", "eno2"]
    assert (slave.state, slave.link, slave.link_failures) == ("backup", "down", 3)


def test_volumes(now: Snapshot) -> None:
    volume = now.rows(LogicalVolume)["vg0/home"]
    assert (volume.type, volume.devices, volume.stripes, volume.size) == ("linear", "md0", 1, 1 << 40)
    assert now.rows(VolumeGroup)["vg0"].partial == 0
    assert list(now.rows(PhysicalVolume)) == ["/dev/md0"]


def test_links_without_slaves_in_sysfs(now: Snapshot) -> None:
    assert set(now.rows(BlockLink)) == {("dm-0", "md0"), ("md0", "sda"), ("md0", "sdb")}
    below = now.rows(BlockLink)["md0", "sda"]
    assert below.relation == "slave"


def test_paths_and_links_of_hbas(now: Snapshot) -> None:
    assert {name: row.active for name, row in now.rows(MultipathState).items()} == {"mpath0": 3, "mpath1": 4}
    assert now.rows(Hba)["0000:03:00.0"].width == 4
    assert now.rows(DiskPath)["sda"].host == "host0"


def test_nodes_of_lscpu(now: Snapshot) -> None:
    assert now.rows(NumaNode)["node1"].cpus == "8-15,24-31"


def test_every_source_says_what_it_read(now: Snapshot) -> None:
    assert {name: run.reason for name, run in now.runs.items() if run.outcome.value in {"unread", "failed"}} == {}
