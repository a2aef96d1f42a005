"""Ceph: health, quorum, capacity, recovery; OSDs in their tree, how full they are, and which disks here carry them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from sdstop import ceph
from sdstop.ceph import Check, Osd, Ratios, Status
from sdstop.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool, FailureDomain
from sdstop.collector import Collector, Need
from sdstop.evidence import command_key
from sdstop.host import Absent, Denied, Failed, Host, Output, TimedOut, Unreadable
from sdstop.model import Reading
from sdstop.rebuild_progress import Rebuild

CONFIG = "/etc/ceph"
LOCAL = "/var/lib/ceph"
KEYRING = "ceph.client.admin.keyring"
KIND = "ceph"
PACE, SLOWER = 30.0, 300.0
"""Seconds between looks: each call of Ceph's tool costs half a second of CPU, and asks the monitors."""
DEADLINE = 12.0

T = TypeVar("T")


def _answers(host: Host) -> dict[str, str]:
    """Return what somebody recorded, by question; where one was recorded twice, the words that are asked here."""
    found: dict[str, str] = {}
    for program in ("ceph", "ceph-volume"):
        for name in host.recorded(program):
            asked = ceph.question(name)
            if asked is not None and (asked not in found or "--connect-timeout" in name):
                found[asked] = name
    return found


def _reachable(host: Host) -> None:
    """Raise Absent unless this node administers a cluster: no monitor is spoken to from a node that merely could."""
    try:
        names = host.entries(CONFIG)
    except TimedOut:
        raise
    except Absent as error:
        raise Absent(CONFIG, "no Ceph here", recorded=error.recorded) from error
    if "ceph.conf" not in names or KEYRING not in names:
        raise Absent(f"{CONFIG}/{KEYRING}", "no cluster is administered from here (ceph.conf and admin keyring)")


def _said(key: str, output: Output) -> str:
    if output.exit == 0:
        return output.text
    said = output.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if "ermission denied" in said or "EACCES" in said or "RADOS permission" in said:
        raise Denied(key, "the keyring may not be read: start sdstop with sudo")
    if "timed out" in said or "TimedOut" in said or "ETIMEDOUT" in said:
        raise Failed(key, "the monitors do not answer: there may be no quorum")
    raise Failed(key, f"exit {output.exit}: {said[:200]}")


def _ask(host: Host, argv: Sequence[str], recorded: str | None) -> tuple[str, str]:
    """Return the evidence's key and the text of an answer, asked of the monitors unless somebody recorded it."""
    if recorded is not None and recorded != " ".join(argv):
        key = f"cmd:{recorded}" if " " in recorded else f"slug:{recorded}"
        return key, _said(key, host.recorded_output(recorded))
    return command_key(argv), _said(command_key(argv), host.run(argv, DEADLINE))


def _maybe(
    host: Host, argv: Sequence[str], answers: dict[str, str], what: str, parse: Callable[[str], T], otherwise: T
) -> T:
    """Return an answer that others do without."""
    if answers and what not in answers:
        return otherwise
    try:
        return parse(_ask(host, argv, answers.get(what))[1])
    except TimedOut:
        raise
    except Unreadable:
        return otherwise


def name_of(fsid: str) -> str:
    """Return what a cluster is called here: `ceph-eccf3d48`."""
    return f"ceph-{fsid[:8]}"


# --- status


def read_status(host: Host) -> Iterable[Reading]:
    """Yield the cluster's row, its monitors, and what it recovers."""
    answers = _answers(host)
    if "status" not in answers:
        _reachable(host)
    key, text = _ask(host, ceph.STATUS, answers.get("status"))
    said = ceph.parse_status(text)
    name = name_of(said.fsid)
    return [_cluster(said, name, key), *_monitors(said, name, key), *_recoveries(said, name, key)]


def _cluster(said: Status, name: str, key: str) -> Cluster:
    serious = [check for check in said.checks if check.code in ceph.SERIOUS and not check.muted]
    size = said.object_size
    needed = said.monitors // 2 + 1 if said.monitors else None
    lost = said.inactive / said.pgs * said.data if said.pgs and said.data is not None else None
    return Cluster(
        cluster=name,
        kind=KIND,
        ident=said.fsid,
        version=said.release,
        state=said.health,
        healthy=None if said.health == "unknown" else int(said.health != "HEALTH_ERR" and not serious),
        leader=said.quorum[0] if said.quorum else None,
        managers=said.monitors,
        managers_up=len(said.quorum),
        replicas=None,
        replicas_up=None,
        tolerates=None if needed is None else max(len(said.quorum) - needed, 0),
        nodes=None,
        nodes_up=None,
        capacity=said.total,
        used=said.used,
        spare=None,
        degraded=round(said.degraded * size) if size is not None else 0 if not said.degraded else None,
        failed=None if lost is None else round(lost + said.unfound * (size or 0)),
        reads=said.reads,
        writes=said.writes,
        read=said.read,
        write=said.write,
        epoch=said.epoch,
        says="; ".join(_say(check) for check in said.checks) or None,
        origin=key,
        needle=f'"{said.health}"',
    )


