"""Series of the default page: at most 20 for each disk and 300 for the node."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.collectors.network.readings import Interface
from sdstop.core.collector import Collector
from sdstop.core.evidence import Origin, Outcome
from sdstop.core.host import Output
from sdstop.core.model import Label, Metric, Reading, schema
from sdstop.core.session import Session
from sdstop.exporters.prometheus.choice import DEFAULT, choice
from sdstop.exporters.prometheus.families import families_of
from sdstop.exporters.prometheus.headings import details, headings
from sdstop.exporters.prometheus.health import OF_OTLP, OF_PROCESS, OF_RECORDER, OF_SOURCES, TOOK
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.prometheus.repeats import OTHERS
from sdstop.exporters.prometheus.series import FamilyLines
from sdstop.node.live import LiveHost
from sdstop.rules import RULES
from sdstop.sampler.runner import sample
from tests.exporters.meters import Meter, frame
from tests.exporters.meters import session as metered
from tests.exporters.page import samples
from tests.fixtures import story

ROOT = Path(__file__).resolve().parent.parent.parent
TREE = runpy.run_path(str(ROOT / "bench" / "tree.py"))
OWN = (
    "sdstop_collector_",
    "sdstop_rule_",
    "sdstop_frame",
    "sdstop_build",
    "process_",
    "sdstop_series",
    "sdstop_intern",
)


@pytest.mark.parametrize("disks", [10, 100, *(pytest.param(disks, marks=pytest.mark.slow) for disks in (1000, 5000))])
def test_the_default_page_has_few_series(tmp_path: Path, disks: int) -> None:
    subprocess.run(
        [sys.executable, ROOT / "bench" / "tree.py", "build", "--disks", str(disks), tmp_path / "n"], check=True
    )
    session = Session(Origin("n"), BUILTIN, RULES)  # of a live one, old samples would be withheld
    exposition = Exposition(session, chosen=DEFAULT)
    host = LiveHost(str(tmp_path / "n"), BUILTIN)  # sampled in one go: a slow machine drops nothing
    exposition.feed(sample(host, BUILTIN, 1, time.time(), time.monotonic()))
    page = exposition.page().decode()
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    count = Counter(line.partition("{")[0].partition(" ")[0] for line in lines)
    assert len(lines) <= 20 * disks + 300, count.most_common(40)
    assert sum(number for name, number in count.items() if name.startswith(OWN)) <= 100
    assert count["sdstop_disk_io_time_seconds_total"] >= disks * 0.9


@pytest.mark.parametrize("name", ["ceph-slow-osd", "draid-one-dimm", "hba-lost", "quiet-node", "scaleio-cloud"])
def test_its_own_health_is_an_outcome_of_each_source_that_is_there_and_20_more(name: str) -> None:
    session = story(name).session
    exposition = Exposition(session, chosen=DEFAULT)
    exposition.observe(session.head())
    exposition.late, exposition.reloaded = 0, True
    count = Counter(key[0] for key in samples(exposition.page()))
    there = [run for run in session.head().now.runs.values() if run.outcome is not Outcome.ABSENT]
    assert count["sdstop_collector_outcome"] == len(there)
    own = {heading.name for heading in (*OF_SOURCES, *OF_PROCESS)} - {"sdstop_collector_outcome"}
    others = {heading.name for heading in (*OF_RECORDER, *OF_OTLP, TOOK)}  # of a live exporter with all its exits
    assert sum(count[each] for each in own - others) + len(others) <= 20


class SanNode(LiveHost):
    """A tree of files whose commands of device mapper answer, too."""

    def __init__(self, root: Path, disks: int, maps: int) -> None:
        super().__init__(str(root), BUILTIN)
        self._disks, self._maps = disks, maps

    def run(self, argv: Sequence[str], deadline: float = 10.0) -> Output:
        if argv[0] == "dmsetup" and argv[1] in {"table", "status"}:
            said = TREE["dmsetup"](self._disks, self._maps, table=argv[1] == "table")
            return Output(said.encode())
        return super().run(argv, deadline)


@pytest.mark.parametrize(
    ("disks", "maps"),
    [
        (10, 2),
        (10, 30),
        *(pytest.param(10, maps, marks=pytest.mark.slow) for maps in (300, 1250)),
    ],
)
def test_the_default_page_has_few_series_of_maps_and_their_paths(tmp_path: Path, disks: int, maps: int) -> None:
    TREE["build"](tmp_path / "n", disks, maps=maps)
    exposition = Exposition(Session(Origin("n"), BUILTIN, RULES), chosen=DEFAULT)
    exposition.feed(sample(SanNode(tmp_path / "n", disks, maps), BUILTIN, 1, time.time(), time.monotonic()))
    lines = [line for line in exposition.page().decode().splitlines() if not line.startswith("#")]
    count = Counter(line.partition("{")[0].partition(" ")[0] for line in lines)
    assert len(lines) <= 20 * (disks + maps) + 4 * 4 * maps + 300, count.most_common(40)
    assert count["sdstop_multipath_state_active"] == maps
    assert count["sdstop_multipath_path_state"] == 4 * maps
    assert count["sdstop_series_dropped"] == 0
    of_maps = [line for line in lines if line.startswith('sdstop_disk_reads_total{device="dm-')]
    assert len(of_maps) == maps  # and none of their paths
    assert count["sdstop_disk_reads_total"] == maps + disks


OF_A_DISK = {
    "disk", "disk_health", "disk_temperature", "disk_medium", "disk_path", "block_device", "scsi_commands",
    "sas_device", "array_member",
}  # fmt: skip
NEVER_TOGETHER = {  # of disks of different kinds: SATA and SAS; only NVMe drives have a spare and a critical warning
    "sdstop_disk_health_critical_warning",
    "sdstop_disk_health_spare_ratio",
}


def _on_default_page(family: type[Reading], collector: Collector) -> set[str]:
    names = {heading.name for heading in headings(family, collector).values()}
    return names - details(family) - OTHERS.keys()


def test_no_family_has_more_than_8_metrics_on_the_default_page() -> None:
    found = {family.family: _on_default_page(family, collector) for family, collector in families_of(BUILTIN).items()}
    assert {name: sorted(metrics) for name, metrics in found.items() if len(metrics) > 8} == {}
    assert found.keys() >= OF_A_DISK
    of_a_disk = set().union(*(found[name] for name in OF_A_DISK)) - NEVER_TOGETHER
    assert len(of_a_disk) <= 20, sorted(of_a_disk)


def test_the_full_page_has_details_and_virtual_devices() -> None:
    def page(text: dict[str, object]) -> Counter[str]:
        chosen = choice(text, {family.family for family in families_of(BUILTIN)})
        found = Exposition(story("quiet-node").session, chosen=chosen)
        found.observe(story("quiet-node").session.head())
        return Counter(key[0] for key in samples(found.page()))

    lean, full = page({}), page({"profile": "full"})
    assert lean == page({"profile": DEFAULT.profile})
    assert lean.keys() < full.keys()
    for name in ("sdstop_block_device_rotational", "sdstop_disk_flushes_total", "sdstop_collector_interval_seconds"):
        assert name in full
        assert name not in lean
    assert all(number <= full[name] for name, number in lean.items())


def test_interfaces_of_containers_are_left_out_unless_they_are_asked_for() -> None:
    """Their names never return: each container started would add eight series for ever."""
    told = story("mtu-mismatch")
    passing = {row.interface for row in told.session.head().window.rows(Interface).values() if row.kind == "veth"}
    assert passing

    def shown(table: dict[str, object]) -> set[str]:
        chosen = choice(table, {family.family for family in families_of(BUILTIN)})
        page = Exposition(told.session, chosen=chosen)
        page.observe(told.session.head())
        names = [key for key in samples(page.page()) if key[0].startswith("sdstop_interface_")]
        return {
            label.partition("=")[2] for key in names for label in key[1:] if "interface=" in label or "upper=" in label
        }

    assert shown({}) & passing == set()
    assert {"bond0", "ens1f0"} <= shown({})
    assert passing <= shown({"profile": "full"})
    assert passing <= shown({"include": {"interface": ".*"}})


def test_other_families_have_500_rows_and_a_count_of_the_others() -> None:
    rows = [Meter(f"m{number:04d}", count=1) for number in range(600)]
    exposition = Exposition(metered(), chosen=DEFAULT)
    exposition.feed(frame(1, rows))
    page = samples(exposition.page(process=False))
    assert sum(key[0] == "sdstop_meter_count_total" for key in page) == 500
    dropped = sum(value for key, value in page.items() if key[0] == "sdstop_series_dropped")
    assert dropped >= 100


def test_the_worst_rows_are_kept() -> None:
    family = families_of(BUILTIN)
    phy = next(each for each in family if each.family == "sas_phy")
    values = {c.name: 0 if isinstance(c.mark, Metric) else None for c in schema(phy).columns}
    make: Any = phy
    rows: dict[Hashable, Reading] = {}
    for number in range(40):
        labels = {c.name: f"phy-{number:02d}" for c in schema(phy).columns if isinstance(c.mark, Label)}
        rows[number] = make(**(values | labels))
    rows[30] = replace(rows[30], **{_errors(phy): 5})
    lines = FamilyLines(phy, family[phy], 3)
    lines.prefer(frozenset({"phy-20"}))
    text = b"".join(lines.text(rows).pieces(openmetrics=False)).decode()
    assert set(re.findall(r"phy-\d\d", text)) == {"phy-00", "phy-20", "phy-30"}
    assert lines.dropped > 0
    lines.prefer(frozenset({"phy-07", "phy-20"}))  # a new finding: its row takes the place of a calm one
    text = b"".join(lines.text(rows).pieces(openmetrics=False)).decode()
    assert set(re.findall(r"phy-\d\d", text)) == {"phy-07", "phy-20", "phy-30"}


def _errors(family: type[Reading]) -> str:
    return next(c.name for c in schema(family).columns if isinstance(c.mark, Metric) and "invalid" in c.name)


def test_limits_are_by_profile_and_family() -> None:
    lean, full = choice({}, {"disk"}), choice({"profile": "full"}, {"disk"})
    assert (lean.most("sas_phy"), lean.most("disk", of_disks=True)) == (500, 20_000)
    assert (full.most("sas_phy"), full.most("disk", of_disks=True)) == (20_000, 20_000)
    chosen = choice({"limit": 70, "limits": {"disk": 9}}, {"disk"})
    assert (chosen.most("sas_phy"), chosen.most("disk", of_disks=True)) == (70, 9)
