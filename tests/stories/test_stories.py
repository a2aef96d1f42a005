"""The stories, end to end: each fixture through every view, and exactly what must be found in it.

What a fixture is about stands in its README.md.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from sdstop.capture.reader import PACKED, open_capture
from sdstop.cli.command import execute
from sdstop.collectors import BUILTIN
from sdstop.core.coverage import NO_VERDICT
from sdstop.core.evidence import Frame, Origin, Outcome, readable
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.finding import Damage, Finding, Severity
from sdstop.core.headline import NOT_YET
from sdstop.core.judgement import Judgement
from sdstop.core.lookback import Lookback
from sdstop.core.session import Session
from sdstop.exporters import plugin as check
from sdstop.exporters.capture import CaptureWriter
from sdstop.exporters.report.document import document, to_json
from sdstop.readings.disk import DiskActivity
from sdstop.rules import RULES
from sdstop.rules.clusters.scaling_poor import SCALING_POOR
from sdstop.sampler import sample
from sdstop.tui.scene import BAD
from tests.fixtures import (
    FIXTURES,
    Said,
    Story,
    Undeclared,
    each_of,
    every_story,
    expected,
    names,
    parse,
    story,
    twentieth,
)
from tests.make_fixtures import STORIES as SYNTHETIC
from tests.stories.archive import pack, pack_folder, stream
from tests.tui.first_screen import SIZES, check_first_screen
from tests.tui.screens import Screen, screen

SIZE = (120, 40)


def ever(session: Session) -> frozenset[Said]:
    """Return all that was ever in force above info, each once, as bad as it was at worst."""
    worst: dict[tuple[str, str], Severity] = {}
    for episode in session.episodes():
        key = (episode.finding.rule, episode.finding.subject)
        worst[key] = max(episode.finding.severity, worst.get(key, Severity.INFO), key=lambda s: s.rank)
    return frozenset((rule, s.value, subject) for (rule, subject), s in worst.items() if s is not Severity.INFO)


def in_force(judgement: Judgement) -> frozenset[Said]:
    return frozenset(
        (f.rule, f.severity.value, f.subject) for f in judgement.findings if f.severity is not Severity.INFO
    )


def run(capsysbinary: pytest.CaptureFixture[bytes], *argv: str) -> tuple[int, str, str]:
    """Run a command here; return its exit code, standard output and standard error."""
    code = execute([*argv, "--no-color"])
    out, err = capsysbinary.readouterr()
    return code, out.decode(), err.decode()


# --- what is found ----------------------------------------------------------------------------------------


def test_a_readme_names_the_command_that_wrote_its_fixture() -> None:
    """Fixtures without such a command were recorded, or written by hand."""
    written = {name for name in names() if f"`python -m tests.make_fixtures {name}`" in readme_of(name)}
    assert written == SYNTHETIC.keys()


def readme_of(name: str) -> str:
    return (FIXTURES / name / "README.md").read_text(encoding="utf-8")


HAND_MADE = """# A mirror that lost a member

