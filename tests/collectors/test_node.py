"""The node: name, memory, load, processors, pressure; of whatever part of it a capture holds."""

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.system.node import NODE, parse_meminfo, parse_stat, spent
from sdstop.collectors.system.pressure import PRESSURE, parse_pressure
from sdstop.collectors.system.readings import Cpu, CpuActivity, Node, Pressure
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Malformed, TimedOut
from sdstop.core.model import Metric, Reading, metric_name, schema

STAT = """\
cpu  300 10 50 900 40 1 2 3 5 0
cpu0 100 10 20 400 30 1 1 2 5 0
cpu1 200 0 30 500 10 0 1 1 0 0
intr 4242 0 1 2
ctxt 999
btime 1763701560
processes 17
procs_running 4
procs_blocked 2
softirq 1 2 3
"""
MEMINFO = """\
MemTotal:       24684084 kB
MemFree:        24357076 kB
MemAvailable:   24357680 kB
Dirty:               120 kB
Writeback:             8 kB
SwapTotal:             0 kB
SwapFree:              0 kB
HardwareCorrupted:     4 kB
HugePages_Total:       5
"""
FILES = {
    "/proc/stat": STAT,
    "/proc/meminfo": MEMINFO,
    "/proc/vmstat": "nr_free_pages 61\npswpin 4711\npswpout 815\noom_kill 2\npgpgin 12\n",
    "/proc/loadavg": "1.50 0.75 0.25 2/105 4242\n",
    "/proc/uptime": "3751.40 7000.00\n",
    "/proc/sys/kernel/hostname": "store-7\n",
    "/proc/sys/kernel/osrelease": "6.1.0-53-amd64\n",
}


def node(files: dict[str, str]) -> Node:
    found = next(iter(NODE.read(EvidenceHost.of(files))))
    assert isinstance(found, Node)
    return found


def test_all_of_it() -> None:
    assert node(FILES) == Node(
        "store-7", "6.1.0-53-amd64", 1_763_701_560, 3751.4, 2, 1.5, 0.75, 0.25, 4, 2,
        24_684_084 * 1024, 24_357_680 * 1024, 120 * 1024, 8192, 0, 0, 4711, 815, 4096, 2,
    )  # fmt: skip


def test_each_file_is_optional() -> None:
    for key, content in FILES.items():
        assert node({key: content}) != Node()
        assert node({other: text for other, text in FILES.items() if other != key}) != node(FILES)


def test_the_release_out_of_the_version() -> None:
    assert node({"/proc/version": "Linux version 6.1.0-53-amd64 (x@y) (gcc) #1 SMP\n"}).kernel == "6.1.0-53-amd64"
    assert node({**FILES, "/proc/version": "Linux version 5 (x)"}).kernel == "6.1.0-53-amd64"
    assert node({"/proc/version": "garbage", "/proc/uptime": "1.0"}).kernel is None


def test_a_node_that_says_nothing() -> None:
    with pytest.raises(Absent):
        list(NODE.read(EvidenceHost()))
    with pytest.raises(Malformed):
        list(NODE.read(EvidenceHost.of({"/proc/stat": "<html>"})))
    with pytest.raises(Denied):
        list(NODE.read(EvidenceHost([Evidence("/proc/stat", Outcome.DENIED)])))
    with pytest.raises(TimedOut):
        list(NODE.read(EvidenceHost([Evidence("/proc/loadavg", Outcome.TIMEOUT)])))


def test_processors() -> None:
    processors, figures = parse_stat(STAT)
    assert processors == [
        Cpu("all", 300, 10, 50, 900, 40, 1, 2, 3),
        Cpu("0", 100, 10, 20, 400, 30, 1, 1, 2),
        Cpu("1", 200, 0, 30, 500, 10, 0, 1, 1),
    ]
    assert figures == {"btime": 1_763_701_560, "procs_running": 4, "procs_blocked": 2}
    assert parse_stat("cpu  1 2 3 4 5 6 7\n")[0] == [Cpu("all", 1, 2, 3, 4, 5, 6, 7, 0)]
    assert parse_stat("cpu  1 2 3 4\ncpufreq 1 2 3 4 5 6 7 8\n")[0] == []
    assert schema(Cpu).row(processors[0])["user"] == 3.0


def test_shares_are_of_the_ticks_that_were_counted() -> None:
    before, after = Cpu("0", 0, 0, 0, 0, 0, 0, 0, 0), Cpu("0", 10, 10, 10, 40, 20, 2, 3, 5)
    assert spent(before, after, 123.0) == CpuActivity(
        "0", busy=0.4, user=0.2, system=0.15, irq=0.05, iowait=0.2, steal=0.05, idle=0.4
    )
    assert spent(after, after, 1.0) is None


def test_idle_time_that_goes_back_is_none_at_all() -> None:
    row = spent(Cpu("0", 0, 0, 0, 100, 50, 0, 0, 0), Cpu("0", 10, 0, 0, 99, 40, 0, 0, 0), 1.0)
    assert row == CpuActivity("0", busy=1.0, user=1.0, system=0.0, irq=0.0, iowait=0.0, steal=0.0, idle=0.0)


cpus = st.lists(st.integers(0, 2**64), min_size=8, max_size=8).map(lambda ticks: Cpu("0", *ticks))


