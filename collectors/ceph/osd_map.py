"""OSD map and CRUSH rules: fill ratios, flags, pools with their copies, and the failure domains of their rules.

Formats: `ceph osd dump`, `ceph osd crush rule dump` and `ceph df` (src/osd/OSDMap.cc, src/crush/CrushWrapper.cc,
src/mon/PGMap.cc of Ceph 12 to 19). Monitors answer all three without a manager.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.ceph.answers import Osd, as_object, list_of, part_of
from sdstop.core.host import Malformed
from sdstop.core.text import json_number, json_text, json_whole

NEARFULL, BACKFILLFULL, FULL = 0.85, 0.90, 0.95
"""Ceph's default ratios, used if none were recorded."""
_ERASURE = 3
"""Type of erasure-coded pools; replicated pools have 1."""


class Ratios(Struct, frozen=True):
    """Fill ratios of an OSD above which Ceph warns, stops backfill to it, and stops writes."""

    nearfull: float = NEARFULL
    backfillfull: float = BACKFILLFULL
    full: float = FULL


class OsdPool(Struct, frozen=True, kw_only=True):
    """A pool: `size` copies, or pieces (k+m) of erasure coding; with fewer than `least` it serves no I/O.

    `needed` is the number of copies or pieces that hold all data: 1, or k. Quotas are None if there are none.
    """

    number: int
    name: str
    size: int | None
    least: int | None
    needed: int | None
    erasure: bool
    rule: int | None
    full: bool
    quota_bytes: int | None = None
    quota_objects: int | None = None


class OsdMap(Struct, frozen=True):
    """Part of `ceph osd dump`; `states` are further words about each OSD: nearfull, full, noout ..."""

    fsid: str | None = None
    ratios: Ratios = Ratios()
    pools: tuple[OsdPool, ...] = ()
    states: Mapping[int, tuple[str, ...]] = {}


def parse_dump(text: str) -> OsdMap:
    """Parse `ceph osd dump -f json`; missing ratios have Ceph's defaults. Raises Malformed.

        {"fsid": "...", "nearfull_ratio": 0.85, "flags_set": ["noout"], "pools": [{"pool": 2, "pool_name": "data",
         "type": 1, "size": 3, "min_size": 2, "crush_rule": 0, "flags_names": "hashpspool,full_quota",
         "quota_max_objects": 2, "erasure_code_profile": ""}], "osds": [{"osd": 0, "state": ["exists", "up"]}],
         "erasure_code_profiles": {"default": {"k": "2", "m": "2"}}}

    Without a profile, k of an erasure-coded pool is min_size - 1, as Ceph sets it by default.
    """
    said = as_object(text, "ceph osd dump")
    known = [json_number(said.get(f"{name}_ratio")) for name in ("nearfull", "backfillfull", "full")]
    ratios = (value or default for value, default in zip(known, (NEARFULL, BACKFILLFULL, FULL), strict=True))
    profiles = part_of(said, "erasure_code_profiles")
    pools = []
    for row in list_of(said, "pools"):
        number, name = json_whole(row.get("pool", row.get("pool_id"))), json_text(row.get("pool_name"))
        if number is None:
            continue
        erasure = row.get("type") == _ERASURE
        least = json_whole(row.get("min_size"))
        pieces = json_text(part_of(profiles, json_text(row.get("erasure_code_profile")) or "").get("k")) or ""
        needed = int(pieces) if pieces.isdecimal() and len(pieces) < 5 else max((least or 2) - 1, 1)
        flags = (json_text(row.get("flags_names")) or "").split(",")
        pools.append(
            OsdPool(
                number=number,
                name=name or f"pool {number}",
                size=json_whole(row.get("size")),
                least=least,
                needed=needed if erasure else 1,
                erasure=erasure,
                rule=json_whole(row.get("crush_rule", row.get("crush_ruleset"))),
                full=not {"full", "full_quota", "full_no_quota"}.isdisjoint(flags),
                quota_bytes=json_whole(row.get("quota_max_bytes")) or None,
                quota_objects=json_whole(row.get("quota_max_objects")) or None,
            )
        )
    states = {}
    for row in list_of(said, "osds"):
        number, words = json_whole(row.get("osd")), row.get("state")
        if number is not None and isinstance(words, list):
            calm = {"exists", "up", "new", "autoout"}
            states[number] = tuple(word for word in words if isinstance(word, str) and word not in calm)
    return OsdMap(json_text(said.get("fsid")), Ratios(*ratios), tuple(pools), states)


