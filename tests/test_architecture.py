"""The picture in docs/architecture.md is the code's: its rooms, its floors, and the direction of every import."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "sdstop"
SHOWN_AS_CLI = "__main__"
"""The entry point belongs to the command line's room."""


def floors(page: str) -> list[list[str]]:
    """Return the rooms of the picture, floor by floor from the top."""
    picture = page.split("```text\n", 1)[1].split("```", 1)[0]
    found = []
    for floor in re.split(r"^\+-+\+$", picture, flags=re.MULTILINE):
        first = floor.strip().split("\n")[0]
        rooms = [cell.split()[0] for cell in first.strip("| ").split("|") if cell.strip()]
        if rooms:
            found.append(rooms)
    return found


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    name = first.removesuffix(".py")
    return "cli" if name == SHOWN_AS_CLI else name


class Source(NamedTuple):
    """What is asked about a file: imported rooms, whether it does what only some may do, and results that it keeps."""

    imports: frozenset[str]
    catches_all: bool
    reads_links: bool
    walks: bool
    kept: tuple[tuple[str, object], ...]


@functools.cache
def sources() -> dict[Path, Source]:
    """Return every file of the package; each is parsed once for all tests."""
    found = {}
    for folder in (PACKAGE, PACKAGE / "collectors", PACKAGE / "exporters"):  # the last two are links
        for path in sorted(folder.rglob("*.py")):
            if path != PACKAGE / "__init__.py":
                nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
                caught = any(True for _ in broad_handlers(nodes))
                kept = tuple(kept_results(nodes))
                found[path] = Source(frozenset(imports(nodes)), caught, reads_links(nodes), walks(nodes), kept)
    return found


