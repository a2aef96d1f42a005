"""Scenario: one state of a real cluster, and what is to be said of it. README.md says what may stand in a file.

about = "One of three OSDs was killed; clients go on writing."
enter = "kill_osd 2; until_ 30 health_says OSD_DOWN"
leave = "start_osd 2; until_ 60 healthy"
load = "write_slowly"
[[expect]]
found = ["warning ceph-health ceph"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.expectation import Expect, Misdeclared, parse_expect

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded"
HEALTHY = "healthy"
"""State of a system in which nothing is wrong: the twin of all its others."""


@dataclass(frozen=True, slots=True)
class NodeExpect:
    """What is expected of the capture that was taken on a node, counted from 1."""

    node: int
    expect: Expect


@dataclass(frozen=True, slots=True)
class Scenario:
    """One state of one system.

    `enter` makes the state from the healthy one, `leave` mends it, `load` runs while it is recorded: shell, with the
    functions of the system's lab.sh. `nodes` are those on which a capture is taken, all at once, each `seconds` long
    with a frame every `interval` seconds. `options` are further ones of `sdstop capture`.
    """

    system: str
    state: str
    about: str
    enter: str = ""
    leave: str = ""
    load: str = ""
    nodes: tuple[int, ...] = (1,)
    seconds: float = 8.0
    interval: float = 2.0
    options: str = ""
    expect: tuple[NodeExpect, ...] = ()

    @property
    def name(self) -> str:
        """System and state, as the files of the recordings are called."""
        return f"{self.system}-{self.state}"

    def recording(self, node: int) -> Path:
        """Return where the capture of a node is kept."""
        at = "" if node == 1 else f"@{node}"
        return RECORDED / f"{self.name}{at}.tar.gz"

    def expected_of(self, node: int) -> list[Expect]:
        """Return what is expected of the capture of a node."""
        return [one.expect for one in self.expect if one.node == node]


_KEYS = {
    "about": str, "enter": str, "leave": str, "load": str, "nodes": list, "seconds": (int, float),
    "interval": (int, float), "options": str, "expect": list,
}  # fmt: skip


def systems() -> list[str]:
    """Return the names of all systems: the folders that hold a lab.sh."""
    return sorted(path.parent.name for path in FOLDER.glob("*/lab.sh"))


def states(system: str) -> list[str]:
    """Return the names of a system's states, the healthy one first. Raises Misdeclared."""
    if system not in systems():
        raise Misdeclared(f"there is no system {system!r}; there are {', '.join(systems())}")
    return sorted((path.stem for path in (FOLDER / system).glob("*.toml")), key=lambda name: (name != HEALTHY, name))


def needs(system: str) -> list[str]:
    """Return what a system needs of this machine: names of tests/needs.py."""
    return (FOLDER / system / "needs").read_text(encoding="utf-8").splitlines()


def every() -> list[Scenario]:
    """Return all scenarios of all systems."""
    return [load(system, state) for system in systems() for state in states(system)]


def load(system: str, state: str) -> Scenario:
    """Return a scenario. Raises Misdeclared."""
    if state not in states(system):
        raise Misdeclared(f"{system} has no state {state!r}; there are {', '.join(states(system))}")
    path = FOLDER / system / f"{state}.toml"
    try:
        declared = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Misdeclared(f"{path.name}: {error}") from error
    return parse(system, state, declared)


def parse(system: str, state: str, declared: Mapping[str, Any]) -> Scenario:
    """Return the scenario that a TOML document declares. Raises Misdeclared."""
    name = f"{system}/{state}"
    for key, value in declared.items():
        if key not in _KEYS:
            raise Misdeclared(f"{name}: {key}: no such key; there are {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):  # type: ignore[arg-type]
            raise Misdeclared(f"{name}: {key}: {value!r} has the wrong type")
    if not declared.get("about"):
        raise Misdeclared(f"{name}: about: say in a sentence what is wrong")
    if not declared.get("expect"):
        raise Misdeclared(f"{name}: expect: say what must be found; nothing is found = []")
    nodes = tuple(declared.get("nodes", (1,)))
    try:
        expect = tuple(_node_expect(table, nodes) for table in declared["expect"])
    except (TypeError, ValueError, KeyError) as error:
        raise Misdeclared(f"{name}: {error}") from error
    plain = {key: value for key, value in declared.items() if key not in {"nodes", "expect"}}
    if missing := set(nodes) - {one.node for one in expect}:
        raise Misdeclared(f"{name}: expect: nothing is said of node {min(missing)}")
    return Scenario(system, state, **plain, nodes=nodes, expect=expect)


def _node_expect(table: Mapping[str, Any], nodes: tuple[int, ...]) -> NodeExpect:
    node = table.get("node", nodes[0])
    if node not in nodes:
        raise ValueError(f"expect: no capture is taken on node {node}")
    return NodeExpect(node, parse_expect({key: value for key, value in table.items() if key != "node"}))
