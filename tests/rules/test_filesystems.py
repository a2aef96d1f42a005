"""filesystem-full and filesystem-readonly: space, inodes, trends, flags, and what is not known."""

from __future__ import annotations

import json

import pytest

from sdstop.collectors.block.df import DF_TEXT
from sdstop.collectors.block.filesystems import FILESYSTEMS, QUESTION
from sdstop.collectors.block.mounts import MOUNTED
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked
from sdstop.rules.filesystems.filesystem_full import FILESYSTEM_FULL
from sdstop.rules.filesystems.filesystem_readonly import FILESYSTEM_READONLY
from tests.nodes.frames import Judged

GIB = 1 << 30
FULL = "filesystem-full"


def mount(used: float = 50, available: float = 50, **more: object) -> dict[str, object]:
    """Return a file system; sizes in GiB."""
    return {
        "point": "/srv", "filesystem": "ext4", "source": "/dev/sdb1", "number": "8:17", "writable": True,
        "super_writable": True, "hint": None, "size": int((used + available) * GIB), "free": int(available * GIB),
        "available": int(available * GIB), "files": 1000, "files_free": 900, **more,
    }  # fmt: skip


def judged(*rows: dict[str, object], every: float = 10.0) -> Judged:
    frames = [(every * n, {f"answer:{QUESTION}": json.dumps([row])}) for n, row in enumerate(rows)]
    return Judged((FILESYSTEMS,), [FILESYSTEM_FULL], frames)


@pytest.mark.parametrize(
    ("row", "severity", "title"),
    [
        (mount(92, 8), "warning", "FILE SYSTEM NEARLY FULL: 92.0%"),
        (mount(98, 2), "critical", "FILE SYSTEM NEARLY FULL: 98.0%"),
        (mount(100, 0), "critical", "FILE SYSTEM FULL: 100%"),
        (mount(98_000, 2000), None, ""),  # 2 TiB is enough
        (mount(20_000, 400), "warning", "FILE SYSTEM NEARLY FULL: 98.0%"),  # much, and little of it
        (mount(50, 0, free=5 * GIB), "critical", "FILE SYSTEM FULL: 100%"),  # the rest is root's
        (mount(files_free=50), "warning", "FEW INODES: 95.0% used"),
        (mount(files_free=0), "critical", "OUT OF INODES: 100% used"),
        (mount(92, 8, files_free=0), "critical", "OUT OF INODES: 100% used"),
        (mount(98, 2, files_free=0), "critical", "FILE SYSTEM NEARLY FULL: 98.0%"),
        (mount(files=0, files_free=0), None, ""),
        (mount(), None, ""),
    ],
)
def test_space_and_inodes(row: dict[str, object], severity: str | None, title: str) -> None:
    said = judged(row).of("/srv", FULL)
    if severity is None:
        assert isinstance(said, RuledOut)
    else:
        assert isinstance(said, Finding)
        assert (said.severity, said.title) == (severity, title)


@pytest.mark.parametrize("point", ["/boot", "/boot/efi", "/efi"])
def test_a_full_boot_partition_stops_updates_alone(point: str) -> None:
    said = judged(mount(97, 3, point=point)).finding(point, FULL)
    assert (said.severity, "Updates" in said.impact) == (Severity.WARNING, True)
    assert judged(mount(97, 3, point="/boots")).finding("/boots", FULL).severity is Severity.CRITICAL


MIB = 1 / 1024


@pytest.mark.parametrize(("point", "used", "available", "severity"), [
    ("/run", 400 * MIB, 0, Severity.CRITICAL),
    ("/dev/shm", 8, 0, Severity.CRITICAL),  # noqa: S108
    ("/tmp", 2, 0, Severity.WARNING),  # noqa: S108
    ("/run/lock", 5 * MIB, 0, Severity.CRITICAL), ("/run", 98, 2, Severity.WARNING), ("/run", 96, 4, None),
    ("/dev/shm", 92, 8, None),  # noqa: S108
    ("/run/user/1000", 1, 0, "other"),
])  # fmt: skip
def test_what_services_keep_in_memory(
    point: str, used: float, available: float, severity: Severity | str | None
) -> None:
    row = mount(used, available, point=point, source="tmpfs", filesystem="tmpfs", number="0:23")
    said = judged(row)
    if severity == "other":
        assert not [each for each in said.all if point in getattr(each, "subjects", (getattr(each, "subject", ""),))]
        return
    verdict = said.of(point, FULL)
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity
    df = f"Filesystem 1024-blocks Used Available Capacity Mounted on\ntmpfs 100000 100000 0 100% {point}\n"
    told = Judged((DF_TEXT,), [FILESYSTEM_FULL], [(0.0, {"cmd:df -P": df})]).finding(point, FULL)
    assert told.severity is (Severity.WARNING if point == "/tmp" else Severity.CRITICAL)  # noqa: S108


