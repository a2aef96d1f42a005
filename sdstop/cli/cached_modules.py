"""Modules from the bytecode that Python keeps of them, found in fewer steps.

Python lists each folder, asks for its time, and looks for an extension, a source and bytecode in turn. In a pure Python
package the bytecode of a module has one place. It is used under Python's own condition: it was made of a source of the
same time and size. Everything else is left to Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from marshal import loads
from types import CodeType, ModuleType

_PURE = frozenset({"sdstop", "textual", "rich"})
"""Packages without extension modules."""
_SUFFIX = f".{sys.implementation.cache_tag}.pyc"
_HEAD = MAGIC_NUMBER + bytes(4)
"""Beginning of bytecode that is compared with the time of its source, not with its content."""
_MOST = 1 << 20
"""Most bytes of bytecode; the largest module has a tenth."""


class _Bytecode(SourceFileLoader):
    """Loader of a module whose bytecode has been read."""

    code: CodeType | None = None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        code, self.code = self.code, None
        if code is None or code.co_filename != self.path:  # the folder was moved
            super().exec_module(module)
        else:
            exec(code, module.__dict__)  # noqa: S102  # as Python does


class CachedModules:
    """Finder of modules with valid bytecode in pure packages."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the module of this name in the folder of its package, None if Python has to look for it."""
        del target
        package, _, _ = name.partition(".")
        if package not in _PURE or path is None or len(path) != 1:
            return None
        last = name.rpartition(".")[2]
        for folder, file in ((path[0], last), (f"{path[0]}/{last}", "__init__")):
            source, cached = f"{folder}/{file}.py", f"{folder}/__pycache__/{file}{_SUFFIX}"
            try:
                made_of = os.stat(source)  # noqa: PTH116  # a Path takes longer than the call
            except OSError:
                continue
            data = _read(cached)
            if data[:8] != _HEAD or len(data) == _MOST or data[8:16] != _stamp(made_of):
                return None
            loader = _Bytecode(name, source)
            try:
                loader.code = loads(memoryview(data)[16:])  # noqa: S302  # as Python does
            except (EOFError, ValueError, TypeError):
                return None
            spec = ModuleSpec(name, loader, origin=source, is_package=file == "__init__")
            spec.has_location, spec.cached = True, cached
            if spec.submodule_search_locations is not None:
                spec.submodule_search_locations.append(folder)
            return spec
        return None


def _read(path: str) -> bytes:
    """Return the beginning of a file, b"" if it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, _MOST)
    except OSError:
        return b""
    finally:
        os.close(file)


def _stamp(source: os.stat_result) -> bytes:
    """Return time and size of a source as they are in its bytecode."""
    return b"".join((int(each) & 0xFFFFFFFF).to_bytes(4, "little") for each in (source.st_mtime, source.st_size))


def use_cached_modules() -> None:
    """Find modules by their bytecode, unless Python is configured to keep another kind of it, or elsewhere."""
    if not sys.flags.optimize and sys.pycache_prefix is None and CachedModules not in sys.meta_path:
        sys.meta_path.insert(0, CachedModules)