```toml
found = ["critical array-degraded md0"]
```
"""


def test_a_fixture_made_by_hand_is_a_folder_with_a_readme(tmp_path: Path) -> None:
    """As its files, and packed."""
    mdstat = tmp_path / "static/proc/mdstat"
    mdstat.parent.mkdir(parents=True)
    mdstat.write_text("Personalities : [raid1]\nmd0 : active raid1 sda[0]\n      8 blocks [2/1] [U_]\n")
    (tmp_path / "manifest.json").write_text('{"host": "hand1"}')
    (tmp_path / "README.md").write_text(HAND_MADE)
    loose = open_capture(tmp_path)
    pack_folder(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", PACKED]
    for origin, frames in (loose, open_capture(tmp_path)):
        session = Session(origin, BUILTIN, RULES)
        session.feed_all(frames)
        assert origin.name == "hand1"
        assert ever(session) == parse(tmp_path / "README.md").found


@pytest.mark.parametrize(
    ("readme", "fault"),
    [
        ("# x\n", "0 blocks of TOML"),
        (2 * HAND_MADE, "2 blocks of TOML"),
        ("```toml\n```\n", "missing required field `found`"),
        ("```toml\nfound = []\nends = []\n```\n", "unknown field `ends`"),
        ('```toml\nfound = ["array-degraded md0"]\n```\n', '"array-degraded md0": write severity, rule, subject'),
        ('```toml\nfound = ["info rebuild-running md0"]\n```\n', "write severity, rule, subject"),
        ('```toml\nfound = []\ninfo = ["md0"]\n```\n', '"md0": write rule and subject'),
        ("```toml\nfound = [\n```\n", "Invalid value"),
    ],
)
def test_a_readme_that_declares_no_findings_is_refused(readme: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(readme)
    with pytest.raises(Undeclared, match=re.escape(fault)):
        parse(tmp_path / "README.md")


@every_story()
def test_exactly_what_must_be_found_is_found(name: str) -> None:
    told = story(name)
    assert ever(told.session) == expected(name).found
    assert in_force(told.judgements[-1]) == expected(name).last
    infos = {(e.finding.rule, e.finding.subject) for e in told.session.episodes()}
    assert infos >= expected(name).info


REPORTS = {"rebuild-running"}
"""Rules that only report: where nothing runs they have nothing to rule out."""


@every_story()
def test_what_must_be_good_is_looked_at_and_good(name: str) -> None:
    told = story(name)
    fired = {episode.finding.rule for episode in told.session.episodes()}
    assert expected(name).good & fired == set()
    looked = {verdict.rule for verdict in told.judgements[-1].ruled_out} | REPORTS
    assert expected(name).good <= looked


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_every_rule_has_a_story_in_which_it_fires_and_one_in_which_it_must_not(rule: str) -> None:
    told = {name: expected(name) for name in names()}
    fires = [name for name, of in told.items() if rule in {r for r, *_ in (*of.found, *of.info)}]
    good = [name for name, of in told.items() if rule in of.good]
    assert fires, "no story in which it fires: name it under found or info of a fixture's README"
    assert good, "no story in which it must not: name it under good of a fixture's README"


@every_story()
def test_a_capture_is_not_sick_for_what_is_younger_than_it(name: str) -> None:
    """Most fixtures were written before most sources and rules: what they have nothing of, they are calm about."""
    told = story(name)
    assert [run.collector for run in told.session.head().now.runs.values() if run.outcome in BAD] == []
    loud = [u for u in told.judgements[-1].unchecked if not u.calm]
    assert [u for u in loud if "not recorded" in u.reason or NOT_YET in u.reason] == []


@every_story()
def test_no_thing_goes_without_a_verdict(name: str) -> None:
    missing = {(u.rule, u.subjects) for j in story(name).judgements for u in j.unchecked if u.reason == NO_VERDICT}
    assert missing == set()


@every_story()
def test_rules_that_pass_share_their_words(name: str) -> None:
    """What one rule says alike of several things is one verdict."""
    judgement = story(name).judgements[-1]
    passed = [(verdict.rule, verdict.summary) for verdict in judgement.ruled_out]
    unable = [(v.rule, v.reason, v.calm, v.gap, bool(v.subject)) for v in judgement.unchecked]
    assert len(set(passed)) == len(passed)
    assert len(set(unable)) == len(unable)


@every_story()
def test_a_finding_quotes_evidence_that_is_there(name: str) -> None:
    told = story(name)
    for episode in told.session.episodes():
        assert episode.finding.evidence, episode.finding.id
        for cite in episode.finding.evidence:
            host = EvidenceHost()
            for frame in told.frames:
                if frame.number <= cite.frame:
                    host.apply(frame.evidence)
            item = host.evidence(cite.key)
            assert item is not None, cite.key
            assert all(line in readable(item.data) for line in cite.excerpt.splitlines()), cite


@pytest.mark.parametrize("name", SYNTHETIC)
def test_the_readme_says_what_must_be_found_and_that_it_is_synthetic(name: str) -> None:
    readme = readme_of(name)
    assert f"Synthetic: written by `python -m tests.make_fixtures {name}`." in readme
    must, _, must_not = readme.partition("Must not be reported:")
    assert "```toml" not in must
    assert must_not
    for rule, severity, subject in expected(name).found:
        assert f"`{rule}`" in must
        assert severity in must
        assert all(part in must for part in subject.split("/"))


WHOLE = {
    "mtu-mismatch", "mtu-mended", "path-mtu", "dropping-link", "quiet-node", "iostat-only", "aoe-initiator",
    "draid-served", "draid-served-mended", "server-lopsided", "server-even", "dm-caches-failing", "dm-caches-mended",
    "pacemaker-clean", "scaleio-tight", "scaleio-roomy", "bond-one-slave", "bond-both-slaves", "bcache-drains-slowly",
    "bcache-detaching",
}  # fmt: skip
"""Fixtures of whole numbers; the others take a simulation, whose logarithms are the machine's."""


@pytest.mark.parametrize(
    "name", [name if name in WHOLE else pytest.param(name, marks=pytest.mark.slow) for name in SYNTHETIC]
)
def test_the_command_in_the_readme_writes_this_fixture(name: str, tmp_path: Path) -> None:
    SYNTHETIC[name]().write(tmp_path)
    made, kept = (gzip.decompress((folder / PACKED).read_bytes()) for folder in (tmp_path, FIXTURES / name))
    assert made == kept


