"""volume-degraded: LVM's raid volumes by their letters, and what is not known of them."""

from __future__ import annotations

import pytest

from sdstop.collectors.devicemapper.dmsetup import STATUS
from sdstop.collectors.devicemapper.raids import MAPPED_RAIDS
from sdstop.collectors.devicemapper.readings import INFO, TABLE
from sdstop.collectors.devicemapper.status import DM_STATUS
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome, command_key
from sdstop.core.finding import Damage, Gap, RuledOut, Severity, Unchecked
from sdstop.core.session import Session
from sdstop.rules.arrays.volume_degraded import VOLUME_DEGRADED
from tests.nodes.frames import Judged

LVM = "LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO"
NAME = "vg0/vol"


def node(line: str | None, members: int = 2, *, images: bool = True, table: str = "") -> dict[str, str]:
    """Return a node with one raid volume, dm-9, whose images are dm-1, dm-3 and so on."""
    parts = {f"vg0-vol_rimage_{n}": f"dm-{2 * n + 1}" for n in range(members)}
    parts |= {f"vg0-vol_rmeta_{n}": f"dm-{2 * n}" for n in range(members)}
    names = (parts if images else {}) | {"vg0-vol": f"dm-{2 * members}"}
    files = {"list:/sys/block": "\n".join(["sda", *names.values()])}
    for name, device in names.items():
        files[f"/sys/block/{device}/dm/name"] = name
        files[f"/sys/block/{device}/dm/uuid"] = LVM
        files[f"/sys/block/{device}/dev"] = f"254:{device[3:]}"
    if line is not None:
        files[command_key(STATUS)] = line
        files[command_key(INFO)] = "".join(f"{n}:254:{d[3:]}:L--w:1:1:0:{LVM}\n" for n, d in names.items())
        devices = " ".join(f"254:{2 * n} 254:{2 * n + 1}" for n in range(members))
        files[command_key(TABLE)] = f"vg0-vol: 0 65536 raid {table or 'raid1 1 0'} {members} {devices}\n"
    return files


def judged(*lines: str | None, members: int = 2, every: float = 5.0, images: bool = True, table: str = "") -> Judged:
    frames = [
        (
            every * n,
            node(
                # Another line differs in each sample: evidence that stays the same shows no run of its source.
                f"vg0-vol: 0 65536 raid {line}\nvg0-other: 0 {n + 1} linear \n" if line is not None else None,
                members,
                images=images,
                table=table,
            ),
        )
        for n, line in enumerate(lines)
    ]
    return Judged((DM_STATUS, MAPPED_RAIDS), [VOLUME_DEGRADED], frames)


@pytest.mark.parametrize(
    ("line", "members", "severity", "title", "impact"),
    [
        ("raid1 2 AD 1/1 idle 0 0 -", 2, "critical", "NO REDUNDANCY: 1 member failed",
         "The next member failure loses data."),
        ("raid1 3 ADA 1/1 idle 0 0 -", 3, "warning", "DEGRADED: 1 member failed",
         "1 more member can fail without data loss."),
        ("raid6_zr 5 AADAA 1/1 idle 0 0 -", 5, "warning", "DEGRADED: 1 member failed",
         "1 more member can fail without data loss."),
        ("raid6_zr 5 ADDAA 1/1 idle 0 0 -", 5, "critical", "NO REDUNDANCY: 2 members failed",
         "The next member failure loses data."),
        ("raid5_ls 3 DAD 1/1 idle 0 0 -", 3, "critical", "DATA INCOMPLETE: 2 members failed",
         "Some data has no in-sync copy."),
        ("raid1 2 -A 1/1 idle 0 0 -", 2, "critical", "NO REDUNDANCY: 1 member failed",
         "The next member failure loses data."),
        ("raid1 2 Aa 1/9 idle 0 0 -", 2, "critical", "NO REDUNDANCY: 1 member not in sync",
         "The next member failure loses data."),
        ("raid0 2 AD 1/1 idle 0 0 -", 2, "critical", "DATA INCOMPLETE: 1 member failed",
         "Some data has no in-sync copy."),
        ("raid1 2 aD 1/9 resync 0 0 -", 2, "critical", "NO REDUNDANCY: 1 member failed",
         "The next member failure loses data."),
    ],
)  # fmt: skip
def test_letters(line: str, members: int, severity: str, title: str, impact: str) -> None:
    finding = judged(line, members=members).finding(NAME)
    assert (finding.severity, finding.title, finding.impact) == (severity, title, impact)


