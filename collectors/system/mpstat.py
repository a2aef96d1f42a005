"""Processor time of each processor in recorded output of mpstat (sysstat 8 to 12, mpstat.c): the last interval printed.

    10:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
    10:00:02     all    2.01    0.00    3.02   44.72    0.00   25.13    0.00    0.00    0.00   25.12
    10:00:02       0    0.00    0.00    0.00    0.00    0.00  100.00    0.00    0.00    0.00    0.00

Without an interval mpstat prints means since the boot, which say nothing of now, and which are not read. The means at
the end (`Average:`) count before the last interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.collectors.system.readings import PrintedCpu
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host
from sdstop.core.text import decimal

_TIME = r"(?:\d\d[:.]\d\d[:.]\d\d(?: [AP]M)?|Average:)"
_HEAD = expression(rf"{_TIME} +CPU(?P<names>(?: +%\w+)+) *")
_ROW = expression(rf"(?P<time>{_TIME}) +(?P<cpu>all|\d{{1,5}})(?P<numbers>(?: +\d{{1,3}}[.,]\d\d)+) *")
_NEEDED = frozenset({"%iowait", "%irq", "%soft", "%idle"})
_MEANS = "Average:"


def parse(text: str, key: str) -> Iterator[PrintedCpu]:
    """Yield the processors of the means of some intervals, or else of the last interval."""
    blocks: dict[str, dict[str, PrintedCpu]] = {}
    names: Sequence[str] = ()
    for line in text.splitlines():
        if (head := _HEAD.fullmatch(line)) is not None:
            names = head["names"].split()
        elif (row := _ROW.fullmatch(line)) is not None:
            made = _processor(names, row["cpu"], row["numbers"].split(), line, key)
            if made is not None:
                blocks.setdefault(row["time"], {})[made.cpu] = made
    asked = any(word.isdecimal() for word in key.split()[2:])  # mpstat 1, mpstat -P ALL 5 2
    if blocks and (asked or len(blocks) > 1):
        yield from blocks.get(_MEANS, list(blocks.values())[-1]).values()


def _processor(names: Sequence[str], cpu: str, words: Sequence[str], line: str, key: str) -> PrintedCpu | None:
    """Return a processor; None for a row without its columns, as of other tables of mpstat."""
    numbers = [decimal(word.replace(",", ".")) for word in words]
    said = {name: number / 100 for name, number in zip(names, numbers, strict=False) if number is not None}
    if len(numbers) != len(names) or not said.keys() >= _NEEDED:
        return None
    busy = max(1 - said["%idle"] - said["%iowait"], 0.0)
    return PrintedCpu(cpu, busy, said["%irq"] + said["%soft"], key, line.strip())


MPSTAT = Form(
    key="cmd:mpstat -P ALL 1 1",
    first=rf"(?:Linux \d\S* \([^\n]{{1,80}}\)[^\n]*\n\s*)?{_TIME} +CPU +%us",
    goes_on=rf"{_TIME} .*",
    reads="a processor that interrupts fill while others are idle",
    versions="sysstat 8 to 12, with an interval",
)


def read(host: Host) -> Iterator[PrintedCpu]:
    """Yield the processors. Raises Absent without an output of an interval."""
    found = [row for each in outputs(host, MPSTAT) for row in parse(each.text, each.key)]
    if not found:
        raise Absent(MPSTAT.key, "no interval recorded", recorded=False)
    yield from {row.cpu: row for row in found}.values()


PRINTED = Collector(
    "mpstat",
    "Processors in recorded output of mpstat",
    read,
    (PrintedCpu,),
    (Need("cmd:mpstat*", "a processor that interrupts fill, from captures only; never run"),),
    SLOW,
    forms=(MPSTAT,),
)
