"""Processor time as tools print it: shares of all processors over an interval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec.structs import replace

from sdstop.core.expression import expression
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source
from sdstop.core.text import decimal


class CpuReport(Reading, frozen=True, kw_only=True):
    """Processor time of a recorded iostat, vmstat or top: shares of all processors, of the last interval printed."""

    family: ClassVar[str] = "cpu_report"
    title: ClassVar[str] = "Processor time and swapping, reported"
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", "{needle}")

    tool: Annotated[str, Label("Tool", "iostat, vmstat or top", plain=True)]
    wanted: Annotated[float, Metric("Wanted", "Share of time neither idle nor waiting for I/O", "ratio")]
    stolen: Annotated[float, Metric("Stolen", "Share of time spent by the hypervisor on others", "ratio")]
    swapped_in: Annotated[
        float | None, Metric("Swapped in", "Bytes read back from swap (vmstat)", "bytes_per_second")
    ] = None
    origin: Annotated[str, Fact("Origin", "Key of its evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""


_AVERAGE = expression(r"avg-cpu:((?: +%\w+)+) *\n\s*?((?: +[\d.,]+%?)+) *(?:\n|$)")
_TOP = expression(r"%?Cpu\(s\): *(.*)")
_PART = expression(r"([\d.,]+)[ %]*(us|sy|ni|id|wa|hi|si|st)\b")
_IDLE = frozenset({"idle", "iowait", "id", "wa"})


def iostat(text: str, origin: str) -> CpuReport | None:
    """Return the last `avg-cpu` of iostat; None without one, or without steal.

    avg-cpu:  %user   %nice %system %iowait  %steal   %idle
              12.30    0.00    4.10    1.20   41.80   40.60
    """
    found = list(_AVERAGE.finditer(text))
    if not found:
        return None
    names = [name.lstrip("%") for name in found[-1][1].split()]
    return _report("iostat", dict(zip(names, found[-1][2].split(), strict=False)), "steal", origin, found[-1][2])


def top(text: str, origin: str) -> CpuReport | None:
    """Return the last summary of top: `%Cpu(s):  3.1 us,  1.0 sy,  0.0 ni, 50.0 id,  0.0 wa, ... 45.9 st`."""
    lines = _TOP.findall(text)
    said = {name: number for number, name in _PART.findall(lines[-1])} if lines else {}
    return _report("top", said, "st", origin, lines[-1] if lines else "")


def vmstat(text: str, origin: str) -> CpuReport | None:
    """Return the last line of vmstat, whose heading ends with `us sy id wa st`, and `gu` since procps 4.

    `si` is in KiB/s unless -S was given.
    """
    names: list[str] = []
    last: tuple[dict[str, str], str] | None = None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["r"] and "st" in words:
            names = words
        elif names and len(words) == len(names) and all(map(str.isdecimal, words)):
            last = dict(zip(names[-6:], words[-6:], strict=True)), line
    if last is None:
        return None
    said = {name: word for name, word in last[0].items() if name in {"us", "sy", "id", "wa", "st"}}
    made = _report("vmstat", said, "st", origin, last[1])
    swapped = decimal(last[1].split()[names.index("si")]) if "si" in names and " -S" not in origin else None
    return replace(made, swapped_in=swapped * 1024) if made is not None and swapped is not None else made


def _report(tool: str, said: dict[str, str], steal: str, origin: str, needle: str) -> CpuReport | None:
    shares = {name: decimal(re.sub(r"%$", "", word).replace(",", ".")) for name, word in said.items()}
    if steal not in shares or not _IDLE & shares.keys() or any(share is None for share in shares.values()):
        return None
    wanted = sum(_known(shares[name]) for name in shares if name not in _IDLE)
    return CpuReport(
        tool=tool, wanted=wanted / 100, stolen=_known(shares[steal]) / 100, origin=origin, needle=needle.strip()
    )


def _known(share: float | None) -> float:
    return share or 0.0


def worst(rows: Iterator[CpuReport]) -> CpuReport | None:
    """Return the report with most stolen time, None without any."""
    return max(rows, key=lambda row: row.stolen, default=None)