class CrushRule(Struct, frozen=True):
    """Where a rule places copies: below `root`, on devices of `media` if given, each in another `domain`."""

    root: str
    media: str | None
    domain: str


def parse_rules(text: str) -> dict[int, CrushRule]:
    """Parse `ceph osd crush rule dump -f json`, rules by number. Raises Malformed.

        [{"rule_id": 0, "rule_name": "fast", "steps": [{"op": "take", "item": -2, "item_name": "default~ssd"},
          {"op": "chooseleaf_firstn", "num": 0, "type": "host"}, {"op": "emit"}]}]

    Of a rule with several steps, the first one that spreads copies (rack, then host) counts. Rules that take from
    several roots are left out: their copies are in different places, each with domains of its own.
    """
    start = min((place for place in (text.find("["), text.find("{")) if place >= 0), default=-1)
    try:
        said = json.loads(text[start:] if start >= 0 else text)
    except (ValueError, RecursionError) as error:
        raise Malformed("ceph osd crush rule dump: not JSON") from error
    if not isinstance(said, list):
        raise Malformed("ceph osd crush rule dump: not a list")
    found = {}
    for rule in said:
        if not isinstance(rule, dict):
            continue
        number, steps = json_whole(rule.get("rule_id")), list_of(rule, "steps")
        taken = [json_text(step.get("item_name")) or "" for step in steps if step.get("op") == "take"]
        chosen = [step for step in steps if str(step.get("op")).startswith("choose") and json_text(step.get("type"))]
        if number is None or len(taken) != 1 or not taken[0] or not chosen:
            continue
        root, _, media = taken[0].partition("~")
        found[number] = CrushRule(root, media or None, json_text(chosen[0].get("type")) or "")
    return found


class PoolUsage(Struct, frozen=True):
    """Use of a pool in bytes: `stored` by clients, `used` raw, with all copies; `free` can still be stored."""

    objects: int | None
    stored: int | None
    used: int | None
    free: int | None


def parse_usage(text: str) -> dict[int, PoolUsage]:
    """Parse `ceph df -f json`, pools by number. Raises Malformed.

    {"pools": [{"name": "data", "id": 2, "stats": {"stored": 9, "objects": 5, "bytes_used": 27, "max_avail": 99}}]}
    """
    found = {}
    for row in list_of(as_object(text, "ceph df"), "pools"):
        number, stats = json_whole(row.get("id")), part_of(row, "stats")
        if number is not None:
            names = ("objects", "stored", "bytes_used", "max_avail")
            found[number] = PoolUsage(*(json_whole(stats.get(name)) for name in names))
    return found


def placed(rule: CrushRule | None, osds: Sequence[Osd]) -> dict[str, list[Osd]]:
    """Return the OSDs that a rule can use, by failure domain; without a rule, all of them by host.

    OSDs that are out or have no weight are to be emptied and do not count; those that are down do.
    """
    found: dict[str, list[Osd]] = {}
    for osd in osds:
        if not osd.holds:
            continue
        if rule is None:
            found.setdefault(osd.host, []).append(osd)
        elif (not rule.media or osd.media == rule.media) and rule.root in osd.buckets.values():
            domain = osd.name if rule.domain == "osd" else osd.buckets.get(rule.domain)
            if domain is not None:
                found.setdefault(domain, []).append(osd)
    return found
