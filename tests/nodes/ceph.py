"""A Ceph cluster made by hand: its answers in JSON, as versions 12 to 19 give them."""

from __future__ import annotations

import json
from typing import Any

from sdstop.collectors.ceph import answers as ceph

FSID = "7b1f2c0e-5a4d-4c6b-9d7e-2f6a8b3c1d90"
NAME = "ceph-7b1f2c0e"
STATUS, TREE, PERF, HEALTH, DUMP, RULES, USAGE = (
    f"cmd:{' '.join(argv)}"
    for argv in (ceph.STATUS, ceph.TREE, ceph.PERF, ceph.HEALTH, ceph.DUMP, ceph.RULES, ceph.USAGE)
)
HERE = {"list:/etc/ceph": "ceph.client.admin.keyring\nceph.conf"}


def status(
    release: int = 18,
    *,
    health: str = "HEALTH_OK",
    checks: dict[str, str] | None = None,
    quorum: int = 3,
    states: dict[str, int] | None = None,
    objects: int = 295_141,
    data: int = 60_626_000_000,
    **pgmap: Any,
) -> str:
    """Return `ceph -s`; `checks` are messages by code, `pgmap` further keys of it."""
    monitors = [{"rank": n, "name": f"mon{n}"} for n in range(3)]
    osds = {"epoch": 4711, "num_osds": 12, "num_up_osds": 12, "num_in_osds": 11, "num_remapped_pgs": 210}
    groups = states or {"active+clean": 257}
    names = {12: "luminous", 14: "nautilus", 15: "octopus", 17: "quincy", 18: "reef", 19: "squid"}
    monmap: dict[str, Any] = {"epoch": 3, "num_mons": 3, "min_mon_release_name": names[release]}
    if release < 15:
        monmap = {"epoch": 3, "fsid": FSID, "mons": monitors}
    said = {
        "fsid": FSID,
        "health": {
            "status": health,
            "checks": {
                code: {"severity": "HEALTH_WARN", "summary": {"message": message}, "muted": False}
                for code, message in (checks or {}).items()
            },
        },
        "quorum": list(range(quorum)),
        "quorum_names": [f"mon{n}" for n in range(quorum)],
        "monmap": monmap,
        "osdmap": {"osdmap": osds} if release <= 14 else osds,
        "pgmap": {
            "pgs_by_state": [{"state_name": name, "count": count} for name, count in groups.items()],
            "num_pgs": sum(groups.values()),
            "num_objects": objects,
            "data_bytes": data,
            "bytes_used": 2 * data,
            "bytes_avail": 10 * data,
            "bytes_total": 12 * data,
            **pgmap,
        },
    }
    return "\n" + json.dumps(said, indent=1)


def drain(misplaced: int = 471_699, rate: int | None = 358_717) -> str:
    """Return the status of a drain: two copies of 295 141 objects, most of which have to move."""
    rates: dict[str, Any] = {} if rate is None else {"recovering_bytes_per_sec": rate, "recovering_objects_per_sec": 1}
    moving = {"active+remapped+backfilling": 2, "active+remapped+backfill_wait": 208, "active+clean": 47}
    moved: dict[str, Any] = {
        "misplaced_objects": misplaced,
        "misplaced_total": 590_282,
        "misplaced_ratio": misplaced / 590_282,
    }
    return status(states=moving, **moved, **rates)


def tree(hosts: int = 4, each: int = 3, release: int = 18, share: float = 0.4, larger: float = 1.0) -> str:
    """Return `ceph osd df tree` of hosts of equal OSDs of 4 TB, `share` full; the last host is `larger` times that."""
    nodes: list[dict[str, Any]] = [
        {"id": -1, "name": "default", "type": "root", "children": [-2 - n for n in range(hosts)]}
    ]
    for host in range(hosts):
        numbers = list(range(host * each, (host + 1) * each))
        nodes.append({"id": -2 - host, "name": f"store{host}", "type": "host", "children": numbers})
        size = int(3_906_250_000 * (larger if host == hosts - 1 else 1))
        for number in numbers:
            osd: dict[str, Any] = {
                "id": number, "name": f"osd.{number}", "type": "osd", "device_class": "hdd", "crush_weight": 3.64,
                "reweight": 1, "kb": size, "kb_used": int(size * share), "utilization": share * 100, "pgs": 42,
            }  # fmt: skip
            nodes.append(osd | ({"status": "up"} if release >= 14 else {}))
    return json.dumps({"nodes": nodes, "stray": [], "summary": {"average_utilization": share * 100}})


def perf(waits: dict[int, int], release: int = 18) -> str:
    """Return `ceph osd perf`: milliseconds by OSD."""
    rows = [{"id": n, "perf_stats": {"commit_latency_ms": ms, "apply_latency_ms": ms}} for n, ms in waits.items()]
    return json.dumps({"osd_perf_infos": rows} if release < 14 else {"osdstats": {"osd_perf_infos": rows}})


def health(**details: list[str]) -> str:
    checks = {
        code: {
            "severity": "HEALTH_WARN",
            "summary": {"message": f"{len(lines)} of them"},
            "detail": [{"message": line} for line in lines],
        }
        for code, lines in details.items()
    }
    return json.dumps({"status": "HEALTH_WARN", "checks": checks})


def pool(
    number: int, name: str, copies: int = 3, *, kind: int = 1, least: int | None = None, profile: str = ""
) -> dict[str, Any]:
    """Return a pool of `ceph osd dump`; kind 3 is erasure coding."""
    return {
        "pool": number, "pool_name": name, "type": kind, "size": copies, "min_size": least or max(copies - 1, 1),
        "crush_rule": 0, "flags_names": "hashpspool", "erasure_code_profile": profile,
    }  # fmt: skip


def osd_dump(*pools: dict[str, Any]) -> str:
    """Return `ceph osd dump` with these pools."""
    ratios = {"full_ratio": 0.95, "backfillfull_ratio": 0.9, "nearfull_ratio": 0.85}
    profiles = {"default": {"k": "2", "m": "2"}, "k4m2": {"k": "4", "m": "2"}}
    return json.dumps({"fsid": FSID, **ratios, "pools": pools, "erasure_code_profiles": profiles})


def crush_rules(domain: str = "host", root: str = "default") -> str:
    """Return `ceph osd crush rule dump` with one rule."""
    steps = [
        {"op": "take", "item": -1, "item_name": root},
        {"op": "chooseleaf_firstn", "num": 0, "type": domain},
        {"op": "emit"},
    ]
    return json.dumps([{"rule_id": 0, "rule_name": "replicated_rule", "steps": steps}])


def usage(used: dict[int, int]) -> str:
    """Return `ceph df`: raw bytes by pool."""
    return json.dumps({"pools": [{"id": number, "stats": {"bytes_used": size}} for number, size in used.items()]})
