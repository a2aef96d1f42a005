"""Every collector declares what it reads: doctor, the documentation and a person's trust rest on it."""

import fnmatch

import pytest

from sdstop.collectors import BUILTIN
from sdstop.collectors.block.iostat import IOSTAT
from sdstop.collectors.block.sar import SAR
from sdstop.core.collector import Collector
from sdstop.core.host import Host, Malformed, Unreadable
from sdstop.core.recording import RecordingHost
from sdstop.core.replay import EvidenceHost
from sdstop.node.live import LiveHost
from tests.fixtures import names, opened


def declared(collector: Collector, key: str) -> bool:
    """Whether one of the needs covers a key; the slug that a hand-made capture keeps stands for its command."""
    if key.startswith("slug:"):
        slugs = (need.what.removeprefix("cmd:").replace(" ", "_") for need in collector.needs)
        return any(fnmatch.fnmatchcase(key.removeprefix("slug:"), pattern) for pattern in slugs)
    return any(fnmatch.fnmatchcase(key, need.what) for need in collector.needs)


def asked(collector: Collector, host: Host) -> set[str]:
    """Return every key that a run asks for and gets any answer to."""
    recorder = RecordingHost(host)
    try:
        if collector.fingerprint is not None:
            collector.fingerprint(recorder)
        list(collector.read(recorder))
    except (Unreadable, Malformed):
        pass
    return set(recorder.evidence)


def undeclared(collector: Collector, host: Host) -> list[str]:
    return [key for key in sorted(asked(collector, host)) if not declared(collector, key)]


@pytest.mark.live
@pytest.mark.parametrize("collector", BUILTIN, ids=lambda collector: collector.name)
def test_nothing_is_read_of_this_machine_that_is_not_declared(collector: Collector) -> None:
    assert asked(collector, LiveHost()) or collector in {IOSTAT, SAR}
    assert undeclared(collector, LiveHost()) == []


@pytest.mark.parametrize("fixture", names())
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


@pytest.mark.parametrize("collector", BUILTIN, ids=lambda collector: collector.name)
def test_needs_say_why(collector: Collector) -> None:
    assert collector.needs
    assert all(need.why for need in collector.needs)
    assert len({need.what for need in collector.needs}) == len(collector.needs)
    assert all(need.what.startswith(("/", "link:/", "list:/", "cmd:", "answer:", "http:")) for need in collector.needs)