def test_a_full_run_names_what_fails() -> None:
    row = mount(400 * MIB, 0, point="/run", source="tmpfs", filesystem="tmpfs", number="0:23")
    finding = judged(row).finding("/run", FULL)
    assert finding.impact == "Services, udev and LVM cannot write their state and locks."
    assert any(str(each).startswith("mount -o remount,size=75% /run") for each in finding.advice)


@pytest.mark.parametrize(("options", "severity"), [("ro,relatime", None), ("rw,relatime", Severity.CRITICAL)])
def test_a_full_file_system_that_is_mounted_read_only_is_no_fault(options: str, severity: Severity | None) -> None:
    df = "Filesystem 1B-blocks Used Available Capacity Mounted on\n/dev/sdc1 100000 100000 0 100% /archive\n"
    files = {"cmd:df -PB1": df, "cmd:mount": f"/dev/sdc1 on /archive type ext4 ({options})\n"}
    said = Judged((DF_TEXT,), [FILESYSTEM_FULL], [(0.0, files)]).of("/archive", FULL)
    assert (said.severity if isinstance(said, Finding) else None) is severity


def test_the_time_until_it_is_full() -> None:
    finding = judged(*(mount(91 + n / 2, 9 - n / 2) for n in range(5))).finding("/srv", FULL)
    assert finding.severity is Severity.CRITICAL  # within ten minutes
    assert finding.cause == "93.0% used, 7 GiB available, full in 2m20 at this rate."
    assert judged(mount(30, 70), mount(31, 69)).ruled_out("/srv", FULL).summary == (
        "31.0% used, 69 GiB available, full in 11m30 at this rate, inodes 10.0%"
    )


@pytest.mark.parametrize(
    "row",
    [
        mount(size=0),
        mount(hung=3.5),
        mount(unasked="below a mount of type nfs4", size=None),
        mount(100, 0, writable=False, super_writable=False),
        mount() | {"available": "x"},
    ],
)
def test_unknown_space_is_never_good(row: dict[str, object]) -> None:
    assert isinstance(judged(row).of("/srv", FULL), Unchecked)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (mount(super_writable=False), "READ-ONLY after an error"),
        (mount(hint="emergency_ro"), "READ-ONLY after an error"),
        (mount(hint="shutdown"), "FILE SYSTEM SHUT DOWN after an error"),
        (mount(writable=False, super_writable=False), ""),
        (mount(writable=False), ""),
        (mount(), ""),
    ],
)
def test_only_what_the_kernel_forced_is_a_fault(row: dict[str, object], words: str) -> None:
    """Without a kernel log: the flags of the superblock against those of the mount decide."""
    table = f"/dev/sdb1 /srv ext4 {'rw' if row['writable'] and row['super_writable'] else 'ro'}\n"
    files = {f"answer:{QUESTION}": json.dumps([row]), "/proc/self/mounts": table}
    said = Judged((FILESYSTEMS, MOUNTED), [FILESYSTEM_READONLY], [(0.0, files)])
    if words:
        assert said.finding("sdb1").title == words
    else:
        assert isinstance(said.of("sdb1"), RuledOut)


def test_recorded_df_is_judged_as_well() -> None:
    text = (
        "Filesystem      Size  Used Avail Use% Mounted on\n"
        "/dev/sdb1       100G   99G  1.0G  99% /srv\n"
        "/dev/sdc1       100G   10G   90G  10% /var\n"
        "/dev/loop0       64M   64M     0 100% /snap/core\n"
        "tmpfs            64M   64M     0 100% /run\n"
        "nas:/home       100G  100G     0 100% /home\n"
    )
    said = Judged((DF_TEXT,), [FILESYSTEM_FULL], [(0.0, {"cmd:df -h": text})])
    assert said.finding("/srv").severity is Severity.CRITICAL
    assert isinstance(said.of("/var"), RuledOut)
    assert isinstance(said.of("/snap/core"), Unchecked)
    assert "udev" in said.finding("/run").impact
    assert {one.subject for one in said.all} == {"/srv", "/var", "/snap/core", "/run"}
