r"""LINSTOR in recorded tables of its client: copies of resources on all nodes, the nodes, and their storage pools.

    +-----------------------------------------------------------------------------------------+
    | ResourceName | Node | Port | Usage  | Conns            |    State | CreatedOn           |
    |=========================================================================================|
    | web          | a    | 7000 | InUse  | Ok               | UpToDate | 2026-11-02 10:00:00 |
    | web          | b    | 7000 | Unused | StandAlone(a)    | Outdated | 2026-11-02 10:00:00 |
    +-----------------------------------------------------------------------------------------+

Format: linstor_client/table.py, and the tables of commands/{rsc,vlm,node,storpool}_cmds.py of linstor-client 1.0 to
1.27. The frame has box-drawing characters unless the locale or an option forbids them. The columns differ between
versions, so they are known by their titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, FormOutput, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.readings.cluster import Cluster, ClusterDevice, ClusterNode, ClusterPool

KIND = "linstor"
"""Kind of cluster, and the name of that of the nodes; copies of the resource `web` are the cluster `linstor/web`."""
WITHOUT_DATA = frozenset({"Diskless", "TieBreaker"})
"""States in which a node is not meant to have a copy."""
LEAVING = frozenset({"DELETING", "INACTIVE", "EVACUATE", "DELETE"})
"""States that an administrator set: of copies that are switched off, and of nodes that are emptied."""
_GOOD = frozenset({"UpToDate", "Created", "Attached", "Online", "Ok"})
_BAD = frozenset({"Inconsistent", "Failed", "Outdated", "Consistent", "Attaching", "Detaching", "Negotiating",
                  "EVICTED", "Error", "Warning", "Unintentional Diskless"})  # fmt: skip
_SYNC = expression(r"(?:SyncTarget|SyncSource|PausedSyncT|PausedSyncS|VerifyT|VerifyS)(?:\(\d{1,3}(?:\.\d{1,2})?%\))?")
_UNCERTAIN = frozenset({"Unknown", "DUnknown", "Connected"})
"""States of a copy or a node that the controller does not know; a node that is connected is not in service yet."""
_CELLS = expression(r"^\s*[|┊](?P<cells>.*)[|┊]\s*$")
_FRAME = expression(r"^\s*[+╭╰|╞├][-─=═┄┈]{3,}[+╮╯|╡┤]\s*$")
_SIZE = expression(r"(\d{1,9}(?:\.\d{1,3})?) ([KMGTPE]?)(?:iB|B)", re.ASCII)
_THIN = frozenset({"LVM_THIN", "ZFS_THIN", "FILE_THIN", "FILE"})
"""Drivers whose pools fill with data; others are full as soon as all of their space is given away."""


class LinstorTable(Struct, frozen=True):
    """A table: its rows by title, and whether its lower frame is there."""

    rows: list[dict[str, str]]
    whole: bool


def parse(text: str) -> LinstorTable:
    """Return a table of the client. Raises Malformed without a title, or if a row has too few cells."""
    titles: list[str] = []
    rows: list[dict[str, str]] = []
    frames = 0
    for line in text.splitlines():
        if _FRAME.match(line):
            frames += not re.match(r"\s*[|╞├]", line)
        elif (found := _CELLS.match(line)) is not None:
            cells = [cell.strip() for cell in re.split("[|┊]", found["cells"])]
            if not titles:
                titles = cells
            elif len(cells) != len(titles):
                raise Malformed(f"linstor: {len(cells)} cells below {len(titles)} titles: {line.strip()[:60]!r}")
            else:
                rows.append(dict(zip(titles, cells, strict=True)))
        elif line.strip() and titles and frames < _OUTER:
            raise Malformed(f"linstor: {line.strip()[:60]!r}")
    if not {"Node", "State"} <= set(titles):
        raise Malformed(f"linstor: no table with nodes and states: {text.strip()[:60]!r}")
    return LinstorTable(rows, frames >= _OUTER)


_OUTER = 2
"""Frames above and below a table."""


class LinstorState(Struct, frozen=True):
    """State of a copy, node or pool without its notes, and whether that is good; None if unknown."""

    word: str
    good: bool | None


def condition(state: str) -> LinstorState:
    """Return a state: `UpToDate`, `SyncTarget(39.21%)`, `Diskless, Skip-Disk (R)`, `Resizing, UpToDate`.

    Skip-Disk is set after an I/O error: the copy is not in use.
    """
    words = [word for word in state.split(", ") if word not in {"Resizing", "Evacuating"}]
    word = words[0] if words else ""
    if any(each.startswith(("Skip-Disk", "SkipDisk")) for each in words):
        return LinstorState(state, good=False)
    if word in _GOOD or word in WITHOUT_DATA or word in LEAVING:
        return LinstorState(word, good=True)
    bad = word in _BAD or word.startswith(("OFFLINE", "To: ")) or _SYNC.fullmatch(word) is not None
    return LinstorState(word or "no state", good=False if bad else None)


def is_known(state: str) -> bool:
    """Return whether a state is one that LINSTOR has, good or not."""
    found = condition(state)
    return found.good is not None or found.word in _UNCERTAIN


def _resources(rows: Sequence[Mapping[str, str]], key: str) -> Iterator[Reading]:
    """Yield each resource as a cluster, and its copies as nodes; the worst state of its volumes counts."""
    copies: dict[str, dict[str, list[Mapping[str, str]]]] = {}
    for row in rows:
        name = row.get("ResourceName") or row.get("Resource") or ""
        copies.setdefault(name, {}).setdefault(row["Node"], []).append(row)
    for name, nodes in copies.items():
        listed = [_copy(name, node, volumes, key) for node, volumes in nodes.items()]
        parted = [f"{row['Node']}: {conns}" for each in nodes.values() for row in each[:1]
                  if (conns := row.get("Conns", "")) not in {"", "Ok"}]  # fmt: skip
        good = [each for each in listed if each.healthy == 1]
        bad = [each for each in listed if each.healthy != 1]
        state = bad[0].state if bad else good[0].state
        lost = any(each.healthy == 0 for each in bad) or bool(parted)
        yield _cluster(
            f"{KIND}/{name}", state, 0 if lost else None if bad else 1, len(listed), len(good), "; ".join(parted), key,
            name,
        )  # fmt: skip
        yield from listed


def _copy(name: str, node: str, volumes: Sequence[Mapping[str, str]], key: str) -> ClusterNode:
    """Return the copy of a resource on a node."""
    found = [(condition(row["State"]), row["State"]) for row in volumes]
    order = (False, None, True)
    worst, state = min(found, key=lambda each: order.index(each[0].good))
    used = any("InUse" in {row.get("Usage"), row.get("InUse")} for row in volumes)
    return _node(f"{KIND}/{name}", node, state or worst.word, worst.good, None, key, leads=used)


def _servers(
    nodes: Sequence[Mapping[str, str]], pools: Sequence[Mapping[str, str]], key: str, pools_key: str
) -> Iterator[Reading]:
    """Yield the cluster of all nodes, these, and their storage pools."""
    listed = list(_nodes(nodes, key))
    devices = list(_devices(pools, pools_key))
    states = [(row.state, row.healthy) for row in listed] + [(row.state, row.healthy) for row in devices]
    worst = next((state for state, healthy in states if healthy != 1), "Online" if listed else "Ok")
    healthy = 0 if any(good == 0 for _, good in states) else 1 if all(good == 1 for _, good in states) else None
    up = sum(row.healthy == 1 for row in listed)
    yield _cluster(KIND, worst, healthy, len(listed), up, "", key or pools_key, "State")
    yield from listed
    yield from devices
    yield from _fill(pools, pools_key)


def _nodes(rows: Sequence[Mapping[str, str]], key: str) -> Iterator[ClusterNode]:
    for row in rows:
        found = condition(row["State"])
        address = row.get("Addresses", "").partition(" ")[0] or None
        away = found.word if found.word in LEAVING else None
        yield _node(KIND, row["Node"], row["State"], found.good, address, key, leads=False, maintenance=away)


def _devices(rows: Sequence[Mapping[str, str]], key: str) -> Iterator[ClusterDevice]:
    """Yield the storage pools as devices of their nodes."""
    for row in rows:
        found, name = condition(row["State"]), row["StoragePool"]
        free, size = _bytes(row.get("FreeCapacity", "")), _bytes(row.get("TotalCapacity", ""))
        yield ClusterDevice(
            cluster=KIND, node=row["Node"], device=name, ident=None, pool=None, name=None, path=None, original=None,
            state=row["State"], healthy=None if found.good is None else int(found.good), media=None, model=None,
            serial=None, capacity=size, used=None if free is None or size is None else max(size - free, 0),
            read_wait=None, write_wait=None, origin=key, needle=name,
        )  # fmt: skip


def _fill(rows: Sequence[Mapping[str, str]], key: str) -> Iterator[ClusterPool]:
    """Yield how full those pools are that fill with data."""
    for row in rows:
        free, size = _bytes(row.get("FreeCapacity", "")), _bytes(row.get("TotalCapacity", ""))
        if row.get("Driver") in _THIN and size and free is not None:
            used = max(size - free, 0)
            yield ClusterPool(
                cluster=KIND, pool=f"{row['Node']}/{row['StoragePool']}", kind=KIND, ident=None, area=None, copies=None,
                capacity=size, used=used, spare=None, spare_ratio=None, filled=used / size, near_full=None, full=None,
                domains=None, largest=None, largest_domain=None, degraded=None, failed=None, origin=key,
                statistics=key,
            )  # fmt: skip


def _bytes(word: str) -> int | None:
    """Return a size as the client rounds it: `99.90 GiB`, `0 KiB`."""
    found = _SIZE.fullmatch(word)
    if found is None:
        return None
    power: int = 1024 ** " KMGTPE".index(found[2] or " ")
    return round(float(found[1]) * power)


def _cluster(
    name: str, state: str | None, healthy: int | None, nodes: int, up: int, says: str, key: str, needle: str
) -> Cluster:
    return Cluster(
        cluster=name, kind=KIND, ident=None, version=None, state=state, healthy=healthy, leader=None, managers=None,
        managers_up=None, replicas=None, replicas_up=None, tolerates=None, nodes=nodes, nodes_up=up, capacity=None,
        used=None, spare=None, degraded=None, failed=None, says=says or None, origin=key, needle=needle,
    )  # fmt: skip


def _node(
    cluster: str, name: str, state: str, good: bool | None, address: str | None, key: str, *, leads: bool,  # noqa: FBT001
    maintenance: str | None = None,
) -> ClusterNode:  # fmt: skip
    return ClusterNode(
        cluster=cluster, role="peer", node=name, ident=None, address=address, area=None, domain=name, state=state,
        healthy=None if good is None else int(good), maintenance=maintenance, leads=leads, devices=None, capacity=None,
        used=None, version=None, origin=key, needle=name,
    )  # fmt: skip


def fault(text: str) -> str:
    """Return why a table is not complete; "" if it is."""
    try:
        return "" if parse(text).whole else NOT_SHOWN
    except Malformed as error:
        return str(error)


def _form(command: str, title: str, reads: str) -> Form:
    return Form(
        key=f"cmd:linstor {command}",
        first=rf" *[+╭][-─]{{3,}}[+╮] *\n *[|┊] {title}[^\n]*[|┊] *$",
        goes_on=r" *[|┊].*[|┊] *| *[|╞├][-=═─┄┈]+[|╡┤] *| *[+╰][-─]+[+╯] *",
        reads=reads,
        versions="linstor-client 1.0 and later",
        fault=fault,
    )


RESOURCES = _form("resource list", r"ResourceName +[|┊] Node +[|┊]", "copies of resources, and their connections")
VOLUMES = _form("volume list", r"Node +[|┊] Resource +[|┊] StoragePool +[|┊]", "volumes of resources on each node")
NODES = _form("node list", r"Node +[|┊] NodeType +[|┊] Addresses +[|┊]", "nodes, and whether the controller has them")
POOLS = _form("storage-pool list", r"StoragePool +[|┊] Node +[|┊] Driver +[|┊]", "storage pools of the nodes")


def read(host: Host) -> Iterable[Reading]:
    """Return what recorded tables show. Raises Absent without any: the client is never run."""
    found: dict[str, list[FormOutput]] = {
        form.key: list(outputs(host, form))[-1:] for form in (RESOURCES, VOLUMES, NODES, POOLS)
    }
    if not any(found.values()):
        raise Absent(RESOURCES.key, "not recorded", recorded=False)
    tables = {command: _table(host, each) for command, outputs_ in found.items() for each in outputs_}
    keys = {command: each.key for command, outputs_ in found.items() for each in outputs_}
    rows: list[Reading] = []
    copies = RESOURCES.key if RESOURCES.key in tables else VOLUMES.key
    if copies in tables:
        rows += _resources(tables[copies], keys[copies])
    if NODES.key in tables or POOLS.key in tables:
        rows += _servers(
            tables.get(NODES.key, ()), tables.get(POOLS.key, ()), keys.get(NODES.key, ""), keys.get(POOLS.key, "")
        )
    return rows


def _table(host: Host, output: FormOutput) -> Sequence[Mapping[str, str]]:
    """Return the rows of a table, and note why it may not be complete."""
    table = parse(output.text)
    if not table.whole:
        host.defect(output.key, NOT_SHOWN)
    return table.rows


LINSTOR = Collector(
    "linstor",
    "LINSTOR in recorded output of linstor",
    read,
    (Cluster, ClusterNode, ClusterDevice, ClusterPool),
    (Need("cmd:linstor *", "tables of resources, volumes, nodes and storage pools, from captures only; never run"),),
    SLOW,
    forms=(RESOURCES, VOLUMES, NODES, POOLS),
)
