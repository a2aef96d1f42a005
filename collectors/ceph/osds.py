"""Ceph OSDs: tree, usage, latency, and the disks of this node that hold them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from sdstop.collectors.ceph import answers as ceph
from sdstop.collectors.ceph import osd_perf
from sdstop.collectors.ceph.answers import Check, Osd, Ratios
from sdstop.collectors.ceph.tool import (
    CONFIG,
    DEADLINE,
    answers_of,
    name_of,
    parsed_or,
    query_monitors,
    reachable,
    text_of,
)
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Host, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.text import whole_total
from sdstop.readings.cluster import ClusterDevice, ClusterNode, ClusterPool, FailureDomain
from sdstop.readings.service import Service

LOCAL = "/var/lib/ceph"
KIND = "ceph"
PACE = 300.0
"""Seconds between samples; each makes five calls of Ceph's tool, half a second of CPU each, for hundreds of rows."""


def read(host: Host) -> Iterable[Reading]:
    """Return hosts, OSDs, pools and failure domains; on a node that only holds OSDs, only their disks.

    From a capture with latencies alone, only these.
    """
    answers = answers_of(host)
    here = dict(_local(host))
    here.update({(None, number): disk for number, disk in _volumes(host, answers).items()})
    if "tree" not in answers:
        try:
            reachable(host)
        except Absent:
            if "perf" in answers:
                key, text = query_monitors(host, ceph.PERF, answers["perf"])
                return [*_carried(host, here), *osd_perf.services(osd_perf.parse(text), {}, key)]
            if not here:
                raise
            return list(_carried(host, here))
    key, text = query_monitors(host, ceph.TREE, answers.get("tree"))
    osds = ceph.parse_tree(text)
    name = _cluster_name(host, answers, here)
    waits: dict[int, float] = parsed_or(host, ceph.PERF, answers, "perf", osd_perf.parse, {})
    none: tuple[Check, ...] = ()
    checks = parsed_or(host, ceph.HEALTH, answers, "health", ceph.parse_health, none)
    ratios = parsed_or(host, ceph.DUMP, answers, "dump", ceph.parse_ratios, Ratios())
    disks = {number: disk for (_, number), disk in here.items()}
    node = host.maybe("/proc/sys/kernel/hostname") or ""
    concerned = ceph.concerned(checks)
    return [
        *_hosts(osds, name, key, node),
        *_pools(osds, name, key, ratios),
        *(
            _device(osd, name, key, waits.get(osd.number), concerned.get(osd.number, []), _disk(osd, disks, node))
            for osd in osds
        ),
        *osd_perf.services(
            waits,
            {osd.number: f"{name}/{osd.host}/{osd.name}" for osd in osds},
            _key_of(ceph.PERF, answers.get("perf")),
        ),
    ]


def _key_of(argv: Sequence[str], recorded: str | None) -> str:
    """Return the evidence key of an answer."""
    if recorded is None or recorded == " ".join(argv):
        return command_key(argv)
    return f"cmd:{recorded}" if " " in recorded else f"slug:{recorded}"


def _disk(osd: Osd, disks: dict[int, str], node: str) -> str | None:
    """Return the disk of an OSD if it is in this node."""
    mine = osd.host.partition(".")[0] == node.partition(".")[0]
    return disks.get(osd.number) if mine or not node else None


def _cluster_name(host: Host, answers: dict[str, str], here: dict[tuple[str | None, int], str]) -> str:
    """Return the cluster's name from the status or a local OSD; the tree does not contain it."""
    fsid: str | None = None
    try:
        if "status" in answers or not answers:
            fsid = ceph.parse_status(query_monitors(host, ceph.STATUS, answers.get("status"))[1]).fsid
    except TimedOut:
        raise
    except Unreadable:
        fsid = None
    known = fsid or next((of for of, _ in here if of), None)
    return name_of(known) if known else KIND


def _local(host: Host) -> Iterator[tuple[tuple[str | None, int], str]]:
    """Yield the disk of each OSD of this node, by cluster id and OSD number.

    Packages store an OSD in /var/lib/ceph/osd/CLUSTER-N, cephadm in /var/lib/ceph/FSID/osd.N; `block` there is a link
    to an LVM volume (through a link in /dev to the device) or to a partition.
    """
    for folder in (*host.glob(f"{LOCAL}/osd/*-*"), *host.glob(f"{LOCAL}/*/osd.*")):
        number = re.fullmatch(r"(?:.*-|osd\.)(\d{1,7})", posixpath.basename(folder))
        if number is None:
            continue
        disk = _below(host, f"{folder}/block")
        if disk:
            fsid = host.maybe(f"{folder}/ceph_fsid")
            yield (fsid, int(number[1])), disk


def _below(host: Host, link: str) -> str | None:
    """Return the target of a link, or the underlying disk if the target is a volume on a single disk."""
    try:
        target = host.link(link)
    except TimedOut:
        raise
    except Unreadable:
        return None
    path = target if target.startswith("/") else posixpath.normpath(posixpath.join(posixpath.dirname(link), target))
    name = host.target(path) or posixpath.basename(path)
    below = host.names(f"/sys/block/{name}/slaves")
    return below[0] if len(below) == 1 else name


