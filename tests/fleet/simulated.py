"""A simulated fleet: series of many nodes as OpenMetrics, of which promtool makes blocks for a real Prometheus.

What is wrong with whom is fixed, so that tests and the benchmark can ask for it:

    n000, n010...  a hot member on md0     n003  critical: a degraded array; and a source that fails
    n005, n055...  rebuild md0     n006  differs in MTU of eth2, kernel and DIMMs     n007  was silent for ten minutes
    n008  has a volume at its limit      n009  target down
"""

from __future__ import annotations

import functools
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

RULES = 30
STEP = 30
SILENT, DOWN = 7, 9
COLLECTORS = ("diskstats", "mdraid", "network", "sas", "dimms", "hba")
Value = Callable[[int], float]
Told = tuple[str, dict[str, str], float | Value]


def labeled(**labels: str) -> str:
    """Return labels as they stand between braces."""
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for k, v in labels.items()}
    return ",".join(f'{key}="{value}"' for key, value in escaped.items())


def write(path: Path, nodes: int, now: int, *, minutes: int = 15, disks: int = 60, hostile: str = "") -> int:
    """Write the fleet's samples until `now` (Unix seconds) and return how many series there are.

    `hostile` is the subject of one finding more.
    """
    times = [now - STEP * back for back in range(minutes * 60 // STEP, -1, -1)]
    families: dict[str, list[tuple[str, float | Value, bool]]] = defaultdict(list)
    for number in range(nodes):
        node = {"instance": f"n{number:03d}:10042", "job": "sdstop"}
        families["up"].append((labeled(**node), float(number != DOWN), number == SILENT))
        if number == DOWN:
            continue
        for metric, labels, value in told(number, disks, hostile):
            families[metric].append((labeled(**node, **labels), value, number == SILENT))
    with path.open("w") as out:
        for name, rows in families.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            out.write(f"# TYPE {name.removesuffix('_total')} {kind}\n")
            for shown, value, silent in rows:
                for taken in times:
                    if not silent or now - taken >= 600:
                        said = value(taken) if callable(value) else value
                        out.write(f"{name}{{{shown}}} {said:.17g} {taken}\n")
        out.write("# EOF\n")
    return sum(map(len, families.values()))


def told(number: int, disks: int, hostile: str) -> Iterator[Told]:
    """Yield what a node's exporter says, as far as the fleet asks: metric, labels, value."""
    odd, rebuilds, hot = number == 6, number % 50 == 5, number % 10 == 0
    yield "sdstop_build_info", {"version": "0.1.0", "python": "3.11.2"}, 1
    yield "sdstop_frame_timestamp_seconds", {}, float
    yield "sdstop_node_info", {"hostname": f"n{number:03d}", "kernel": "5.10.0" if odd else "6.1.0"}, 1
    yield "sdstop_pressure_some_avg60_ratio", {"resource": "io"}, 0.25
    found = list(claims(number, hostile))
    for rule, severity in dict.fromkeys((rule, severity) for rule, severity, _ in found):
        each = [claim for claim in found if claim[:2] == (rule, severity)]
        yield "sdstop_findings", {"rule": rule, "severity": severity}, len(each)
    for rule, severity, subject in found:
        labels = {"rule": rule, "severity": severity, "subject": subject, "standing": "false"}
        yield "sdstop_finding_active", labels, {"info": 1, "warning": 2, "critical": 3}[severity]
    for other in range(RULES):
        yield "sdstop_findings", {"rule": f"rule-{other}", "severity": "warning"}, 0
    for disk in range(disks):
        device = {"device": f"sd{disk}"}
        share = 0.9 if hot and disk == 3 else 0.2
        yield "sdstop_disk_io_time_seconds_total", device, functools.partial(_busy, share)
        yield "sdstop_array_member_state", {"array": "md0", **device, "state": "in_sync"}, 1
    yield "sdstop_array_info", {"array": "md0", "level": "raid10", "layout": "near=2"}, 1
    yield "sdstop_array_raid_disks", {"array": "md0"}, disks
    yield "sdstop_array_chunk_bytes", {"array": "md0"}, 524288
    if rebuilds:
        rebuild = {"array": "md0", "operation": "recovery"}
        yield "sdstop_rebuild_state", {**rebuild, "state": "running"}, 1
        yield "sdstop_rebuild_done_bytes", rebuild, 4e12
        yield "sdstop_rebuild_total_bytes", rebuild, 1e13
        yield "sdstop_rebuild_remaining_seconds", rebuild, 7200
        yield "sdstop_rebuild_speed_bytes_per_second", rebuild, 8e8
    for volume in range(20):
        limit = {"volume": f"vol{volume}", "owner": "sdc1", "kind": "powerflex", "direction": "total"}
        yield "sdstop_limit_requests_per_second", limit, 1000
        yield "sdstop_limit_used_requests_per_second", limit, 990 if number == 8 and not volume else 100
    for port in range(4):
        interface = {"interface": f"eth{port}"}
        yield "sdstop_interface_info", {**interface, "kind": "physical"}, 1
        yield "sdstop_interface_carrier", interface, 1
        yield "sdstop_interface_mtu_bytes", interface, 1500 if odd and port == 2 else 9000
        yield "sdstop_interface_speed_bytes_per_second", interface, 3.125e9
    for slot in range(16):
        yield "sdstop_dimm_size_bytes", {"slot": f"DIMM {slot}"}, 0 if odd and slot == 7 else 2**35
    for collector in COLLECTORS:
        outcome = "failed" if number == 3 and collector == "sas" else "ok"
        yield "sdstop_collector_outcome", {"collector": collector, "outcome": outcome}, 1
    yield "sdstop_rule_unchecked", {"rule": "phy-errors"}, float(number == 3)


def _busy(share: float, taken: int) -> float:
    return share * (taken % 100_000_000)


def claims(number: int, hostile: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield rule, severity and subject of what is found on a node."""
    if number % 10 == 0:
        yield "hot-stripe-member", "warning", "md0/sd3"
    if number == 3:
        yield "array-degraded", "critical", "md0"
        yield "phy-errors", "warning", "expander-1:0/phy-52"
    if number == 5:
        yield "rebuild-running", "info", "md0"
    if number == 8:
        yield "volume-qos-saturated", "warning", "vol:vol0@sdc1"
    if hostile and number == 1:
        yield "link-saturated", "warning", hostile


def blocks(source: Path, folder: Path) -> None:
    """Have promtool make blocks."""
    argv = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(source), str(folder)]
    subprocess.run(argv, check=True, capture_output=True)
