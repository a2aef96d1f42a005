"""Machine: one run of a scenario in QEMU, from the command line to what the guest brought back."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from tests.vm import smbios
from tests.vm.guest import Guest, pack
from tests.vm.scenario import Disk, Scenario
from tests.vm.spindle import Spindle, served

INSIDE = Path(__file__).parent / "inside"
PROJECT = Path(__file__).parent.parent.parent
LONGEST = 240.0
"""Seconds that a guest may take beyond what it is asked to record."""
SOSREPORT = 900.0
"""Seconds that `sos report` may take: it starts hundreds of programs, and the processor is emulated."""
_APPEND = "console=ttyS0 panic=-1 quiet mitigations=off nokaslr tsc=reliable psi=1 cryptomgr.notests"


class Crashed(Exception):  # noqa: N818
    """The machine, or the scenario in it, came to no end. Says what was last seen."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a guest brought back.

    `out` holds its files (capture/, report.json, screens, logs), `result` what conduct.py wrote; `release` is its
    kernel, `seconds` how long the machine ran.
    """

    out: Path
    result: dict[str, Any]
    release: str
    seconds: float


def build_site(folder: Path) -> Path:
    """Build sdstop as it would be installed, with what it depends on, into an image for the guest; return it.

    The guest runs the wheel, not the checkout.
    """
    own = PROJECT / ".uv/bin/uv"
    uv = str(own) if own.exists() else "uv"
    site, wheels = folder / "site", folder / "wheels"
    _quietly([uv, "build", "-q", "--wheel", "-o", str(wheels), str(PROJECT)])
    wheel = next(wheels.glob("*.whl"))
    _quietly(
        [uv, "pip", "install", "-q", "--target", str(site), "--python-version", "3.11", "--python-platform", "linux",
         "--compile-bytecode", str(wheel)]
    )  # fmt: skip
    image = folder / "site.img"
    pack(site, image, spare=16 << 20)
    return image


def _quietly(argv: list[str]) -> None:
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Crashed(f"{shlex.join(argv)}: {done.stderr.strip()[-800:]}")


def command_line(scenario: Scenario, guest: Guest, site: Path, work: Path) -> list[str]:
    """Return QEMU's command line. Disks come first, in their order: d0 is vda, unless it is on another bus."""
    accel = ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max"]
    argv = [
        "qemu-system-x86_64", *accel, "-machine", "q35", "-smp", scenario.cpus, "-m", scenario.memory,
        "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot",
        "-qmp", f"unix:{work}/qmp,server=on,wait=off",
        "-kernel", str(guest.kernel), "-initrd", str(guest.initrd), "-append", _APPEND,
        "-fsdev", f"local,id=vm,path={work}/share,security_model=none",
    ]  # fmt: skip
    for text in scenario.qemu:
        argv += shlex.split(text)
    if any(disk.on == "scsi0.0" for disk in scenario.disks):
        argv += ["-device", "virtio-scsi-pci,id=scsi0"]
    for number, disk in enumerate(scenario.disks):
        argv += _disk(disk, number, work)
    for image, name in ((guest.root, "sdstoproot"), (site, "sdstopsite")):
        argv += ["-drive", f"file={image},if=none,id={name},format=raw,readonly=on"]
        argv += ["-device", f"virtio-blk-pci,bus=pcie.0,drive={name},serial={name}"]
    argv += ["-device", "virtio-9p-pci,bus=pcie.0,fsdev=vm,mount_tag=vm"]
    for file in smbios.write(scenario.dimms, work) if scenario.dimms else ():
        argv += ["-smbios", f"file={file}"]
    return argv