def _say(check: Check) -> str:
    return f"{check.code}: {check.message}" + (" (muted)" if check.muted else "")


def _monitors(said: Status, name: str, key: str) -> Iterator[ClusterNode]:
    for place, monitor in enumerate(said.quorum):
        yield ClusterNode(
            name, "mon", monitor, None, None, None, monitor, "in quorum", 1, None, place == 0,
            None, None, None, said.release, local=False, origin=key,
        )  # fmt: skip


def _recoveries(said: Status, name: str, key: str) -> Iterator[Rebuild]:
    """Yield recovery (copies are missing) and rebalance (copies lie in the wrong place).

    Bytes are objects' mean size times the copies; with erasure codes a copy is smaller than that, and so less is left.
    Ceph takes what is degraded first, and gives one rate for both.
    """
    size = said.object_size
    if size is None:
        return
    first = True
    for operation, left, total in (
        ("recovery", said.degraded, said.degraded_total),
        ("rebalance", said.misplaced, said.misplaced_total),
    ):
        if not left or not total or left > total:  # old versions count more than there is
            continue
        speed = round(said.recovering or 0) if first else None
        state = _state(said, operation)
        first = False
        yield Rebuild(
            array=name,
            operation=operation,
            state=state,
            done=round((total - left) * size),
            total=round(total * size),
            speed=speed,
            remaining=round(left * size / said.recovering) if speed and said.recovering else None,
            kind=KIND,
            limited_by=_held_by(said),
            where=key,
            needle='"degraded_objects"' if operation == "recovery" else '"misplaced_objects"',
        )


def _state(said: Status, operation: str) -> str:
    if said.flags:
        return "paused"
    at_work = said.states.get("backfilling", 0)
    if operation == "recovery":
        at_work += said.states.get("recovering", 0)
    return "running" if at_work else "pending"


def _held_by(said: Status) -> str | None:
    """Return the policy that shows: flags, and placement groups that wait because few may be at work at once."""
    if said.flags:
        return ", ".join(sorted(said.flags))
    full = said.states.get("backfill_toofull", 0) + said.states.get("recovery_toofull", 0)
    if full:
        return f"OSDs too full to take more: {full} placement groups wait"
    waiting = said.states.get("backfill_wait", 0) + said.states.get("recovery_wait", 0)
    at_work = said.states.get("recovering", 0) + said.states.get("backfilling", 0)
    return f"osd_max_backfills: {at_work} placement groups at work, {waiting} wait" if waiting else None


CEPH = Collector(
    "ceph",
    "Ceph",
    read_status,
    (Cluster, ClusterNode, Rebuild),
    (
        Need(f"list:{CONFIG}", "whether a cluster is administered from here"),
        Need(
            command_key(ceph.STATUS), "health, quorum, capacity and recovery", "root, or whoever may read the keyring"
        ),
        Need("cmd:ceph *", "the same, as others recorded it"),
    ),
    PACE,
    deadline=DEADLINE + 3,
)


# --- OSDs


def read_osds(host: Host) -> Iterable[Reading]:
    """Yield hosts, OSDs, and what would fail together; of a node that only carries OSDs, which disks are theirs."""
    answers = _answers(host)
    here = dict(_local(host))
    here.update({(None, number): disk for number, disk in _volumes(host, answers).items()})
    if "tree" not in answers:
        try:
            _reachable(host)
        except Absent:
            if not here:
                raise
            return list(_carried(host, here))
    key, text = _ask(host, ceph.TREE, answers.get("tree"))
    osds = ceph.parse_tree(text)
    name = _cluster_name(host, answers, here)
    waits: dict[int, float] = _maybe(host, ceph.PERF, answers, "perf", ceph.parse_perf, {})
    none: tuple[Check, ...] = ()
    checks = _maybe(host, ceph.HEALTH, answers, "health", ceph.parse_health, none)
    ratios = _maybe(host, ceph.DUMP, answers, "dump", ceph.parse_ratios, Ratios())
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
    ]


def _disk(osd: Osd, disks: dict[int, str], node: str) -> str | None:
    """Return the disk of an OSD that is in this node."""
    mine = osd.host.partition(".")[0] == node.partition(".")[0]
    return disks.get(osd.number) if mine or not node else None