def test_a_raid10_depends_on_which_members_failed() -> None:
    table = "raid10 3 128 raid10_copies 2"
    apart = judged("raid10 4 ADDA 1/1 idle 0 0 -", members=4, table=table).finding(NAME)
    assert apart.title == "NO REDUNDANCY: 2 members failed"
    pair = judged("raid10 4 DDAA 1/1 idle 0 0 -", members=4, table=table).finding(NAME)
    assert (pair.title, pair.damage) == ("DATA INCOMPLETE: 2 members failed", Damage.DATA)


def test_a_rebuild_is_told_with_its_progress() -> None:
    finding = judged(*(f"raid1 2 Aa {at * 1000}/65536 recover 0 0 -" for at in range(6))).finding(NAME)
    assert finding.cause == "1 of 2 members not in sync (slot 1); recovery running, 7.6%."
    assert finding.steps[0].startswith("Let the rebuild finish")
    frozen = judged("raid1 2 Aa 100/65536 frozen 0 0 -").finding(NAME)
    assert frozen.cause.endswith("no rebuild: it is frozen.")


def test_the_failed_disk_is_named() -> None:
    files = node("vg0-vol: 0 65536 raid raid1 2 AD 1/1 idle 0 0 -\n")
    files[command_key(TABLE)] += "vg0-vol_rimage_1: 0 65536 linear 8:0 8192\n"
    files |= {"/sys/block/sda/dev": "8:0", "link:/sys/block/dm-3/slaves/sda": "../../sda"}
    from sdstop.collectors.block.devices import BLOCKDEV  # noqa: PLC0415

    said = Judged((DM_STATUS, MAPPED_RAIDS, BLOCKDEV), [VOLUME_DEGRADED], [(0.0, files)])
    assert said.finding(NAME).cause == "1 of 2 members failed (slot 1: sda); no rebuild."


@pytest.mark.parametrize(
    ("line", "members"),
    [
        ("raid1 2 AA 1/1 idle 0 0 -", 2),
        ("raid1 2 AA 1/9 check 0 0 -", 2),
        ("raid5_ls 3 AAA 1/1 idle 0 0 -", 3),
        ("raid1 2 aa 1/9 resync 0 0 -", 2),
        ("raid1 2 AA 1/9 resync 0 0 -", 2),
    ],
)
def test_whole_volumes(line: str, members: int) -> None:
    assert isinstance(judged(line, members=members).of(NAME), RuledOut)


@pytest.mark.parametrize(
    "line",
    [
        "raid1 2 AA 1/1 dreaming 0 0 -",
        "raid1 2 AA 1/1 frozen 0 0 -",
        "raid1 2 aa 0/9 idle 0 0 -",
        "raid1 2 AAA 1/1 idle 0 0 -",
        "raid1",
        "",
    ],
)
def test_what_is_strange_is_never_good(line: str) -> None:
    assert isinstance(judged(line).of(NAME if line.count(" ") > 3 and "AAA" not in line else "vg0/vol"), Unchecked)


@pytest.mark.parametrize(("samples", "fires", "gap"), [(1, False, Gap.OPEN), (2, False, Gap.SIGNS), (3, True, None)])
def test_a_whole_volume_that_stays_frozen(samples: int, fires: bool, gap: Gap | None) -> None:  # noqa: FBT001
    said = judged("raid1 2 AA 1/1 idle 0 0 -", *["raid1 2 AA 1/1 frozen 0 0 -"] * samples)
    if fires:
        assert said.finding(NAME).title == "REBUILDS AND CHECKS FROZEN"
    else:
        assert said.unchecked(NAME).gap is gap


