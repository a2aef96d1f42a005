"""mdadm -D and -E: as much is read from them as from mdstat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors import BUILTIN
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.mdadm import detail_fault, examine_fault, parse_detail, parse_examine, without_hosts
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.collectors.md.readings import Array, Member
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.session import Session
from sdstop.readings.rebuild import MDSTAT
from sdstop.rules import RULES
from tests.fixtures import FIXTURES


def text(name: str) -> str:
    said = (FIXTURES / "texts" / "md" / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line for line in said.splitlines() if not line.startswith(("$ ", "# ", "[root@", "One disk", "What now"))]
    return "\n".join(lines).strip("\n") + "\n"


def session(files: dict[str, str]) -> Session:
    session = Session(Origin("n"), BUILTIN, RULES)
    session.feed(
        Frame(1, 1_700_000_000.0, 0.0, tuple(Evidence(key, data=said.encode()) for key, said in files.items()))
    )
    return session


def found(files: dict[str, str]) -> dict[str, set[str]]:
    findings = session(files).head().judgement.findings
    return {array: {f"{f.severity.value} {f.rule}" for f in findings if f.subject == array} for array in ("md0", "md1")}


def arrays(files: dict[str, str]) -> dict[str, Array]:
    return {row.array: row for row in MDRAID.read(EvidenceHost.of(files)) if isinstance(row, Array)}


def block(said: str, array: str) -> str:
    """The part of a text about an array."""
    at = said.index(f"/dev/{array}:")
    after = said.find("/dev/md", at + 8)
    return said[at : after if after > 0 else None]


@pytest.mark.parametrize(("name", "array"), [("rebuild", "md0"), ("raid10", "md1")])
def test_details_give_the_findings_of_the_mdstat_of_the_same_moment(name: str, array: str) -> None:
    detail = {"cmd:mdadm -D": block(text(f"detail-{name}"), array)}
    assert found(detail)[array] == found({MDSTAT: text(f"mdstat-{name}")})[array]
    exact, read = arrays({MDSTAT: text(f"mdstat-{name}")})[array], arrays(detail)[array]
    for field in (
        "level",
        "raid_disks",
        "working",
        "degraded",
        "tolerates",
        "spares",
        "slots",
        "size",
        "chunk",
        "action",
    ):
        assert getattr(read, field) == getattr(exact, field), field
    assert detail_fault(detail["cmd:mdadm -D"]) == ""


@pytest.mark.parametrize(("name", "array"), [("rebuild", "md0"), ("raid10", "md1")])
def test_members_have_their_slots_and_states(name: str, array: str) -> None:
    rows = list(MDMEMBERS.read(EvidenceHost.of({"cmd:mdadm -D": block(text(f"detail-{name}"), array)})))
    states = sorted(row.state for row in rows if isinstance(row, Member))
    expected = {"md0": ["in_sync"] * 4 + ["rebuilding"], "md1": ["faulty"] + ["in_sync"] * 3 + ["rebuilding"]}
    assert states == expected[array]


def test_mdstat_counts_where_both_are_recorded() -> None:
    both = {MDSTAT: text("mdstat-raid10"), "cmd:mdadm -D /dev/md1": block(text("detail-raid10"), "md1")}
    assert found(both) == found({MDSTAT: text("mdstat-raid10")})
    assert len([row for row in MDRAID.read(EvidenceHost.of(both)) if isinstance(row, Array)]) == 2


def test_arrays_that_mdstat_lacks_are_added() -> None:
    part = text("mdstat-raid10")
    part = (
        part[: part.index("md0 :")] + "unused devices: <none>\n" if part.index("md1 :") < part.index("md0 :") else part
    )
    both = {MDSTAT: part, "cmd:mdadm -D /dev/md0": block(text("detail-rebuild"), "md0")}
    assert arrays(both).keys() == {"md0", "md1"}


def test_different_numbers_of_missing_members_are_a_contradiction() -> None:
    both = {MDSTAT: text("mdstat-raid10"), "cmd:mdadm -D": text("detail-clean")}
    host = EvidenceHost.of(both)
    list(MDRAID.read(host))
    assert {(each.subject, each.contradiction) for each in host.defects} == {("md0", True), ("md1", True)}


def test_superblocks_show_what_is_missing_and_nothing_is_good_of_them() -> None:
    degraded = session({"cmd:mdadm -E": text("examine-degraded")}).head().judgement
    assert [(f.severity.value, f.rule, f.subject) for f in degraded.findings] == [("warning", "array-degraded", "md0")]
    whole = text("examine-degraded").replace("AA.AA", "AAAAA")
    assert not [
        said for said in session({"cmd:mdadm -E": whole}).head().judgement.ruled_out if said.rule == "array-degraded"
    ]


def test_a_member_with_an_older_superblock_is_not_in_sync() -> None:
    said = text("examine-degraded")
    rows = {
        row.device: row for row in MDMEMBERS.read(EvidenceHost.of({"cmd:mdadm -E": said})) if isinstance(row, Member)
    }
    assert rows["vdc"].state == "unknown"
    assert rows["vda"].state == "in_sync"


@pytest.mark.parametrize(
    ("state", "level", "shown", "degraded"),
    [
        ("clean", "raid5", "clean", 0),
        ("clean, degraded", "raid5", "clean", 1),
        ("clean, FAILED", "raid5", "clean", 2),
        ("active, FAILED", "raid0", "broken", None),
        ("active, degraded, Not Started", "raid5", "inactive", None),
        ("inactive", "raid5", "inactive", None),
    ],
)
def test_states_of_an_array(state: str, level: str, shown: str, degraded: int | None) -> None:
    lost = degraded or 0
    rows = "".join(f"       {n}     8   {n}    {n}      active sync   /dev/sd{'abc'[n]}\n" for n in range(3 - lost))
    rows += "".join(f"       -     0   0    {2 - n}      removed\n" for n in range(lost))
    said = (
        f"/dev/md0:\n        Raid Level : {level}\n      Raid Devices : 3\n     Total Devices : {3 - lost}\n"
        f"             State : {state} \n    Active Devices : {3 - lost}\n    Failed Devices : 0\n\n"
        f"    Number   Major   Minor   RaidDevice State\n{rows}"
    )
    (row,) = arrays({"cmd:mdadm -D /dev/md0": said}).values()
    assert (row.state, row.degraded) == (shown, degraded)
    if "FAILED" in state:
        assert any(said.startswith("critical") for said in found({"cmd:mdadm -D /dev/md0": said})["md0"])


def test_redaction_drops_hosts_and_keeps_what_is_read() -> None:
    for name, parse in (("detail-raid10", parse_detail), ("examine-degraded", parse_examine)):
        kept = without_hosts(text(name).encode())
        assert b"store7" not in kept
        assert without_hosts(kept) == kept
        assert len(parse(kept.decode())) == len(parse(text(name)))


@pytest.mark.parametrize("lines", range(1, 39))
def test_details_that_end_early_are_not_complete(lines: int) -> None:
    said = block(text("detail-raid10"), "md1").rstrip("\n").splitlines()
    assert lines >= len(said) or detail_fault("\n".join(said[:lines]))


UUID = "UUID=8a021a34:f19bbc01:7bcf6f8e:3bea43a9"


@pytest.mark.parametrize(
    ("level", "disks", "devices", "spares", "degraded"),
    [
        ("raid1", 2, 1, 0, 1),
        ("raid5", 4, 4, 1, 1),
        ("raid1", 2, 2, 0, None),
        ("raid6", 4, 5, 1, None),
        ("raid1", 2, 3, 0, None),  # failed ones are listed, too
        ("raid0", 2, 1, 0, None),
    ],
)
def test_a_scan_shows_missing_members_only(
    level: str, disks: int, devices: int, spares: int, degraded: int | None
) -> None:
    names = ",".join(f"/dev/sd{chr(97 + n)}1" for n in range(devices))
    said = f"ARRAY /dev/md0 level={level} num-devices={disks} metadata=1.2 spares={spares} name=n:0 {UUID}\n"
    host = EvidenceHost.of({"cmd:mdadm --detail --scan -v": f"{said}   devices={names}\n"})
    if degraded is None:
        with pytest.raises(Absent):
            list(MDRAID.read(host))
        return
    found = [row for row in MDRAID.read(host) if isinstance(row, Array)]
    assert [(row.array, row.state, row.degraded) for row in found] == [("md0", "active", degraded)]


def test_a_scan_shows_arrays_that_do_not_run() -> None:
    said = f"ARRAY /dev/md0 metadata=1.2 name=n1:0 {UUID}\nINACTIVE-ARRAY /dev/md127 metadata=1.2 name=n1:1 {UUID}\n"
    (row,) = MDRAID.read(EvidenceHost.of({"cmd:mdadm --detail --scan": said}))
    assert isinstance(row, Array)
    assert (row.array, row.state, row.degraded) == ("md127", "inactive", None)
    assert b"n1" not in without_hosts(said.encode())


@pytest.mark.parametrize("parse", [parse_detail, parse_examine])
@given(
    st.lists(
        st.sampled_from((text("detail-raid10") + text("examine-degraded")).splitlines()) | st.text(max_size=60),
        max_size=60,
    ).map("\n".join)
)
def test_no_text_raises_anything_else(parse: object, said: str) -> None:
    assert isinstance(detail_fault(said) + examine_fault(said), str)
    try:
        parse(said)  # type: ignore[operator]
        list(
            MDRAID.read(
                EvidenceHost.of({"cmd:mdadm -D": f"/dev/md0:\n    Version : 1.2\n{said}", "cmd:mdadm -E": said})
            )
        )
    except Malformed:
        return
