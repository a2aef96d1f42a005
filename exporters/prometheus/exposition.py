"""Exposition formats: Prometheus text format 0.0.4 and OpenMetrics 1.0, as printed by prometheus_client.

    # HELP sdstop_disk_reads_total Reads completed (/proc/diskstats)
    # TYPE sdstop_disk_reads_total counter
    sdstop_disk_reads_total{device="sda"} 221540

Unlike prometheus_client, integers are printed as such, in a third of the time of `2.2154e+05` or `221540.0`.

Formats: https://prometheus.io/docs/instrumenting/exposition_formats/ and the OpenMetrics specification 1.0.0. They
differ in the headings and the final `# EOF` line; sample lines are identical.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from sdstop.core.format import safe

Type = Literal["gauge", "counter", "info", "histogram"]

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

LONGEST = 500
"""Maximum characters of a label value."""


class Heading(Struct, frozen=True):
    """Metric metadata. `name` is the sample name (with `_total` or `_info`; histograms without `_bucket`).

    `help` is a sentence that names the quantity and can be read alone; `source` is for the documentation.
    """

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    source: str = ""

    @property
    def bare(self) -> str:
        """Name without the type suffix, which OpenMetrics and prometheus_client add."""
        return self.name.removesuffix(_SUFFIXES.get(self.type, ""))

    def text(self) -> str:
        """Return the heading in the text format."""
        said = self.help.replace("\\", r"\\").replace("\n", r"\n")
        kind = "gauge" if self.type == "info" else self.type
        return f"# HELP {self.name} {said}\n# TYPE {self.name} {kind}\n"

    def openmetrics(self) -> str:
        """Return the heading in OpenMetrics."""
        unit = f"# UNIT {self.bare} {self.unit}\n" if self.suffix else ""
        return f"# HELP {self.bare} {_escaped(self.help)}\n# TYPE {self.bare} {self.type}\n{unit}"

    @property
    def suffix(self) -> str:
        """Unit that the bare name ends with, as OpenMetrics demands of one that is stated, else ""."""
        return self.unit if self.unit and self.bare.endswith(f"_{self.unit}") else ""

    @functools.lru_cache(maxsize=2048)  # noqa: B019  # headings live until the process exits
    def head(self, *, openmetrics: bool) -> bytes:
        """Return the encoded heading in either format."""
        return (self.openmetrics() if openmetrics else self.text()).encode()


_SUFFIXES = {"counter": "_total", "info": "_info"}


def number(value: float) -> str:
    """Return the shortest exact representation of a number; integers as plain digits."""
    if isinstance(value, int):
        return f"{value:d}"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value)


def bound(value: float) -> str:
    """Return a bucket's `le` label as written by OpenMetrics and prometheus_client; it is compared as text.

    Always formatted as a float, with an exponent for values of at least 1e6.
    """
    shown = number(float(value))
    dot = shown.find(".")
    if value > 0 and dot > 6:
        return f"{shown[0]}.{shown[1:dot]}{shown[dot + 1 :]}".rstrip("0.") + f"e+{dot - 1:02d}"
    return shown


_FRACTIONS = ["", *(f".{value:03d}".rstrip("0") for value in range(1, 1000))]


def thousandths(value: int) -> str:
    """Format an integer number of thousandths; faster than converting to float."""
    return f"{value // 1000}{_FRACTIONS[value % 1000]}" if value >= 0 else number(value / 1000)


def all_thousandths(values: Iterable[int]) -> list[str]:
    """Format many integer numbers of thousandths."""
    parts = _FRACTIONS
    return [f"{value // 1000}{parts[value % 1000]}" if value >= 0 else thousandths(value) for value in values]


def integers(values: Iterable[int]) -> list[str]:
    """Format many integers."""
    return list(map(str, values))


def label(value: object) -> str:
    """Return a label value: control characters and invalid UTF-8 made visible, long text cut."""
    return safe(value, LONGEST)


def labeled(labels: Mapping[str, str]) -> str:
    """Return the sorted label set that follows a metric name; values must be made by `label`."""
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items())]) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


Sample = tuple[Mapping[str, str], float]
Told = tuple[Heading, list[Sample]]
"""A metric with its samples."""


def lines(name: str, samples: Iterable[Sample]) -> str:
    """Return the sample lines of a metric other than a histogram."""
    return "".join([f"{name}{labeled(labels)} {number(value)}\n" for labels, value in samples])
