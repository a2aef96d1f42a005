"""LVM's volumes by lvs, of a node that has some and of one that has none."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.devicemapper.lvm import LVM, parse
from sdstop.collectors.devicemapper.volume_readings import LVS, LogicalVolume
from sdstop.core.evidence import Evidence, Outcome, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Failed, Malformed
from sdstop.core.model import Source

KEY = command_key(LVS)
UUID = {"/sys/block/dm-0/dm/uuid": "CRYPT-x\n", "/sys/block/dm-1/dm/uuid": "LVM-x\n"}


def row(name: str, segtype: str, devices: object, **more: object) -> dict[str, object]:
    return {"vg_name": "vg0", "lv_name": name, "segtype": segtype, "lv_size": "532676608", "stripes": "1",
            "stripe_size": "0", "chunk_size": "0", "pool_lv": "", "origin": "", "devices": devices, **more}  # fmt: skip


def said(*rows: dict[str, object]) -> str:
    return json.dumps({"report": [{"lv": list(rows)}]}, separators=(", ", ":"))


ROWS = said(
    row("vol", "cache", "vol_corig(0)", pool_lv="[pool_cpool]", origin="[vol_corig]", chunk_size="65536"),
    row("[vol_corig]", "linear", "/dev/vda(0)"),
    row("[vol_corig]", "striped", "/dev/vda(9),/dev/vdb(0)"),
    row("fast", "striped", "/dev/vda(0),/dev/vdb(0)", stripes="2", stripe_size="65536"),
)


def test_segments_make_volumes() -> None:
    size = 532676608
    assert list(LVM.read(EvidenceHost.of(UUID | {KEY: ROWS}))) == [
        LogicalVolume(
            volume="vg0/vol",
            type="cache",
            devices="vol_corig",
            pool="pool_cpool",
            origin="vol_corig",
            segments=1,
            size=size,
            stripes=1,
            stripe_size=None,
            chunk_size=65536,
        ),
        LogicalVolume(
            volume="vg0/[vol_corig]",
            type="linear,striped",
            devices="vda,vdb",
            pool=None,
            origin=None,
            segments=2,
            size=size,
            stripes=1,
            stripe_size=None,
            chunk_size=None,
        ),
        LogicalVolume(
            volume="vg0/fast",
            type="striped",
            devices="vda,vdb",
            pool=None,
            origin=None,
            segments=1,
            size=size,
            stripes=2,
            stripe_size=65536,
            chunk_size=None,
        ),
    ]
    assert next(parse(ROWS)).source() == Source(KEY, '"lv_name":"vol"')
    assert '"lv_name":"vol"' in ROWS


def test_json_std_has_numbers_and_lists() -> None:
    (found,) = parse(said(row("v", "linear", ["/dev/sda(0)", "/dev/cciss/c0d0(4)"], lv_size=4096, stripes=2)))
    assert (found.devices, found.size, found.stripes) == ("sda,cciss/c0d0", 4096, 2)


def test_nobody_is_asked_where_no_device_is_lvm_s() -> None:
    failing = Evidence(KEY, Outcome.FAILED, b"", "why")
    host = EvidenceHost([Evidence("/sys/block/dm-0/dm/uuid", data=b"CRYPT-x\n"), failing])
    assert list(LVM.read(host)) == []


@pytest.mark.parametrize(
    ("evidence", "error"),
    [
        (Evidence(KEY, Outcome.ABSENT, b"", "lvs is not installed"), Absent),
        (Evidence(KEY, data=b"", stderr=b"  /run/lock/lvm/V_x: open failed: Permission denied\n", exit=5), Denied),
        (Evidence(KEY, data=b"", stderr=b"  oops\n  more\n", exit=5), Failed),
        (Evidence(KEY, data=b"", exit=5), Failed),
        (Evidence(KEY, data=b"{"), Malformed),
        (Evidence(KEY, data=b'{"report": [{"lv": [{"vg_name": "x"}]}]}'), Malformed),
    ],
)
def test_what_goes_wrong_is_said(evidence: Evidence, error: type[Exception]) -> None:
    host = EvidenceHost([*(Evidence(k, data=v.encode()) for k, v in UUID.items()), evidence])
    with pytest.raises(error):
        list(LVM.read(host))


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["report", "lv", "vg_name", "lv_name", "segtype", "devices"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(st.text(max_size=40) | JSON.map(json.dumps) | JSON.map(lambda rows: json.dumps({"report": [{"lv": rows}]})))
def test_no_text_raises_anything_but_malformed(text: str) -> None:
    with contextlib.suppress(Malformed):
        list(parse(text))
