"""Modules from bytecode: the same modules as without, and nothing of what Python would not use itself."""

import importlib
import importlib.util
import inspect
import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from sdstop.cli import cached_modules
from sdstop.cli.cached_modules import CachedModules

MODULES = {"__init__": "", "one": "ONE = 1\n", "inner/__init__": "X = 2\n", "inner/two": "def two():\n    return 2\n"}


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "sdstop_box"
    for name, text in MODULES.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)
        py_compile.compile(str(file), doraise=True)
    monkeypatch.setattr(cached_modules, "_PURE", frozenset({"sdstop_box"}))
    monkeypatch.setattr(sys, "meta_path", [CachedModules, *sys.meta_path])
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("sdstop_box")]:
        del sys.modules[name]


def found(box: Path, name: str = "one") -> object:
    return CachedModules.find_spec(f"sdstop_box.{name}", [str(box)])


def test_a_module_is_the_one_that_python_finds(box: Path) -> None:
    for name, folder in (("one", box), ("inner", box), ("inner.two", box / "inner")):
        mine = CachedModules.find_spec(f"sdstop_box.{name}", [str(folder)])
        theirs = PathFinder.find_spec(f"sdstop_box.{name}", [str(folder)])
        assert mine is not None
        assert theirs is not None
        for part in ("name", "origin", "cached", "has_location", "submodule_search_locations", "parent"):
            assert getattr(mine, part) == getattr(theirs, part)
    two = importlib.import_module("sdstop_box.inner.two")
    assert isinstance(two.__loader__, cached_modules._Bytecode)
    assert (two.two(), two.__file__) == (2, str(box / "inner" / "two.py"))
    assert inspect.getsource(two.two) == MODULES["inner/two"]
    assert importlib.reload(two).two() == 2


def test_bytecode_of_another_source_is_left_to_python(box: Path) -> None:
    assert found(box) is not None
    (box / "one.py").write_text("ONE = 11\n")
    assert found(box) is None
    assert importlib.import_module("sdstop_box.one").ONE == 11
    (box / "one.py").write_text(MODULES["one"])
    os.utime(box / "one.py", (1, 1))
    assert found(box) is None


@pytest.mark.parametrize("kept", [0, 7, 16, 30])
def test_damaged_bytecode_is_left_to_python(box: Path, kept: int) -> None:
    cached = Path(importlib.util.cache_from_source(str(box / "one.py")))
    cached.write_bytes(cached.read_bytes()[:kept])
    assert found(box) is None


def test_what_is_no_module_with_bytecode_of_its_source_is_left_to_python(box: Path) -> None:
    Path(importlib.util.cache_from_source(str(box / "one.py"))).unlink()
    assert found(box) is None
    assert found(box, "gone") is None
    (box / "bare").mkdir()
    assert found(box, "bare") is None
    py_compile.compile(str(box / "one.py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert found(box) is None
    assert CachedModules.find_spec("json.decoder", [str(box)]) is None
    assert CachedModules.find_spec("sdstop_box.inner.two", [str(box), str(box / "inner")]) is None


def test_a_moved_folder_has_its_new_name_in_tracebacks(box: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "sdstop_box"
    moved.parent.mkdir()
    box.rename(moved)
    sys.path.insert(0, str(moved.parent))
    importlib.invalidate_caches()
    two = importlib.import_module("sdstop_box.inner.two")
    assert two.two.__code__.co_filename == two.__file__ == str(moved / "inner" / "two.py")


def test_a_command_uses_the_bytecode_of_its_modules() -> None:
    code = """
import sys, sdstop.__main__
sys.argv = ["sdstop", "check", "--from", "fixtures/quiet-node"]
sdstop.__main__.main()
ours = {name for name, module in sys.modules.items() if name.startswith("sdstop.") and hasattr(module, "__file__")}
quick = {name for name in ours if type(sys.modules[name].__loader__).__name__ == "_Bytecode"}
print(len(quick) > 250, sorted(ours - quick))
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)  # it may write bytecode
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    early = "['sdstop.__main__', 'sdstop.cli', 'sdstop.cli.cached_modules']"
    assert (result.stderr, result.stdout.splitlines()[-1]) == ("", f"True {early}")
    optimized = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=False)
    assert optimized.stdout.splitlines()[-1].startswith("False ")