def _cluster_name(host: Host, answers: dict[str, str], here: dict[tuple[str | None, int], str]) -> str:
    """Return the cluster's name; the tree does not say whose it is, but the status or a local OSD does."""
    fsid: str | None = None
    try:
        if "status" in answers or not answers:
            fsid = ceph.parse_status(_ask(host, ceph.STATUS, answers.get("status"))[1]).fsid
    except TimedOut:
        raise
    except Unreadable:
        fsid = None
    known = fsid or next((of for of, _ in here if of), None)
    return name_of(known) if known else KIND


def _local(host: Host) -> Iterator[tuple[tuple[str | None, int], str]]:
    """Yield the disk of each OSD of this node, by its cluster's id and its number.

    Packages keep an OSD in /var/lib/ceph/osd/CLUSTER-N, cephadm in /var/lib/ceph/FSID/osd.N; `block` there leads to a
    volume of LVM (by a link in /dev, which leads to the device), or to a partition.
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
    """Return the disk below what a link leads to: of a logical volume on a single one, that one."""
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
    return ceph.parse_volumes(_said(answers["volumes"], host.recorded_output(answers["volumes"])))


def _carried(host: Host, here: dict[tuple[str | None, int], str]) -> Iterator[ClusterDevice]:
    node = host.maybe("/proc/sys/kernel/hostname") or "this node"
    for (fsid, number), disk in sorted(here.items(), key=lambda item: item[0][1]):
        osd = Osd(number, "", node, None, None, None, None, None, None, None, None)
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
            capacity=_sum(osd.size for osd in group), used=_sum(osd.used for osd in group), version=None,
            local=host.partition(".")[0] == node.partition(".")[0], origin=key,
        )  # fmt: skip


def _pools(osds: Sequence[Osd], name: str, key: str, ratios: Ratios) -> Iterator[Reading]:
    """Yield each root's devices of a class as one pool: that is what data of a rule lies on, and moves about in."""
    holding = [osd for osd in osds if osd.holds]
    classes = {osd.media for osd in holding}
    for pool, group in _grouped(
        holding, lambda osd: osd.root if len(classes) < 2 else f"{osd.root}~{osd.media}"
    ).items():
        domains = _grouped(group, lambda osd: osd.host)
        largest = max(domains, key=lambda host: _sum(osd.size for osd in domains[host]) or 0)
        fullest = max((osd.utilization or 0.0 for osd in group), default=None)
        yield ClusterPool(
            cluster=name, pool=pool, kind=KIND, ident=None, area=group[0].root, copies=None,
            capacity=_sum(osd.size for osd in group), used=_sum(osd.used for osd in group), spare=None,
            spare_ratio=None, filled=fullest, near_full=ratios.nearfull, full=ratios.full, domains=len(domains),
            largest=_sum(osd.size for osd in domains[largest]), largest_domain=largest, degraded=None, failed=None,
            origin=key, statistics=key,
        )  # fmt: skip
        for host, members in domains.items():
            yield FailureDomain(
                cluster=name, pool=pool, domain=host, of="host", nodes=1,
                devices=len(members), capacity=_sum(osd.size for osd in members),
                used=_sum(osd.used for osd in members), nodes_down=int(any(osd.up is False for osd in members)),
                origin=key, needle=f'"{host}"',
            )  # fmt: skip


def _grouped(osds: Sequence[Osd], of: Callable[[Osd], str]) -> dict[str, list[Osd]]:
    found: dict[str, list[Osd]] = {}
    for osd in osds:
        found.setdefault(of(osd), []).append(osd)
    return found


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)


CEPH_OSDS = Collector(
    "ceph-osds",
    "Ceph's OSDs",
    read_osds,
    (ClusterNode, ClusterPool, FailureDomain, ClusterDevice),
    (
        Need(f"list:{CONFIG}", "whether a cluster is administered from here"),
        Need(command_key(ceph.TREE), "OSDs, hosts, and how full they are", "root, or whoever may read the keyring"),
        Need(command_key(ceph.PERF), "how long OSDs take to write", "root, or whoever may read the keyring"),
        Need(command_key(ceph.HEALTH), "what is wrong with which OSD", "root, or whoever may read the keyring"),
        Need(command_key(ceph.DUMP), "the ratios of full and near full", "root, or whoever may read the keyring"),
        Need(command_key(ceph.STATUS), "which cluster it is", "root, or whoever may read the keyring"),
        Need("cmd:ceph *", "the same, as others recorded it"),
        Need("cmd:ceph-volume *", "which disk an OSD lies on, where somebody recorded it"),
        Need(f"list:{LOCAL}*", "OSDs of this node"),
        Need(f"{LOCAL}/*", "their cluster"),
        Need(f"link:{LOCAL}/*", "their device"),
        Need("link:/dev/*", "the device's name"),
        Need("list:/sys/block/*/slaves", "the disk below it"),
        Need("/proc/sys/kernel/hostname", "this node's name"),
    ),
    SLOWER,
    deadline=5 * DEADLINE + 3,
)
