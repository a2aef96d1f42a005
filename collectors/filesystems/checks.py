"""Checks of file systems that change nothing, in recorded output of e2fsck and xfs_repair.

    Warning!  /dev/sdb1 is mounted.                                     e2fsck -n (e2fsprogs e2fsck/unix.c)
    Pass 1: Checking inodes, blocks, and sizes
    /dev/sdb1: ********** WARNING: Filesystem still has errors **********
    /dev/sdb1: clean, 120/65536 files, 40000/262144 blocks              the flag alone: nothing was checked
    Phase 1 - find and verify superblock...                             xfs_repair -n (xfsprogs repair/xfs_repair.c)
    would have reset inode 131 nlinks from 2 to 1
    No modify flag set, skipping filesystem flush and exiting.

A mounted file system, or one whose log was not replayed, shows errors that are none.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.filesystems.readings import FilesystemCheck
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, FormOutput, outputs
from sdstop.core.host import Absent, Host

_MOUNTED = expression(r"(?m)^Warning!\s+(?P<device>\S+) is (?:mounted|in use)\.")
_LEFT = expression(r"(?m)^(?P<device>\S+): \*+ WARNING: Filesystem still has errors \*+|UNEXPECTED INCONSISTENCY")
_MODIFIED = expression(r"\*+ FILE SYSTEM WAS MODIFIED \*+")
_FLAG = expression(r"(?m)^(?P<device>\S+): clean, \d+/\d+ files")
_COUNTED = expression(r"(?m)^(?P<device>[^\s:]+): \d+/\d+ files \(")
_ANSWERED = expression(r"(?m)\? no$")
_OPEN = expression(
    r"(?m)^e2fsck: (?P<why>.{1,80}) while trying to open (?P<device>\S+)|Bad magic number in super-block"
)
_PROGRESS = expression(
    r"Cannot get host filesystem geometry\.|Repair may fail if there is a sector size mismatch between"
    r"|the image and the host filesystem\."
    r"|Phase \d .*|\s+- .*|No modify flag set.*|\s*|.*may take some time.*|The following steps .*|Metadata .*ignored.*"
)
_PROBLEM = expression(
    r"(?i).*\b(?:would|bad|corrupt\w*|mismatch\w*|inconsisten\w*|counted|disconnected|invalid|wrong|missing|unknown)\b.*"
)
_DIRTY = "valuable metadata changes in a log which is being"
_XFS_END = "No modify flag set, skipping filesystem flush"


def _device(output: FormOutput, shown: str | None) -> str:
    return next((path for path in reversed(output.paths) if path.startswith("/dev/")), shown or "file system")


def parse_e2fsck(text: str) -> tuple[str, int, str | None]:
    """Return the state (see FilesystemCheck), the number of problems that were left, and the device if it is shown."""
    names = [found["device"] for each in (_COUNTED, _FLAG, _MOUNTED) if (found := each.search(text)) is not None]
    device = names[0] if names else None
    problems = len(_ANSWERED.findall(text))
    if _OPEN.search(text):
        return "not opened", 0, device
    if _MOUNTED.search(text):
        return "mounted", problems, device
    if _LEFT.search(text):
        return "errors", problems, device
    if _MODIFIED.search(text):
        return "repaired", problems, device
    if _FLAG.search(text):
        return "flag", 0, device
    whole = "Pass 5:" in text and _COUNTED.search(text) is not None
    return ("clean" if whole and not problems else "unknown"), problems, device


def parse_xfs(text: str) -> tuple[str, int, str | None]:
    """Return the state (see FilesystemCheck), the number of lines about problems, and None: no device is shown."""
    others = [line for line in text.splitlines() if _PROGRESS.fullmatch(line) is None]
    problems = [line for line in others if _PROBLEM.fullmatch(line) is not None]
    if _DIRTY in text:
        return "dirty log", len(problems), None
    if problems:
        return "errors", len(problems), None
    return ("clean" if not others and _XFS_END in text and "Phase 7" in text else "unknown"), 0, None


def fault_of_e2fsck(text: str) -> str:
    """Return why a text is not the whole output: it ends with the counts of files, or that it was not opened."""
    return "" if _COUNTED.search(text) or _FLAG.search(text) or _OPEN.search(text) else NOT_SHOWN


E2FSCK = Form(
    key="cmd:e2fsck -n",
    first=r"e2fsck \d\.\d{2}[^\n]{0,20} \(\d{1,2}-[A-Z][a-z]{2}-\d{4}\)",
    reads="errors left by a check of ext2, ext3 or ext4",
    versions="e2fsprogs 1.40 and later, in English; also fsck.ext4",
    fault=fault_of_e2fsck,
)
XFS_REPAIR = Form(
    key="cmd:xfs_repair -n",
    first=r"Phase 1 - find and verify superblock\.\.\.",
    last=r"No modify flag set, skipping filesystem flush",
    reads="errors found by a check of XFS",
    versions="xfsprogs 3 and later, with -n",
)


def read(host: Host) -> Iterable[FilesystemCheck]:
    """Return the checks of recorded outputs, the last one of each device. Raises Absent without any."""
    rows: dict[str, FilesystemCheck] = {}
    for form, parse, needle in (
        (E2FSCK, parse_e2fsck, "Filesystem still has errors"),
        (XFS_REPAIR, parse_xfs, "would"),
    ):
        for output in outputs(host, form):
            state, problems, shown = parse(output.text)
            device = _device(output, shown)
            rows[device] = FilesystemCheck(
                device=device, tool=form.program, state=state, problems=problems, told=output.key, needle=needle
            )
    if not rows:
        raise Absent(E2FSCK.key, "not recorded", recorded=False)
    return list(rows.values())


FILESYSTEM_CHECKS = Collector(
    "filesystem-checks",
    "Checks of file systems in recorded output of e2fsck and xfs_repair",
    read,
    (FilesystemCheck,),
    (
        Need("cmd:e2fsck *", "errors that a check found and left, from captures only; never run"),
        Need("cmd:xfs_repair *", "errors that a check found, from captures only"),
    ),
    SLOW,
    forms=(E2FSCK, XFS_REPAIR),
)
