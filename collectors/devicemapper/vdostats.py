"""Fill level of VDO pools in recorded output of vdostats (vdo utils/vdo/vdostats.c: displayDFStyle).

    Device                    Size      Used Available Use% Space saving%         vdostats --human-readable
    vdo0                    100.0G    100.0G      0.0B 100%           35%
    /dev/mapper/vdo0     104857600       N/A       N/A  N/A           N/A         1k-blocks; while it recovers

The share counts the metadata of the pool, too. The mode (normal, read-only) is shown by `dmsetup status` alone, which
is used instead where it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.devicemapper.volume_readings import ThinPool
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host

_SIZE = r"\d{1,15}(?:\.\d)?[BKMGT]?|N/A"
_ROW = expression(
    rf"(?:/dev/mapper/)?(?P<name>\S{{1,128}}) +(?P<all>{_SIZE}) +(?P<used>{_SIZE}) +(?:{_SIZE}) +"
    r"(?P<share>\d{1,3}%|N/A) +(?:-?\d{1,3}%|N/A) *"
)
_UNITS = "BKMGT"


def parse(text: str, key: str, *, si: bool = False) -> Iterator[ThinPool]:
    """Yield the pools. `si`: units are powers of 1000. Without a unit the sizes are in KiB."""
    for line in text.splitlines():
        row = _ROW.fullmatch(line.strip())
        if row is None:
            continue
        share = None if row["share"] == "N/A" else min(int(row["share"].rstrip("%")) / 100, 1.0)
        yield ThinPool(
            pool=row["name"],
            mapping=row["name"],
            kind="vdo",
            state="not shown" if share is not None else "recovering",
            size=_bytes(row["all"], si=si),
            used=_bytes(row["used"], si=si),
            data_share=share,
            no_space="fail",
            origin=key,
            needle=row["name"],
        )


def _bytes(word: str, *, si: bool) -> int | None:
    if word == "N/A":
        return None
    if word[-1] not in _UNITS:
        return int(float(word) * 1024)
    return int(float(word[:-1]) * float((1000 if si else 1024) ** _UNITS.index(word[-1])))


VDOSTATS = Form(
    key="cmd:vdostats",
    first=r"Device +(?:Size|1[kK]-blocks) +Used +Available +Use% +Space saving%",
    goes_on=r"\S+ +\d[\d.]*[BKMGT]? +(?:[\d.]+[BKMGT]?|N/A) +.*",
    reads="fill level of VDO pools",
    versions="vdo 6.1 and later, with --human-readable, --si",
)


def read(host: Host) -> Iterable[ThinPool]:
    """Return the pools of recorded outputs. Raises Absent without any."""
    rows = [
        row for output in outputs(host, VDOSTATS) for row in parse(output.text, output.key, si="--si" in output.words)
    ]
    if not rows:
        raise Absent(VDOSTATS.key, "not recorded", recorded=False)
    return list({row.pool: row for row in rows}.values())


VDO_TEXT = Collector(
    "vdostats",
    "Fill level of VDO pools in recorded output of vdostats",
    read,
    (ThinPool,),
    (Need("cmd:vdostats*", "fill level of VDO pools, from captures only; never run"),),
    SLOW,
    forms=(VDOSTATS,),
)