def _disk(disk: Disk, number: int, work: Path) -> list[str]:
    image = work / f"{disk.name}.img"
    with image.open("wb") as file:
        file.truncate(disk.size)
    source = f"nbd:unix:{_socket(disk, work)}" if disk.seek else image
    drive = f"file={source},if=none,id={disk.name},format=raw,cache=unsafe,discard=unmap"
    drive += f",throttling.iops-total={disk.iops}" if disk.iops else ""
    drive += f",throttling.bps-total={disk.bps}" if disk.bps else ""
    argv = ["-drive", drive]
    kind, comma, properties = disk.on.partition(",")
    attached = f"drive={disk.name},serial={disk.name}{comma}{properties}"
    match kind:
        case "virtio":
            argv += ["-device", f"virtio-blk-pci,bus=pcie.0,{attached}"]
        case "slot":
            port = f"port-{disk.name}"
            argv += ["-device", f"pcie-root-port,id={port},chassis={number + 1},slot={number + 1}"]
            argv += ["-device", f"virtio-blk-pci,id=plug-{disk.name},bus={port},{attached}"]
        case "nvme":
            argv += ["-device", f"nvme,{attached}"]
        case "none":
            pass
        case bus:
            wwn = 0x5000C50000000000 + number
            argv += ["-device", f"scsi-hd,id=plug-{disk.name},bus={bus},wwn={wwn:#x},{attached}"]
    return argv


def _socket(disk: Disk, work: Path) -> Path:
    return work / f"{disk.name}.sock"


def run(scenario: Scenario, guest: Guest, site: Path, out: Path) -> Run:
    """Boot, wait for the end, bring back. `out` must not exist. Raises Crashed."""
    with tempfile.TemporaryDirectory(prefix=f"sdstop-vm-{scenario.name}-") as name:
        work = Path(name)
        share = work / "share"
        shutil.copytree(INSIDE, share)
        (share / "out").mkdir()
        declared = asdict(scenario)
        declared["disks"] = [disk.name for disk in scenario.disks]
        (share / "scenario.json").write_text(json.dumps(declared))
        argv = command_line(scenario, guest, site, work)
        began = time.monotonic()
        console = work / "console.log"
        arms = {
            _socket(disk, work): Spindle(work / f"{disk.name}.img", disk.size, disk.seek / 1000)
            for disk in scenario.disks if disk.seek
        }  # fmt: skip
        with console.open("wb") as log, served(arms), _machine(argv, log) as process:
            longest = scenario.seconds + scenario.report + LONGEST + (SOSREPORT if scenario.sos else 0)
            _attend(process, work, longest, console)
        seconds = time.monotonic() - began
        result = json.loads((share / "result.json").read_text())
        shutil.copytree(share / "out", out)
        shutil.copy(console, out / "console.log")
        (out / "qemu.txt").write_text(shlex.join(argv) + "\n")
    if (out / "capture.tar").exists():
        subprocess.run(["tar", "-C", out, "-xf", out / "capture.tar"], check=True)
        (out / "capture.tar").unlink()
    return Run(out, result, guest.release, seconds)


@contextmanager
def _machine(argv: list[str], log: Any) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _attend(process: subprocess.Popen[bytes], work: Path, seconds: float, console: Path) -> None:
    """Do what the guest asks of the machine's monitor until it has its result. Raises Crashed."""
    share = work / "share"
    limit = time.monotonic() + seconds
    while not (share / "result.json").exists():
        request = share / "monitor.txt"
        if request.exists():
            said = _monitor(work / "qmp", request.read_text().replace("{share}", str(share)))
            request.unlink()
            (share / "monitor.new").write_text(said)
            (share / "monitor.new").rename(share / "monitor.done")
        ended = process.poll() is not None
        if ended or time.monotonic() > limit:
            what = f"the machine ended with {process.returncode}" if ended else f"no result within {seconds:g} s"
            logs = (share / "out" / name for name in ("shell.txt", "load.txt", "capture.txt"))
            tails = (log.read_text(errors="replace")[-1500:] for log in (console, *logs) if log.exists())
            raise Crashed(f"{what}: {' | '.join(tails)}")
        time.sleep(0.05)


def _monitor(path: Path, request: str) -> str:
    """Give the machine's monitor a command; return what it complains about. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(20)
        connection.connect(str(path))
        talk = connection.makefile("rw")
        talk.readline()
        _ask(talk, {"execute": "qmp_capabilities"})
        answer = _ask(talk, {"execute": "human-monitor-command", "arguments": {"command-line": request}})
        said = str(answer.get("return", answer)).strip()
        return "" if said == "OK" else said


def _ask(talk: TextIO, command: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a command of QMP (QEMU Machine Protocol), past the events that come in between."""
    talk.write(json.dumps(command) + "\n")
    talk.flush()
    while True:
        answer: dict[str, Any] = json.loads(talk.readline())
        if "event" not in answer:
            return answer
