"""Several outputs of one command: of which the last is the newest, and of which nobody can say that."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdstop.cli import command as cli
from sdstop.core.headline import CRITICAL, OK
from sdstop.pasted.reader import UNORDERED, read_nodes
from tests.pasted.corpus import FORMS, judged, ruled_out

GOOD = """Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      976630336 blocks super 1.2 [2/2] [UU]

unused devices: <none>
"""
BAD = GOOD.replace("sdb1[1] sda1[0]", "sda1[0]").replace("[2/2] [UU]", "[2/1] [U_]")
ASK = "cat /proc/mdstat"
QUOTED = "".join(f"> {line}\n" for line in f"[root@a ~]# {ASK}\n{GOOD}[root@a ~]# ".split("\n"))

UNKNOWN_ORDER = {
    "headings of nodes": f"san-a:\n{BAD}\nsan-b:\n{GOOD}",
    "names of files": f"==> san-a <==\n{BAD}\n==> san-b <==\n{GOOD}",
    "loop over nodes": f"root@jump:~# for h in a b; do ssh $h {ASK}; done\n{BAD}{GOOD}root@jump:~# ",
    "as it should be": f"We have:\n\n{BAD}\nand on the old server:\n\n{GOOD}",
    "answer above": f"[root@a ~]# {ASK}\n{BAD}[root@a ~]#\n\nOn Friday Anna wrote:\n{QUOTED}",
    "answer above, Outlook": f"[root@a ~]# {ASK}\n{BAD}[root@a ~]#\n\nFrom: Anna\n\n[root@a ~]# {ASK}\n{GOOD}",
    "another prompt": f"nas1 # {ASK}\n{BAD}nas2 # {ASK}\n{GOOD}nas2 # ",
    "ssh": f"# {ASK}\n{BAD}# ssh b\n# {ASK}\n{GOOD}#\n",
    "hostname": f"# hostname; {ASK}\na\n{BAD}# hostname; {ASK}\nb\n{GOOD}#\n",
}
"""Texts in which the healthy array is below the degraded one, but may be older or another one."""

NEWER_BELOW = {
    "same prompt": f"[root@a ~]# {ASK}\n{BAD}[root@a ~]# {ASK}\n{GOOD}[root@a ~]# ",
    "another directory": f"root@a:~# {ASK}\n{BAD}root@a:~# cd /srv\nroot@a:/srv# {ASK}\n{GOOD}root@a:/srv# ",
    "prose between": f"root@a:~# {ASK}\n{BAD}\nAnd then I put in a new disk:\n\nroot@a:~# {ASK}\n{GOOD}root@a:~# ",
    "bare prompt": f"# {ASK}\n{BAD}# mdadm /dev/md0 --add /dev/sdb1\n# {ASK}\n{GOOD}#\n",
    "loop over time": f"# while sleep 60; do {ASK}; done\n{BAD}{GOOD}#\n",
    "dates": "".join(
        f"# date\nMon Nov 23 {at} UTC 2026\n# {ASK}\n{each}" for at, each in (("12:00:00", BAD), ("12:30:00", GOOD))
    )
    + "#\n",
    "one node by ssh": f"$ ssh a {ASK}\n{BAD}$ ssh a {ASK}\n{GOOD}$ ",
}


def check(path: Path, text: str) -> int:
    path.write_text(text)
    return cli.execute(["check", "--from", str(path)])


@pytest.mark.parametrize("text", UNKNOWN_ORDER.values(), ids=UNKNOWN_ORDER)
def test_what_may_be_older_or_of_another_node_ends_no_finding(text: str, tmp_path: Path) -> None:
    session = judged(text.encode())
    judgement = session.head().judgement
    assert [(each.rule, each.subject) for each in judgement.findings] == [("array-degraded", "md0")]
    assert ruled_out(session) == set()
    assert [each.until for each in session.episodes()] == [None]
    assert "order or nodes are unknown" in session.origin.note
    assert check(tmp_path / "ticket", text) == CRITICAL


def test_a_capture_of_a_text_keeps_the_unknown_order(tmp_path: Path) -> None:
    (tmp_path / "ticket").write_text(UNKNOWN_ORDER["ssh"])
    assert cli.execute(["capture", "--from", str(tmp_path / "ticket"), "-o", str(tmp_path / "capture")]) == 0
    assert cli.execute(["check", "--from", str(tmp_path / "capture")]) == CRITICAL


@pytest.mark.parametrize("text", NEWER_BELOW.values(), ids=NEWER_BELOW)
def test_what_is_shown_to_be_newer_ends_a_finding(text: str, tmp_path: Path) -> None:
    session = judged(text.encode())
    assert "array-degraded md0" in ruled_out(session)
    assert [each.until is None for each in session.episodes()] == [False]
    assert check(tmp_path / "ticket", text) == OK


def test_equal_outputs_are_one() -> None:
    _, frames = read_nodes(f"san-a:\n{GOOD}\nsan-b:\n{GOOD}".encode(), FORMS)[0]
    assert [(frame.unordered, [item.fault for item in frame.evidence]) for frame in frames] == [(False, [""])]


def test_all_outputs_after_one_of_unknown_order_are_in_doubt() -> None:
    third = GOOD.replace("sdb1", "sdc1")
    _, frames = read_nodes(f"a:\n{BAD}\n# {ASK}\n{GOOD}# {ASK}\n{third}#\n".encode(), FORMS)[0]
    assert [frame.unordered for frame in frames] == [False, True, True]
    assert [frame.evidence[0].fault for frame in frames] == ["", UNORDERED, UNORDERED]


DETAIL = """/dev/md0:
           Version : 1.2
        Raid Level : raid1
        Array Size : 976630336 (931.39 GiB 1000.07 GB)
      Raid Devices : 2
     Total Devices : {count}
       Persistence : Superblock is persistent

             State : {state}
    Active Devices : {count}
   Working Devices : {count}
    Failed Devices : 0
     Spare Devices : 0

    Number   Major   Minor   RaidDevice State
       0       8        1        0      active sync   /dev/sda1
       {second}
