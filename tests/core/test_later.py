"""Functions that are imported when they are called first, also when their module cannot be imported any more."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from sdstop.core import later as declared
from sdstop.core.absence import Call, End, IfPresent, NothingFound, import_common
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.evidence import Evidence, Frame, Outcome, RunMark
from sdstop.core.host import Failed, Host
from sdstop.core.later import REPLACED, Later, later
from sdstop.core.model import Reading
from sdstop.core.recording import RecordingHost
from sdstop.core.replay import Replay
from sdstop.node.live import LiveHost
from sdstop.sampler.runner import sample

NOWHERE = later("sdstop.collectors.nowhere:function")
COURSE = NothingFound((Call("read", ("/proc/thing",)),), End(0))


@pytest.fixture
def unimported(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Return a function of a module of sdstop that is not imported."""
    monkeypatch.delitem(sys.modules, "sdstop.core.duration", raising=False)
    return Later("sdstop.core.duration:seconds_of")


def test_an_upgraded_sdstop_is_not_mixed_with_the_running_one(
    unimported: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "_AT_START", (0, 0))
    with pytest.raises(ImportError, match=REPLACED):
        unimported.imported()
    assert "sdstop.core.duration" not in sys.modules
    assert later("sdstop.core.later:Later.imported").imported() is Later.imported  # it is there already


def test_nor_is_a_removed_one(unimported: Later, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared, "__file__", "/nonexistent/later.py")
    with pytest.raises(ImportError, match=REPLACED):
        unimported.imported()


def test_one_without_files_is_imported(unimported: Later, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared, "__file__", "/nonexistent/sdstop.zip/later.py")
    monkeypatch.setattr(declared, "_AT_START", None)
    assert callable(unimported.imported())


def outcome(tmp_path: Path, collector: Collector) -> tuple[Outcome, str]:
    """Return how a live run of a source ends, as its replay shows it."""
    (tmp_path / "proc").mkdir(exist_ok=True)
    (tmp_path / "proc/thing").write_text("1\n")
    frame = sample(LiveHost(str(tmp_path), [collector]), [collector], 1, 0.0, 0.0)
    run = Replay([collector]).feed(frame).runs["thing"]
    return run.outcome, run.reason


def test_a_source_that_cannot_be_imported_has_failed(tmp_path: Path) -> None:
    found, reason = outcome(tmp_path, Collector("thing", "Thing", NOWHERE, (), (Need("/proc/thing", "a test"),)))
    assert found is Outcome.FAILED
    assert "No module named 'sdstop.collectors.nowhere'" in reason


def read_thing(host: Host) -> Iterable[Reading]:
    host.read("/proc/thing")
    return ()


def test_nor_is_evidence_absent_whose_part_to_keep_is_unknown(tmp_path: Path) -> None:
    need = Need("/proc/thing", "a test", keep=NOWHERE)
    found, reason = outcome(tmp_path, Collector("thing", "Thing", read_thing, (), (need,)))
    assert found is Outcome.FAILED
    assert reason == "/proc/thing: No module named 'sdstop.collectors.nowhere'"


def test_nor_is_an_answer_absent() -> None:
    collector = Collector("thing", "Thing", lambda _: (), (), (Question("thing", "a test", answer=NOWHERE),))
    host = RecordingHost(LiveHost(collectors=[collector]))
    with pytest.raises(Failed, match="nowhere"):
        host.answer("thing")
    assert [(item.key, item.outcome) for item in host.evidence.values()] == [("answer:thing", Outcome.FAILED)]


def test_an_import_that_hangs_in_the_sampler_does_not_hang_the_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    read = IfPresent(NOWHERE, (COURSE, COURSE), ())
    collector = Collector("thing", "Thing", read, (), (Need("/proc/thing", "a test"),))
    replay, evidence = Replay([collector]), (Evidence("/proc/thing", data=b"1\n"),)
    hanging = Frame(1, 0.0, 0.0, evidence, {"thing": RunMark(0.0)})
    run = replay.feed(hanging).runs["thing"]
    assert (run.outcome, run.reason) == (Outcome.TIMEOUT, "still running")
    assert not read.is_imported
    monkeypatch.setattr(NOWHERE, "_function", lambda host: [host.read("/proc/thing")][:0])
    run = replay.feed(Frame(2, 1.0, 1.0, (), {"thing": RunMark(0.0, 1.0)})).runs["thing"]
    assert (run.outcome, run.keys) == (Outcome.OK, frozenset({"/proc/thing"}))


def test_the_path_of_a_read_that_hangs_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NOWHERE, "_function", lambda host: [host.read("/proc/thing"), host.read("/proc/other")][:0])
    collector = Collector("thing", "Thing", IfPresent(NOWHERE, (COURSE, COURSE), ()), (), ())
    evidence = Evidence("/proc/thing", data=b"1\n"), Evidence("/proc/other", Outcome.TIMEOUT, detail="hangs")
    run = Replay([collector]).feed(Frame(1, 0.0, 0.0, evidence, {"thing": RunMark(0.0)})).runs["thing"]
    assert (run.outcome, run.reason) == (Outcome.TIMEOUT, "/proc/other: hangs")


def test_a_broken_source_does_not_stop_the_start() -> None:
    everywhere = NothingFound((Call("read", ("/proc/stat",)),), End(0))
    read = IfPresent(NOWHERE, (everywhere, everywhere), ())
    import_common([read])
    assert not read.is_imported
