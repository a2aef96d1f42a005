"""Ceph OSDs: tree, usage, latency, and the disks of this node that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.ceph import answers as ceph
from sdstop.collectors.ceph import health_text, osd_map, osd_perf, osd_tables, status_text
from sdstop.collectors.ceph.answers import Osd
from sdstop.collectors.ceph.health import Check
from sdstop.collectors.ceph.local import HOSTNAME, MOUNTS, local_osds
from sdstop.collectors.ceph.osd_map import CrushRule, OsdMap, OsdPool, PoolUsage, placed
from sdstop.collectors.ceph.readings import KIND, UNPLACED, CephPool
from sdstop.collectors.ceph.tool import (
    CONFIG,
    CONFIG_FILE,
    DEADLINE,
    LOCAL,
    MonitorsUnreachable,
    answers_of,
    configured,
    key_of,
    name_of,
    only_identity,
    parsed_or,
    query_monitors,
    reachable,
    recorded_text,
    text_of,
)
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.retention import mount_table
from sdstop.core.text import whole_total
from sdstop.readings.cluster import ClusterDevice, ClusterNode, ClusterPool, FailureDomain
from sdstop.readings.service import Service

PACE = 120.0
"""Seconds between samples; each makes five calls of Ceph's tool, 0.22 s of CPU each, for hundreds of rows."""


class _Map(Struct, frozen=True):
    """Map of a cluster at one sample; `key` is the evidence of its OSDs."""

    name: str
    key: str
    osds: Sequence[Osd]
    dump: OsdMap
    rules: Mapping[int, CrushRule]
    usage: Mapping[int, PoolUsage]


def read(host: Host) -> Iterable[Reading]:
    """Return hosts, OSDs, pools and failure domains; on a node that only holds OSDs, only their disks.

    From a capture with latencies alone, only these.
    """
    answers = answers_of(host)
    here = dict(local_osds(host))
    here.update({(None, number): disk for number, disk in _volumes(host, answers).items()})
    if answers.keys().isdisjoint(_TABLES):
        try:
            reachable(host)
        except Absent:
            if "perf" in answers:
                key, text = query_monitors(host, ceph.PERF, answers["perf"])
                alone = osd_perf.parse(text)
                devices = () if here else (_alone(number, wait, key) for number, wait in alone.items())
                return [*_carried(host, here), *devices, *osd_perf.services(alone, {}, key)]
            if not here:
                raise
            return list(_carried(host, here))
    try:
        key, tree, current = _tree(host, answers)
    except MonitorsUnreachable:
        if not here:
            raise
        return list(_carried(host, here))
    osds = tree.osds
    dump = parsed_or(host, ceph.DUMP, answers, "dump", osd_map.parse_dump, OsdMap())
    no_rules: dict[int, CrushRule] = {}
    no_usage: dict[int, PoolUsage] = {}
    known = _Map(
        _cluster_name(host, answers, here, dump),
        key,
        osds,
        dump,
        parsed_or(host, ceph.RULES, answers, "rules", osd_map.parse_rules, no_rules),
        parsed_or(host, ceph.USAGE, answers, "usage", osd_map.parse_usage, no_usage) if current else no_usage,
    )
    waits: dict[int, float] = {}
    if current:
        waits = parsed_or(host, ceph.PERF, answers, "perf", osd_perf.parse, {})
    concerned = ceph.concerned(_recorded_checks(host, answers))
    disks = {number: disk for (_, number), disk in here.items()}
    node = host.maybe(HOSTNAME) or ""
    name = known.name
    if tree.defect:
        host.defect(key, tree.defect, name)
    if "tree" in answers:
        _compare(host, answers, osds, name)
    return [
        *(_hosts(osds, name, key, node) if tree.placed else ()),
        *((_silent_manager(known),) if not current and (not answers or "tree" in answers) else ()),
        *(_pools(known) if tree.placed else ()),
        *_rados_pools(known, key_of(ceph.DUMP, answers.get("dump"))),
        *(
            _device(osd, known, waits.get(osd.number), concerned.get(osd.number, []), _disk(osd, disks, node))
            for osd in osds
        ),
        *osd_perf.services(
            waits,
            {osd.number: f"{name}/{osd.host.partition('.')[0]}/{osd.name}" for osd in osds},
            key_of(ceph.PERF, answers.get("perf")),
        ),
    ]


_TABLES = frozenset({"tree", "places", "fill"})