"""
WHOLE = DETAIL.format(count=2, state="clean", second="1       8       17        1      active sync   /dev/sdb1")
PART = DETAIL.format(count=1, state="clean, degraded", second="-       0        0        1      removed")
PORT = "Settings for eth0:\n\tSpeed: 10000Mb/s\n\tDuplex: {}\n\tAuto-negotiation: on\n\tLink detected: yes\n"
SMART = """smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0-18-amd64] (local build)

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: {}

"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a:\n{PART}\nb:\n{WHOLE}", "array-degraded"),
        (f"a:\n{WHOLE}\nb:\n{PART}", "array-degraded"),
        (f"a:\n{PORT.format('Half')}\nb:\n{PORT.format('Full')}", "link-degraded"),
        (f"a:\n{PORT.format('Full')}\nb:\n{PORT.format('Half')}", "link-degraded"),
        *(
            (f"# smartctl -H /dev/sda\n{SMART.format(one)}# ssh b\n# smartctl -H /dev/sda\n{SMART.format(other)}#\n",
             "disk-failing")
            for one, other in (("FAILED!", "PASSED"), ("PASSED", "FAILED!"))
        ),
    ],
)  # fmt: skip
def test_outputs_about_one_thing_are_not_joined(text: str, found: str) -> None:
    session = judged(text.encode())
    assert [each.rule for each in session.head().judgement.findings] == [found]
    assert not any(name.startswith(found) for name in ruled_out(session))


POOL = """  pool: tank
 state: {0}
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        {0:<9}    0     0     0
\t  mirror-0  {0:<9}    0     0     0
\t    sda     ONLINE       0     0     0
\t    sdb     {1:<9}    0     0     0

errors: No known data errors
"""
SPACE = """Filesystem      Size  Used Avail Use% Mounted on
/dev/sdb1       200G  {}
"""
MAP = """mpatha (3600a098038303053453f463045727a31) dm-0 NETAPP,LUN C-Mode
size=2.0T features='3 queue_if_no_path pg_init_retries 50' hwhandler='1 alua' wp=rw
`-+- policy='service-time 0' prio=50 status=active
  |- 1:0:0:0 sdb 8:16  {0}
  `- 2:0:0:0 sdc 8:32  {0}
"""
NODES = """Cluster Summary:
  * Stack: corosync
  * Current DC: ha1 (version 2.1.5-a3f44794f94) - partition with quorum
  * 2 nodes configured
  * 1 resource instance configured

Node List:
{}
Active Resources:
  * fs\t(ocf:heartbeat:Filesystem):\t Started ha1
"""
RESOURCE = "r0 role:Primary\n  disk:{}\n  peer role:Secondary\n    peer-disk:UpToDate\n\n"
VOLUMES = """  LV   VG  Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert
  data vg0 {} 100.00g                                    100.00
"""
CARD = """CLI Version = 007.2203.0000.0000 May 11, 2022
Operating system = Linux 5.14.0
Controller = 0
Status = Success
Description = None


Virtual Drives :
==============

---------------------------------------------------------------
DG/VD TYPE  State Access Consist Cache Cac sCC       Size Name
---------------------------------------------------------------
0/0   RAID5 {}  RW     No      RWBD  -   OFF  21.830 TB data
---------------------------------------------------------------

"""
HEALTHS = ("HEALTH_OK\n", "HEALTH_ERR 1 full osd(s)\n[ERR] OSD_FULL: 1 full osd(s)\n    osd.3 is full\n")
CEPH = """  cluster:
    id:     5a1b8c64-2f6e-4a55-9a3d-6b9a1c3f7e21
    health: {}

  services:
    mon: 3 daemons, quorum ceph1,ceph2,ceph3 (age 3w)
    mgr: ceph1(active, since 3w), standbys: ceph2
    osd: 12 osds: 12 up (since 2d), 12 in (since 5w)

  data:
    pools:   4 pools, 193 pgs
    objects: 1.83M objects, 6.9 TiB
    usage:   21 TiB used, 1.1 TiB / 22 TiB avail
    pgs:     193 active+clean

"""

