"""What starts without what, and that nothing written lies unregistered."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import Struct
from msgspec.structs import replace

import sdstop.collectors
import sdstop.rules
from sdstop.collectors.aoe.readings import AoePort
from sdstop.core.absence import IfPresent
from sdstop.core.collector import Collector
from sdstop.core.evidence import Frame, Outcome, RunMark
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.families import Named
from sdstop.core.index import declarations
from sdstop.core.later import Later
from sdstop.core.replay import Replay
from sdstop.core.rule import NodeRule, Rule


@pytest.mark.parametrize(
    "module", ["sdstop.exporters.prometheus.metrics", "sdstop.exporters.report.document", "sdstop.__main__"]
)
def test_starts_without_the_libraries_of_the_screen(module: str) -> None:
    code = f"import sys, {module}\nprint(*sorted({{'rich', 'textual'}} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "\n", "")


def test_an_exporter_without_certificate_and_recorder_imports_neither_tls_nor_databases() -> None:
    code = """
import sys
from sdstop.cli.spared import import_without
import_without("asyncio", "ssl")
import asyncio, sdstop.exporters.local.service, sdstop.exporters.web.server, sdstop.rules, sdstop.sampler
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Origin
from sdstop.core.session import Session
Session(Origin("n", live=True), BUILTIN, sdstop.rules.RULES)
print(sorted({"ssl", "_ssl", "_hashlib", "sqlite3", "sdstop.exporters.recorder"} & set(sys.modules)))
import ssl
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_the_screen_runs_on_asyncio_without_tls() -> None:
    code = """
import sys
from sdstop.cli import dashboard
dashboard._import_asyncio()
dashboard._import_views()
import asyncio.sslproto
print(sorted({"ssl", "_ssl", "_hashlib"} & set(sys.modules)), asyncio.sslproto.ssl, "textual.app" in sys.modules)
import ssl
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[] None True\n", "")


def record_degraded_array(folder: Path) -> None:
    """Write a capture that has nothing but /proc/mdstat."""
    mdstat = folder / "frames/0001/proc/mdstat"
    mdstat.parent.mkdir(parents=True)
    mdstat.write_text(
        "Personalities : [raid1]\nmd0 : active raid1 sda[0]\n      976630464 blocks super 1.2 [2/1] [U_]\n\n"
        "unused devices: <none>\n"
    )


def test_a_check_imports_no_module_of_the_standard_library_for_a_function_of_it(tmp_path: Path) -> None:
    """Together they take a tenth of the start: inspect with ast and dis, statistics with fractions and random."""
    record_degraded_array(tmp_path)
    code = f"""
import sys, sdstop.__main__
sys.argv = ["sdstop", "check", "--from", {str(tmp_path)!r}]
sdstop.__main__.main()
spared = {{"typing_extensions", "inspect", "ast", "dis", "tokenize", "dataclasses", "statistics", "fractions", "random",
           "calendar", "socket", "shutil", "_hashlib", "bz2", "lzma"}}
