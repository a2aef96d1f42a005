"""What tests need beyond Python: programs, with the Debian packages that bring them, privileges, and kernel features.

A test or a module declares it by the mark `needs`, a fixture by `fixture_needs`; tests/conftest.py skips the test where
something is missing. This module imports nothing outside the standard library, so that it works before anything is
installed:

    python3 -m tests.needs            what is missing here
    python3 -m tests.needs --missing  the Debian packages that are missing here, for apt-get
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

PROGRAMS = {
    "addpart": "util-linux",
    "chromium": "chromium",
    "ip": "iproute2",
    "iostat": "sysstat",
    "losetup": "mount",
    "openssl": "openssl",
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "promtool": "prometheus",
    "sos": "sosreport",
    "strace": "strace",
    "systemd-analyze": "systemd",
    "tmux": "tmux",
    "victoria-metrics": "victoria-metrics",
    # tests/vm
    "apt-get": "apt",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "debootstrap": "debootstrap",
    "dpkg-deb": "dpkg",
    "mkfs.ext4": "e2fsprogs",
    "modprobe": "kmod",
    "qemu-system-x86_64": "qemu-system-x86",
}  # fmt: skip
"""Programs, and the Debian packages that bring them."""
CLUSTERS = {
    "ceph": "ceph-common",
    "ceph-mgr": "ceph-mgr",
    "ceph-mon": "ceph-mon",
    "ceph-objectstore-tool": "ceph-osd",
    "ceph-osd": "ceph-osd",
    "corosync": "corosync",
    "crm_mon": "pacemaker-cli-utils",
    "faketime": "faketime",
    "glusterd": "glusterfs-server",
    "pacemakerd": "pacemaker",
    "rados": "ceph-common",
}  # fmt: skip
"""The same for tests with the marker `clusters`: large packages with services, which no other test needs."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something that tests need, and what to do where it is missing: install a Debian package, or something else."""

    name: str
    is_met: Callable[[], bool]
    remedy: str
    package: str = ""


def missing(names: Iterable[str]) -> list[Need]:
    """Return those of the named needs that this machine does not meet. Raises KeyError for an unknown name."""
    return [NEEDS[name] for name in names if not _is_met(name)]


def fixture_needs(*names: str) -> Callable[[Function], Function]:
    """Declare what a fixture needs; it stands below @pytest.fixture, which takes no marks."""

    def declare(function: Function) -> Function:
        function.__dict__["needs"] = names
        return function

    return declare


@functools.cache
def _is_met(name: str) -> bool:
    return NEEDS[name].is_met()


def _is_installed(program: str) -> bool:
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return shutil.which(program, path=path) is not None


def _succeeds(*argv: str) -> bool:
    if shutil.which(argv[0]) is None:
        return False
    return subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0


def _is_root() -> bool:
    return os.geteuid() == 0


def _has_loop_devices() -> bool:
    return _is_root() and os.access("/dev/loop-control", os.R_OK | os.W_OK)


def _has_kernel_log() -> bool:
    """Return whether /dev/kmsg is the kernel's log (character device 1:11) and can be opened.

    kernel.dmesg_restrict refuses it to a user who may read the file by its mode. Containers have another file there.
    """
    try:
        if Path("/dev/kmsg").stat().st_rdev != os.makedev(1, 11):
            return False
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _can_limit_io() -> bool:
    """Return whether a control group of this machine can be limited: version 2, or version 1's blkio."""
    root = Path("/sys/fs/cgroup")
    try:
        if (root / "cgroup.controllers").exists():
            return "io" in (root / "cgroup.controllers").read_text("ascii").split() and os.access(root, os.W_OK)
        return os.access(root / "blkio", os.W_OK) and os.access(root / "unified", os.W_OK)
    except OSError:
        return False


def _has_mallopt() -> bool:
    """Return whether the C library has mallopt(): glibc has, musl has not."""
    return hasattr(ctypes.CDLL(None), "mallopt")


def _receives_otlp() -> bool:
    """Return whether the VictoriaMetrics of this machine is 1.92 or later, which has an endpoint for OTLP."""
    if shutil.which("victoria-metrics") is None:
        return False
    done = subprocess.run(["victoria-metrics", "-help"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return b"-opentelemetry." in done.stdout + done.stderr


CLONE = {"x86_64": 56, "aarch64": 220}
"""Number of the system call clone() by processor (arch/*/entry/syscalls, include/uapi/asm-generic/unistd.h)."""
NEEDS = {
    need.name: need
    for need in (
        *(
            Need(name, functools.partial(_is_installed, name), f"apt-get install {package}", package)
            for name, package in {**PROGRAMS, **CLUSTERS}.items()
        ),
        Need("root", _is_root, "run as root"),
        Need("mounts", lambda: _succeeds("unshare", "--mount", "true"), "run as root"),
        Need("FUSE", lambda: _is_root() and Path("/dev/fuse").exists(), "run as root on a kernel with FUSE"),
        Need("network namespaces", lambda: _succeeds("unshare", "--net", "true"), "run as root"),
        Need("loop devices", _has_loop_devices, "run as root on a kernel with loop devices"),
        Need("I/O limits", _can_limit_io, "run as root with a control group controller io or blkio"),
        Need("zones", lambda: Path("/usr/share/zoneinfo/Europe/Berlin").is_file(), "apt-get install tzdata", "tzdata"),
        Need("clone", lambda: os.uname().machine in CLONE, f"run on {' or '.join(CLONE)}"),
        Need("mallopt", _has_mallopt, "run on a Linux whose C library is glibc"),
        Need("OTLP receiver", _receives_otlp, "put a victoria-metrics of 1.92 or later first in PATH"),
        Need("kernel log", _has_kernel_log, "run as root on a kernel whose log is in /dev/kmsg"),
        Need("bonding", lambda: _succeeds("unshare", "--net", "ip", "link", "add", "bond7", "type", "bond"),
             "boot a kernel with the module bonding"),
    )
}  # fmt: skip


def main() -> int:
    """Print what is missing on this machine."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.needs", description=__doc__.partition("\n")[0])
    parser.add_argument("--missing", action="store_true", help="print only the missing Debian packages, in one line")
    parser.add_argument("--clusters", action="store_true", help="those of real clusters as well")
    options = parser.parse_args()
    lacking = missing(name for name in NEEDS if options.clusters or name not in CLUSTERS)
    if options.missing:
        sys.stdout.write(" ".join(sorted({need.package for need in lacking if need.package})) + "\n")
    else:
        for need in lacking:
            sys.stdout.write(f"{need.name}: {need.remedy}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
