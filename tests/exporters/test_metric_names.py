"""Names, units and texts of all metrics, by the conventions of Prometheus and OpenMetrics."""

from __future__ import annotations

import http.client
import itertools
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.model import Label, schema
from sdstop.exporters.prometheus.exposition import Heading
from sdstop.exporters.prometheus.families import families_of
from sdstop.exporters.prometheus.metrics import catalogue
from sdstop.exporters.web.http import http_date
from tests.exporters.process import exporting, port_of

UNITS = {"bytes", "celsius", "ratio", "seconds"}
NOT_BASE = {
    "days", "hours", "kb", "kib", "mb", "mbps", "mib", "microseconds", "milliseconds", "minutes", "ms", "msecs",
    "nanoseconds", "ns", "pages", "pct", "percent", "sectors", "usecs",
}  # fmt: skip
"""Words for units that are not base units."""
AS_ELSEWHERE = {"process_start_time_seconds", "sdstop_node_boot_time_seconds"}
"""Timestamps with the names that client libraries and node_exporter give them."""
TYPES = {"counter", "gauge", "histogram", "metric", "summary"}
HEADINGS = catalogue(BUILTIN)


def faults(heading: Heading) -> list[str]:
    """Return what is wrong with a metric's name, unit or text."""
    words, found = heading.name.split("_"), []
    if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", heading.name):
        found.append("not lower case words")
    if (heading.type == "counter") != (words[-1] == "total"):
        found.append("_total belongs to counters, and only to them")
    if any(one == next_one for one, next_one in itertools.pairwise(words)):
        found.append("a word twice in a row")
    if any(number > 1 for word, number in Counter(words).items() if word in UNITS):
        found.append("a unit twice")
    if NOT_BASE & set(words):
        found.append("not a base unit")
    if TYPES & set(words):
        found.append("the type in the name")
    if heading.unit and heading.type != "histogram" and not heading.bare.endswith(f"_{heading.unit}"):
        found.append("the unit is not the end")
    found += _of_time(heading, words)
    if not re.fullmatch(r"[A-Z0-9]\S*\b.*\.", heading.help) and not heading.help.startswith(("md ", "iSCSI")):
        found.append("the help is not a sentence")
    if re.search(r"\bNone\b|/proc/|/sys/|answer:|cmd:|list:", heading.help):
        found.append("the help has a source")
    if any(not re.fullmatch(r"[a-z][a-z0-9_]*", label) for label in heading.labels):
        found.append("a label that is not lower case words")
    return found


def _of_time(heading: Heading, words: list[str]) -> list[str]:
    if "timestamp" in words:
        return ["a timestamp in something else than seconds"] * (words[-1] != "seconds")
    called = not heading.help.startswith("Unix ") or heading.name in AS_ELSEWHERE
    return [] if called else ["a timestamp that is not called so"]


def test_every_metric_keeps_the_conventions() -> None:
    wrong = {heading.name: found for heading in HEADINGS if (found := faults(heading))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("heading", "fault"),
    [
        (Heading("sdstop_disk_reads", "counter", "Reads."), "_total belongs to counters, and only to them"),
        (Heading("sdstop_disk_total", "gauge", "Disks."), "_total belongs to counters, and only to them"),
        (Heading("sdstop_mtu_mtu_bytes", "gauge", "MTU.", (), "bytes"), "a word twice in a row"),
        (Heading("sdstop_bytes_read_bytes", "gauge", "Bytes.", (), "bytes"), "a unit twice"),
        (Heading("sdstop_wait_ms", "gauge", "Wait."), "not a base unit"),
        (Heading("sdstop_wait", "gauge", "Wait.", (), "seconds"), "the unit is not the end"),
        (Heading("sdstop_end_seconds", "gauge", "Unix timestamp of the end."), "a timestamp that is not called so"),
        (Heading("sdstop_wait", "gauge", "mean wait"), "the help is not a sentence"),
        (Heading("sdstop_wait", "gauge", "Wait (/proc/diskstats)."), "the help has a source"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.help + value.name,
)
def test_what_the_lint_finds(heading: Heading, fault: str) -> None:
    assert fault in faults(heading)


def test_names_are_unique_without_their_suffix() -> None:
    """OpenMetrics knows a metric by its name without `_total` or `_info`."""
    assert [name for name, count in Counter(heading.bare for heading in HEADINGS).items() if count > 1] == []


def test_units_are_stated_where_openmetrics_takes_them() -> None:
    assert "# UNIT sdstop_disk_read_bytes bytes\n" in _heading("sdstop_disk_read_bytes_total").openmetrics()
    assert "UNIT" not in _heading("sdstop_disk_reads_total").openmetrics()
    assert "UNIT" not in _heading("sdstop_disk_read_bytes_total").text()


def _heading(name: str) -> Heading:
    return next(heading for heading in HEADINGS if heading.name == name)


def test_a_row_limit_is_by_the_labels_of_its_family() -> None:
    families = {family.family: {c.name for c in schema(family).columns if isinstance(c.mark, Label)}
                for family in families_of(BUILTIN)}  # fmt: skip
    assert "device" in families["disk"]
    assert "device" not in families["sas_phy"]


def test_dates_of_answers() -> None:
    assert http_date(784111777.0) == "Sun, 06 Nov 1994 08:49:37 GMT"  # RFC 9110's example


def test_the_process_reports_itself(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "config.toml").write_text("")
    with exporting(tmp_path, "--listen", "127.0.0.1:0") as process:
        page, date = _page(port_of(process))
        numbers = dict(re.findall(r"(?m)^process_(\w+) (\S+)$", page))
        assert 5e6 < float(numbers["resident_memory_bytes"]) < float(numbers["virtual_memory_bytes"])
        assert 3 < float(numbers["open_fds"]) < 100
        assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", date)


def _page(port: int) -> tuple[str, str]:
    end = time.monotonic() + 60
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        if answer.status == 200:
            return body, answer.headers["Date"]
        assert time.monotonic() < end
        time.sleep(0.1)
