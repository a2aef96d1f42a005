"""Results of fio, the load generator, from recorded text (fio 3.0 and later, stat.c: show_thread_status_normal).

    randread: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4
    fio-3.33
    Starting 1 process

    randread: (groupid=0, jobs=1): err= 0: pid=423: Mon Nov 23 07:40:12 2026
      read: IOPS=12.3k, BW=48.0MiB/s (50.3MB/s)(144MiB/3001msec)
         lat (usec): min=62, max=3417, avg=83.42, stdev=38.07
        clat percentiles (usec):
         | 99.00th=[  204], 99.50th=[  253], 99.90th=[  578], 99.95th=[  848],

The header line of a group of equal jobs appears once, its result once per job unless group_reporting is set.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from sdstop.collectors.block.readings import FioResult
from sdstop.core.collector import ONCE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading

_HEADER = expression(
    r"(?P<job>\S.*?): \(g=(?P<group>\d+)\): rw=(?P<rw>\w+), bs=(?P<bs>.*?), ioengine=(?P<engine>\S+), "
    r"iodepth=(?P<depth>\d{1,7})"
)
_RESULT = expression(r"(?P<job>\S.*?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d{1,7})\): err= ?(?P<error>-?\d{1,9})")
_RATE = expression(
    r"\s+(?P<way>read|write|trim): IOPS=(?P<iops>[\d.]+)(?P<suffix>[kMG]?), BW=(?P<bw>[\d.]+)(?P<unit>[KMGT]?)iB/s"
)
_LATENCY = expression(
    r"\s+(?P<what>c?lat) \((?P<unit>[nmu]?sec)\): min=.*?max=(?P<max>[\d.k]+).*?avg=\s*(?P<avg>[\d.]+)"
)
_PERCENTILES = expression(r"\s+(?P<what>c?lat) percentiles \((?P<unit>[nmu]?sec)\)")
_PERCENTILE = expression(r"(?P<nth>\d+\.\d+)th=\[\s*(?P<value>\d+)\]")
_SECONDS = {"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3, "sec": 1.0}
_THOUSANDS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def parse(text: str, key: str) -> Iterator[FioResult]:
    """Yield the results of all jobs. Raises Malformed for a text without any."""
    headers = {(found["job"], found["group"]): found for found in map(_HEADER.match, text.splitlines()) if found}
    by_job = {job: found for (job, _), found in headers.items()}
    seen: Counter[str] = Counter()
    result: re.Match[str] | None = None
    name = ""
    scale = 0.0
    fields: dict[str, Any] = {}
    for line in [*text.splitlines(), ""]:
        begins, rate = _RESULT.match(line), _RATE.match(line)
        if (begins is not None or rate is not None or line.startswith("Run status")) and fields:
            yield FioResult(**fields)
            fields = {}
        if begins is not None:
            result = begins
            seen[begins["job"]] += 1
            name = begins["job"] if seen[begins["job"]] == 1 else f"{begins['job']} #{seen[begins['job']]}"
        elif rate is not None and result is not None:
            header = headers.get((result["job"], result["group"])) or by_job.get(result["job"])
            fields, scale = _begin(name, result, rate, header, key), 0.0
        elif fields:
            scale = _measure(fields, line, scale)
    if fields:
        yield FioResult(**fields)
    if not seen:
        raise Malformed(f"no result of fio: {text.strip()[:60]!r}")


def _begin(
    name: str, result: re.Match[str], rate: re.Match[str], header: re.Match[str] | None, key: str
) -> dict[str, Any]:
    return {
        "job": name,
        "way": rate["way"],
        "pattern": header["rw"] if header else None,
        "block": header["bs"] if header else None,
        "engine": header["engine"] if header else None,
        "depth": int(header["depth"]) if header else None,
        "jobs": int(result["jobs"]),
        "error": int(result["error"]),
        "iops": _float(rate["iops"]) * _THOUSANDS[rate["suffix"]],
        "bandwidth": _float(rate["bw"]) * float(1024 ** " KMGT".index(rate["unit"] or " ")),
        "latency": None,
        "latency_99": None,
        "latency_999": None,
        "told": key,
    }


def _measure(fields: dict[str, Any], line: str, scale: float) -> float:
    """Take a line of latencies, and return the unit of percentiles in seconds, which their heading has."""
    mean, heading = _LATENCY.match(line), _PERCENTILES.match(line)
    if (mean is not None and mean["what"] == "clat") or (mean is not None and fields["latency"] is None):
        fields["latency"] = _float(mean["avg"]) * _SECONDS[mean["unit"]]
    elif heading is not None:
        scale = _SECONDS[heading["unit"]]
    for found in _PERCENTILE.finditer(line) if scale else ():
        name = {"99.00": "latency_99", "99.90": "latency_999"}.get(found["nth"])
        if name is not None and fields[name] is None:
            fields[name] = int(found["value"]) * scale
    return scale


def _float(word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise Malformed(f"fio: {word[:20]!r}") from error


def fault(text: str) -> str:
    """Return why a text is not complete: fio ends with a status of each group."""
    is_whole = re.search(r"^Run status group \d+ .*\n +(?:READ|WRITE|TRIM): ", text, re.MULTILINE)
    return "" if is_whole else "end not shown"


FORM = Form(
    key="cmd:fio",
    first=r"\S[^\n]{0,100}: \(g=\d+\): rw=\w+, |\S[^\n]{0,100}: \(groupid=\d+, jobs=\d+\): err= ?\d+: pid=",
    reads="rates and latencies of each job",
    versions="fio 3",
    goes_on=r"\s+(?:read|write|trim|slat|clat|lat|cpu|IO depths|submit|complete|issued|latency|bw|iops|READ|WRITE|TRIM)"
    r".*"
    r"|\s+(?:\||sync|.*percentiles|[\w./-]+: ios=).*"
    r"|fio-\d.*|Starting .*|Jobs: .*|\S.*: \((?:g|groupid)=.*|Run status .*|Disk stats .*|\.\.\."
    r"|note: .*|.*: Laying out .*",
    fault=fault,
    several=Several.JOINED,
)


def read(host: Host) -> Iterable[Reading]:
    """Return the results of all outputs. Raises Absent without any, Malformed."""
    found = [row for output in outputs(host, FORM) for row in parse(output.text, output.key)]
    if not found:
        raise Absent("cmd:fio", "not recorded", recorded=False)
    return found


FIO = Collector(
    "fio",
    "Results of fio in recorded text",
    read,
    (FioResult,),
    (Need("cmd:fio*", "results of load tests, from captures only; never run"),),
    ONCE,
    forms=(FORM,),
)
