"""Quotas: the kernel's answer, repquota, and the entries that quotactl returns."""

from __future__ import annotations

import ctypes
import errno
import json
from bisect import bisect_left
from typing import Any

import pytest

from sdstop.collectors.filesystems.quotas import QUESTION, QUOTAS, parse_text, without_owners
from sdstop.collectors.filesystems.readings import Quotas
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Malformed
from sdstop.node import quotas
from sdstop.node.filesystems import parse as parse_mounts

REPORT = """*** Report for user quotas on device /dev/mapper/vg0-home
Block grace time: 7days; Inode grace time: 7days
                        Block limits                File limits
User            used    soft    hard  grace    used  soft  hard  grace
----------------------------------------------------------------------
root      --      20       0       0              2     0     0
anna      +- 1048576  943718 1048576  6days    1211     0     0
bert      -+       4       0       0             12    10    20   none
"""


def answered(*entries: dict[str, int], **more: Any) -> list[Quotas]:
    row = {"point": "/srv", "source": "/dev/sdb1", "kind": "user", "limited": 2, "cut": False, "fullest": list(entries)}
    host = EvidenceHost.of({f"answer:{QUESTION}": json.dumps([row | more])})
    return [row for row in QUOTAS.read(host) if isinstance(row, Quotas)]


def entry(**more: int) -> dict[str, int]:
    return (
        dict.fromkeys(("used", "soft", "hard", "files", "file_soft", "file_hard", "expired"), 0) | {"id": 1000} | more
    )


@pytest.mark.parametrize(("said", "exhausted", "near"), [
    (entry(used=100, hard=100), 1, 1), (entry(used=99, hard=100), 0, 1), (entry(used=94, hard=100), 0, 0),
    (entry(used=60, soft=50, hard=100), 0, 0), (entry(used=60, soft=50, hard=100, expired=1), 1, 1),
    (entry(used=40, soft=50, hard=100, expired=1), 0, 0), (entry(files=7, file_hard=7), 1, 1), (entry(used=9), 0, 0),
])  # fmt: skip
def test_a_quota_is_exhausted_at_its_hard_limit_or_after_the_time_of_grace(
    said: dict[str, int], exhausted: int, near: int
) -> None:
    (row,) = answered(said)
    assert (row.exhausted, row.near, row.fullest, row.subject) == (exhausted, near, "1000", "/srv")


def test_no_quota_with_a_limit_is_a_row_without_a_fullest() -> None:
    (row,) = answered(limited=0)
    assert (row.fullest, row.share, row.exhausted) == (None, None, 0)


@pytest.mark.parametrize("said", ["{}", "[1]", '[{"source": "/dev/sdb1", "kind": "user", "fullest": [{"id": 1}]}]'])
def test_anything_else_is_malformed(said: str) -> None:
    with pytest.raises(Malformed):
        list(QUOTAS.read(EvidenceHost.of({f"answer:{QUESTION}": said})))


def test_repquota() -> None:
    (row,) = parse_text(REPORT, "k")
    assert (row.device, row.kind, row.exhausted, row.limited, row.subject) == (
        "/dev/mapper/vg0-home", "user", 2, 2, "/dev/mapper/vg0-home",
    )  # fmt: skip
    human = REPORT.replace("1048576  943718 1048576", "1024M    922M    1024M")
    assert [row.exhausted for row in parse_text(human, "k")] == [2]
    with pytest.raises(Malformed):
        list(parse_text(REPORT + "anna: nonsense\n", "k"))


def test_names_of_owners_are_no_part_of_a_redacted_report() -> None:
    shown = without_owners(REPORT.encode())
    assert b"anna" not in shown
    assert without_owners(shown) == shown
    (row,) = parse_text(shown.decode(), "k")
    assert (row.exhausted, row.fullest) == (2, "owner2")


TABLE = """22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 8:17 / /srv rw - xfs /dev/sdb1 rw,attr2,usrquota,prjquota
31 22 8:17 /a /bind rw - xfs /dev/sdb1 rw,attr2,usrquota,prjquota
32 22 8:33 / /home rw - ext4 /dev/sdc1 rw,grpjquota=aquota.group,jqfmt=vfsv1
33 22 0:50 / /nas rw - nfs4 nas:/x rw,usrquota
"""


class Library:
    """quotactl(2) with entries by identifier, or an error."""

    def __init__(self, entries: dict[int, tuple[int, int]], error: int = errno.ENOENT) -> None:
        self.entries, self.error, self.asked = entries, error, list[tuple[int, bytes, int]]()
        self.idents = sorted(entries)

    def quotactl(self, command: int, device: bytes, ident: int, block: Any) -> int:
        self.asked.append((command & 0xFF, device, ident))
        at = bisect_left(self.idents, ident)
        found = self.idents[at] if at < len(self.idents) else None
        if found is None:
            ctypes.set_errno(self.error)
            return -1
        entry = block._obj
        entry.ident, (entry.used, entry.hard) = found, self.entries[found]
        return 0


def looked(monkeypatch: pytest.MonkeyPatch, library: Library, table: str = TABLE) -> list[dict[str, Any]]:
    monkeypatch.setattr(quotas, "mount_table", lambda: parse_mounts(table))
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    return quotas.look()


def test_each_kind_that_is_on_is_queried_once_for_a_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library({0: (5000, 0), 1000: (4096, 4), 1001: (1, 8)})
    rows = looked(monkeypatch, library)
    assert [(row["point"], row["kind"], row["limited"]) for row in rows] == [
        ("/srv", "user", 2), ("/srv", "project", 2), ("/home", "group", 2),
    ]  # fmt: skip
    assert [each["id"] for each in rows[0]["fullest"]] == [1000, 1001]
    assert rows[0]["fullest"][0]["hard"] == 4096
    assert {device for _, device, _ in library.asked} == {b"/dev/sdb1", b"/dev/sdc1"}


def test_without_quotas_nothing_is_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library({})
    assert looked(monkeypatch, library, TABLE.splitlines()[0]) == []
    assert library.asked == []
    with pytest.raises(Absent, match="no quotas on"):
        QUOTAS.read(EvidenceHost.of({f"answer:{QUESTION}": "[]"}))


def test_without_the_privilege_quotas_are_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Denied):
        looked(monkeypatch, Library({}, errno.EPERM))


def test_the_number_of_queries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(dict.fromkeys(range(10_000), (1, 2)))
    rows = looked(monkeypatch, library)
    assert (rows[0]["cut"], rows[0]["limited"], len(rows[0]["fullest"])) == (True, 4096, 8)
