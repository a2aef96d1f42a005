"""Damaged stories: what is broken in a story is never called good because its evidence is.

Each piece of evidence of each story that is not OK is truncated, replaced by garbage, made unreadable, or removed, one
at a time; removed, its line of the index stays, or goes with it.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.capture.contents import Contents
from sdstop.capture.reader import read_capture
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Outcome
from sdstop.core.finding import Finding
from sdstop.core.headline import OK
from sdstop.core.judgement import judge
from sdstop.core.retention import Retention
from sdstop.core.session import Session
from sdstop.exporters.capture import CaptureWriter
from sdstop.exporters.plugin import verdict
from sdstop.exporters.report.text import outlook
from sdstop.readings.disk import Disk
from sdstop.rules import RULES
from sdstop.tui.scene import Scene
from sdstop.tui.status import counts_line
from sdstop.tui.widgets.palette import Palette
from tests.fixtures import crossed, expected, names, opened, story
from tests.stories.altered import changed, unaltered

GARBAGE = b"\x7fxyzzy \xff\xfe plugh\n%%%% 12 ]]> :::\n"
SAMPLE = 2
"""Pieces of evidence per story and kind of damage in the ordinary suite."""

BROKEN = [name for name in names() if expected(name).code]

SAMPLED = ("md-degraded", "drbd-resync", "vm-cgroup-io-max")

broken = pytest.mark.parametrize("name", BROKEN)


@functools.cache
def files_of(name: str, folder: Path) -> Mapping[str, bytes]:
    """Return the files of a capture of the story, with an index, as sdstop itself writes it."""
    path = folder / name
    with CaptureWriter(path, opened(name)[0].name) as writer:
        for frame in Retention(BUILTIN).frames(opened(name)[1]):
            writer.add(frame)
        writer.finish()
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def evidence_of(files: Mapping[str, bytes]) -> list[str]:
    """Return the names of files below frames/ and static/ by evidence: a path, in all of its frames."""
    found = {name.partition("/")[2].partition("/")[2] for name in files if name.startswith("frames/")}
    return sorted(found - {"outcomes.json"})


def named(files: Mapping[str, bytes], piece: str) -> list[str]:
    return [name for name in files if name.startswith("frames/") and name.partition("/")[2].partition("/")[2] == piece]


Damage = Callable[[dict[str, bytes], Sequence[str], dict[str, str]], None]


def truncated(files: dict[str, bytes], at: Sequence[str], unreadable: dict[str, str]) -> None:
    del unreadable
    files.update((name, files[name][: len(files[name]) // 2]) for name in at)


def garbage(files: dict[str, bytes], at: Sequence[str], unreadable: dict[str, str]) -> None:
    del unreadable
    files.update((name, GARBAGE) for name in at)


def locked(files: dict[str, bytes], at: Sequence[str], unreadable: dict[str, str]) -> None:
    for name in at:
        del files[name]
        unreadable[name] = "Permission denied"


def removed(files: dict[str, bytes], at: Sequence[str], unreadable: dict[str, str]) -> None:
    del unreadable
    for name in at:
        del files[name]


DAMAGES: dict[str, Damage] = {"truncated": truncated, "garbage": garbage, "unreadable": locked, "removed": removed}


def judged(files: Mapping[str, bytes], unreadable: Mapping[str, str]) -> Session:
    """Return the session of a damaged capture, as the command line opens it."""
    folders = {"/".join(name.split("/")[:depth]) for name in files for depth in range(1, name.count("/") + 1)}
    contents = Contents(dict(files), folders, unreadable=dict(unreadable))
    origin, frames = read_capture(contents, "damaged")
    session = Session(origin, BUILTIN, RULES)
    session.feed_all(Retention(BUILTIN).frames(frames))
    return session


def views(session: Session) -> Iterator[tuple[str, bool]]:
    """Yield each view and whether it calls the node good."""
    look = session.head()
    scene = Scene(look, session, Palette())
    answer = verdict(session, look.judgement, strict=False)
    yield f"check: {answer.said}", answer.code == OK
    yield f"report: {outlook(session)}", not session.episodes() and not outlook(session).startswith("unknown")
    counts = "".join(segment.text for segment in counts_line(scene))
    yield f"screen: {counts}", counts.startswith(" no problem found ")


def check(name: str, damage: str, pieces: Sequence[str], folder: Path) -> list[str]:
    """Return where a damaged story is called good."""
    files = files_of(name, folder)
    bad = []
    for piece in pieces:
        damaged, unreadable = dict(files), dict[str, str]()
        DAMAGES[damage](damaged, named(files, piece), unreadable)
        bad += [f"{name}, {damage} {piece}: {view}" for view, good in views(judged(damaged, unreadable)) if good]
    return bad


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stories")


def sample(name: str, damage: str, pieces: Sequence[str]) -> list[str]:
    """Return some pieces, the same ones at each run."""
    return random.Random(f"{name} {damage}").sample(pieces, min(SAMPLE, len(pieces)))


@pytest.mark.parametrize("name", SAMPLED)
def test_a_capture_of_the_story_is_as_bad(name: str, folder: Path) -> None:
    """Undamaged, it says the same: only damage makes it unknown."""
    said = judged(files_of(name, folder), {}).headline()
    assert said.code == expected(name).code
    assert not said.unseen


@pytest.mark.parametrize(("name", "damage"), crossed(SAMPLED, DAMAGES, 2))
def test_some_damage_is_never_good(name: str, damage: str, folder: Path) -> None:
    pieces = evidence_of(files_of(name, folder))
    assert check(name, damage, sample(name, damage, pieces), folder) == []


# --- each piece of evidence -------------------------------------------------------------------------------


def story_of(name: str, frames: Sequence[Frame]) -> Session:
    session = Session(opened(name)[0], BUILTIN, RULES)
    session.feed_all(frames)
    return session


def lost(item: Evidence) -> Evidence:
    return Evidence(item.key, Outcome.FAILED, detail="lost from the capture", fault="lost from the capture")


def cut(item: Evidence) -> Evidence:
    return replace(item, data=item.data[: len(item.data) // 2], fault="modified after recording")


def scrambled(item: Evidence) -> Evidence:
    return replace(item, data=GARBAGE, fault="modified after recording")


def emptied(item: Evidence) -> Evidence:
    return replace(item, data=b"")


def good(name: str, change: Callable[[Evidence], Evidence]) -> list[tuple[str, str]]:
    """Return each piece of evidence without which, or with a changed one, a story is called good.

    What no collector reads changes nothing.
    """
    story = unaltered(name)
    asked = (key for key in story.readable() if story.readers(key) and not story.unseen(key, change))
    said = ((key, story.headline(key, change)) for key in asked)
    return [(key, each.text) for key, each in said if each.code == OK]


@pytest.mark.slow
@pytest.mark.parametrize("change", [lost, cut, scrambled])
@broken
def test_no_damage_is_good(name: str, change: Callable[[Evidence], Evidence]) -> None:
    """As the capture's reader marks them: what is missing or unreadable is lost, the rest was changed."""
    assert good(name, change) == []


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("change", [lost, scrambled, emptied])
def test_only_readers_of_the_evidence_run_again(name: str, change: Callable[[Evidence], Evidence]) -> None:
    """A headline from shared runs is that of a session that replays everything."""
    story = unaltered(name)
    for key in random.Random(name).sample(story.readable(), SAMPLE):
        session = Session(story.origin, BUILTIN, ())
        session.feed_all(changed(story.frames, key, change))
        said = session.headline(judge(session.head().window, RULES, {}))
        assert said == story.headline(key, change), key
        assert bool(said.unseen) == (story.unseen(key, change) or bool(story.headline("/", change).unseen)), key
        assert not said.unseen or said.code != OK