print("imported:", sorted(spared & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("SDSTOP CRITICAL")
    assert result.stdout.splitlines()[-1] == "imported: []"


def test_the_exporter_starts_without_the_libraries_of_its_extra() -> None:
    code = (
        "import sys, sdstop.cli.export, sdstop.exporters.web.server, sdstop.exporters.prometheus.metrics\n"
        "print(*sorted({'google', 'opentelemetry', 'requests'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "\n", "")


def modules_of(package: str) -> list[str]:
    found = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return [f"{package}.{module.name}" for module in found]


RULE_MODULES = [module for package in modules_of("sdstop.rules") for module in modules_of(package)]


@pytest.mark.parametrize("package", modules_of("sdstop.collectors"))
def test_every_collector_is_registered(package: str) -> None:
    modules = [importlib.import_module(module) for module in modules_of(package)]
    written = [c for module in modules for c in vars(module).values() if isinstance(c, Collector)]
    assert written
    assert {c.name for c in written} <= {c.name for c in sdstop.collectors.BUILTIN}


def test_every_rule_is_registered() -> None:
    for module in RULE_MODULES:
        written = [r for r in vars(importlib.import_module(module)).values() if isinstance(r, Rule | NodeRule)]
        assert written, module
        assert {r.id for r in written} <= {r.id for r in sdstop.rules.EVERY}, module


READINGS = [
    module for package in modules_of("sdstop.collectors") for module in modules_of(package) if "readings" in module
]
BESIDE = {"sdstop.collectors.kernel.readings": {"sdstop.collectors.kernel.kinds", "sdstop.collectors.kernel.message"}}
"""Modules with the words that readings have in their fields."""


@pytest.mark.parametrize("module", READINGS)
def test_readings_import_no_collector(module: str) -> None:
    code = f"import sys, {module}\nprint(*sorted(name for name in sys.modules if name.count('.') > 2))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    found = {name for name in result.stdout.split() if name.startswith("sdstop.collectors.")}
    assert found == {module} | BESIDE.get(module, set())


@pytest.mark.parametrize("module", sdstop.rules.ORDER)
def test_the_index_has_every_rule_as_it_is_written(module: str) -> None:
    written = sdstop.rules.written(module)
    [indexed] = [rule for rule in sdstop.rules.RULES if rule.id == written.id]
    assert imported(indexed) == written
    assert isinstance(indexed.check, Later)


@pytest.mark.parametrize("module", sdstop.collectors.SOURCES)
def test_the_index_has_every_source_as_it_is_written(module: str) -> None:
    for written in sdstop.collectors.written(module).values():
        [indexed] = [collector for collector in sdstop.collectors.BUILTIN if collector.name == written.name]
        assert imported(indexed) == written
        assert isinstance(indexed.read, IfPresent)


def functions_of(value: Any) -> Iterator[Later]:
    """Yield the functions of a value of an index."""
    if isinstance(value, Later):
        yield value
    elif isinstance(value, IfPresent):
        yield value._function
    elif isinstance(value, tuple | Named):
        for each in value:
            yield from functions_of(each)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from functions_of(getattr(value, name))


def test_a_function_of_an_index_that_was_moved_or_renamed_is_found_by_its_declaration() -> None:
    declared = (*sdstop.collectors.BUILTIN, *sdstop.rules.RULES)
    elsewhere = {f for each in declared for f in functions_of(each) if " or " in f.name}
    assert len(elsewhere) > 20  # functions of other modules than their declarations
    for function in elsewhere:
        name, _, declaration = function.name.partition(" or ")
        module, _, path = name.partition(":")
        for moved in (f"sdstop.gone:{path}", f"{module}:gone"):
            assert Later(f"{moved} or {declaration}").imported() is function.imported()
    with pytest.raises(ModuleNotFoundError):
        Later("sdstop.gone:read").imported()


SOURCE = '{\n"a": {"A": {"name": "a", "title": "A", "read": "a:A.read", "families": [FAMILY], "needs": []}}\n}\n'


@pytest.mark.parametrize("changed", ["7", "\n<<<<<<< HEAD\n", '{"family": "sdstop.collectors.aoe.readings:AoePort"}'])
def test_an_index_of_something_else_is_not_used(changed: str, tmp_path: Path) -> None:
    index = tmp_path / "declared.json"
    assert declarations(index, Collector) == {}
    index.write_text(SOURCE.replace("FAMILY", '"sdstop.collectors.aoe.readings:AoePort"'))
    assert declarations(index, Collector)["a"]["A"].families == (AoePort,)
    index.write_text(SOURCE.replace("FAMILY", changed))
    assert declarations(index, Collector) == {}


@pytest.mark.parametrize("changed", ["sdstop.collectors.aoe.gone:AoePort", "sdstop.collectors.aoe.readings:Gone"])
def test_a_source_whose_family_was_renamed_fails_and_names_what_mends_it(changed: str, tmp_path: Path) -> None:
    index = tmp_path / "declared.json"
    index.write_text(SOURCE.replace("FAMILY", f'"{changed}"').replace("a:A.read", "builtins:iter"))
    source = declarations(index, Collector)["a"]["A"]
    run = Replay([source], EvidenceHost()).feed(Frame(1, 0.0, 0.0, (), {"a": RunMark(0.0, 0.1)})).runs["a"]
    assert run.outcome is Outcome.FAILED
    with pytest.raises(ImportError, match="run scripts/docs"):
        list(source.families)


def test_families_are_imported_one_by_one_and_only_when_they_are_asked_for() -> None:
    code = """
import sys
from sdstop.collectors import BUILTIN
from sdstop.rules import RULES
from sdstop.core.collector import providers_of
from sdstop.core.families import in_use, names_of
providers = providers_of(BUILTIN)
names = [name for rule in RULES for name in (*names_of(rule.needs), *names_of(rule.instead), *rule.covered_names)]
assert all(name in providers or name.startswith("sdstop.core.") for name in names)
assert not any(in_use(each) for source in BUILTIN for each in (source.families, source.derives))
assert not any(in_use(each) for rule in RULES for each in (rule.needs, rule.instead, rule.covered))
print(*sorted(name for name in sys.modules if name.startswith(("sdstop.collectors.", "sdstop.readings"))))
[aoe] = [source for source in BUILTIN if source.name == "aoe"]
print(*sorted(family.family for family in aoe.families))
print(*sorted(name for name in sys.modules if name.startswith("sdstop.collectors.") and name.count(".") == 3))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "",
        "aoe_export aoe_port aoe_socket aoe_target",
        "sdstop.collectors.aoe.readings",
    ]


@pytest.mark.parametrize(
    ("story", "absent"),
    [
        (
            "md-degraded",
            "gluster pacemaker powerflex platform zfs.kstats drbd.resources devicemapper.lvm bcache.devices",
        ),
        ("quiet-node", "gluster pacemaker powerflex platform zfs.kstats drbd.resources filesystems.scrubs"),
        ("gluster-brick-down", "ceph powerflex platform zfs filesystems"),
    ],
)
def test_a_check_imports_nothing_of_technologies_that_a_capture_lacks(story: str, absent: str) -> None:
    code = f"""
import sys, sdstop.__main__
sys.argv = ["sdstop", "check", "--from", {f"fixtures/{story}"!r}]
sdstop.__main__.main()
print(*sorted(name.removeprefix("sdstop.collectors.") for name in sys.modules if name.startswith("sdstop.collectors.")))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    found = set(result.stdout.splitlines()[-1].split())
    assert not [name for name in found for each in absent.split() if f"{name}.".startswith(f"{each}.")]


def test_an_index_of_fields_that_were_renamed_is_not_used(tmp_path: Path) -> None:
    index = tmp_path / "declared.json"
    index.write_text('{"a": {"A": {"id": "a", "says": "A", "worst": "info", "check": "a:A.check", "wants": []}}}')
    assert declarations(index, Rule) == {}


def test_without_an_index_every_source_and_rule_is_imported() -> None:
    code = """
import sdstop.core.index
sdstop.core.index.declarations = lambda *_: {}
from sdstop.collectors import BUILTIN
from sdstop.rules import RULES
print(len(BUILTIN), len(RULES), type(BUILTIN[0].read).__name__, type(RULES[0].check).__name__)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    many = f"{len(sdstop.collectors.BUILTIN)} {len(sdstop.rules.RULES)} function function\n"
    assert (result.returncode, result.stdout, result.stderr) == (0, many, "")


def imported(value: Any) -> Any:
    """Return a value of an index with the functions themselves."""
    if isinstance(value, Later | IfPresent):
        return value.imported()
    if isinstance(value, tuple | Named):
        return tuple(map(imported, value))
    if isinstance(value, Struct):
        return replace(value, **{name: imported(getattr(value, name)) for name in value.__struct_fields__})
    return value


def test_a_check_imports_sources_and_rules_of_what_a_node_has(tmp_path: Path) -> None:
    record_degraded_array(tmp_path)
    code = f"""
import sys, sdstop.__main__
sys.argv = ["sdstop", "check", "--from", {str(tmp_path)!r}]
sdstop.__main__.main()
print(*sorted(name for name in sys.modules if name.count(".") > 2 and "readings" not in name))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    found = result.stdout.splitlines()[-1].split()
    assert "sdstop.rules.arrays.array_degraded" in found
    technologies = ("bcache", "drbd", "gluster", "kernel", "pacemaker", "powerflex", "zfs")
    absent = tuple(f"sdstop.{layer}.{each}." for layer in ("collectors", "rules") for each in technologies)
    assert [name for name in found if name.startswith(absent)] == ALWAYS


ALWAYS = ["sdstop.collectors.zfs.datasets"]
"""Modules with readings beside a parser."""


def test_names_are_unique() -> None:
    collectors = [collector.name for collector in sdstop.collectors.BUILTIN]
    rules = [rule.id for rule in sdstop.rules.RULES]
    assert len(collectors) == len(set(collectors)) > 0
    assert len(rules) == len(set(rules)) > 0


class Source(NamedTuple):
    """The imports of a file, as names and the module that they are imported from, and its public classes."""

    imports: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]


@functools.cache
def source(path: Path) -> Source:
    """Return what a file imports, for types only or at run time, and defines; it is parsed once for all tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports: list[tuple[str, str]] = []
    for node in statements(tree.body):
        if isinstance(node, ast.Import):
            imports += ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports += ((alias.name, node.module) for alias in node.names)
    classes = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return Source(tuple(imports), tuple(name for name in classes if not name.startswith("_")))


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield statements and those inside them; no expression holds an import."""
    for node in body:
        yield node
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                yield from statements(inner)


def imports_of(path: Path, known: Collection[str]) -> Iterator[str]:
    """Yield the modules of the project that a file names, for types only or at run time."""
    for name, module in source(path).imports:
        # `from sdstop import stripe` is of the module stripe, not of the package.
        full = f"{module}.{name}" if module else name
        full = full if full in known else module
        if full in known:
            yield full


def test_imports_are_seen_wherever_they_are(tmp_path: Path) -> None:
    lines = ("import a.b", "from a import c", "from a.d import E", "from . import f", "import os")
    nested = ("if x:\n  pass\nelse:\n  ", "try:\n  pass\nexcept E:\n  ", "try:\n  pass\nfinally:\n  ",
              "match x:\n  case 1:\n    ", "class C:\n  def f():\n    ", "async def f():\n  with x:\n    ")  # fmt: skip
    for before in ("", *nested):
        path = tmp_path / f"m{len(list(tmp_path.iterdir()))}.py"
        path.write_text("".join(f"{before}{line}\n" for line in lines))
        assert list(imports_of(path, {"a", "a.b", "a.c", "a.d", "a.f"})) == ["a.b", "a.c", "a.d"]


def test_no_module_of_the_tests_imports_a_test() -> None:
    """What tests share stands in a module of its own, which says by its name what it is: tests/nodes, for instance."""
    root = Path(__file__).parent.parent
    modules = {".".join(path.relative_to(root).with_suffix("").parts): path for path in root.glob("tests/**/*.py")}
    tests = {name for name in modules if name.rpartition(".")[2].startswith("test_")}
    assert {"tests.test_imports", "tests.tui.test_views"} <= tests
    assert "tests.fixtures" in imports_of(modules["tests.stories.test_stories"], modules)
    found = {name: sorted(tests.intersection(imports_of(path, tests))) for name, path in modules.items()}
    assert {name: imported for name, imported in found.items() if imported} == {}


def test_no_two_modules_need_each_other_not_even_for_types() -> None:
    root = Path(sdstop.rules.__file__).parent.parent
    paths = {
        ".".join(("sdstop", *path.relative_to(root).with_suffix("").parts)): path
        for part in ("*.py", "*/*.py", "*/*/*.py", "*/*/*/*.py")
        for path in root.glob(part)
        if path.stem != "__init__"
    }
    needs = {name: set(imports_of(path, paths)) for name, path in paths.items()}
    assert "sdstop.analysis.members.column" in needs["sdstop.analysis.members.laggard"]
    assert len(needs) > 50
    try:
        tuple(graphlib.TopologicalSorter(needs).static_order())
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_class_name_means_one_thing() -> None:
    """Public classes have unique names over the whole project; a private one (`_Row`) belongs to its module."""
    root = Path(sdstop.rules.__file__).parent.parent
    places: dict[str, list[str]] = {}
    for folder in (root, root / "collectors", root / "exporters"):  # the last two are links
        for path in sorted(folder.rglob("*.py")):
            for name in source(path).classes:
                places.setdefault(name, []).append(str(path.relative_to(root)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert twice == {}
