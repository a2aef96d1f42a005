"""The table of mounted file systems: one that has none is damaged, because every node has a root."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from sdstop.collectors.block.mounts import MOUNTED
from sdstop.collectors.block.readings import MountPoint
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Malformed


def read(*evidence: Evidence) -> list[MountPoint]:
    return list(cast("Iterable[MountPoint]", MOUNTED.read(EvidenceHost(evidence))))


@pytest.mark.parametrize("text", [b"", b"\n", b"\0\xffgarbage", b"Permission denied\n"], ids=repr)
def test_a_table_without_a_mount_point_is_damaged(text: bytes) -> None:
    with pytest.raises(Malformed, match="no mount point"):
        read(Evidence("/proc/mounts", data=text))


def test_a_table_of_other_file_systems_has_no_storage() -> None:
    assert read(Evidence("/proc/mounts", data=b"overlay / overlay rw\nproc /proc proc rw\n")) == []
    (root,) = read(Evidence("/proc/mounts", data=b"/dev/sda1 / ext4\nproc /proc proc\n"))
    assert (root.point, root.kernel, root.access) == ("/", "sda1", None)


def test_a_table_that_is_missing_or_denied_is_said_to_be() -> None:
    with pytest.raises(Absent):
        read()
    with pytest.raises(Denied):
        read(Evidence("/proc/mounts", outcome=Outcome.DENIED))
