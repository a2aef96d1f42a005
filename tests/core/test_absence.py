"""Sources that are imported when the node has something for them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sdstop.collectors
from sdstop.collectors import BUILTIN, SOURCES
from sdstop.collectors.memory.readings import MemoryTraffic
from sdstop.core.absence import KINDS, Call, End, IfPresent, NothingFound
from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Outcome, command_key
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Failed, Host, Output, TimedOut, Unreadable
from sdstop.core.later import later
from sdstop.core.model import Reading
from sdstop.core.recording import RecordingHost
from sdstop.exporters.report.declarations import absence
from sdstop.node.commands import CommandRunner
from sdstop.node.live import LiveHost
from tests import fixtures

WRITTEN = {c.name: c for module in SOURCES for c in sdstop.collectors.written(module).values()}
INDEXED = {collector.name: collector for collector in BUILTIN}


def waiting(name: str) -> IfPresent:
    """Return `read` of a source that nothing has imported so far."""
    read = INDEXED[name].read
    assert isinstance(read, IfPresent)
    return IfPresent(read._function, read._courses, read._passes, tuple(read._own), read._elsewhere)


def result(read: Any, host: EvidenceHost, collector: Collector) -> tuple[object, ...]:
    """Return what a source makes of the evidence: its rows, or its error, and what it touched."""
    host.touched, host.defects, host.last = set(), {}, ""
    host.is_filled, host.is_for_everyone = collector.filled(), collector.everyone()
    try:
        found: object = list(read(host))
    except Exception as error:  # noqa: BLE001  # a guard makes all of them failed runs
        found = type(error), str(error), getattr(error, "recorded", None)
    return found, frozenset(host.touched), tuple(host.defects)


@fixtures.each_of(fixtures.twentieth(4))
def test_a_source_is_the_same_from_the_index(name: str) -> None:
    host = EvidenceHost()
    for frame in fixtures.opened(name)[1][:2]:
        host.apply(frame.evidence)
        for collector in BUILTIN:
            source = WRITTEN[collector.name]
            assert result(waiting(collector.name), host, source) == result(source.read, host, source), collector.name


@pytest.mark.parametrize("outcome", [Outcome.ABSENT, Outcome.DENIED, Outcome.FAILED, Outcome.TIMEOUT])
@pytest.mark.parametrize("name", WRITTEN)
def test_so_is_one_whose_evidence_ended_otherwise(name: str, outcome: Outcome) -> None:
    source, host, read = WRITTEN[name], EvidenceHost(), waiting(name)
    while not read._imported:  # one more key at a time, so that each of them is the first that is not recorded
        before = result(source.read, host, source)
        assert result(read, host, source) == before
        asked = sorted(key for key in host.touched - host.state.keys() if not key.startswith("tree:"))
        if not asked:
            break
        host.apply([Evidence(asked[0], outcome)])


ELSEWHERE = {
    "aoe": "etherd!", "bcache": "bcache", "lvm": "dm-", "mapped-raids": "dm-", "mapper": "dm-", "nvme-paths": "nvme",
    "sessions": "nbd", "suspended": "dm-", "dm-status": "dm-",
}  # fmt: skip
"""Sources that look for their devices in the list of all, and how the names of these begin."""


def test_sources_that_look_for_their_devices_are_known_with_them() -> None:
    reads = {name: source.read for name, source in INDEXED.items() if isinstance(source.read, IfPresent)}
    found = {name: read._elsewhere for name, read in reads.items() if read._elsewhere is not None}
    assert {name: each.takes for name, each in found.items()} == {name: (kind,) for name, kind in ELSEWHERE.items()}


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("known", [(), ("/proc/net/packet",), ("cmd:dmsetup table", "list:/sys/class/nvme")])
def test_a_list_without_devices_of_a_source_does_not_import_it(name: str, known: Sequence[str]) -> None:
    every = [each for names in KINDS.values() for each in names]
    others = [each for each in every if not each.startswith(ELSEWHERE[name])]
    without, some = [[], others, [*others, "sdzz9", "md_home"]], [every, [*others, "strange0"]]
    for devices in (*without, *some):
        host = EvidenceHost([Evidence("list:/sys/block", data="\n".join(devices).encode())])
        host.apply([Evidence(key, Outcome.ABSENT) for key in known])
        read, source = waiting(name), WRITTEN[name]
        assert result(read, host, source) == result(source.read, host, source)
        if not known:
            assert read._imported == (devices in some), devices


class Counting(EvidenceHost):
    """Host with a file, and the number of times that it was read."""

    times = 0

    def read(self, path: str) -> bytes:
        self.times += 1
        return super().read(path)


def found(host: Host) -> Iterable[Reading]:
    host.read("/proc/thing")
    return ()


READ = later(f"{__name__}:found")
PASSES = (Denied, Failed, TimedOut)
COURSE = NothingFound((Call("read", ("/proc/thing",)),), End(0))


def test_it_is_imported_when_a_file_appears() -> None:
    read, host = IfPresent(READ, (COURSE, COURSE), PASSES), Counting()
    with pytest.raises(Absent):
        read(host)
    assert not read._imported
    host.apply([Evidence("/proc/thing", data=b"")])
    assert read(host) == ()
    assert read._imported
    assert host.times == 3
    read(host)
    assert host.times == 4


@pytest.mark.parametrize(("outcome", "error"), [(Outcome.DENIED, Denied), (Outcome.FAILED, Failed)])
def test_errors_that_a_source_passes_on_do_not_import_it(outcome: Outcome, error: type[Unreadable]) -> None:
    host = EvidenceHost([Evidence("/proc/thing", outcome)])
    for passes in (PASSES, ()):
        read = IfPresent(READ, (COURSE, COURSE), passes)
        with pytest.raises(error):
            read(host)
        assert read._imported is not bool(passes)


def test_what_hangs_is_not_asked_twice() -> None:
    host = Counting([Evidence("/proc/thing", Outcome.TIMEOUT)])
    with pytest.raises(TimedOut):
        IfPresent(READ, (COURSE, COURSE), PASSES)(host)
    assert host.times == 1


class Node(RecordingHost):
    """Live node with or without a program."""

    def __init__(self, *, installed: bool) -> None:
        super().__init__(EvidenceHost([Evidence("/proc/thing", data=b"1")]), float, float)
        self.installed = installed
        self.ran = 0

    def lacks(self, what: str) -> bool:
        assert what == "thing"
        return not self.installed

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        self.ran += 1
        raise Absent(command_key(argv), f"no such program within {deadline}")


@pytest.mark.parametrize("installed", [True, False])
def test_a_live_node_is_not_asked_twice_to_run_a_command(*, installed: bool) -> None:
    course = NothingFound((Call("run", (("thing",), 1.0)),), End(0))
    read, host = IfPresent(READ, (course, course), PASSES), Node(installed=installed)
    if installed:
        assert read(host) == ()
    else:
        with pytest.raises(Absent, match="no such program within"):
            read(host)
    assert (host.ran, read._imported) == ((0, True) if installed else (1, False))


@pytest.mark.parametrize(
    ("installed", "gateway", "root", "lacking"),
    [(True, True, "/", []), (False, False, "/", ["sh", "http"]), (True, True, "/sys", ["sh", "http"])],
)
def test_a_live_node_knows_its_programs_and_gateway(
    tmp_path: Path, *, installed: bool, gateway: bool, root: str, lacking: list[str]
) -> None:
    (tmp_path / "sh").write_text("")
    runner = CommandRunner((), [str(tmp_path)] if installed else [])
    host = LiveHost(root, BUILTIN, gateway=(lambda: None) if gateway else None, runner=runner)  # type: ignore[arg-type,return-value]
    assert [what for what in ("sh", "http") if host.lacks(what)] == lacking
    assert [what for what in ("sh", "http") if RecordingHost(host, float, float).lacks(what)] == lacking


def test_a_module_loaded_later_enables_its_source(tmp_path: Path) -> None:
    read, arcstats = waiting("arc"), tmp_path / "proc/spl/kstat/zfs/arcstats"
    host = LiveHost(str(tmp_path), BUILTIN)
    with pytest.raises(Absent, match="no such file"):
        read(host)
    assert not read._imported
    arcstats.parent.mkdir(parents=True)
    arcstats.write_text("9 1 0x01 147 39984 0 0\nname type data\nhits 4 10\nmisses 4 5\nsize 4 4096\nc_max 4 8192\n")
    assert list(read(host)) == list(WRITTEN["arc"].read(host)) != []


def test_the_course_depends_on_whether_absence_is_recorded() -> None:
    def one(host: Host) -> Iterable[Reading]:
        try:
            host.read("/proc/one")
        except Absent as error:
            if error.recorded:
                raise Absent("/proc/one", "not loaded") from error
            host.read("/proc/two")
        return ()

    told, untold, passes, own = absence(one) or (COURSE, COURSE, (), ())
    assert (told.calls, told.end) == ((Call("read", ("/proc/one",)),), End(-1, "/proc/one", "not loaded"))
    assert (untold.calls, untold.end) == ((Call("read", ("/proc/one",)), Call("read", ("/proc/two",))), End(1))
    assert (passes, own) == (PASSES, ())


def test_a_source_without_such_a_course_is_imported_at_once() -> None:
    def with_rows(_: Host) -> Iterable[Reading]:
        return (MemoryTraffic("00", "mon_L3_00", 1, 1),)

    def with_defect(host: Host) -> Iterable[Reading]:
        host.defect("/proc/one", "cut")
        return ()

    def with_many_calls(host: Host) -> Iterable[Reading]:
        for number in range(100):
            host.maybe(f"/proc/{number}")
        return ()

    def of_its_error(host: Host) -> Iterable[Reading]:
        try:
            host.read("/proc/one")
        except Absent as error:
            raise Absent("/proc/one", f"why: {error.detail}") from error
        return ()

    for read in (with_rows, with_defect, with_many_calls, of_its_error):
        assert absence(read) is None


def test_an_absent_source_leaves_no_garbage() -> None:
    """A round has twenty of them; frames in a cycle with their errors would stay until garbage is collected."""
    gc.freeze()  # what other tests have kept is not scanned
    names = [name for name, collector in INDEXED.items() if isinstance(collector.read, IfPresent)]
    reads = [waiting(name) for name in names]
    host = EvidenceHost.of({})
    gc.collect()
    gc.disable()
    try:
        for read in reads:
            with suppress(Absent):
                read(host)
            assert not read._imported
        assert gc.collect() == 0
    finally:
        gc.enable()
