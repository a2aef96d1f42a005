"""NFS mounts in recorded output of nfsiostat (nfs-utils tools/nfs-iostat/nfs-iostat.py), which is never run.

    nas4:/vol7 mounted on /srv/vol7:

               ops/s       rpc bklog
              12.140           0.000

    read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)
                       0.687         135.679         197.518        0 (0.0%)           9.235           9.876
    write:             ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)
                       1.713          67.570          39.446        0 (0.0%)           3.700           3.767

The first report is about the time since the mount, each later one about an interval. Old versions print each number on
a line of its own; new ones have a queue time and errors behind the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.filesystems.readings import NfsReport
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several, outputs
from sdstop.core.host import Absent, Host, Malformed

_MOUNT = expression(r"(?P<source>\S+) mounted on (?P<point>/.*):\s*")
_KIND = expression(r"(?P<kind>read|write):\s*(?:ops?/s.*)?")
_NUMBER = expression(r"(\d+(?:\.\d+)?)(?: \((\d+(?:\.\d+)?)%\))?(?!\S)")
_FEWEST = 6
"""Numbers of a kind: requests, kB/s and kB per request, repetitions, time to the answer, time of a request."""


def parse(text: str, key: str) -> Iterator[NfsReport]:
    """Yield the reads and writes of each report in order. Raises Malformed for a kind that is cut off."""
    point, kind = "", ""
    seen: dict[str, int] = {}
    numbers: list[tuple[str, str]] = []
    for line in [*text.splitlines(), "end mounted on /:"]:
        mount, begun = _MOUNT.fullmatch(line.strip()), _KIND.fullmatch(line.strip())
        if mount is None and begun is None:
            numbers += _NUMBER.findall(line)
            continue
        if kind:
            yield _report(point, kind, numbers, "interval" if seen[point] > 1 else "mount", key)
        kind, numbers = "", []
        if mount is not None:
            point = mount["point"]
            seen[point] = seen.get(point, 0) + 1
        elif begun is not None and point:
            kind = begun["kind"]


def _report(point: str, kind: str, numbers: list[tuple[str, str]], since: str, key: str) -> NfsReport:
    if len(numbers) < _FEWEST or not numbers[3][1]:
        raise Malformed(f"nfsiostat: {kind} of a mount has {len(numbers)} numbers")
    return NfsReport(
        point=point,
        kind=kind,
        since=since,
        rate=float(numbers[0][0]),
        again=int(float(numbers[3][0])),
        share=float(numbers[3][1]) / 100,
        answer=float(numbers[4][0]) / 1000,
        execution=float(numbers[5][0]) / 1000,
        size=float(numbers[2][0]) * 1024,
        told=key,
    )


TEXT = Form(
    key="cmd:nfsiostat",
    first=r"\S+:/\S* mounted on /[^\n]*:\s*\n(?:\s*\n)*\s*ops?/s\s+rpc bklog",
    goes_on=(
        r"\s*|\S+:/\S* mounted on /.*:\s*|\s*ops?/s.*|(?:read|write):.*|\s*[\d.]+(?: \([\d.]+%\))?(?:\s.*)?|Timestamp.*"
        r"|Linux .*"
    ),
    reads="repetitions and times of the requests of NFS mounts",
    versions="nfs-utils 1.2 and later",
    several=Several.JOINED,
)


def read(host: Host) -> Iterable[NfsReport]:
    """Return the first and the last report of each mount and kind. Raises Absent without any, Malformed."""
    rows: dict[tuple[str, str, str], NfsReport] = {}
    for output in outputs(host, TEXT):
        rows.update({(row.point, row.kind, row.since): row for row in parse(output.text, output.key)})
    if not rows:
        raise Absent(TEXT.key, "not recorded", recorded=False)
    return list(rows.values())


NFS_TEXT = Collector(
    "nfs-text",
    "NFS mounts in recorded output of nfsiostat",
    read,
    (NfsReport,),
    (Need("cmd:nfsiostat*", "repetitions and times of NFS requests, from captures only; never run"),),
    SLOW,
    forms=(TEXT,),
)
