"""Guests of the cluster lab: virtual machines of tests/vm that stay up and do what lab.sh asks of them, step by step.

python -m tests.clusters.guest boot FOLDER a --peer b --disks 96M --packages multipath-tools
python -m tests.clusters.guest on FOLDER a 'cat /proc/drbd'
python -m tests.clusters.guest monitor FOLDER a set_link n0 off
python -m tests.clusters.guest stop FOLDER
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.vm import guest
from tests.vm.machine import build_site

INIT = Path(__file__).with_name("guest-init.sh")
BOOT = 240.0
"""Seconds that a guest may take until it answers: all of its processor is emulated."""
_APPEND = "console=ttyS0 panic=-1 quiet mitigations=off nokaslr tsc=reliable psi=1"


def main() -> int:
    """Do one thing with a guest; the code of a command in it is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.clusters.guest")
    actions = parser.add_subparsers(dest="action", required=True)
    boot_ = actions.add_parser("boot")
    on_ = actions.add_parser("on")
    monitor_ = actions.add_parser("monitor")
    stop_ = actions.add_parser("stop")
    for action in (boot_, on_, monitor_, stop_):
        action.add_argument("folder", type=Path)
    for action in (boot_, on_, monitor_):
        action.add_argument("name")
    boot_.add_argument("--peer", default="", help="guest to which its network interface leads")
    boot_.add_argument("--disks", nargs="*", default=[], metavar="SIZE")
    boot_.add_argument("--packages", nargs="*", default=[])
    boot_.add_argument("--memory", default="640M")
    on_.add_argument("--seconds", type=float, default=120.0)
    on_.add_argument("shell")
    monitor_.add_argument("command", nargs="+")
    stop_.add_argument("names", nargs="*", help="default: all")
    options = parser.parse_args()
    match options.action:
        case "boot":
            boot(options.folder, options.name, options.peer, options.disks, options.packages, options.memory)
        case "on":
            return on(options.folder, options.name, options.shell, options.seconds)
        case "monitor":
            sys.stdout.write(monitor(options.folder, options.name, " ".join(options.command)))
        case "stop":
            stop(options.folder, options.names)
    return 0


def boot(folder: Path, name: str, peer: str, disks: list[str], packages: list[str], memory: str) -> None:
    """Start a guest and return at once; `on` waits for it.

    Its virtio disks of the given sizes are vda, vdb ... in their order. The site is the built sdstop.
    """
    made = guest.prepare(packages=packages)
    site = folder / "site.img"
    if not site.exists():
        (folder / "site").mkdir()
        build_site(folder / "site").rename(site)
    own = folder / name
    own.mkdir()
    (folder / "share/do" / name).mkdir(parents=True)
    (folder / "share/init.sh").write_bytes(INIT.read_bytes())
    argv = [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max", "-machine", "q35",
        "-smp", "1", "-m", memory, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-serial", f"file:{own}/console.log", "-monitor", f"unix:{own}/monitor,server=on,wait=off",
        "-kernel", str(made.kernel), "-initrd", str(made.initrd), "-append", f"{_APPEND} guest={name}",
        "-fsdev", f"local,id=vm,path={folder}/share,security_model=none",
    ]  # fmt: skip
    for number, size in enumerate(disks):
        image = own / f"d{number}.img"
        with image.open("wb") as file:
            file.truncate(_bytes(size))
        argv += ["-drive", f"file={image},if=none,id=d{number},format=raw,cache=unsafe"]
        argv += ["-device", f"virtio-blk-pci,bus=pcie.0,drive=d{number},serial=d{number}"]
    for image, serial in ((made.root, "sdstoproot"), (site, "sdstopsite")):
        argv += ["-drive", f"file={image},if=none,id={serial},format=raw,readonly=on"]
        argv += ["-device", f"virtio-blk-pci,bus=pcie.0,drive={serial},serial={serial}"]
    if peer:
        here, there = f"{folder}/{name}-{peer}.net", f"{folder}/{peer}-{name}.net"
        ends = f"local.type=unix,local.path={here},remote.type=unix,remote.path={there}"
        argv += ["-netdev", f"dgram,id=n0,{ends}"]
        argv += ["-device", f"virtio-net-pci,bus=pcie.0,netdev=n0,mac=52:54:00:00:00:{ord(name[0]):02x}"]
    argv += ["-device", "virtio-9p-pci,bus=pcie.0,fsdev=vm,mount_tag=vm"]
    with (own / "qemu.log").open("wb") as log:
        machine = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    (own / "pid").write_text(f"{machine.pid}\n")


def on(folder: Path, name: str, shell: str, seconds: float) -> int:
    """Run shell in a guest, print what it prints, and return its exit code; 124 if it takes longer."""
    place = folder / "share/do" / name
    deadline = time.monotonic() + BOOT
    while not (place / "ready").exists():
        if not _lives(folder / name) or time.monotonic() > deadline:
            sys.stdout.write(f"guest {name} does not answer: {(folder / name / 'console.log').read_text()[-500:]}\n")
            return 125
        time.sleep(0.1)
    step = place / str(time.time_ns())
    step.with_suffix(".new").write_text(f"{shell}\n")
    step.with_suffix(".new").rename(step.with_suffix(".cmd"))
    deadline = time.monotonic() + seconds
    while not step.with_suffix(".rc").exists():
        if not _lives(folder / name) or time.monotonic() > deadline:
            sys.stdout.write(f"guest {name}: not done within {seconds:g} s\n")
            return 124
        time.sleep(0.1)
    sys.stdout.write(step.with_suffix(".out").read_text(errors="replace"))
    return int(step.with_suffix(".rc").read_text())


def monitor(folder: Path, name: str, command: str) -> str:
    """Give a guest's machine a command, such as `set_link n0 off` (a cut cable); return the answer."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(10)
        line.connect(str(folder / name / "monitor"))
        _until_prompt(line)
        line.sendall(f"{command}\n".encode())
        return _until_prompt(line)


def stop(folder: Path, names: list[str]) -> None:
    """End guests, as a power cut does."""
    for own in [folder / name for name in names] or [path.parent for path in folder.glob("*/pid")]:
        if not _lives(own):
            continue
        pid = int((own / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        while _lives(own):
            time.sleep(0.05)


def _until_prompt(line: socket.socket) -> str:
    said = b""
    while not said.rstrip().endswith(b"(qemu)"):
        part = line.recv(4096)
        if not part:
            break
        said += part
    return said.decode(errors="replace").replace("(qemu)", "").strip()


def _lives(own: Path) -> bool:
    try:
        pid = int((own / "pid").read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return False
    return bytes(own) in words  # a number that another process has got since is not the guest's


def _bytes(size: str) -> int:
    match = re.fullmatch(r"(\d+)([MG])", size)
    if match is None:
        raise ValueError(f"{size!r} is no size (96M)")
    return int(match[1]) << {"M": 20, "G": 30}[match[2]]


if __name__ == "__main__":
    sys.exit(main())