# --- without an index -------------------------------------------------------------------------------------

EIGHTHS = 8


@functools.cache
def bare() -> list[str]:
    """Return the broken stories that were recorded without an index: nothing shows that a file was changed."""
    return [name for name in BROKEN if all(frame.ran is None for frame in opened(name)[1])]


@pytest.mark.parametrize("name", ["offline-disk", "bond-slave-down", "bcache-drains-slowly", "nvme-alone-slow"])
def test_no_emptied_file_is_good(name: str) -> None:
    assert good(name, emptied) == []


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(EIGHTHS))
def test_no_emptied_file_is_good_in_any_story(turn: int) -> None:
    assert {name: found for name in bare()[turn::EIGHTHS] if (found := good(name, emptied))} == {}


def test_no_node_returned_anything_empty_that_is_called_filled() -> None:
    """The declarations are true of the captures of real kernels."""
    captured = {
        item.key for name in names() if name not in bare() for frame in opened(name)[1] for item in frame.evidence
        if item.outcome is Outcome.OK and not item.exit and not item.data.strip()
    }  # fmt: skip
    assert len(captured) > 50
    tests = {each.name: each.filled() for each in BUILTIN}
    assert [(key, name) for key in sorted(captured) for name, is_filled in tests.items() if is_filled(key)] == []


@pytest.mark.parametrize("name", ["md-degraded", "drbd-resync", "pacemaker-unclean", "scaleio-cloud"])
def test_what_is_gone_without_a_trace_is_named(name: str) -> None:
    """Where nothing is found any more, it is good only for what was recorded, and the source is named."""
    frames = Retention(BUILTIN).frames(opened(name)[1])
    whole = story_of(name, frames)
    cited = {cite.key for episode in whole.episodes() for cite in episode.finding.evidence}
    assert cited
    for key in sorted(cited):
        session = story_of(name, changed(frames, key, lambda _: None))
        said = session.headline()
        if said.code == OK:
            assert "in the recorded data" in said.found, key
            runs = {run.collector for run in whole.head().now.runs.values() if key in run.keys}
            assert any(name in said.text for name in runs & set(said.lacking)), key
            there = session.head().now.rows(Disk)
            lost = {e.finding.subject for e in whole.episodes() if key in _keys(e.finding)} & set(there)
            assert lost <= set(said.unjudged.replace(",", "").split()), key


def _keys(finding: Finding) -> set[str]:
    return {cite.key for cite in finding.evidence}


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda _: GARBAGE,
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
}


@pytest.mark.parametrize(
    ("name", "kind"), crossed(("md-degraded", "drbd-resync", "pacemaker-unclean", "scaleio-cloud"), CHANGES)
)
def test_what_is_cited_and_not_understood_is_unknown(name: str, kind: str) -> None:
    change = CHANGES[kind]
    frames = Retention(BUILTIN).frames(opened(name)[1])
    cited = {
        cite.key for episode in story(name).session.episodes() if episode.until is None
        for cite in episode.finding.evidence
    }  # fmt: skip
    assert cited
    for key in sorted(cited):
        session = story_of(name, changed(frames, key, lambda item: item.holding(change(item.data))))
        assert [view for view, good in views(session) if good] == [], key