def test_an_archive_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    members = {"b/x": b"1", "a" * 150: b"", "b/a": b"2"}
    pack(members, tmp_path / "one.tar.gz")
    pack(dict(reversed(members.items())), tmp_path / "two.tar.gz")
    written = (tmp_path / "one.tar.gz").read_bytes()
    assert written == (tmp_path / "two.tar.gz").read_bytes()
    assert written[3:8] == bytes(5)  # gzip: no flags, hence no name, and no time
    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        assert [(m.name, m.mode, m.mtime, m.uid, m.gid, m.uname) for m in archive] == [
            (name, 0o644, 0, 0, 0, "") for name in sorted(members)
        ]


def test_an_archive_of_the_same_members_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "one.tar.gz"
    path.write_bytes(gzip.compress(stream({"a": b"1"}), 1))  # as another zlib packs it
    before = path.read_bytes()
    pack({"a": b"1"}, path)
    assert path.read_bytes() == before
    pack({"a": b"2"}, path)
    assert path.read_bytes() != before


# --- the course of single stories -------------------------------------------------------------------------


def at(name: str, second: int) -> dict[str, str]:
    """Return the summaries of what is in force in a frame, by rule."""
    return {f.rule: f.summary for f in story(name).judgements[second].findings}


def test_nothing_is_said_before_the_device_hangs() -> None:
    assert all(not judgement.findings for judgement in story("device-hung").judgements[:16])


def test_a_hung_member_hides_how_the_load_is_spread() -> None:
    unchecked = {u.rule: u.reason for u in story("device-hung").judgements[-1].unchecked}
    assert "sdf" in unchecked["stripe-convoy"]
    assert "sdf" in unchecked["slow-stripe-member"]


def test_a_degraded_array_says_that_nobody_rebuilds_it() -> None:
    assert "no rebuild" in at("md-degraded", -1)["array-degraded"]


def test_the_real_rebuild_runs_freezes_stalls_and_ends() -> None:
    """As in the fixture's README: failed at 3 s, rebuilt from 6, frozen 27, on at 42, stalled 62, on at 77, over 85."""
    name = "vm-md-rebuild"
    assert at(name, 2) == {}
    assert "no rebuild" in at(name, 4)["array-degraded"]
    assert {"array-degraded", "rebuild-running"} <= at(name, 15).keys()
    assert at(name, 35).keys() == {"array-degraded"}
    assert "no rebuild" in at(name, 35)["array-degraded"]
    assert "frozen" in at(name, 35)["array-degraded"]
    assert "rebuild-running" in at(name, 55)
    assert "sync_max" in at(name, 76)["rebuild-stalled"]
    assert "rebuild-running" in at(name, 84)
    assert "rebuild-stalled" not in at(name, 84)
    assert at(name, -1) == {}


def test_the_stall_is_seen_although_mdstat_prints_a_speed() -> None:
    told = story("md-rebuild-stalled")
    mdstat = told.session.head().host.text("/proc/mdstat")
    assert re.search(r"recovery = 44\.0% .* speed=[1-9]\d*K/sec", mdstat)
    assert "rebuild-stalled" in at(told.name, -1)
    assert "rebuild-stalled" not in at(told.name, 19)


def test_the_convoy_is_found_in_every_window_and_never_by_its_average() -> None:
    told = story("clone-convoy")
    assert all(in_force(judgement) == expected(told.name).found for judgement in told.judgements[9:])
    first, last = (Lookback(told.session).at(place).window for place in (0, len(told.frames) - 1))
    assert first.get(DiskActivity, "sda") is None
    busy = [window_mean(told, f"sd{letter}") for letter in "abcdefghijklmnopqrstuvwxyz"]
    assert max(busy) < 2 * min(busy)
    assert last.seconds > 60


def window_mean(told: Story, device: str) -> float:
    rows = [row for _, row in told.session.head().window.series(DiskActivity, device) if row is not None]
    return sum(row.completed_per_second for row in rows) / len(rows)


def test_recorded_iostat_text_brings_the_slow_disk_to_the_table() -> None:
    rows = story("iostat-only").session.head().now.rows(DiskActivity)
    waits = {name: row.wait for name, row in rows.items() if row.wait is not None and name != "md0"}
    assert max(waits, key=lambda name: waits[name]) == "sdd"


# --- one story, one cause -----------------------------------------------------------------------------------


BYPASSED = pytest.mark.parametrize(("name", "payload", "past"), [
    ("aoe-flashcache", "3584", "92.2"),
    ("aoe-flashcache-9000", "8704", "54.2"),
])  # fmt: skip


