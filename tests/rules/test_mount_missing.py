"""mount-missing: file systems of /etc/fstab that are not mounted, and those that need not be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdstop.collectors.block.df import DF_TEXT
from sdstop.collectors.block.fstab import FSTAB_ENTRIES, parse
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.system.node import NODE
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.core.retention import fstab_table, fstab_without_names
from sdstop.rules.filesystems.mount_missing import MOUNT_MISSING
from tests.nodes.frames import Judged, check

ROOT = "/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\n"
UUID = "2f0b9c1e-7a44-4f0e-9d55-0a1d2c3b4e5f"
DATA = f"UUID={UUID} /srv/data xfs defaults 0 2\n"


def judged(fstab: str, mounts: str = ROOT, uptime: float = 86400.0) -> Judged:
    files = {"/etc/fstab": fstab_table(fstab.encode()).decode(), "/proc/self/mounts": mounts}
    files |= {"/proc/uptime": f"{uptime} 1.0\n"}
    return Judged((FSTAB_ENTRIES, MOUNTED, NODE), [MOUNT_MISSING], [(0.0, files)])


def severities(said: Judged) -> Mapping[str, Severity]:
    return {each.subject: each.severity for each in said.all if isinstance(each, Finding)}


@pytest.mark.parametrize(("entry", "severity"), [
    (DATA, Severity.WARNING),
    ("LABEL=data /srv/data/ ext4 noatime,nofail 0 2\n", Severity.INFO),
    ("nas:/export /srv/data nfs4 _netdev 0 0\n", Severity.WARNING),
    ("//nas/x /srv/data cifs username=a,password=b,nofail 0 0\n", Severity.INFO),
    ("/srv/pool/data /srv/data none bind 0 0\n", Severity.WARNING),
    ("tank/data /srv/data zfs defaults 0 0\n", Severity.WARNING),
    ("/dev/sdb1 /srv/data xfs noauto,x-systemd.automount 0 0\n", Severity.WARNING),  # noauto has no effect
    ("/dev/sdb1 /srv/data xfs noauto,user 0 0\n", None),
    ("/dev/sr0 /srv/data auto user 0 0\n", None),
    ("tmpfs /srv/data tmpfs size=1g 0 0\n", None),
    ("/dev/sdb2 none swap sw 0 0\n", None),
    ("/dev/sdb2 swap swap sw 0 0\n", None),
    ("# /dev/sdb1 /srv/data xfs defaults 0 0\n", None),
    ("nonsense\n", None),
])  # fmt: skip
def test_entries_that_are_not_mounted(entry: str, severity: Severity | None) -> None:
    said = judged(f"UUID=1 / ext4 defaults 0 1\n{entry}")
    assert severities(said) == ({"/srv/data": severity} if severity is not None else {})
    for finding in said.all:
        if isinstance(finding, Finding):
            check(finding)
            assert finding.impact == "Programs write to the directory /srv/data, on the file system of /."
            assert "systemctl status srv-data.mount" in finding.steps


@pytest.mark.parametrize("mount", [
    "/dev/sdb1 /srv/data xfs rw 0 0\n",
    "systemd-1 /srv/data autofs rw 0 0\n",  # mounted on the first access
    "systemd-1 /srv/data autofs rw 0 0\nnas:/x /srv/data nfs4 rw 0 0\n",
])  # fmt: skip
def test_entries_that_are_mounted(mount: str) -> None:
    assert judged(DATA, ROOT + mount).ruled_out("/srv/data").summary == "1 mount point of /etc/fstab mounted"


def test_a_name_with_a_space() -> None:
    entry = "UUID=1 /srv/my\\040data ext4 defaults 0 2\n"
    assert judged(entry, ROOT + "/dev/sdb1 /srv/my\\040data ext4 rw 0 0\n").ruled_out("/srv/my data").summary
    check(judged(entry).finding("/srv/my data"))


@pytest.mark.parametrize(("entry", "mount", "severity"), [
    ("/dev/sdb1 /srv/data xfs x 0 0\n", "/dev/sdb1 /data xfs rw 0 0\n", None),  # /srv/data is a link to /data
    ("/dev/sdb1 /srv/data xfs x 0 0\n", "/dev/sdb2 /data xfs rw 0 0\n", Severity.WARNING),
    (DATA, "/dev/sdb1 /data xfs rw 0 0\n", Severity.INFO),  # it may be this one
    (DATA, "/dev/sdb1 /data ext4 rw 0 0\n", Severity.WARNING),
    (f"{DATA}/dev/sdb1 /data xfs x 0 0\n", "/dev/sdb1 /data xfs rw 0 0\n", Severity.WARNING),  # has its own entry
])  # fmt: skip
def test_a_directory_that_is_a_link_to_another_mount_point(entry: str, mount: str, severity: Severity | None) -> None:
    said = judged(entry, ROOT + mount)
    assert severities(said) == ({"/srv/data": severity} if severity is not None else {})
    assert severity is not None or said.ruled_out("/srv/data").summary == "1 device, mounted on /data"


@pytest.mark.parametrize(("uptime", "found"), [(299.0, 0), (300.0, 1)])
def test_mounts_may_take_a_while_after_boot(uptime: float, found: int) -> None:
    said = judged(DATA, uptime=uptime)
    assert len(severities(said)) == found
    assert found or said.unchecked("/srv/data").reason == "not mounted 4m59 after boot"


@pytest.mark.parametrize("table", [
    "proc /proc proc rw 0 0\n",  # without a root it is not whole
    f"{ROOT}/dev/sda1 /etc/hosts ext4 rw 0 0\n", f"{ROOT}lxcfs /proc/meminfo fuse.lxcfs rw 0 0\n",
])  # fmt: skip
def test_tables_that_do_not_show_it(table: str) -> None:
    assert judged(DATA, table).unchecked("/srv/data").reason


def test_options_of_older_captures_are_unknown() -> None:
    files = {"/etc/fstab": "UUID=1 /srv/data xfs\n", "/proc/self/mounts": ROOT}
    said = Judged((FSTAB_ENTRIES, MOUNTED), [MOUNT_MISSING], [(0.0, files)])
    assert said.unchecked("/srv/data").reason == "not mounted; options not recorded (noauto?)"


@pytest.mark.parametrize(("lines", "kind"), [
    ("/dev/sda1 on / type ext4 (rw)\n/dev/sdb1 on /srv/data type xfs (rw)\n", RuledOut),
    ("/dev/sda1 on / type ext4 (rw)\n", Unchecked),  # the rest may be cut off
])  # fmt: skip
def test_the_output_of_mount(lines: str, kind: type) -> None:
    files = {"/etc/fstab": DATA, "cmd:mount": lines}
    said = Judged((FSTAB_ENTRIES, DF_TEXT), [MOUNT_MISSING], [(0.0, files)])
    assert isinstance(said.of("/srv/data"), kind)


def test_of_the_options_only_those_are_kept_that_matter() -> None:
    kept = fstab_table(
        b"# x\n//me:p@nas/a /a cifs username=me,password=p 0 0\n//nas/b /b cifs ro,nofail,pass=x 0 0\n/c /d x\n"
    )
    assert kept == b"//nas/a /a cifs defaults\n//nas/b /b cifs ro,nofail\n/c /d x\n"
    assert fstab_table(kept) == kept


def test_redaction_keeps_no_name_of_a_source() -> None:
    lines = b"LABEL=acme /a xfs x\nnas:/acme /b nfs4 ro\n//nas/acme /c cifs x\ntank/acme /d zfs x\n"
    lines += b"/dev/sda1 /e x\n/f /g x bind\n"
    kept = fstab_without_names(lines)
    assert kept == b"LABEL=- /a xfs x\n-:/ /b nfs4 ro\n-:/ /c cifs x\n- /d zfs x\n/dev/sda1 /e x\n/ /g x bind\n"
    assert fstab_without_names(kept) == kept
    assert list(parse(lines.decode())) == list(parse(kept.decode()))