def imports(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the rooms whose modules a file imports, at its top or inside a function, at run time."""
    for_types = {
        child
        for node in nodes
        if isinstance(node, ast.If) and any(_name(part) == "TYPE_CHECKING" for part in ast.walk(node.test))
        for child in ast.walk(node)
    }
    for node in nodes:
        if node in for_types:
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"sdstop.{alias.name}" for alias in node.names] if node.module == "sdstop" else [node.module]
        for name in names:
            parts = name.split(".")
            if parts[0] == "sdstop" and len(parts) > 1 and (PACKAGE / parts[1]).is_dir():
                yield parts[1]


FLOORS = floors(PAGE)
HEIGHT = {room: -number for number, rooms in enumerate(FLOORS) for room in rooms}


def test_the_picture_has_every_room_once() -> None:
    drawn = [room for rooms in FLOORS for room in rooms]
    assert sorted(drawn) == sorted({room_of(path) for path in sources()})


def test_the_floors_are_the_contract_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(c for c in project["tool"]["importlinter"]["contracts"] if c["name"] == "Imports go down")
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    assert [set(layer) for layer in layers if layer != [SHOWN_AS_CLI]] == [set(rooms) for rooms in FLOORS]


@pytest.mark.parametrize("room", HEIGHT)
def test_every_import_goes_down(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} -> {other}"
        for path, source in sources().items()
        if room_of(path) == room
        for other in sorted(source.imports)
        if other != room and HEIGHT[other] >= HEIGHT[room]
    ]
    assert wrong == []


def test_the_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:sdstop|collectors|exporters|docs)/[\w/.]+)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


GUARDS = {"core/guard.py", "cli/command.py", "sampler/worker.py"}
"""The guard, and the outermost level of the command line and of the sampler's worker."""
BROAD = {"Exception", "BaseException"}


def broad_handlers(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield what catches every exception and goes on: handlers that do not raise it again, and suppress()."""
    for node in nodes:
        if isinstance(node, ast.ExceptHandler):
            kinds = [node.type, *(node.type.elts if isinstance(node.type, ast.Tuple) else ())]
            caught = any(kind is None or ast.unparse(kind) in BROAD for kind in kinds)
            last = node.body[-1]
            if caught and not (isinstance(last, ast.Raise) and last.exc is None):
                yield node
        elif isinstance(node, ast.Call) and _name(node.func).endswith("suppress"):
            yield from (argument for argument in node.args if ast.unparse(argument) in BROAD)


def test_only_the_guard_catches_every_exception() -> None:
    assert {str(path.relative_to(PACKAGE)) for path, source in sources().items() if source.catches_all} == GUARDS


@pytest.mark.parametrize(
    "text",
    ["try: a()\nexcept Exception: b()", "try: a()\nexcept: b()", "try: a()\nexcept (KeyError, BaseException): raise x",
     "with contextlib.suppress(Exception): a()"],
)  # fmt: skip
def test_broad_handlers_are_seen(text: str) -> None:
    assert [*broad_handlers(ast.walk(ast.parse(text)))]


@pytest.mark.parametrize(
    "text", ["try: a()\nexcept BaseException:\n b()\n raise", "try: a()\nexcept KeyError: b()", "suppress(OSError)"]
)
def test_other_handlers_are_not_broad(text: str) -> None:
    assert not [*broad_handlers(ast.walk(ast.parse(text)))]


LINKS = frozenset({"BlockLink", "InterfaceLink"})
"""Families whose rows are nothing but links."""
READS_LINKS = {
    "rules/network/mtu_mismatch.py": "judges the links themselves: bridges, bonds, veth pairs",
    "tui/views/network.py": "names the other end of a veth pair, which is not below it",
}
WALKS = {"tui/views/fabric_node.py": "goes down the tree that it draws"}
ABOVE_TOPOLOGY = ("analysis", "rules", "exporters", "fleet", "tui", "cli")


def judging() -> Iterator[tuple[str, Source]]:
    """Yield the name and what is asked about each module that may ask the topology."""
    names = ((path.relative_to(PACKAGE), source) for path, source in sources().items())
    return ((name.as_posix(), source) for name, source in names if name.parts[0] in ABOVE_TOPOLOGY)


def reads_links(nodes: Iterable[ast.AST]) -> bool:
    """Return whether a module takes rows of families that are only links: `rows(BlockLink)`."""
    calls = (node for node in nodes if isinstance(node, ast.Call))
    asked = (arg for call in calls if _name(call.func) in {"rows", "latest_rows", "moments"} for arg in call.args)
    return any(isinstance(arg, ast.Name) and arg.id in LINKS for arg in asked)


def walks(nodes: Iterable[ast.AST]) -> bool:
    """Return whether a module has a loop over a list of what is still to be visited.

    `while todo: todo.pop()`, or `for each in todo: todo.append(...)`.
    """
    loops = (node for node in nodes if isinstance(node, ast.While | ast.For))
    return any(
        isinstance(loop.test if isinstance(loop, ast.While) else loop.iter, ast.Name)
        and any(
            isinstance(node, ast.Attribute)
            and node.attr in ({"pop", "popleft"} if isinstance(loop, ast.While) else {"append", "extend"})
            and isinstance(node.value, ast.Name)
            and node.value.id == getattr(loop.test if isinstance(loop, ast.While) else loop.iter, "id", "")
            for node in ast.walk(loop)
        )
        for loop in loops
    )


def _name(function: ast.AST) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_only_the_topology_follows_links() -> None:
    assert {name for name, source in judging() if source.reads_links} == READS_LINKS.keys()
    assert {name for name, source in judging() if source.walks} == WALKS.keys()


@pytest.mark.parametrize(
    ("code", "read", "walked"),
    [
        ("for link in window.rows(BlockLink).values(): pass", True, False),
        ("links, _ = latest_rows(window, InterfaceLink)", True, False),
        ("families = (BlockLink,)", False, False),
        ("while todo:\n    for lower in below.get(todo.pop(), ()):\n        todo.append(lower)", False, True),
        ("while todo:\n    name = todo.popleft()", False, True),
        ("for each in todo:\n    todo.append(below[each])", False, True),
        ("for each in todo:\n    found.append(each)", False, False),
        ("while todo:\n    other.pop()", False, False),
        ("while len(ring) > 2:\n    ring.popleft()", False, False),
    ],
)
def test_a_walk_is_recognized(code: str, read: bool, walked: bool) -> None:  # noqa: FBT001  # a table
    nodes = [*ast.walk(ast.parse(code))]
    assert (reads_links(nodes), walks(nodes)) == (read, walked)


def kept_results(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, object]]:
    """Yield what a result is kept with (run of a family, window, topology), and the words that it is kept under."""
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) < 2:
            continue
        if node.func.attr not in {"once", "of_run", "latest"}:
            continue
        run = node.func.attr == "of_run"
        key = node.args[1 if run else 0]
        word = key.elts[0] if isinstance(key, ast.Tuple) and key.elts else key
        if isinstance(word, ast.Constant):
            yield ast.unparse(node.args[0] if run else node.func.value).rpartition(".")[2], (type(key), word.value)


def test_no_two_results_are_kept_under_the_same_words() -> None:
    """Rules and views share these caches: one would get the other's result."""
    found: dict[tuple[str, object], set[Path]] = {}
    for path, source in sources().items():
        for kept in source.kept:
            assert path not in found.setdefault(kept, set()), (kept, path)
            found[kept].add(path)
    assert len(found) > 80
    assert {kept: paths for kept, paths in found.items() if len(paths) > 1} == {}