TWO_COMMANDS = {
    "zpool": (
        ("zpool status", "zpool status -v tank"),
        (POOL.format("ONLINE", "ONLINE"), POOL.format("DEGRADED", "FAULTED")),
        "zfs-pool-degraded",
    ),
    "df": (("df -h", "df -h /var"), (SPACE.format(" 20G  180G  10% /var"), SPACE.format("200G     0 100% /var")),
           "filesystem-full"),
    "multipath": (
        ("multipath -ll", "multipath -ll mpatha"),
        (MAP.format("active ready running"), MAP.format("failed faulty running")),
        "path-failed",
    ),
    "pacemaker": (
        ("crm_mon -1", "crm_mon -1r"),
        (NODES.format("  * Online: [ ha1 ha2 ]\n"), NODES.format("  * Online: [ ha1 ]\n  * OFFLINE: [ ha2 ]\n")),
        "cluster-degraded",
    ),
    "drbd": (("drbdadm status", "drbdadm status r0"), (RESOURCE.format("UpToDate"), RESOURCE.format("Diskless")),
             "cluster-degraded"),
    "lvm": (("lvs", "lvs -a"), (VOLUMES.format("rwi-aor---"), VOLUMES.format("rwi-aor-p-")), "volume-group-partial"),
    "storcli": (("storcli64 /c0 show all", "storcli64 /c0/vall show"), (CARD.format("Optl"), CARD.format("Dgrd")),
                "raid-volume-degraded"),
    "smart": (("smartctl -H /dev/sda", "smartctl -H -l error /dev/sda"),
              (SMART.format("PASSED"), SMART.format("FAILED!")), "disk-failing"),
}  # fmt: skip
"""Two commands, a healthy and a faulty output of either, and the rule that finds the fault."""


@pytest.mark.parametrize("turned", [False, True], ids=["healthy first", "faulty first"])
@pytest.mark.parametrize("swapped", [False, True], ids=["as listed", "swapped"])
@pytest.mark.parametrize("name", TWO_COMMANDS)
def test_of_two_commands_that_differ_the_fault_counts(name: str, swapped: bool, turned: bool) -> None:  # noqa: FBT001
    asked, shown, rule = TWO_COMMANDS[name]
    pairs = list(zip(asked[::-1] if swapped else asked, shown, strict=True))
    text = "".join(f"# {line}\n{output}" for line, output in (pairs[::-1] if turned else pairs)) + "#\n"
    judgement = judged(text.encode()).head().judgement
    assert [each.rule for each in judgement.findings] == [rule]
    assert not any(each.rule == rule for each in judgement.ruled_out)


@pytest.mark.parametrize("turned", [False, True])
def test_a_health_of_ceph_that_differs_from_its_status_counts(turned: bool) -> None:  # noqa: FBT001
    health, status = (HEALTHS[0], "HEALTH_ERR\n            1 full osd(s)") if turned else (HEALTHS[1], "HEALTH_OK")
    text = f"# ceph -s\n{CEPH.format(status)}# ceph health detail\n{health}#\n"
    assert [each.subject for each in judged(text.encode()).head().judgement.findings] == ["ceph-5a1b8c64/OSD_FULL"]


def test_parts_of_a_disk_s_health_are_one_row() -> None:
    table = """ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  5 Reallocated_Sector_Ct   0x0033   200   200   140    Pre-fail  Always       -       0
199 UDMA_CRC_Error_Count    0x0032   200   200   000    Old_age   Always       -       7

"""
    rest = SMART.partition("===")[0]
    for verdict, found in (("PASSED", []), ("FAILED!", ["disk-failing"])):
        text = f"# smartctl -H /dev/sda\n{SMART.format(verdict)}# smartctl -A /dev/sda\n{rest}{table}#\n"
        session = judged(text.encode())
        assert [each.rule for each in session.head().judgement.findings if each.rule == "disk-failing"] == found
        assert ("disk-failing sda" in ruled_out(session)) is not bool(found)
