"""Lab: a real cluster on this machine, driven by the shell functions of its lab.sh. README.md names them."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from sdstop.capture.reader import open_capture
from sdstop.exporters.capture import CaptureWriter
from tests.clusters.scenario import FOLDER, Scenario
from tests.expectation import course, differences

PATIENCE = 600.0
"""Seconds that one step (up, enter, a recording, leave, down) may take."""


@dataclass(frozen=True, slots=True)
class Step:
    """Shell that runs, and the file that takes what it prints."""

    shell: str
    process: subprocess.Popen[bytes]
    printed: IO[bytes]


class Failed(Exception):  # noqa: N818
    """A step of the lab failed or took too long. Says which, and what it printed last."""


class Lab:
    """The cluster of one system, in a folder of its own.

    The folder is `$SDSTOP_CLUSTERS/SYSTEM`, by default below /var/tmp; it stays until `down`, so that each step may be
    a process of its own.
    """

    def __init__(self, system: str) -> None:
        self.system = system
        self.folder = Path(os.environ.get("SDSTOP_CLUSTERS", "/var/tmp/sdstop-clusters")) / system  # noqa: S108

    @property
    def is_up(self) -> bool:
        """Whether the cluster was started and not stopped since."""
        return self.folder.is_dir()

    def up(self) -> None:
        """Start the cluster; return when it is healthy. Raises Failed."""
        if self.is_up:
            raise Failed(f"{self.folder} exists: `python -m tests.clusters down {self.system}` first")
        self.folder.mkdir(parents=True, mode=0o755)
        try:
            self.run("up")
        except Failed:
            self.down()
            raise

    def down(self) -> None:
        """End whatever is left of the cluster and remove its folder. Raises Failed."""
        if self.is_up:
            self.run("down")
            shutil.rmtree(self.folder, ignore_errors=True)

    def enter(self, scenario: Scenario) -> None:
        """Bring the cluster from health into a state. Raises Failed."""
        self.run(scenario.enter or ":")

    def leave(self, scenario: Scenario) -> None:
        """Bring the cluster back to health. Raises Failed."""
        self.run(scenario.leave or ":")

    def record(self, scenario: Scenario, folder: Path) -> dict[int, Path]:
        """Take a capture on each of the scenario's nodes, all at once, under its load; return them. Raises Failed."""
        options = f"--duration {scenario.seconds:g}s --interval {scenario.interval:g}s {scenario.options}".split()
        found = {node: folder / f"{scenario.name}@{node}" for node in scenario.nodes}
        with self.under_load(scenario):
            running = [
                self._start(f"record {node} {shlex.quote(str(place))} {shlex.join(options)}")
                for node, place in found.items()
            ]
            for step in running:
                _wait(step)
        return found

    def state(self, scenario: Scenario, folder: Path) -> dict[int, Path]:
        """Enter a state, record it and leave it, also if it could not be reached. Raises Failed."""
        try:
            self.enter(scenario)
            captures = self.record(scenario, folder)
        except Failed as error:
            try:
                self.leave(scenario)
            except Failed as also:
                raise Failed(f"{error}; then {also}") from error
            raise
        self.leave(scenario)
        return captures

    def run(self, shell: str, patience: float | None = None) -> str:
        """Run shell with the system's functions; return what it printed. Raises Failed."""
        return _wait(self._start(shell), patience)

    @contextmanager
    def under_load(self, scenario: Scenario) -> Iterator[None]:
        """Run the scenario's load meanwhile."""
        if not scenario.load:
            yield
            return
        step = self._start(scenario.load)
        try:
            yield
        finally:
            _end(step)

    def become(self, shell: str, more: Mapping[str, str]) -> NoReturn:
        """Replace this process, a child, by shell with the system's functions and more variables."""
        os.chdir(self.folder)
        os.execve("/bin/bash", self._command(shell), {**self._environment, **more})  # noqa: S606

    def _start(self, shell: str) -> Step:
        printed = tempfile.TemporaryFile()  # noqa: SIM115  # closed by _wait and _end
        process = subprocess.Popen(
            self._command(shell), env=self._environment, stdin=subprocess.DEVNULL, stdout=printed,
            stderr=subprocess.STDOUT, cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        return Step(shell, process, printed)

    @staticmethod
    def _command(shell: str) -> list[str]:
        return ["bash", "-c", f'set -u; . "$HERE/lab.sh"; {shell}']

    @property
    def _environment(self) -> dict[str, str]:
        script = FOLDER / self.system / "lab.sh"
        sdstop = Path(sys.executable).with_name("sdstop")
        places = {"LAB": str(self.folder), "HERE": str(script.parent), "SDSTOP": str(sdstop), "LC_ALL": "C"}
        return {**os.environ, **places, "PYTHON": sys.executable, "PYTHONPATH": str(FOLDER.parent.parent)}


def _wait(step: Step, patience: float | None = None) -> str:
    """Return what a step printed, when it is done. Raises Failed if it fails or takes longer (default: PATIENCE)."""
    limit = PATIENCE if patience is None else patience
    with step.printed:
        try:
            code = step.process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(step.process.pid, signal.SIGKILL)
            step.process.wait()
            code = None
        step.printed.seek(0)
        said = step.printed.read().decode(errors="replace")
    if code != 0:
        what = f"took longer than {limit:g} s" if code is None else f"exit {code}"
        raise Failed(f"{step.shell[:200]}: {what}: {said.strip()[-800:]}")
    return said


def _end(step: Step) -> None:
    """End a load with all that it started."""
    with step.printed, suppress(ProcessLookupError):
        os.killpg(step.process.pid, signal.SIGTERM)
        try:
            step.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(step.process.pid, signal.SIGKILL)
            step.process.wait()


def judge(scenario: Scenario, captures: dict[int, Path]) -> list[str]:
    """Return where the captures of the nodes differ from what is expected, nothing if they do not."""
    return [
        f"node {node}: {line}"
        for node, capture in captures.items()
        for line in differences(scenario.expected_of(node), course(capture))
    ]


def keep(scenario: Scenario, captures: dict[int, Path]) -> list[Path]:
    """Write the captures where the ordinary suite replays them, packed; return the files."""
    kept = []
    for node, capture in captures.items():
        origin, frames = open_capture(capture)
        path = scenario.recording(node)
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        with CaptureWriter(
            path, origin.name, privileged=origin.privileged, facts=origin.facts, collectors=origin.collectors
        ) as writer:
            for frame in frames:
                writer.add(frame)
            writer.finish()
        path.chmod(0o644)
        kept.append(path)
    return kept