@BYPASSED
def test_the_first_finding_says_what_is_wrong_what_it_costs_and_what_mends_it(
    name: str, payload: str, past: str
) -> None:
    first, *rest = story(name).judgements[-1].findings
    assert first.rule == "mtu-misaligned"
    assert re.fullmatch(r"MTU [49]000 SPLITS 4 KiB BLOCKS", first.title)
    assert f"Frames carry {payload} bytes, not a multiple of 4096" in first.cause
    rates = {"92.2": "1088 of 1180", "54.2": "895 of 1650"}
    assert first.impact == f"{past}% bypass cache cachedev: {rates[past]} requests/s."
    values = {value.name: value.value for value in first.values}
    assert (values["mtu_from"], values["mtu_to"]) == (8228, 8739)
    assert values["pieces"] == pytest.approx(1000, rel=0.15)
    assert values["pieces_bytes"] == pytest.approx(1.9e6, rel=0.15)
    assert values["spared_reads_cachedev"] == pytest.approx(105, abs=2)
    assert values["spared_writes_cachedev"] == pytest.approx(600, rel=0.15)
    assert values["read_hits_cachedev"] in (pytest.approx(0.149, abs=0.001), pytest.approx(0.289, abs=0.001))
    assert values["cacheable_read_hits_cachedev"] == pytest.approx(0.632, abs=0.001)
    assert first.steps[0].startswith("ip link set dev eth1 mtu 8700")
    assert {finding.id for finding in rest} == set(first.explains)


def test_the_numbers_of_the_story() -> None:
    first = {f.rule: f for f in story("aoe-flashcache").judgements[0].findings}
    last = {f.rule: f for f in story("aoe-flashcache").judgements[-1].findings}
    for said, near in ((first, 5e-5), (last, 2e-4)):
        values = {v.name: v.value for v in said["cache-bypassed"].values}
        assert values["bypass_share"] == pytest.approx(0.9219, abs=near)
        assert values["sub_block"] == pytest.approx(0.9273, abs=near)
        assert values["read_hits"] == pytest.approx(0.1486, abs=near)
        assert values["printed"] == 0.14  # the driver cuts off
        assert values["cacheable_read_hits"] == pytest.approx(0.632, abs=0.001)
        assert values["cacheable_write_hits"] == pytest.approx(0.729, abs=0.001)
    assert "since load" in first["cache-bypassed"].impact
    assert next(v.value for v in last["cache-bypassed"].values if v.name == "seconds") == 60


