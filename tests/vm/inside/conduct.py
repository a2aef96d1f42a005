"""Conduct a scenario inside the guest: set up, load, record, each step in its time; /vm/out is what comes of it.

Only the standard library: this is run by the guest's own Python. sdstop is what was mounted at /opt/sdstop.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VM = Path("/vm")
OUT = VM / "out"
CAPTURE = Path("/run/capture")  # in memory: writing to the share would take longer than what is recorded
SDSTOP = ["python3", "-m", "sdstop"]


def main() -> None:
    scenario = json.loads((VM / "scenario.json").read_text())
    nodes = disks(scenario["disks"])
    environment = {**os.environ, **scenario["env"], **nodes, "OUT": str(OUT)}
    environment |= {"PYTHONPATH": "/opt/sdstop", "SECONDS_RECORDED": str(scenario["seconds"])}
    result: dict[str, Any] = {"steps": [], "disks": {name: node.removeprefix("/dev/") for name, node in nodes.items()}}
    load = Load(scenario["load"], scenario["warm"], environment)
    try:
        shell("setup", scenario["setup"], environment)
        load.before()
        record(scenario, environment, result, load)
        if scenario["sos"]:
            load.end()
            sosreport(scenario["sos"], result)
    except Broken as error:
        result["error"] = str(error)
    finally:
        load.end()
    (OUT / "dmesg.txt").write_bytes(subprocess.run(["dmesg"], capture_output=True, check=False).stdout)
    (VM / "result.new").write_text(json.dumps(result))
    (VM / "result.new").rename(VM / "result.json")


class Broken(Exception):  # noqa: N818
    """The scenario itself failed: nothing can be said about sdstop."""


def disks(names: list[str]) -> dict[str, str]:
    """Return each disk's node by its name, which the machine gave it as serial number."""
    found = {}
    for block in Path("/sys/block").iterdir():
        for place in ("serial", "device/serial", "device/vpd_pg80"):
            try:
                serial = (
                    (block / place).read_bytes()[4 if place.endswith("80") else 0 :].decode("ascii", "replace").strip()
                )
            except OSError:
                continue
            found[serial] = f"/dev/{block.name}"
    return {name: found[name] for name in names if name in found}


def shell(what: str, script: str, environment: dict[str, str]) -> None:
    """Run a script; what it prints can be read while it runs, in case it never ends."""
    path = OUT / "shell.txt"
    with path.open("ab") as log:
        log.write(f"== {what}\n".encode())
        log.flush()
        done = subprocess.run(
            ["sh", "-ex", "-c", script], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
        )
    if done.returncode:
        raise Broken(f"{what}: exit {done.returncode}: {path.read_text(errors='replace')[-800:]}")