def _volumes(host: Host, answers: dict[str, str]) -> dict[int, str]:
    if "volumes" not in answers:
        return {}
    return ceph.parse_volumes(text_of(answers["volumes"], host.recorded_output(answers["volumes"])))


def _carried(host: Host, here: dict[tuple[str | None, int], str]) -> Iterator[ClusterDevice]:
    node = host.maybe("/proc/sys/kernel/hostname") or "this node"
    for (fsid, number), disk in sorted(here.items(), key=lambda item: item[0][1]):
        osd = Osd(
            number=number,
            root="",
            host=node,
            rack=None,
            media=None,
            weight=None,
            reweight=None,
            size=None,
            used=None,
            utilization=None,
            up=None,
        )
        yield _device(osd, name_of(fsid) if fsid else KIND, "", None, [], disk)


def _device(osd: Osd, name: str, key: str, wait: float | None, codes: Sequence[str], disk: str | None) -> ClusterDevice:
    words = [] if osd.up is None else ["up" if osd.up else "down"]
    if not osd.holds and osd.reweight is not None:
        words.append("out")
    return ClusterDevice(
        cluster=name,
        node=osd.host,
        device=osd.name,
        ident=None,
        pool=osd.root or None,
        name=None,
        path=f"/dev/{disk}" if disk else None,
        original=None,
        state=" ".join([*codes, *words]) or None,
        healthy=None if osd.up is None else int(osd.up and not codes),
        media=osd.media.upper() if osd.media else None,
        model=None,
        serial=None,
        capacity=osd.size,
        used=osd.used,
        read_wait=None,
        write_wait=wait,
        local=disk,
        origin=key,
    )


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


def _pools(osds: Sequence[Osd], name: str, key: str, ratios: Ratios) -> Iterator[Reading]:
    """Yield the devices of each root and class as one pool: CRUSH rules place and move data within these."""
    holding = [osd for osd in osds if osd.holds]
    classes = {osd.media for osd in holding}
    for pool, group in _grouped(
        holding, lambda osd: osd.root if len(classes) < 2 else f"{osd.root}~{osd.media}"
    ).items():
        domains = _grouped(group, lambda osd: osd.host)
        largest = max(domains, key=lambda host: whole_total(osd.size for osd in domains[host]) or 0)
        fullest = max((osd.utilization or 0.0 for osd in group), default=None)
        yield ClusterPool(
            cluster=name, pool=pool, kind=KIND, ident=None, area=group[0].root, copies=None,
            capacity=whole_total(osd.size for osd in group), used=whole_total(osd.used for osd in group), spare=None,
            spare_ratio=None, filled=fullest, near_full=ratios.nearfull, full=ratios.full, domains=len(domains),
            largest=whole_total(osd.size for osd in domains[largest]), largest_domain=largest, degraded=None,
            failed=None,
            origin=key, statistics=key,
        )  # fmt: skip
        for host, members in domains.items():
            yield FailureDomain(
                cluster=name, pool=pool, domain=host, of="host", nodes=1,
                devices=len(members), capacity=whole_total(osd.size for osd in members),
                used=whole_total(osd.used for osd in members), nodes_down=int(any(osd.up is False for osd in members)),
                origin=key, needle=f'"{host}"',
            )  # fmt: skip


def _grouped(osds: Sequence[Osd], of: Callable[[Osd], str]) -> dict[str, list[Osd]]:
    found: dict[str, list[Osd]] = {}
    for osd in osds:
        found.setdefault(of(osd), []).append(osd)
    return found


CEPH_OSDS = Collector(
    "ceph-osds",
    "Ceph's OSDs",
    read,
    (ClusterNode, ClusterPool, FailureDomain, ClusterDevice, Service),
    (
        Need(f"list:{CONFIG}", "whether a cluster is administered from here"),
        Command(ceph.TREE, "OSDs, hosts, and how full they are", "root, or a user who can read the keyring"),
        Command(ceph.PERF, "how long OSDs take to write", "root, or a user who can read the keyring"),
        Command(ceph.HEALTH, "problems by OSD", "root, or a user who can read the keyring"),
        Command(ceph.DUMP, "the ratios of full and near full", "root, or a user who can read the keyring"),
        Command(ceph.STATUS, "which cluster it is", "root, or a user who can read the keyring"),
        Need("cmd:ceph osd perf*", "how long OSDs take to write, as text", redact=osd_perf.only_numbers),
        Need("cmd:ceph *", "the same, as others recorded it", redact=ceph.without_names),
        Need("cmd:ceph-volume *", "which disk an OSD lies on", redact=ceph.without_names),
        Need(f"list:{LOCAL}*", "OSDs of this node"),
        Need(f"{LOCAL}/*", "their cluster"),
        Need(f"link:{LOCAL}/*", "their device"),
        Need("link:/dev/*", "the device's name"),
        Need("list:/sys/block/*/slaves", "the disk below it"),
        Need("/proc/sys/kernel/hostname", "this node's name"),
    ),
    PACE,
    deadline=5 * DEADLINE + 3,
)
