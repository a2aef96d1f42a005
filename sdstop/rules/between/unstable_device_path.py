"""Devices of a cluster with other names on their nodes than in the cluster, or with unstable names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.site import APART, Site, SiteNode
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode
from sdstop.readings.device_names import unstable

_ID = "unstable-device-path"
_KIND = "powerflex"
_SHOWN = 8
"""Disks listed."""
_DEV = "/dev/"


class _ClusterDevicePath(Struct, frozen=True, eq=False):
    """A device of the cluster, and the disk that its node shows for it; None if it shows none."""

    row: ClusterDevice
    node: SiteNode
    disk: BlockDevice | None

    @property
    def known(self) -> str:
        """Path by which the cluster knows it now."""
        return self.row.path or self.row.device

    @property
    def added(self) -> str:
        """Path under which it was added."""
        return self.row.original or self.known

    @property
    def here(self) -> str:
        """Path by kernel name on its node."""
        return f"{_DEV}{self.disk.device}" if self.disk is not None else "not found"

    @property
    def moved(self) -> bool:
        """Whether its node shows another disk, or none, under the name by which it was added."""
        return unstable(self.added) and self.here != self.added

    @property
    def stable(self) -> str | None:
        """A name of it that survives a restart."""
        if self.disk is None:
            return None
        if self.disk.by_path:
            return f"/dev/disk/by-path/{self.disk.by_path}"
        return f"/dev/disk/by-id/{self.disk.by_id}" if self.disk.by_id else None


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    for node in site.nodes:
        for cluster in node.window.rows(Cluster).values():
            if cluster.kind == _KIND:
                yield from _judged(site, node, cluster, limits["apart"])


def _judged(site: Site, node: SiteNode, cluster: Cluster, limit: float) -> Iterator[Verdict]:
    holders = _holders(site, node, cluster.cluster)
    others = {name: holder for name, holder in holders.items() if holder is not node}
    if not others:
        yield Unchecked("no capture of another of its nodes", cluster.cluster, calm=True, gap=Gap.UNRECORDED)
        return
    why = site.distant(limit, node, *others.values())
    if why:
        yield Unchecked(why, cluster.cluster, gap=Gap.UNRECORDED)
        return
    rows = [row for row in node.window.rows(ClusterDevice).values() if row.cluster == cluster.cluster]
    placed = [_placed(row, holders[row.node]) for row in rows if row.node in holders]
    bad = [each for each in placed if unstable(each.added)]
    seen = [each for each in bad if each.node.window.rows(BlockDevice)]
    if seen:
        yield _finding(node, cluster, placed, seen)
    elif bad:
        yield Unchecked("disks of its nodes not recorded", cluster.cluster, gap=Gap.UNRECORDED)
    elif placed:
        count = human.plural(len(others), "other node")
        yield RuledOut(cluster.cluster, f"all {len(placed)} devices of {count} use stable names")
    else:
        yield Unchecked("devices of its nodes unknown", cluster.cluster)


def _holders(site: Site, node: SiteNode, cluster: str) -> dict[str, SiteNode]:
    """Return the nodes of the site that hold devices of a cluster, by their names in it."""
    found = {}
    for row in node.window.rows(ClusterNode).values():
        names = (row.node, *(row.address or "").split())
        holder = next((each for each in map(site.called, names) if each is not None), None)
        if row.cluster == cluster and holder is not None:
            found[row.node] = holder
    return found


def _placed(row: ClusterDevice, node: SiteNode) -> _ClusterDevicePath:
    disks: Mapping[object, BlockDevice] = node.window.rows(BlockDevice)
    path = (row.path or row.device).removeprefix(_DEV)
    by_serial = [disk for disk in disks.values() if row.serial and disk.serial == row.serial]
    named = (
        disk
        for disk in disks.values()
        if path in (disk.device, f"disk/by-path/{disk.by_path}", f"disk/by-id/{disk.by_id}")
    )
    return _ClusterDevicePath(row, node, by_serial[0] if len(by_serial) == 1 else next(named, None))


def _finding(
    node: SiteNode, cluster: Cluster, placed: Sequence[_ClusterDevicePath], bad: Sequence[_ClusterDevicePath]
) -> Finding:
    moved = [each for each in bad if each.moved]
    on = sorted({each.node.name for each in (moved or bad)})
    count = f"{len(bad)} of {len(placed)} devices seen on {human.plural(len({p.node.name for p in placed}), 'node')}"
    cause = f"{count} use kernel names (/dev/sdX)."
    if moved:
        first = moved[0]
        cause = fitting(
            f"{first.added} of {first.node.name} is {first.here} now; {len(bad)} of {len(placed)} names can change.",
            f"{first.added} is {first.here} now; {len(bad)} of {len(placed)} names can change.",
            f"{len(moved)} of {len(placed)} devices have another name on their node.",
        )
    plain = sorted({each.node.name for each in placed} | {node.name})
    return Finding(
        severity=Severity.WARNING,
        subject=cluster.cluster,
        title=_title(moved),
        cause=cause,
        impact=(
            "A restart can lose these devices; commands can hit another disk."
            if moved
            else "After a restart a name can refer to another disk."
        ),
        values=(
            Value("unstable", "devices by kernel name", len(bad), "", of=len(placed)),
            Value("moved", "devices with another name on their node", len(moved), "", above=0),
            Value("nodes", "nodes seen", len({each.node.name for each in placed}), "", of=cluster.nodes),
            *(Value(f"moved{number}", f"on {each.node.name}", f"added as {each.added}, now {each.here}")
              for number, each in enumerate(moved[:_SHOWN], 1)),
        ),
        evidence=cites(*_cites(node, [*moved, *bad][:4])),
        advice=tuple(_advice([*moved, *(each for each in bad if each not in moved)])),
        refuted_by="stable names in the configuration of these devices",
        harmless_if="udev rules pin the names",
        damage=Damage.DATA if moved else Damage.AVAILABILITY,
        standing=not moved,
        explains=(f"{node.name}:{_ID}:{cluster.cluster}",),
        host=on[0] if len(on) == 1 else "",
        between=tuple(plain),
    )  # fmt: skip


def _title(moved: Sequence[_ClusterDevicePath]) -> str:
    if not moved:
        return "UNSTABLE DEVICE NAMES ON SEVERAL NODES"
    return "DEVICE NOT UNDER ITS NAME" if len(moved) == 1 else f"{len(moved)} DEVICES NOT UNDER THEIR NAMES"


def _cites(node: SiteNode, placed: Sequence[_ClusterDevicePath]) -> Iterator[Cite | None]:
    for each in placed:
        yield node.cite(each.row)
        if each.disk is not None:
            yield each.node.cite(each.disk, "by_path")


def _advice(bad: Sequence[_ClusterDevicePath]) -> Iterator[Advice]:
    yield "Re-add devices by /dev/disk/by-path, one at a time, all copies healthy."
    yield run("scli", "--remove_sds_device", note="then wait for the rebuild")
    for each in bad[:_SHOWN]:
        if each.stable is not None:
            note = f"{each.here} of {human.safe(each.node.name)}"
            yield run("scli", "--add_sds_device", "--sds_name", each.row.node, "--device_path", each.stable, note=note)
    yield run("ls", "-l", "/dev/disk/by-path", note="stable names, on each node")


UNSTABLE_DEVICE_PATH = NodeRule(
    _ID,
    "cluster devices whose names can change, as their own nodes show them",
    Severity.WARNING,
    (APART,),
    damage=Damage.AVAILABILITY,
    view="cluster",
    check=_check,
    needs=(Cluster, ClusterDevice),
)
