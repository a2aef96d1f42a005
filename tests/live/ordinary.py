"""An ordinary user of this machine, and sdstop where that user may run it."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, TextIO

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534
IMPORTING = """
import importlib, pkgutil
import sdstop.cli, sdstop.sampler, sdstop.tui.app
for package in (sdstop.cli, sdstop.sampler):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
"""
"""Imports what the commands import."""
PATIENCE = 120.0
"""Seconds after which something that must come is given up."""


@dataclass(frozen=True)
class User:
    """Who runs sdstop: number, an own folder, and the copy of sdstop with all that it needs."""

    number: int
    home: Path
    copy: Path
    python: str

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing of the tests' own environment but the language."""
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(self.copy),
                "PYTHONDONTWRITEBYTECODE": "1", "TERM": "xterm-256color"}  # fmt: skip

    def start(self, *arguments: str | Path, **keywords: Any) -> subprocess.Popen[str]:
        """Start sdstop as this user."""
        argv = [self.python, "-m", "sdstop", *map(str, arguments)]
        keywords = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | keywords
        return subprocess.Popen(
            argv, text=True, env=dict(self.environment), cwd=self.home, **self.becoming(), **keywords
        )

    def becoming(self) -> dict[str, Any]:
        """Return how a process becomes this user, if it is not."""
        if self.number == os.geteuid():
            return {}
        return {"user": self.number, "group": self.number, "extra_groups": []}

    def line(self, *arguments: str | Path) -> str:
        """Return a line for a shell of root or of this user that runs sdstop as this user."""
        become = ["setpriv", f"--reuid={self.number}", f"--regid={self.number}", "--clear-groups"]
        words = ["env", "-i", *(f"{name}={value}" for name, value in self.environment.items())]
        words += [self.python, "-m", "sdstop", *map(str, arguments)]
        return shlex.join([*(become if self.becoming() else []), *words])

    def others(self) -> list[int]:
        """Return the processes of everybody else."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and entry.stat().st_uid != self.number:
                    found.append(int(entry.name))
            except OSError:  # it ended
                continue
        return found


@contextmanager
def settled(shared: Path) -> Iterator[User]:
    """Yield the ordinary user whom several processes share: the first settles the user, the last removes the folder.

    `shared` is the path of a file that they have in common. Its lock says who still needs the user; the kernel frees
    that of a process that is killed.
    """
    with shared.open("a+", encoding="utf-8") as known:
        while (user := _known(known, fcntl.LOCK_SH)) is None:
            if _known(known, fcntl.LOCK_EX) is None:  # the others wait for the lock
                folder = Path(tempfile.mkdtemp(prefix="ordinary-"))  # below pytest's own only its user may look
                known.write(f"{folder}\n{settle(folder).python}")
                known.flush()
        try:
            yield user
        finally:
            try:
                fcntl.flock(known, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # another process removes it
            else:
                known.truncate(0)
                shutil.rmtree(user.home.parent)


def _known(known: TextIO, lock: int) -> User | None:
    """Lock a file and return the user in it; None if nobody is settled."""
    fcntl.flock(known, lock)
    known.seek(0)
    text = known.read()
    return _user(Path(text.partition("\n")[0]), text.partition("\n")[2]) if text else None


def _user(folder: Path, python: str) -> User:
    return User(os.geteuid() or NOBODY, folder / "home", folder / "lib", python)


def settle(folder: Path) -> User:
    """Put sdstop into a folder that everybody may enter, and return an ordinary user who may run it.

    That is nobody, or whoever runs the tests if that is not root. The tests' own interpreter and packages may lie
    where others may not look: the packages are copied, and Debian's interpreter is the second choice. What sdstop
    imports is compiled once, because the user may not write there; the tests' own bytecode spares most of that.
    """
    user = _user(folder, os.path.realpath(sys.executable))
    folder.chmod(0o755)
    copy = user.copy
    user.home.mkdir()
    os.chown(user.home, user.number, user.number if os.geteuid() == 0 else -1)
    shutil.copytree(ROOT / "sdstop", copy / "sdstop")
    for name in {"sdstop", *_needed("sdstop")}:
        _install(importlib.metadata.distribution(name), copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for python in (user.python, "/usr/bin/python3"):
        user = _user(folder, python)
        try:
            with user.start("--version") as process:
                said = process.communicate(timeout=PATIENCE)
        except PermissionError:
            continue
        assert process.returncode == 0, said
        everything = {**user.environment, "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run([python, "-c", IMPORTING], check=True, cwd=copy, env=everything, timeout=PATIENCE)
        return user
    raise AssertionError("no Python that an ordinary user may run")


def _needed(name: str, extras: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names of all that a distribution needs."""
    for text in importlib.metadata.requires(name) or ():
        need = Requirement(text)
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            yield need.name
            yield from _needed(need.name, frozenset(need.extras))


def _install(distribution: importlib.metadata.Distribution, folder: Path) -> None:
    for file in distribution.files or ():
        if ".." in file.parts or file.suffix == ".pth" or "__pycache__" in file.parts:
            continue  # a script, or what leads back to the checkout
        place = folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file.locate(), place)  # with its time, by which its bytecode is valid
        compiled = Path(cache_from_source(str(file.locate())))
        if compiled.exists():
            place.with_name("__pycache__").mkdir(exist_ok=True)
            shutil.copy2(compiled, place.with_name("__pycache__"))
