"""Space of a cluster and its pools in recorded text of `ceph df` (src/mon/PGMap.cc, Ceph 14 and later).

    --- RAW STORAGE ---
    CLASS     SIZE    AVAIL     USED  RAW USED  %RAW USED
    hdd    120 GiB    4 GiB  116 GiB   116 GiB      96.67
    TOTAL  120 GiB    4 GiB  116 GiB   116 GiB      96.67

    --- POOLS ---
    POOL  ID  PGS   STORED  OBJECTS     USED  %USED  MAX AVAIL
    rbd    1   64   38 GiB    9.80k  114 GiB  99.10    350 MiB

The share of a pool is that of the space that it can still get, as its fullest OSD allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.ceph.readings import KIND
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.readings.cluster import ClusterPool

POOLS = "ceph-df"
"""Kind of these rows: their use is not that of the fullest OSD."""
_SIZE = r"\d[\d.]{0,12} ?(?:[KMGTPEk]i?)?B?"
_RAW = expression(rf"(?P<name>[\w.-]{{1,60}})(?:\s+{_SIZE}){{4}}\s+(?P<share>\d{{1,3}}(?:\.\d{{1,4}})?)")
_POOL = expression(
    rf"(?P<name>\S{{1,200}})\s+\d{{1,9}}(?:\s+\d{{1,9}})?\s+{_SIZE}\s+\d[\d.]{{0,12}} ?[kMGT]?\s+{_SIZE}\s+"
    rf"(?P<share>\d{{1,3}}(?:\.\d{{1,4}})?)\s+{_SIZE}"
)
_PERCENT = 100
_NEAR, _FULL = 0.85, 0.95
"""mon_osd_nearfull_ratio and mon_osd_full_ratio, unless they are configured otherwise."""


def parse(text: str, key: str) -> Iterator[ClusterPool]:
    """Yield the classes of devices as `class hdd`, and the pools. Raises Malformed for any other line."""
    part = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if "STORAGE" in line or line.startswith(("--- POOLS", "POOLS:")):
            part = "raw" if "STORAGE" in line else "pools"
        elif line.startswith(("CLASS ", "POOL ", "TOTAL ")):
            continue
        else:
            row = (_RAW if part == "raw" else _POOL).fullmatch(line)
            if row is None:
                raise Malformed(f"ceph df: {line[:60]!r}")
            name = f"class {row['name']}" if part == "raw" else row["name"]
            yield ClusterPool(
                cluster=KIND, pool=name, kind=POOLS, ident=row["name"], area=None, copies=None, capacity=None,
                used=None, spare=None, spare_ratio=None, filled=float(row["share"]) / _PERCENT, near_full=_NEAR,
                full=_FULL, domains=None, largest=None, largest_domain=None, degraded=None, failed=None, origin=key,
                statistics=key,
            )  # fmt: skip


FORM = Form(
    key="cmd:ceph df",
    first=r"(?:--- )?RAW STORAGE(?: ---|:)\s*\n\s*CLASS\s+SIZE\s+AVAIL\s+USED\s+RAW USED\s+%RAW USED",
    reads="space of a Ceph cluster and its pools",
    versions="Ceph 14 and later, without detail",
    goes_on=rf"\s*(?:---|POOLS:|CLASS |POOL |TOTAL ).*|\s*\S+\s+.*{_SIZE}\s*|\s*\S+(?:\s+{_SIZE}){{4}}\s+[\d.]+\s*",
)


def read(host: Host) -> Iterable[ClusterPool]:
    """Return the rows of the last output. Raises Absent without any, Malformed."""
    known = list(outputs(host, FORM))
    if not known:
        raise Absent(FORM.key, "not recorded", recorded=False)
    return list(parse(known[-1].text, known[-1].key))


CEPH_DF_TEXT = Collector(
    "ceph-df-text",
    "Space of Ceph in recorded output of ceph df",
    read,
    (ClusterPool,),
    (Need("cmd:ceph df*", "use of the devices and pools of a cluster as text, from captures only; never run"),),
    SLOW,
    forms=(FORM,),
)
