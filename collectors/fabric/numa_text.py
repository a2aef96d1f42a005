"""NUMA nodes from recorded output of `numactl -H`, lscpu and numastat, for captures without sysfs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sdstop.collectors.fabric.cpulist import cpulist
from sdstop.collectors.fabric.readings import NumaNode
from sdstop.core.collector import ONCE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import decimal, whole
from sdstop.readings import lscpu

_LINE = expression(r"node (\d{1,4}) (cpus|size|free):(.*)")
_DISTANCES = expression(r" *(\d{1,4}):((?: +\d{1,3})+) *")
_AVAILABLE = expression(r"available: (\d{1,4}) nodes? \(([\d,-]+)\)", re.MULTILINE)
_COUNTS = {"local_node": "local", "other_node": "other", "numa_miss": "missed", "numa_foreign": "foreign"}


def parse_numactl(text: str) -> dict[int, dict[str, Any]]:
    """Parse `numactl -H` (numactl 2.0, numactl.c: hardware) into fields of NumaNode by node; sizes are in MiB.

        available: 2 nodes (0-1)
        node 0 cpus: 0 1 2 3
        node 0 size: 64302 MB
        node 0 free: 1205 MB
        node distances:
        node   0   1
          0:  10  21
          1:  21  10

    Raises Malformed for another text.
    """
    if _AVAILABLE.search(text) is None:
        raise Malformed(f"no output of numactl: {text.strip()[:60]!r}")
    found: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        if (part := _LINE.fullmatch(line.rstrip())) is not None:
            node, words = found.setdefault(int(part[1]), {}), part[3].split()
            if part[2] == "cpus":
                node["cpus"] = cpulist(int(word) for word in words if word.isdecimal() and len(word) < 6)
            elif words[1:] == ["MB"] and (size := whole(words[0])) is not None:
                node["memory" if part[2] == "size" else "free"] = size << 20
        elif (row := _DISTANCES.fullmatch(line.rstrip())) is not None and int(row[1]) in found:
            found[int(row[1])]["distance"] = " ".join(row[2].split())
    return found


def fault_of_numactl(text: str) -> str:
    """Return why a text is not complete: each announced node has a row of distances, the last of the output."""
    announced = _AVAILABLE.search(text)
    if announced is None:
        return "number of nodes not shown"
    shown = sum("distance" in node for node in parse_numactl(text).values())
    return "" if shown == int(announced[1]) else f"{shown} of {announced[1]} nodes"


def parse_numastat(text: str) -> dict[int, dict[str, Any]]:
    """Parse numastat into fields of NumaNode by node, in pages; with options it prints MiB, which is Malformed.

                           node0           node1
    numa_hit             8230412         7011237
    numa_miss                  0               3
    local_node           8229001         6920001
    other_node              1411           91236
    """
    lines = text.splitlines()
    heads = [re.findall(r"node(\d{1,4})", line) for line in lines[:3]]
    names = next((head for head in heads if head), [])
    found: dict[int, dict[str, Any]] = {int(name): {} for name in names}
    for line in lines:
        words = line.split()
        field = _COUNTS.get(words[0]) if words else None
        if field is not None and len(words) == len(names) + 1:
            for name, word in zip(names, words[1:], strict=True):
                if decimal(word) is not None and not word.isdecimal():
                    raise Malformed("numastat: sizes, not pages")
                found[int(name)][field] = whole(word)
    if not any(found.values()):
        raise Malformed(f"no table of numastat: {text.strip()[:60]!r}")
    return found


NUMACTL = Form(
    key="cmd:numactl -H",
    first=r"available: \d+ nodes? \(",
    reads="CPUs, memory and distances of NUMA nodes",
    versions="numactl 2.0",
    goes_on=r"node \d+ (?:cpus|size|free):.*|node distances:|node(?: +\d+)+ *|(?: *\d+:)(?: +\d+)+ *",
    fault=fault_of_numactl,
)
NUMASTAT = Form(
    key="cmd:numastat",
    first=r" +node0(?: +node\d+)* *\n *numa_hit ",
    reads="pages allocated on each NUMA node",
    versions="numactl 2.0",
    goes_on=r"(?:numa_hit|numa_miss|numa_foreign|interleave_hit|local_node|other_node)(?: +\d+)+ *",
    fault=lambda text: "" if re.search(r"^other_node ", text, re.MULTILINE) else "end not shown",
)


def read(host: Host) -> Iterable[Reading]:
    """Return the NUMA nodes of all outputs together. Raises Absent without any."""
    said: dict[int, dict[str, Any]] = {}
    keys: dict[int, str] = {}
    sockets = None

    def take(found: Mapping[int, Mapping[str, Any]], key: str) -> None:
        for node, fields in found.items():
            said[node] = {**fields, **said.get(node, {})}
            keys.setdefault(node, key)

    for output in outputs(host, NUMACTL):
        take(parse_numactl(output.text), output.key)
    for output in outputs(host, lscpu.FORM):
        table = lscpu.parse(output.text)
        sockets = table.sockets
        take({node: {"cpus": cpus} for node, cpus in table.cpus.items()}, output.key)
    for output in outputs(host, NUMASTAT):
        take(parse_numastat(output.text), output.key)
    if not said:
        raise Absent("cmd:numactl -H", "not recorded", recorded=False)
    return [_node(node, fields, keys[node], sockets) for node, fields in sorted(said.items())]


def _node(node: int, said: Mapping[str, Any], key: str, sockets: int | None) -> NumaNode:
    fields: dict[str, Any] = {"cpus": None, "distance": None, "memory": None, "free": None, **said}
    # A node is in some socket; which one is known of a single socket only.
    return NumaNode(node=f"node{node}", **fields, socket=0 if sockets == 1 else None, told=key)


NUMA_TEXT = Collector(
    "numa-text",
    "NUMA nodes in recorded output of numactl and lscpu",
    read,
    (NumaNode,),
    (
        Need("cmd:numactl*", "CPUs, memory and distances of NUMA nodes, from captures only; never run"),
        Need("cmd:lscpu*", "the same without sizes"),
        Need("cmd:numastat*", "pages allocated on each NUMA node"),
    ),
    ONCE,
    forms=(NUMACTL, lscpu.FORM, NUMASTAT),
)
