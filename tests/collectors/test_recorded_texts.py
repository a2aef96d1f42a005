"""Recorded output that other people's commands left: whatever is done to it, sources raise declared errors only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed, Unreadable
from sdstop.core.model import schema
from tests.fixtures import FIXTURES

TEXTS = sorted(
    path
    for folder in ("block", "devicemapper", "fabric", "memory", "network")
    for path in (FIXTURES / "texts" / folder).glob("*.txt")
)
KEYS = {
    "lvm-reports": ("cmd:lvs -a -o +devices", "cmd:vgs", "cmd:pvs -a"),
    "multipath-text": ("cmd:multipath -ll",),
    "suspended-text": ("cmd:dmsetup info", "cmd:dmsetup info -c"),
    "dm-tree": ("cmd:dmsetup ls --tree", "cmd:dmsetup deps"),
    "lsblk": ("cmd:lsblk", "cmd:lsblk -r", "cmd:lsblk -P"),
    "df": ("cmd:df", "cmd:mount"),
    "fio": ("cmd:fio",),
    "hba-text": ("cmd:lspci -vv", "cmd:lsscsi", "cmd:sg_map -i -x"),
    "numa-text": ("cmd:numactl -H", "cmd:lscpu", "cmd:numastat"),
    "interfaces-text": ("cmd:ip -d -s address", "cmd:ethtool eth0"),
    "ethtool": ("cmd:ethtool eth0", "cmd:ethtool -S eth0"),
    "sas": ("cmd:smp_rep_phy_err_log", "cmd:smp_discover", "cmd:smp_rep_general"),
    "dimms": ("cmd:dmidecode", "cmd:lscpu"),
}
"""Keys of the recorded output that a source reads."""


def source(name: str) -> Collector:
    return next(each for each in BUILTIN if each.name == name)


def rows(name: str, text: str) -> int:
    """Return the number of rows that a source reads of a text under any of its keys."""
    count = 0
    for key in KEYS[name]:
        try:
            found = list(source(name).read(EvidenceHost.of({key: text.encode("utf-8", "surrogateescape")})))
        except (Unreadable, Malformed):
            continue
        for row in found:
            assert schema(type(row)).row(row)
            assert row.source() is not None or row.family == "block_link"
        count += len(found)
    return count


@pytest.mark.parametrize("name", KEYS)
@given(text=st.text(max_size=200))
def test_any_text_is_read_or_malformed(name: str, text: str) -> None:
    rows(name, text)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (at % 4 > 0)) for at, path in enumerate(TEXTS)],
)
@given(data=st.data())
def test_a_text_with_lost_and_changed_parts_is_read_or_malformed(path, data: st.DataObject) -> None:  # type: ignore[no-untyped-def]
    """By every source: each reads every changed text under its own keys."""
    lines = path.read_text("utf-8", "surrogateescape").splitlines(keepends=True)
    start = data.draw(st.integers(0, max(0, len(lines) - 2)))
    part = lines[start : start + data.draw(st.integers(1, 60))]
    text = "".join(part)
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.text(alphabet="\t |`-─├└:.,()[]%0129Kxé\x1b\x00", max_size=6)) + text[at + 2 :]
    for name in KEYS:
        rows(name, text)