def _tree(host: Host, answers: Mapping[str, str]) -> tuple[str, osd_tables.Tree, bool]:
    """Return evidence key and rows of the tree, and whether it has usage: without a manager, monitors answer.

    Of recorded answers, a tree without usage and a table without buckets are joined.
    """
    if not answers or "tree" in answers:
        try:
            key, text = query_monitors(host, ceph.TREE, answers.get("tree"))
        except MonitorsUnreachable:
            if answers and "places" not in answers:
                raise
        else:
            return key, osd_tables.tree_of(text), True
    if "places" not in answers and "fill" in answers:
        return *_rows(*query_monitors(host, (), answers["fill"])), True
    key, places = _rows(*query_monitors(host, ceph.PLACES, answers.get("places")))
    if "fill" not in answers:
        return key, places, False
    key, usage = _rows(*query_monitors(host, (), answers["fill"]))
    return key, osd_tables.joined(places, usage), True


def _compare(host: Host, answers: Mapping[str, str], osds: Sequence[Osd], name: str) -> None:
    """Note a defect for each further recorded table that cannot be read, or that has other states of OSDs."""
    states = {osd.number: osd.up for osd in osds}
    for table in sorted({"places", "fill"} & answers.keys()):
        key = key_of((), answers[table])
        try:
            key, other = _rows(*query_monitors(host, (), answers[table]))
        except (Malformed, MonitorsUnreachable) as error:
            host.defect(key, str(error), name)
            continue
        differing = [osd.name for osd in other.osds if osd.up is not None and states.get(osd.number) is not osd.up]
        if differing:
            host.defect(key, f"other states of {', '.join(differing[:3])}", name, contradiction=True)


def _rows(key: str, text: str) -> tuple[str, osd_tables.Tree]:
    return key, osd_tables.tree_of(text)


def _recorded_checks(host: Host, answers: Mapping[str, str]) -> tuple[Check, ...]:
    """Return recorded health checks that the recorded status still has; none on a live node."""
    none: tuple[Check, ...] = ()
    if "health" not in answers:
        return none
    try:
        checks = health_text.health_of(recorded_text(host, answers["health"])).checks
        if "status" not in answers:
            return checks
        said = status_text.status_of(recorded_text(host, answers["status"])).status
    except TimedOut:
        raise
    except Unreadable:
        return none
    active = {check.code for check in said.checks}
    return tuple(check for check in checks if check.code in active)


def _disk(osd: Osd, disks: dict[int, str], node: str) -> str | None:
    """Return the disk of an OSD if it is in this node."""
    mine = osd.host.partition(".")[0] == node.partition(".")[0]
    return disks.get(osd.number) if mine or not node else None


def _cluster_name(
    host: Host, answers: Mapping[str, str], here: Mapping[tuple[str | None, int], str], dump: OsdMap
) -> str:
    """Return the cluster's name from the OSD map, a recorded status, or a local OSD; the tree does not contain it."""
    fsid = dump.fsid
    if fsid is None and "status" in answers:
        try:
            fsid = status_text.status_of(recorded_text(host, answers["status"])).status.fsid
        except TimedOut:
            raise
        except Unreadable:
            fsid = None
    known = fsid or next((of for of, _ in here if of), None) or configured(host)[0]
    return name_of(known) if known else KIND


def _volumes(host: Host, answers: dict[str, str]) -> dict[int, str]:
    if "volumes" not in answers:
        return {}
    return ceph.parse_volumes(text_of(answers["volumes"], host.recorded_output(answers["volumes"])))


def _carried(host: Host, here: Mapping[tuple[str | None, int], str]) -> Iterator[ClusterDevice]:
    """Yield the OSDs of this node, without their state in the cluster."""
    node = (host.maybe(HOSTNAME) or "this node").partition(".")[0]
    own = configured(host)[0]
    for (fsid, number), disk in sorted(here.items(), key=lambda item: item[0][1]):
        osd = Osd(
            number=number, root="", host=node, rack=None, media=None, weight=None, reweight=None, size=None, used=None,
            utilization=None, up=None,
        )  # fmt: skip
        cluster = fsid or own
        known = _Map(name_of(cluster) if cluster else KIND, "", (osd,), OsdMap(), {}, {})
        yield _device(osd, known, None, [], disk)