@pytest.mark.parametrize(("samples", "fires"), [(6, False), (7, True)])
@pytest.mark.parametrize("action", ["idle", "frozen"])
def test_a_first_synchronization_that_does_not_run(samples: int, action: str, fires: bool) -> None:  # noqa: FBT001
    said = judged(*[f"raid1 2 aa 512/65536 {action} 0 0 -"] * samples)
    if fires:
        finding = said.finding(NAME)
        assert (finding.title, finding.damage) == ("FIRST SYNC NOT RUNNING", Damage.REDUNDANCY)
        assert finding.cause == f"At 0.8%, and {action} for at least 30s."
    else:
        assert said.unchecked(NAME).gap is Gap.SIGNS
    judged(*[f"raid1 2 aa 512/65536 {action} 0 0 -"] * samples, "raid1 2 aa 600/65536 resync 0 0 -").ruled_out(NAME)


def test_a_dead_journal_stops_writes() -> None:
    finding = judged("raid5_ls 3 AAA 1/1 idle 0 0 D", members=3).finding(f"{NAME}/journal")
    assert (finding.severity, finding.damage) == (Severity.CRITICAL, Damage.AVAILABILITY)


def test_stripes_and_mirrors() -> None:
    lines = "a: 0 99 striped 2 254:3 254:4 1 AD\nb: 0 99 striped 2 254:3 254:4 1 AA\n"
    said = Judged((DM_STATUS,), [VOLUME_DEGRADED], [(0.0, {command_key(STATUS): lines})])
    assert said.finding("a").title == "I/O ERRORS: 1 of 2 stripes"
    assert isinstance(said.of("b"), RuledOut)
    lines = "m: 0 99 mirror 2 254:3 254:4 9/9 1 AD 3 disk 254:2 A\n"
    said = Judged((DM_STATUS,), [VOLUME_DEGRADED], [(0.0, {command_key(STATUS): lines})])
    assert said.finding("m").title == "NO REDUNDANCY: 1 member failed"


def test_without_images_the_status_alone_is_judged() -> None:
    assert judged("raid1 2 AD 1/1 idle 0 0 -", images=False).finding(NAME).severity is Severity.CRITICAL
    assert isinstance(judged("raid1 2 A", images=False).of(NAME), Unchecked)


@pytest.mark.parametrize(
    ("outcome", "gap"),
    [
        (Outcome.DENIED, Gap.DENIED),
        (Outcome.FAILED, Gap.FAULTY),
        (Outcome.TIMEOUT, Gap.FAULTY),
        (Outcome.ABSENT, Gap.OPEN),
    ],
)
def test_a_status_that_is_missing_is_never_good(outcome: Outcome, gap: Gap) -> None:
    files = [Evidence(key, data=text.encode()) for key, text in node(None).items()]
    files.append(Evidence(command_key(STATUS), outcome, detail="because"))
    session = Session(Origin("n"), (DM_STATUS, MAPPED_RAIDS), [VOLUME_DEGRADED])
    session.feed_all([Frame(1, 1000.0, 1.0, tuple(files))])
    judgement = session.head().judgement
    assert not judgement.findings
    assert not judgement.ruled_out
    assert [one.gap for one in judgement.unchecked] == [gap]


def test_a_status_that_was_not_recorded_is_told() -> None:
    said = judged(None)
    assert [one.gap for one in said.all if isinstance(one, Unchecked)] == [Gap.UNRECORDED]
    assert len(said.all) == 1


def test_a_volume_without_a_line_is_not_good() -> None:
    files = node("vg0-other: 0 8 linear \n")
    said = Judged((DM_STATUS, MAPPED_RAIDS), [VOLUME_DEGRADED], [(0.0, files)])
    assert [one.gap for one in said.all if isinstance(one, Unchecked)] == [Gap.FAULTY]
    assert len(said.all) == 1
