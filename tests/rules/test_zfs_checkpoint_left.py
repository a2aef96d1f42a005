"""zfs-checkpoint-left: forgotten checkpoints of ZFS pools."""

from __future__ import annotations

import pytest

from sdstop.collectors.zfs.pools import ZFS
from sdstop.core.finding import Finding, RuledOut, Severity, Verdict
from sdstop.rules.zfs.zfs_checkpoint_left import ZFS_CHECKPOINT_LEFT
from tests.nodes.frames import Judged

TEXT = """\
  pool: tank
 state: ONLINE
{}config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        ONLINE       0     0     0
\t  sda       ONLINE       0     0     0

errors: No known data errors
"""


def judged(line: str) -> Verdict:
    """Return the verdict on a pool whose status has this line; the frame is of 2023-11-14 22:13 UTC."""
    files = {"cmd:zpool status": TEXT.format(line), "/proc/spl/kstat/zfs/tank/state": "ONLINE\n"}
    return Judged((ZFS,), [ZFS_CHECKPOINT_LEFT], [(0.0, files)]).of("tank")


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("checkpoint: created Tue Nov 14 20:00:00 2023, consumes 1.50G\n", Severity.INFO),
        ("checkpoint: created Sat Nov 11 23:00:00 2023, consumes 1.50G\n", Severity.INFO),
        ("checkpoint: created Sat Nov 11 20:00:00 2023, consumes 1.50G\n", Severity.WARNING),
        ("checkpoint: discarding, 1.50G remaining.\n", None),
        ("", None),
    ],
)
def test_an_old_checkpoint_is_forgotten(line: str, severity: Severity | None) -> None:
    verdict = judged(line)
    if severity is None:
        assert isinstance(verdict, RuledOut)
    else:
        assert isinstance(verdict, Finding)
        assert (verdict.severity, verdict.title) == (severity, "CHECKPOINT HOLDS 1.5 GiB")