def _device(osd: Osd, known: _Map, wait: float | None, codes: Sequence[str], disk: str | None) -> ClusterDevice:
    words = [] if osd.up is None else ["up" if osd.up else "down"]
    if not osd.holds and osd.reweight is not None:
        words.append("out")
    said = [word for word in known.dump.states.get(osd.number, ()) if word not in words]
    return ClusterDevice(
        cluster=known.name,
        node=osd.host,
        device=osd.name,
        ident=None,
        pool=osd.root or None,
        name=None,
        path=f"/dev/{disk}" if disk else None,
        original=None,
        state=" ".join([*codes, *words, *said]) or None,
        healthy=None if osd.up is None else int(osd.up and not codes),
        media=osd.media.upper() if osd.media else None,
        model=None,
        serial=None,
        capacity=osd.size,
        used=osd.used,
        read_wait=None,
        write_wait=wait,
        local=disk,
        origin=known.key,
    )


def _alone(number: int, wait: float, key: str) -> ClusterDevice:
    """Return an OSD of which only the latency is known."""
    return ClusterDevice(
        cluster=KIND, node=UNPLACED, device=f"osd.{number}", ident=None, pool=None, name=None, path=None, original=None,
        state=None, healthy=None, media=None, model=None, serial=None, capacity=None, used=None, read_wait=None,
        write_wait=wait or None, origin=key, needle=f"{number} ",
    )  # fmt: skip


def _silent_manager(known: _Map) -> ClusterNode:
    """Return the active manager, which did not answer although monitors do."""
    return ClusterNode(
        cluster=known.name, role="mgr", node="active manager", ident=None, address=None, area=None, domain=None,
        state="does not answer", healthy=0, maintenance=None, leads=False, devices=None, capacity=None, used=None,
        version=None, origin=known.key,
    )  # fmt: skip


def _hosts(osds: Sequence[Osd], name: str, key: str, node: str) -> Iterator[ClusterNode]:
    for host, group in _grouped(osds, lambda osd: osd.host).items():
        down = sum(osd.up is False for osd in group)
        told = any(osd.up is not None for osd in group)
        yield ClusterNode(
            cluster=name, role="osd", node=host, ident=None, address=None, area=group[0].root, domain=host,
            state=f"{down} of {len(group)} OSDs down" if down else "up" if told else None,
            healthy=int(not down) if told else None, maintenance=None, leads=False, devices=len(group),
            capacity=whole_total(osd.size for osd in group), used=whole_total(osd.used for osd in group), version=None,
            local=host.partition(".")[0] == node.partition(".")[0], origin=key,
        )  # fmt: skip


def _pools(known: _Map) -> Iterator[Reading]:
    """Yield the devices of each root and class as one pool: CRUSH rules place and move data within these.

    The kind of failure domain is that of the pools with the most copies that are placed there, a host without one.
    """
    holding = [osd for osd in known.osds if osd.holds]
    classes = {osd.media for osd in holding}
    ratios = known.dump.ratios
    for pool, group in _grouped(
        holding, lambda osd: osd.root if len(classes) < 2 else f"{osd.root}~{osd.media}"
    ).items():
        stored = _stored_on(known, group)
        rules = (known.rules.get(each.rule) for each in stored if each.rule is not None)
        rule = next(filter(None, rules), None)
        domains = placed(rule, group)
        if not domains:
            rule, domains = None, placed(None, group)
        largest = max(domains, key=lambda domain: whole_total(osd.size for osd in domains[domain]) or 0)
        fullest = max((osd.utilization for osd in group if osd.utilization is not None), default=None)
        yield ClusterPool(
            cluster=known.name, pool=pool, kind=KIND, ident=None, area=group[0].root,
            copies=stored[0].size if stored else None,
            capacity=whole_total(osd.size for osd in group), used=whole_total(osd.used for osd in group), spare=None,
            spare_ratio=None, filled=fullest, near_full=ratios.nearfull, full=ratios.full, domains=len(domains),
            largest=whole_total(osd.size for osd in domains[largest]), largest_domain=largest, degraded=None,
            failed=None, rebuilds=_rebuilds(known, stored, len(domains), domains[largest]),
            origin=known.key, statistics=known.key,
        )  # fmt: skip
        kind = rule.domain if rule is not None else "host"
        for domain, members in domains.items():
            yield FailureDomain(
                cluster=known.name, pool=pool, domain=domain, of=kind, nodes=len({osd.host for osd in members}),
                devices=len(members), capacity=whole_total(osd.size for osd in members),
                used=whole_total(osd.used for osd in members), nodes_down=int(any(osd.up is False for osd in members)),
                origin=known.key, needle=f'"{domain}"',
            )  # fmt: skip


