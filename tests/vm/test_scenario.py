"""What may stand in a scenario, and how a course is held against it. No machine is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.expectation import Course, Expect, Misdeclared, Said, course, differences
from tests.fixtures import FIXTURES, Story, declaration, each_of, parse, story
from tests.fixtures import expected as expectation
from tests.vm import fixture, scenario, smbios
from tests.vm.guest import Guest
from tests.vm.machine import Run, command_line
from tests.vm.scenario import Disk, Scenario, Step
from tests.vm.verdict import judge, named, opened

EXPECT: list[dict[str, list[str]]] = [{"found": []}]


def made(**declared: object) -> Scenario:
    return scenario.parse("x", {"about": "a", "expect": EXPECT, **declared})


@pytest.mark.parametrize("name", scenario.names())
def test_every_scenario_can_be_read(name: str) -> None:
    one = scenario.load(name)
    assert one.about.endswith(".")
    assert all(step.at <= one.seconds for step in one.steps)
    assert all(step.run or step.monitor or step.keys or step.screen for step in one.steps)
    assert one.dashboard or not any(step.screen or step.keys for step in one.steps)


def test_a_later_line_says_more_of_a_disk() -> None:
    disks = made(disks=["d0..d2 256M iops=400", "d1 iops=35 on=slot", "fast 1G bps=7"]).disks
    assert disks == (
        Disk("d0", 256 << 20, 400), Disk("d1", 256 << 20, 35, on="slot"), Disk("d2", 256 << 20, 400),
        Disk("fast", 1 << 30, bps=7),
    )  # fmt: skip


@pytest.mark.parametrize(
    "declared",
    [
        {"disks": ["d0"]},
        {"disks": ["d0 iops=3"]},
        {"disks": ["d0..e4 1M"]},
        {"disks": ["d0 1M speed=3"]},
        {"disks": ["d0 lots"]},
        {"disks": "d0 1M"},
        {"secnods": 3},
        {"step": [{"run": "true"}]},
        {"step": [{"at": 3, "does": "true"}]},
        {"expect": []},
        {"expect": [{"found": ["slow-stripe-member md0/vdd"]}]},
        {"expect": [{"found": ["awful slow-stripe-member md0/vdd"]}]},
        {"expect": [{"finds": []}]},
        {"expect": [{"says": ["slow-stripe-member md0/vdd"]}]},
        {"about": ""},
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(declared: dict[str, object]) -> None:
    with pytest.raises(Misdeclared, match=r"^x: (disks|secnods|step|expect|about)"):
        made(**declared)


def test_a_scenario_that_is_like_another_one_says_only_what_differs() -> None:
    base, like = scenario.load("md-writers-512k"), scenario.load("md-writers-64k-apart")
    assert like.disks == base.disks
    assert like.load == base.load
    assert like.env["CHUNK"] == "64"
    assert like.env["PHASES"] != base.env["PHASES"]
    assert base.core
    assert not like.core


def test_disks_come_in_their_order_before_those_of_the_guest(tmp_path: Path) -> None:
    one = made(disks=["d0 1M iops=5", "d1 1M on=slot", "d2 1M on=nvme,bus=rp2", "d3 1M on=scsi0.0"], qemu=["-device x"])
    files = Guest(tmp_path / "vmlinuz", tmp_path / "initrd", tmp_path / "root", "6.1")
    argv = command_line(one, files, tmp_path / "site", tmp_path)
    devices = [argv[place + 1] for place, word in enumerate(argv) if word == "-device"]
    assert devices[0] == "x"
    names = [device.split("serial=")[1].split(",")[0] for device in devices if "serial=" in device]
    assert names == ["d0", "d1", "d2", "d3", "sdstoproot", "sdstopsite"]
    assert any("nvme" in device and "bus=rp2" in device for device in devices)
    assert any("throttling.iops-total=5" in word for word in argv)
    assert (tmp_path / "d0.img").stat().st_size == 1 << 20


def test_a_board_has_its_dimms() -> None:
    for sockets, channels, per_channel, filled in smbios.BOARDS.values():
        assert len(filled) == sockets
        assert all(max(places) < channels * per_channel for places, _ in filled)


def test_the_tables_are_whole(tmp_path: Path) -> None:
    files = smbios.write("unequal", tmp_path)
    kinds = [file.read_bytes()[0] for file in files]
    assert (kinds.count(16), kinds.count(17)) == (2, 12)
    for file in files:
        data = file.read_bytes()
        assert len(data) > data[1]
        assert data.endswith(b"\0\0")
        strings = data[data[1] :].rstrip(b"\0").split(b"\0") if data[data[1] :].strip(b"\0") else []
        assert len(strings) == (6 if data[0] == 17 else 0)
    sizes = [int.from_bytes(f.read_bytes()[12:14], "little") for f in files if f.read_bytes()[0] == 17]
    assert sizes == [16384] * 6 + [16384, 16384, 0, 0, 0, 0]


# --- verdict ----------------------------------------------------------------------------------------------

SLOW = Said("critical", "slow-stripe-member", "md0/vde")


def told(*expects: Expect, name: str = "vm-md-slow-member") -> list[str]:
    return differences(expects, course(FIXTURES / name))


def test_what_is_expected_is_no_complaint() -> None:
    says = (SLOW.rule, SLOW.subject, "Writes take 224 ms, 0.35 ms on its peers")
    looked, never = (("stripe-convoy", "md0"),), (("device-hung",),)
    assert told(Expect(found=(SLOW,), looked=looked, never=never, says=(says,))) == []


@pytest.mark.parametrize(
    ("expect", "complaint"),
    [
        (Expect(), "not expected: warning slow-stripe-member md0/vde"),
        (Expect(found=(Said("warning", "slow-stripe-member", "md0/vde"),)), "missing: warning"),
        (Expect(found=(SLOW, Said("critical", "stripe-convoy", "md0"))), "missing: critical stripe-convoy md0"),
        (Expect(found=(SLOW,), never=(("slow-stripe-member", "md0/*"),)), "never: slow-stripe-member md0/vde"),
        (Expect(found=(SLOW,), looked=(("rebuild-slow", "md0"),)), "could not look: rebuild-slow md0"),
        (
            Expect(found=(SLOW,), says=((SLOW.rule, SLOW.subject, "vdz1"),)),
            "does not say 'vdz1': Writes take 224 ms",
        ),
        (Expect(found=(SLOW,), says=(("stripe-convoy", "md0", "vde"),)), "does not say 'vde': not found"),
        (Expect(since=500, found=()), "no frame"),
        (Expect(until=1), "not expected: warning slow-stripe-member md0/vde"),  # later, and in nobody's time
    ],
)
def test_what_is_not_is_said(expect: Expect, complaint: str) -> None:
    assert any(complaint in line for line in told(expect))


def test_a_disk_has_the_name_that_it_got_in_the_guest() -> None:
    found = (Said("critical", "slow-device", "$d2"), Said("info", "slow-device", "md0/$d3"), SLOW)
    one = named(Scenario("x", "a", expect=(Expect(found=found, allowed=found[:1]),)), {"d2": "sdd"})
    assert [said.subject for said in one.expect[0].found] == ["sdd", "md0/$d3", "md0/vde"]
    assert [said.subject for said in one.expect[0].allowed] == ["sdd"]


def test_times_hold_each_for_itself() -> None:
    degraded = Said("critical", "array-degraded", "md0")
    calm = Expect(until=2)
    late = Expect(since=3, allowed=(degraded, Said("critical", "rebuild-stalled", "md0")))
    assert told(calm, late, name="vm-md-rebuild") == []
    assert told(Expect(until=5), late, name="vm-md-rebuild") != []


def test_a_run_that_went_wrong_is_no_success(tmp_path: Path) -> None:
    one = Scenario("x", "a", dashboard="80x24", report=5, steps=(Step(3, screen="s", shows=("vda",), hides=("vdb",)),),
                   expect=(Expect(),))  # fmt: skip
    assert "the scenario itself failed: boom" in judge(one, Run(tmp_path, {"error": "boom"}, "6.1", 1.0))[0]
    (tmp_path / "capture.txt").write_text("no room")
    (tmp_path / "dashboard.err").write_text("Traceback")
    (tmp_path / "report.err").write_text("")
    result = {"capture": 1, "load_lives": False, "report": 1, "left_after": 99.0}
    said = " ".join(judge(one, Run(tmp_path, result, "6.1", 1.0)))
    for words in ("exit 1: no room", "load ended", "sdstop report: exit 1", "99.0 s to end", "Traceback", "no capture"):
        assert words in said


# --- what was recorded ------------------------------------------------------------------------------------


def readme_of(name: str) -> str:
    path = FIXTURES / f"vm-{name}" / "README.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_every_scenario_was_recorded() -> None:
    """test_stories.py shows each of them in every view."""
    recorded = {f"vm-{name}" for name in scenario.names() if f"`python -m tests.vm record {name}`" in readme_of(name)}
    assert recorded == {f"vm-{name}" for name in scenario.names() if scenario.load(name).fixture}


@each_of(f"vm-{name}" for name in scenario.names() if scenario.load(name).fixture)
def test_a_recording_is_still_judged_as_its_scenario_expects(name: str) -> None:
    recorded = name.removeprefix("vm-")
    assert differences(scenario.load(recorded).expect, judged(story(name))) == []
    assert (FIXTURES / name / "capture.tar.gz").stat().st_size < 600_000
    assert " ".join(scenario.load(recorded).about.split()) in " ".join(readme_of(recorded).split())


def judged(recording: Story) -> Course:
    """Return the course of a recording."""
    frames = recording.frames
    seconds = [frame.monotonic - frames[0].monotonic for frame in frames]
    return Course(recording.session, frames, seconds, recording.judgements)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("vm-md-slow-member", 'found = ["critical slow-stripe-member md0/vde"]\n```\n'),
        (
            "vm-md-rebuild-course",
            ']\nat_end = []\ninfo = [\n    "rebuild-running md0",\n    "rebuild-throttled md0",\n]\n',
        ),
    ],
)
def test_what_a_fixture_says_is_found_is_what_is_found(name: str, line: str, tmp_path: Path) -> None:
    text = declaration(*fixture.found(course(FIXTURES / name)))
    assert line in text
    assert text in (FIXTURES / name / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(f"# {name}\n\n{text}")
    assert parse(tmp_path / "README.md") == expectation(name)


def test_a_sosreport_of_another_machine_is_told_from_that_of_the_same() -> None:
    """What a scenario's sosreport is held against: arrays, members, disks and findings of the capture beside it."""
    folder = FIXTURES / "vm-sosreport"
    one = scenario.load("sosreport")
    report = course(folder / fixture.SOSREPORT)
    said = "\n".join(opened(one, report, course(FIXTURES / "vm-md-raid6-even" / "capture.tar.gz")))
    assert "Array: " in said
    assert "Member: " in said
    assert "BlockDevice: vda: size is 134217728, and live 268435456" in said
    healthy = made(packages=["sosreport"], expect=[{"found": ["critical device-hung vda"]}], sos="-o md")
    assert "not expected: warning array-degraded md0" in "\n".join(
        opened(healthy, report, course(folder / "capture.tar.gz"))
    )


def test_more_packages_and_zfs_are_two_guests() -> None:
    assert made(packages=["sosreport"]).packages == ("sosreport",)
    with pytest.raises(Misdeclared, match="none besides"):
        made(packages=["sosreport"], zfs=True)