@given(cpus, cpus)
def test_shares_are_whole(before: Cpu, after: Cpu) -> None:
    row = spent(before, after, 1.0)
    if row is not None:
        assert row.busy + row.idle + row.iowait == pytest.approx(1.0)
        assert row.user + row.system + row.steal == pytest.approx(row.busy)


def test_memory() -> None:
    assert parse_meminfo(MEMINFO)["HugePages_Total"] == 5
    assert parse_meminfo("MemTotal: x kB\nno colon 5 kB\nMemTotal:\n") == {}


# --- pressure -------------------------------------------------------------------------------------------------

IO = "some avg10=1.50 avg60=0.12 avg300=0.31 total=8421024\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=7\n"


def pressures(*evidence: Evidence) -> list[Reading]:
    return list(PRESSURE.read(EvidenceHost(evidence)))


def test_pressure() -> None:
    assert parse_pressure("io", "\n") is None
    assert parse_pressure("io", f"\n{IO}") == parse_pressure("io", IO)
    row = parse_pressure("io", IO)
    assert row == Pressure("io", 0.015, 0.0012, 0.0031, 8_421_024, 0.005, 0.0, 0.0, 7)
    assert row is not None
    assert schema(Pressure).row(row)["some_total"] == pytest.approx(8.421024)


def test_a_resource_that_a_kernel_lacks_leaves_no_cycle_of_garbage() -> None:
    host = EvidenceHost(
        [Evidence("/proc/pressure/io", data=IO.encode()), Evidence("/proc/pressure/irq", Outcome.ABSENT)]
    )
    gone = weakref.ref(host)
    gc.disable()
    try:
        assert list(PRESSURE.read(host)) == [parse_pressure("io", IO)]
        del host
        assert gone() is None
    finally:
        gc.enable()


def test_what_a_kernel_does_not_tell_of_a_resource_is_none() -> None:
    some, full = IO.splitlines(keepends=True)
    found = pressures(
        Evidence("/proc/pressure/cpu", data=some.encode()), Evidence("/proc/pressure/irq", data=full.encode())
    )
    assert found == [
        Pressure("cpu", 0.015, 0.0012, 0.0031, 8_421_024),
        Pressure("irq", full_avg10=0.005, full_avg60=0.0, full_avg300=0.0, full_total=7),
    ]


def test_no_pressure_is_absent_with_what_to_do() -> None:
    with pytest.raises(Absent, match="psi=1") as error:
        pressures(Evidence("/proc/pressure/io", Outcome.FAILED, detail="Operation not supported"))
    assert error.value.recorded
    with pytest.raises(Absent, match="psi=1"):
        pressures(Evidence("/proc/pressure/io", Outcome.ABSENT))
    with pytest.raises(Absent, match="not recorded") as error:
        pressures()
    assert not error.value.recorded
    with pytest.raises(Denied):
        pressures(Evidence("/proc/pressure/io", Outcome.DENIED))
    with pytest.raises(TimedOut):
        pressures(Evidence("/proc/pressure/io", Outcome.TIMEOUT))


# --- for all texts --------------------------------------------------------------------------------------------

lines = st.lists(st.sampled_from([*STAT.split(), *MEMINFO.split(), *IO.split(), "\n", "9" * 5000, "²", "-1", "=", ":"]))


@given(lines.map(" ".join) | st.text())
def test_no_text_breaks_it(text: str) -> None:
    parse_pressure("io", text)
    processors, figures = parse_stat(text)
    assert all(figure >= 0 for figure in figures.values())
    assert all(value >= 0 for value in parse_meminfo(text).values())
    for row in processors:
        schema(Cpu).row(row)


@given(st.sampled_from(sorted(FILES)), st.text(max_size=50))
def test_no_file_breaks_the_rest(key: str, text: str) -> None:
    assert node({**FILES, "/proc/version": "Linux version 1 (", key: text}) != Node()


# --- what is declared -----------------------------------------------------------------------------------------

UNITS = {"seconds": "_seconds", "bytes": "_bytes", "ratio": "_ratio", "": ""}


@pytest.mark.parametrize("family", [Node, Cpu, CpuActivity, Pressure])
def test_each_figure_has_its_unit_in_its_name_and_says_what_it_is_of(family: type[Reading]) -> None:
    metrics = [column for column in schema(family).columns if isinstance(column.mark, Metric)]
    assert metrics
    for column in metrics:
        assert UNITS[column.unit] in metric_name(family.family, column), column
        assert len(column.mark.help.split()) >= 2, column
    assert len({column.mark.help for column in metrics}) == len(metrics)


def test_each_figure_of_the_node_names_its_line() -> None:
    row = node(FILES)
    for column in schema(Node).columns:
        source = row.source(column.name)
        assert source is not None, column
        assert source.needle in FILES[source.key], source
    assert row.source("nothing") is None


def test_processors_and_pressures_name_their_line() -> None:
    for cpu, line in (("all", "cpu  300 10"), ("1", "cpu1 200")):
        source = Cpu(cpu, 0, 0, 0, 0, 0, 0, 0, 0).source("user")
        assert source is not None
        assert next(text for text in STAT.splitlines() if source.needle in text).startswith(line)
        assert CpuActivity(cpu, *[0.0] * 7).source("busy") == source
    source = Pressure("io").source("full_avg60")
    assert source is not None
    assert (source.key, [text for text in IO.splitlines() if source.needle in text]) == (
        "/proc/pressure/io", IO.splitlines()[1:],
    )  # fmt: skip