def _stored_on(known: _Map, group: Sequence[Osd]) -> list[OsdPool]:
    """Return the pools that have data on these OSDs, those with the most copies first."""
    members = {osd.number for osd in group}
    found = []
    for pool in known.dump.pools:
        rule = known.rules.get(pool.rule) if pool.rule is not None else None
        if any(osd.number in members for domain in placed(rule, known.osds).values() for osd in domain):
            found.append(pool)
    return sorted(found, key=lambda pool: (-(pool.size or 0), pool.number))


def _rebuilds(known: _Map, stored: Sequence[OsdPool], domains: int, lost: Sequence[Osd]) -> int | None:
    """Return the bytes that are copied to the other domains after a loss: none of pools with a copy in each domain.

    None if the copies of the pools are unknown. Pools share the lost domain in the proportion of their use; without
    usage, all of it counts if any pool is rebuilt.
    """
    used = whole_total(osd.used for osd in lost)
    if used is None or not stored or any(pool.size is None for pool in stored):
        return None
    again = [pool for pool in stored if pool.size is not None and pool.size < domains]
    sizes = {pool.number: known.usage[pool.number].used for pool in stored if pool.number in known.usage}
    total = whole_total(sizes.values())
    if len(again) in {0, len(stored)} or not total or len(sizes) < len(stored):
        return used if again else 0
    return round(used * (whole_total(sizes[pool.number] for pool in again) or 0) / total)


def _rados_pools(known: _Map, key: str) -> Iterator[CephPool]:
    for pool in known.dump.pools:
        rule = known.rules.get(pool.rule) if pool.rule is not None else None
        domains = placed(rule, known.osds) if rule is not None or not known.rules else {}
        use = known.usage.get(pool.number, PoolUsage(None, None, None, None))
        up = sum(any(osd.up is not False for osd in members) for members in domains.values())
        yield CephPool(
            cluster=known.name, pool=pool.name, number=pool.number, kind="erasure" if pool.erasure else "replicated",
            copies=pool.size, least=pool.least, needed=pool.needed, root=rule.root if rule else None,
            media=rule.media if rule else None, domain=rule.domain if rule else None, domains=len(domains) or None,
            domains_up=up if domains else None, full=int(pool.full), objects=use.objects,
            objects_limit=pool.quota_objects, stored=use.stored, stored_limit=pool.quota_bytes, used=use.used,
            free=use.free, origin=key,
        )  # fmt: skip


def _grouped(osds: Sequence[Osd], of: Callable[[Osd], str]) -> dict[str, list[Osd]]:
    found: dict[str, list[Osd]] = {}
    for osd in osds:
        found.setdefault(of(osd), []).append(osd)
    return found


_WHO = "root, or a user who can read the keyring"
CEPH_OSDS = Collector(
    "ceph-osds",
    "Ceph's OSDs",
    read,
    (ClusterNode, ClusterPool, FailureDomain, ClusterDevice, CephPool, Service),
    (
        Need(f"list:{CONFIG}", "presence of ceph.conf and an admin keyring"),
        Need(CONFIG_FILE, "cluster ID", keep=only_identity),
        Command(ceph.TREE, "OSDs and hosts with their use", _WHO),
        Command(ceph.PLACES, "OSDs and hosts, if no manager answers", _WHO),
        Command(ceph.PERF, "write latency of OSDs", _WHO),
        Command(ceph.DUMP, "pools with copies and quotas, fill ratios", _WHO),
        Command(ceph.RULES, "failure domains of pools", _WHO),
        Command(ceph.USAGE, "use of pools", _WHO),
        Need("cmd:ceph osd perf*", "write latency of OSDs, as text", redact=osd_perf.only_numbers),
        Need("cmd:ceph *", "answers recorded by other tools, also as text", redact=status_text.without_names),
        Need("cmd:ceph-volume *", "disks of OSDs", redact=ceph.without_names),
        Need(f"list:{LOCAL}*", "OSDs of this node"),
        Need(f"{LOCAL}/*/ceph_fsid", "cluster ID of an OSD"),
        Need(f"link:{LOCAL}/*", "device of an OSD"),
        Need("link:/dev/*", "kernel name of an OSD's device"),
        Need("list:/sys/block/*/slaves", "disk below an OSD's device"),
        Need(MOUNTS, "file system of an OSD that stores in files", keep=mount_table),
        Need(HOSTNAME, "host name"),
    ),
    PACE,
    deadline=6 * DEADLINE + 3,
    forms=(
        osd_perf.FORM,
        osd_tables.TREE,
        osd_tables.FILL,
        osd_tables.PLACES,
        osd_tables.TREE_JSON,
        osd_tables.PLACES_JSON,
    ),
)