@BYPASSED
async def test_a_story_is_one_alarm_in_every_view(
    name: str, payload: str, past: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    del payload, past
    text = run(capsysbinary, "report", "--from", story(name).path)[1]
    assert text.startswith("san1: 1 finding: 1 critical; 2 consequences\n")
    assert re.search(r"\n  CRITICAL  eth1  .*\n    mtu-misaligned, ", text)
    assert re.search(r"\n      CRITICAL  cachedev  .*\n        cache-sub-block-io, ", text)
    assert re.search(r"\n      CRITICAL  cachedev  .*\n        cache-bypassed, ", text)
    assert text.index("  cache-sub-block-io, ") < text.index("  cache-bypassed, ")
    said = run(capsysbinary, "check", "--from", story(name).path)[1]
    assert said.startswith("SDSTOP CRITICAL - 1 finding: mtu-misaligned eth1: ")
    assert "; 2 consequences" in said
    report = json.loads(run(capsysbinary, "report", "--format", "json", "--from", story(name).path)[1])
    assert [(f["rule"], len(f["explains"])) for f in report["findings"]] == [
        ("mtu-misaligned", 2), ("cache-sub-block-io", 1), ("cache-bypassed", 0)
    ]  # fmt: skip
    async with screen(story(name).session, SIZE) as shown:
        assert " 1 CRIT" in shown.lines()[0]
        assert sum(line.startswith("!CRIT") for line in shown.lines()) == 1
        assert "+2 follow: " in shown.text()
        await shown.press("!")
        listed = [line for line in shown.lines() if "!CRIT " in line]
        assert [bool(re.search(r"CRIT +  cachedev", line)) for line in listed[:3]] == [False, True, True]
        assert listed[0].index("eth1") + 2 == listed[1].index("cachedev")


def test_once_the_frames_carry_whole_blocks_all_is_calm() -> None:
    """What a single frame tells is what was; the second one ends it, and nothing is left to be told."""
    told = story("aoe-flashcache-8700")
    alone = {f.id: f for f in told.judgements[0].findings}
    assert all(finding.totals for finding in alone.values())
    assert "cache-bypassed:cachedev" in alone
    assert all(not judgement.findings for judgement in told.judgements[1:])
    assert told.session.episodes() == []


@BYPASSED
def test_the_healthy_cache_beside_it_is_looked_at_and_good(name: str, payload: str, past: str) -> None:
    del payload, past
    for judgement in story(name).judgements:
        assert "mail/spool" not in {f.subject for f in judgement.findings}
    good = {r.rule for r in story(name).judgements[-1].ruled_out if r.subject == "mail/spool"}
    assert good == {"cache-errors", "cache-full-of-dirty", "cache-ineffective", "cache-misplaced", "cache-slow"}


def test_what_is_cited_of_a_hand_made_capture_can_be_typed() -> None:
    keys = {cite.key for e in story("aoe-flashcache").session.episodes() for cite in e.finding.evidence}
    assert {"cmd:dmsetup status --noflush", "cmd:dmsetup table --target flashcache"} <= keys
    assert not [key for key in keys if key.startswith("slug:")]


async def test_a_small_screen_has_all_sizes_and_the_setting_that_is_right() -> None:
    async with screen(story("aoe-flashcache").session, (80, 24)) as shown:
        await shown.press("3")
        assert "MTU 4000 of eth1 (8228-8739 fit): frames of 3584 bytes" in shown.text()
        assert sizes_of(shown) == list(range(512, 4097, 512))
        assert "cache block" in shown.line(" 4096 ")


def sizes_of(shown: Screen) -> list[int]:
    """Return the sizes of the histogram that are on the screen, which is above the time bar."""
    histogram = shown.text().partition("─ Request sizes")[2].partition("─ Time ")[0]
    return [int(size) for size in re.findall(r"^[▸ ] +(\d+) █", histogram, re.MULTILINE)]


MENDED = "aoe-flashcache-mended"


def test_ten_seconds_after_the_mtu_is_mended_all_is_calm() -> None:
    """What is judged is the setting of now, and requests of before it are over."""
    told = story(MENDED)
    for frame, judgement in zip(told.frames, told.judgements, strict=True):
        since = frame.monotonic - told.frames[9].monotonic
        rules = {finding.rule for finding in judgement.findings}
        assert ("mtu-misaligned" in rules) is (since < 0)
        assert bool(rules) is (since < 10)
    good = {(r.rule, r.subject): r.summary for r in told.judgements[-1].ruled_out}
    assert "97.9% of requests arrive as whole blocks" in good["mtu-misaligned", "eth1"]


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_view_of_caches_compares_before_and_after_the_change(size: tuple[int, int]) -> None:
    async with screen(story(MENDED).session, size) as shown:
        text = await shown.press("3")
        assert "MTU of eth1 9000 -> 8700 at " in text
        assert "before, 40s" in text
        assert "since, 1m05" in text
        assert shown.line(" bypassed ").split()[1::2][:2] == ["54.2", "2.1"]


async def test_the_engineer_reads_of_the_memory_before_anything_else(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """One of four channels of each socket, what that leaves, what the rebuild would need; and what is not the cause."""
    told = story("draid-one-dimm")
    first, second, *rest = told.judgements[-1].findings
    assert first.id == "dimm-too-few-channels:memory"
    assert first.title == "ONE DIMM PER CPU"
    assert first.cause == "1 of 4 memory channels filled on each socket: 34.1 of 136.5 GB/s."
    assert first.impact == "A full-speed rebuild needs 47.7 GB/s of memory; 27h08 left as it is."
    values = {value.name: value.value for value in first.values}
    assert values["peak0"] == values["peak1"] == pytest.approx(17.064e9)
    assert first.explains == (second.id,)
    assert second.rule == "rebuild-slow"
    assert [finding.rule for finding in rest if finding.severity is not Severity.INFO] == ["zfs-pool-degraded"]
    out = {(row.rule, subject) for row in told.judgements[-1].ruled_out for subject in row.subjects}
    hbas = ("0000:02:00.0", "0000:03:00.0", "0000:81:00.0", "0000:82:00.0")
    assert out >= {(rule, hba) for rule in ("hba-oversubscribed", "pcie-degraded") for hba in hbas}
    assert out >= {("hba-unbalanced", hbas[0]), ("numa-remote-hba", "node0"), ("dimm-unequal-sockets", "memory")}
    text = run(capsysbinary, "report", "--from", told.path)[1]
    named = re.findall(r"(?:CRITICAL|WARNING|INFO) .*\n +([a-z-]+), ", text)
    assert named[:2] == ["dimm-too-few-channels", "rebuild-slow"]
    code, said, _ = run(capsysbinary, "check", "--from", told.path)
    assert code == 2
    assert re.match(r"SDSTOP CRITICAL - \d findings?: dimm-too-few-channels memory: ", said)
    async with screen(told.session, SIZE) as shown:
        listed = [line for line in shown.lines() if re.search(r"!?(CRIT|WARN) ", line)]
        assert "memory" in next(line for line in listed if "CRIT " in line and "memory" in line)
        assert " CRIT" in shown.lines()[0]


def test_a_full_thin_pool_is_one_finding_and_affects_its_volumes(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """The kernel's message is about the mapping below the volumes; LVM has an unused one with the pool's name."""
    told = story("vm-lvm-out-of-space")
    pool = next(each for each in told.judgements[-1].findings if each.id == "thin-pool-filling:vg0/pool")
    assert pool.explains == ("kernel-io-errors:dm-2",)
    assert pool.affected == ("vg0/web", "vg0/mail")
    text = run(capsysbinary, "report", "--from", told.path)[1]
    stages = text.split("  vg0/web: client to medium")[1].split("\n\n")[0]
    assert re.findall(r"\n[ !*]*([a-z0-9/-]+(?: volumes| below)?)  ", stages)[1:6] == [
        "clients", "vg0/web", "vg0/pool", "2 volumes", "vda",
    ]  # fmt: skip
    assert "also found" not in text  # nothing else was found of the pool
    assert "full at this rate in        -" in text  # a quantity that is not known is still named


def test_a_cloud_starts_with_moved_names_and_exposed_data() -> None:
    """An incident that can cost data comes before a condition that exposes them, and both before slow volumes."""
    first, second, *rest = story("scaleio-cloud").judgements[-1].findings
    assert (first.id, first.title) == ("unstable-device-path:cloud1", "DEVICE NAME MOVED: sde is now sdf")
    assert first.cause == "/dev/sde of sds07 is /dev/sdf now; 48 of 48 names can change."
    assert (second.id, second.title) == ("zero-padding-off:cloud1/sas10k", "ZERO PADDING OFF")
    assert second.impact == "Unwritten or discarded blocks can return old data of other tenants."
    assert (first.damage, first.standing) == (second.damage, not second.standing) == (Damage.DATA, False)
    assert Damage.DATA not in {finding.damage for finding in rest}


def test_poor_scaling_names_the_likeliest_cause_on_the_node() -> None:
    first, second = story("scaleio-4node").judgements[-1].findings
    assert (first.id, first.title) == ("scaling-poor:flash4", "POOR SCALING: 30.5% of 4 x 1")
    assert first.cause.endswith("; likeliest: RAM read cache on flash.")
    assert first.impact == "A request takes 2.81 ms instead of 0.86 ms, 80 outstanding each."
    assert first.cost == pytest.approx(222, abs=1)  # of 320 outstanding, 98 would wait anyway
    assert second.id == "rmcache-on-flash:flash4/nvme"
    assert {value.value for value in first.values} >= {"RAM read cache on flash: flash4/nvme"}


def test_measured_saturation_is_a_likelier_cause_than_a_setting() -> None:
    look = story("scaleio-4node").looks[-1]
    cache = look.judgement.findings[1]
    full = replace(cache, rule="link-saturated", subject="eth0")
    for earlier, likeliest in (
        ([cache, full], "a saturated link"),
        ([cache, replace(full, severity=Severity.INFO)], "RAM read cache on flash"),
        ([], None),
    ):
        (found,) = SCALING_POOR.verdicts(look.window, SCALING_POOR.limits(), earlier)
        assert isinstance(found, Finding)
        assert found.cause.endswith(f"; likeliest: {likeliest}." if likeliest else "one 93500.")
        assert ("Fix this first" in found.steps[0]) is (likeliest is not None)


def test_behind_one_hba_the_zones_lead_and_memory_is_not_yet_the_cause() -> None:
    findings = story("draid-one-hba").judgements[-1].findings
    pool, *rest = [f.rule for f in findings[:4]]
    assert pool == "zfs-pool-degraded"  # less redundancy is worse than less speed
    assert rest == ["hba-unbalanced", "hba-oversubscribed", "rebuild-slow"]
    memory = next(f for f in findings if f.rule == "dimm-too-few-channels")
    assert (memory.severity, memory.explains) == (Severity.WARNING, ())


# --- the views --------------------------------------------------------------------------------------------
# Text, metrics and screen take turns: half of the stories are in one of them in every run, all of them by `-m slow`.
# What JSON, which has all of a report, and check say is asked of every story as it was judged above. The commands,
# which open and judge it again, take turns.


@each_of(twentieth(0))
def test_the_report_in_text(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, text, err = run(capsysbinary, "report", "--from", story(name).path)
    assert (code, err) == (0, "")
    for rule, severity, subject in expected(name).found:
        assert re.search(rf"{severity.upper()} +{re.escape(subject)}  .*\n *{rule}, ", text), text[:2000]
    assert text.isascii()
    assert "\x1b" not in text


@each_of(twentieth(1))
def test_the_report_in_json_is_the_same_to_the_byte(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Opened and judged twice."""
    code, text, err = run(capsysbinary, "report", "--format", "json", "--from", story(name).path)
    assert (code, err) == (0, "")
    assert text == to_json(document(story(name).session))


@every_story()
def test_the_report_in_json(name: str) -> None:
    report = json.loads(to_json(document(story(name).session)))
    assert report["schema"] == "sdstop.report/2"
    assert report["frames"] == len(story(name).frames)
    told = [f for f in report["findings"] if f["severity"] != "info"]
    assert {(f["rule"], f["severity"], f["subject"]) for f in told} == expected(name).found
    still = {(f["rule"], f["severity"], f["subject"]) for f in told if f["until"] is None}
    assert still == expected(name).last
    assert all(f["evidence"] and f["advice"] and f["summary"] for f in told)


@each_of(twentieth(2))
def test_check(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, text, err = run(capsysbinary, "check", "--from", story(name).path)
    assert (code, err) == (expected(name).code, "")
    the_check_is_right(name, text)


@every_story()
def test_the_answer_of_check(name: str) -> None:
    judgement = story(name).judgements[-1]
    answer = check.verdict(story(name).session, judgement, strict=False)
    assert answer.code == expected(name).code
    first = check.line(answer.code, answer.said, check.numbers(judgement))
    the_check_is_right(name, first + check.below(answer.details))


def the_check_is_right(name: str, text: str) -> None:
    word = ("OK", "WARNING", "CRITICAL", "UNKNOWN")[expected(name).code]
    assert text.startswith(f"SDSTOP {word} - ")
    first, *more = text.splitlines()
    assert len(first.partition(" | ")[0]) < 550
    assert len(first) < 4096  # plugins of Nagios: the most that NRPE and Icinga take over
    assert re.search(
        r" \| critical=\d+;;0 warning=\d+;0 info=\d+ unchecked=\d+( '[^'|=]+'=[-+.\de]+[sB]?;[-+.\de:;]+)*$", first
    )
    if len(more) > 50:  # a plugin shows 50 details, and the number of the others
        assert re.fullmatch(r"\d+ more; see 'sdstop report'", more.pop())
        assert len(more) == 50
    assert all(
        re.match(r"(CRITICAL|WARNING|INFO|NO USABLE DATA|PARTIAL DATA|NOT CHECKED|NOT RECORDED): [^|]+$", line)
        for line in more
    )
    for rule, _, subject in expected(name).last:
        assert f"{rule} {subject}: " in text


@each_of(twentieth(3))
def test_the_exported_findings(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, text, err = run(capsysbinary, "export", "--once", "--from", story(name).path)
    assert (code, err) == (0, "")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    active = {
        (s.labels["rule"], s.labels["severity"], s.labels["subject"])
        for s in (families["sdstop_finding_active"].samples if "sdstop_finding_active" in families else [])
        if s.value == Severity(s.labels["severity"]).rank + 1
    }
    assert {said for said in active if said[1] != "info"} == expected(name).last
    told = families["sdstop_findings"].samples if "sdstop_findings" in families else []
    counts = {(s.labels["rule"], s.labels["severity"]): s.value for s in told}
    for rule, severity, _ in expected(name).last:
        assert counts[rule, severity] == sum(said[:2] == (rule, severity) for said in expected(name).last)
    judgement = story(name).judgements[-1]
    assert {rule for rule, _ in counts} == {f.rule for f in judgement.findings}  # no series without a finding
    assert 0 not in counts.values()


@each_of(twentieth(2))
async def test_the_first_screen_is_whole_at_every_size(name: str) -> None:
    async with screen(story(name).session, SIZES[0]) as shown:
        for size in SIZES:
            await shown.pilot.resize_terminal(*size)
            await shown.settled()
            check_first_screen(shown)


@each_of(twentieth(4))
async def test_the_dashboard(name: str) -> None:
    told = story(name)
    async with screen(told.session, SIZE) as shown:
        check_first_screen(shown)
        worst = {f.severity for f in told.judgements[-1].findings}
        assert (" CRIT" in shown.lines()[0]) is (Severity.CRITICAL in worst)
        assert (" WARN" in shown.lines()[0]) is (Severity.WARNING in worst)
        for key in "246!":
            assert "Traceback" not in await shown.press(key)
        for finding in told.judgements[-1].findings:
            assert finding.subject[:9] in shown.text()


LEADING = (
    "aoe-flashcache", "clone-convoy", "device-hung", "draid-one-dimm", "md-degraded", "pacemaker-unclean",
    "scaleio-cloud", "vm-numa-unequal-dimms",
)  # fmt: skip
"""Stories of different technologies whose worst finding is followed to its evidence in every run."""


@pytest.mark.parametrize(
    "name",
    [
        name if name in LEADING else pytest.param(name, marks=pytest.mark.slow)
        for name in names()
        if expected(name).last
    ],
)
async def test_the_dashboard_leads_from_the_finding_to_its_evidence(name: str) -> None:
    worst = story(name).judgements[-1].findings[0]
    async with screen(story(name).session, SIZE) as shown:
        why = " ".join((await shown.press("!", "enter")).split())
        for told in filter(None, (worst.cause, worst.impact, worst.steps[0])):
            assert " ".join(told.split())[:60] in why
        raw = await shown.press("enter")
        cited = worst.evidence[0]
        assert re.sub("^(cmd|slug|answer):", "", cited.key)[:60] in raw  # headed "command", "answer"
        assert f" read     frame {cited.frame} " in raw
        assert " outcome  ok" in raw
        painted = " ".join(raw.split())  # a tab is painted as blanks
        if cited.key.startswith("answer:"):  # shown one field a line
            fields = re.findall(r'"(?:[^"\\]|\\.)*"', cited.excerpt)[:3]
            assert all(" ".join(field.split())[:60] in painted for field in fields)
        else:
            assert any(" ".join(line.split())[:40] in painted for line in cited.excerpt.splitlines())
        why += " ".join((await shown.press("escape", "G")).split())  # many values push it below the edge
        assert " ".join(worst.refuted_by.split())[:60] in why


async def test_the_heat_strip_shows_the_convoy_as_a_moving_stripe() -> None:
    async with screen(story("clone-convoy").session, (200, 60)) as shown:
        await shown.press("2")
        strips = heat(shown, story("clone-convoy"))
        assert len(strips) > 30  # the time bar has the rows below
        await shown.press("G")
        strips |= heat(shown, story("clone-convoy"))
    assert len(strips) == 46
    brightest = [max(strips, key=lambda disk: strips[disk][place]) for place in range(60)]
    assert len(set(brightest)) >= 10
    assert max(brightest.count(disk) for disk in strips) < len(brightest) / 3


async def test_the_heat_strip_shows_the_slow_disk_as_a_steady_line() -> None:
    async with screen(story("slow-member").session, (200, 60)) as shown:
        await shown.press("2")
        strips = heat(shown, story("slow-member"))
    mean = {disk: sum(strip) / len(strip) for disk, strip in strips.items()}
    assert max(mean, key=lambda disk: mean[disk]) == "sdd"
    assert mean["sdd"] > 2 * sorted(mean.values())[-2]


def heat(shown: Screen, told: Story) -> dict[str, list[int]]:
    """Return the members' strips as numbers, the oldest second first; nothing moved is 0, as is nothing known."""
    lines = shown.lines()
    end = next(line.index(" now ") + 4 for line in lines if "QUEUE, last 60 s" in line)
    start = end - min(60, len(told.frames))
    found = {}
    for line in lines:
        words = line.lstrip("▸!* ").split()
        if len(words) > 3 and words[0].isdigit() and words[1].startswith("sd"):
            found[words[1]] = [" ·░▒▓█".index(c) for c in line.ljust(end)[start:end]]
    return found


# --- captures of captures ---------------------------------------------------------------------------------


@functools.cache
def recorded(name: str) -> list[Frame]:
    """Take the frames again, from the fixture instead of a node: what the collectors do not read is not there.

    Each source runs in the frames in which it ran: what is read twice would look like a node that stands still. Those
    that did not exist when the story was recorded run in all of them.
    """
    host = EvidenceHost()
    frames = []
    known = set[str]().union(*(frame.ran or () for frame in story(name).frames))
    for frame in story(name).frames:
        host.apply(frame.evidence)
        due = [each for each in BUILTIN if frame.ran is None or each.name in frame.ran or each.name not in known]
        taken = sample(host, due, frame.number, frame.taken, frame.monotonic)
        frames.append(replace(taken, ran={**(taken.ran or {}), **(frame.ran or {})}))
    return frames


def again(origin: Origin, frames: list[Frame]) -> frozenset[Said]:
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(frames)
    return ever(session)


Ending = Callable[[Path], Path]
ENDINGS: Mapping[str, Ending] = {"folder": lambda path: path / "c", "archive": lambda path: path / "c.tar.gz"}


ROUND = (
    "aoe-flashcache", "ceph-drain", "drbd-resync", "iostat-only", "md-degraded", "scaleio-4node", "vm-io-sizes",
)  # fmt: skip
"""Small stories of different technologies that are captured again in every run, every other one as an archive.

By `-m slow` all of them are, and those that were computed both ways.
"""

WRITTEN = [
    pytest.param(name, ending, marks=() if name in ROUND and turn == at % 2 else pytest.mark.slow)
    for at, name in enumerate(names())
    for turn, ending in enumerate(ENDINGS)
    if name in SYNTHETIC or turn == at % 2  # of the large ones every other way
]


@pytest.mark.parametrize(("name", "ending"), WRITTEN)
def test_a_capture_of_the_story_tells_the_same(name: str, ending: str, tmp_path: Path) -> None:
    path = ENDINGS[ending](tmp_path)
    with CaptureWriter(path, "again") as writer:
        for frame in recorded(name):
            writer.add(frame)
        writer.finish()
    origin, frames = open_capture(path)
    assert origin.complete
    assert [frame.taken for frame in frames] == [frame.taken for frame in story(name).frames]
    assert again(origin, frames) == expected(name).found


@every_story()
def test_no_source_fails_on_a_story(name: str) -> None:
    runs = story(name).session.head().now.runs
    assert {run.collector: run.reason for run in runs.values() if run.outcome not in {Outcome.OK, Outcome.ABSENT}} == {}
