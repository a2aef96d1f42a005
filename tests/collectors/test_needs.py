"""Every collector declares what it reads: doctor, the documentation and a person's trust rest on it."""

import fnmatch
from collections.abc import Iterable, Sequence

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.collectors.block.iostat import IOSTAT
from sdstop.core.collector import Collector, Command, Need, commands_of, questions_of
from sdstop.core.evidence import GATEWAY, Outcome, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Host, Malformed, Output, Unreadable
from sdstop.core.model import Reading
from sdstop.core.recording import RecordingHost
from sdstop.node.answers import answers
from sdstop.node.live import LiveHost
from tests.fixtures import names, opened, third


def declared(collector: Collector, key: str) -> bool:
    """Whether one of the needs covers a key; the slug that a hand-made capture keeps stands for its command."""
    if key.startswith("slug:"):
        slugs = (need.what.removeprefix("cmd:").replace(" ", "_") for need in collector.needs)
        return any(fnmatch.fnmatchcase(key.removeprefix("slug:"), pattern) for pattern in slugs)
    return any(fnmatch.fnmatchcase(key, need.what) for need in collector.needs)


class Noting(RecordingHost):
    """A host that notes which commands are run, even where nothing of them was recorded."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.ran: set[tuple[str, ...]] = set()

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        self.ran.add(tuple(argv))
        return super().run(argv, deadline)


def noted(collector: Collector, host: Host) -> Noting:
    """Run a collector once."""
    recorder = Noting(host)
    try:
        if collector.fingerprint is not None:
            collector.fingerprint(recorder)
        list(collector.read(recorder))
    except (Unreadable, Malformed):
        pass
    return recorder


def asked(collector: Collector, host: Host) -> set[str]:
    """Return every key that a run asks for and gets any answer to."""
    return set(noted(collector, host).evidence)


def undeclared(collector: Collector, host: Host) -> list[str]:
    """Return what a run reads that no need covers, and what it runs that is not declared as a command."""
    found = noted(collector, host)
    commands = commands_of([collector])
    ran = [command_key(argv) for argv in found.ran if not any(command.allows(argv) for command in commands)]
    return sorted({*ran, *(key for key in found.evidence if not declared(collector, key))})


@pytest.mark.live
@pytest.mark.parametrize("collector", BUILTIN, ids=lambda collector: collector.name)
def test_nothing_is_read_of_this_machine_that_is_not_declared(collector: Collector) -> None:
    host = LiveHost(collectors=[collector])
    assert bool(asked(collector, host)) == collector.is_live
    assert undeclared(collector, host) == []


@pytest.mark.parametrize("fixture", third(0))
def test_nothing_is_read_of_a_fixture_that_is_not_declared(fixture: str) -> None:
    host = EvidenceHost()
    for frame in opened(fixture)[1]:
        host.apply(frame.evidence)
    found = {collector.name: undeclared(collector, host) for collector in BUILTIN}
    assert {name: keys for name, keys in found.items() if keys} == {}


def test_there_are_fixtures() -> None:
    assert names()


def test_what_is_not_declared_is_seen() -> None:
    assert undeclared(IOSTAT, EvidenceHost.of({"slug:iostat_-x_1_2": ""})) == []
    assert not declared(IOSTAT, "/proc/diskstats")
    assert not declared(IOSTAT, "cmd:rm -x")


def test_a_command_that_is_run_and_not_declared_is_seen_and_refused() -> None:
    def read(host: Host) -> Iterable[Reading]:
        host.run(("echo", "x"))
        return ()

    recorded = Collector("c", "Title", read, (), (Need("cmd:echo *", "as others recorded it"),))
    assert undeclared(recorded, EvidenceHost()) == ["cmd:echo x"]
    assert undeclared(recorded, EvidenceHost.of({"cmd:echo x": "x"})) == ["cmd:echo x"]
    live = noted(recorded, LiveHost(collectors=[recorded])).evidence["cmd:echo x"]
    assert (live.outcome, live.detail.partition(",")[0]) == (
        Outcome.FAILED,
        "no active collector declares this command",
    )
    run = replace(recorded, needs=(Command(("echo", "x"), "a test"),))
    assert undeclared(run, EvidenceHost()) == []
    assert noted(run, LiveHost(collectors=[run])).evidence["cmd:echo x"].data == b"x\n"


def test_a_question_is_answered_by_its_collector_or_by_a_library() -> None:
    others = {question.name for question in questions_of(BUILTIN).values() if question.answer is None}
    assert others == answers().keys() | {GATEWAY}
    needs = [need.what for collector in BUILTIN for need in collector.needs if isinstance(need, Need)]
    assert [what for what in needs if what.startswith("answer:")] == []


def test_what_is_only_read_where_it_was_recorded_is_a_pattern() -> None:
    needs = [need.what for collector in BUILTIN for need in collector.needs if isinstance(need, Need)]
    assert [what for what in needs if what.startswith("cmd:") and "*" not in what] == []


@pytest.mark.parametrize("collector", BUILTIN, ids=lambda collector: collector.name)
def test_needs_say_why(collector: Collector) -> None:
    assert collector.needs
    assert all(need.why for need in collector.needs)
    assert len({need.what for need in collector.needs}) == len(collector.needs)
    assert all(need.what.startswith(("/", "link:/", "list:/", "cmd:", "answer:", "http")) for need in collector.needs)