class Load:
    """What keeps the disks busy: it starts before the recording, or `warm` is negative and it starts so late in it."""

    def __init__(self, script: str, warm: float, environment: dict[str, str]) -> None:
        self._script = script
        self._warm = warm
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def before(self) -> None:
        if self._warm >= 0:
            self.start()
            time.sleep(self._warm)

    def steps(self) -> list[dict[str, Any]]:
        return [{"at": -self._warm, "load": True}] if self._warm < 0 else []

    def start(self) -> None:
        if not self._script:
            return
        with (OUT / "load.txt").open("wb") as file:
            self._process = subprocess.Popen(
                ["sh", "-c", self._script], env=self._environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip

    def lives(self) -> bool:
        """Whether it goes on, as it should until it is ended; none at all is as good."""
        return not self._script or (self._process is not None and self._process.poll() is None)

    def end(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def record(scenario: dict[str, Any], environment: dict[str, str], result: dict[str, Any], load: Load) -> None:
    screens = Screens(scenario["dashboard"], environment) if scenario["dashboard"] else None
    if screens is not None:
        screens.wait_for("1 Overview", 90)
    program = ["python3", str(VM / "record.py")] if scenario["raw"] else [*SDSTOP, "capture"]
    more = [f"--duration={scenario['seconds']}s", f"--interval={scenario['interval']}s", *scenario["options"].split()]
    log = (OUT / "capture.txt").open("wb")
    capture = subprocess.Popen(
        [*program, "-o", str(CAPTURE), *more], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    wait("the first frame", lambda: (CAPTURE / "frames/0001").exists() or capture.poll() is not None, 120)
    result["zero"] = time.time()
    zero = time.monotonic()
    for step in sorted([*scenario["steps"], *load.steps()], key=lambda step: step["at"]):
        time.sleep(max(0.0, zero + step["at"] - time.monotonic()))
        before = time.monotonic() - zero
        if step.get("load"):
            load.start()
        else:
            take(step, environment, screens)
        result["steps"].append([step["at"], before, time.monotonic() - zero])
    try:
        result["capture"] = capture.wait(scenario["seconds"] + 240)
    except subprocess.TimeoutExpired:
        capture.kill()
        raise Broken("sdstop capture did not end") from None
    result["load_lives"] = load.lives()
    if scenario["report"]:
        report(scenario["report"], environment, result)
    if screens is not None:
        result["left_after"] = screens.leave()
    if CAPTURE.exists():
        subprocess.run(["tar", "-C", "/run", "-cf", OUT / "capture.tar", "capture"], check=True)


def report(seconds: float, environment: dict[str, str], result: dict[str, Any]) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [*SDSTOP, "report", "--format", "json", f"--duration={seconds}s"], env=environment, capture_output=True,
        stdin=subprocess.DEVNULL, timeout=seconds + 120, check=False,
    )  # fmt: skip
    (OUT / "report.json").write_bytes(done.stdout)
    (OUT / "report.err").write_bytes(done.stderr)
    result["report"] = done.returncode
    result["report_seconds"] = time.monotonic() - began


def sosreport(options: str, result: dict[str, Any]) -> None:
    """Have the distribution's own tool make its report, as a person would, and bring the archive out."""
    began = time.monotonic()
    folder = Path("/run/sos")
    folder.mkdir()
    with (OUT / "sos.txt").open("wb") as log:
        done = subprocess.run(
            ["sos", "report", "--batch", "--tmp-dir", str(folder), *options.split()], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, timeout=800, check=False,
        )  # fmt: skip
    found = [path for path in folder.glob("sosreport-*.tar*") if path.suffix not in {".md5", ".sha256"}]
    if done.returncode or not found:
        raise Broken(f"sos report: exit {done.returncode}: {(OUT / 'sos.txt').read_text(errors='replace')[-800:]}")
    shutil.copy(found[0], OUT / found[0].name)
    result["sos"], result["sos_seconds"] = found[0].name, time.monotonic() - began


def take(step: dict[str, Any], environment: dict[str, str], screens: Screens | None) -> None:
    if step["run"]:
        shell(f"at {step['at']:g} s", step["run"], environment)
    if step["monitor"]:
        request, answer = VM / "monitor.txt", VM / "monitor.done"
        answer.unlink(missing_ok=True)
        (VM / "monitor.new").write_text(step["monitor"])
        (VM / "monitor.new").rename(request)
        wait("the machine's monitor", answer.exists, 20)
        said = answer.read_text().strip()
        if said:
            raise Broken(f"at {step['at']:g} s: {step['monitor']}: {said}")
    if screens is not None and step["keys"]:
        screens.press(step["keys"])
    if screens is not None and step["screen"]:
        screens.keep(step["screen"])


def wait(what: str, done: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not done():
        if time.monotonic() > limit:
            raise Broken(f"{what} did not come within {seconds:g} s")
        time.sleep(0.05)


class Screens:
    """The dashboard in a terminal of the guest: tmux, as an engineer has it."""

    def __init__(self, size: str, environment: dict[str, str]) -> None:
        columns, lines = size.split("x")
        self.pid_file = Path("/run/dashboard.pid")
        command = f"echo $$ > {self.pid_file}; exec python3 -m sdstop 2> {OUT}/dashboard.err"
        subprocess.run(
            ["tmux", "-f", "/dev/null", "new-session", "-d", "-s", "sdstop", "-x", columns, "-y", lines, command],
            env={**environment, "TERM": "screen-256color"}, check=True,
        )  # fmt: skip

    def text(self) -> str:
        done = subprocess.run(["tmux", "capture-pane", "-p", "-t", "sdstop"], capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def wait_for(self, text: str, seconds: float) -> None:
        wait(f"{text!r} on the dashboard", lambda: text in self.text(), seconds)

    def press(self, keys: list[str]) -> None:
        for key in keys:
            subprocess.run(["tmux", "send-keys", "-t", "sdstop", key], check=True)

    def keep(self, name: str) -> None:
        (OUT / f"screen-{name}.txt").write_text(self.text())

    def leave(self) -> float | None:
        """Press q; return how many seconds the dashboard took to end, None if it did not within a minute."""
        pid = self.pid_file.read_text().strip()
        began = time.monotonic()
        self.press(["q"])
        while time.monotonic() - began < 60:
            if not Path(f"/proc/{pid}").exists():
                return time.monotonic() - began
            time.sleep(0.02)
        return None


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    shutil.rmtree(CAPTURE, ignore_errors=True)
    main()
