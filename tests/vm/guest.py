"""Guest: the kernel and the small Debian that every scenario boots, made once of Debian's packages and kept.

What is kept depends on nothing of the project's: sdstop and what drives a scenario come over a share at each boot.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.needs import missing

SUITE = "bookworm"
NEEDS = (
    "root", "qemu-system-x86_64", "debootstrap", "busybox", "cpio", "mkfs.ext4", "modprobe", "dpkg-deb", "apt-get",
)  # fmt: skip
"""What is needed here, as tests/needs.py knows it."""
PACKAGES = (
    "bcache-tools", "dmidecode", "dmsetup", "drbd-utils", "ethtool", "fio", "iproute2", "iputils-ping", "kmod",
    "lsscsi", "lvm2", "mdadm", "nbd-client", "nbd-server", "numactl", "nvme-cli", "open-iscsi", "pciutils",
    "procps", "python3", "sg3-utils", "smartmontools", "smp-utils", "sysstat", "systemd-sysv", "targetcli-fb",
    "thin-provisioning-tools", "tmux", "udev", "util-linux", "vblade", "zfsutils-linux",
)  # fmt: skip
HOSTNAME = "sdsvm"
"""As inside/init.sh says it."""
_BOOT_MODULES = ("virtio_pci", "virtio_blk", "ext4", "overlay", "9pnet_virtio", "9p")
_USELESS = (  # of the kernel's modules, of which there are 400 MB
    "drivers/bluetooth", "drivers/gpu", "drivers/hid", "drivers/hwmon", "drivers/iio", "drivers/infiniband",
    "drivers/input", "drivers/isdn", "drivers/media", "drivers/net/ethernet", "drivers/net/wireless", "drivers/staging",
    "drivers/usb", "net/bluetooth", "net/mac80211", "net/wireless", "sound",
)  # fmt: skip

_INIT = """#!/bin/busybox sh
bb=/bin/busybox
$bb mount -t proc p /proc; $bb mount -t sysfs s /sys; $bb mount -t devtmpfs d /dev
for m in /m/*.ko; do $bb insmod $m || echo "insmod $m failed"; done
find() {
  for s in /sys/block/vd*/serial; do [ "$($bb cat $s)" = "$1" ] && $bb echo /dev/$($bb basename $($bb dirname $s)); done
}
i=0; while [ -z "$(find sdstoproot)" ] && [ $i -lt 200 ]; do i=$((i+1)); $bb sleep 0.05; done
$bb mount -t ext4 -o ro $(find sdstoproot) /r
$bb mount -t tmpfs -o size=60% t /o; $bb mkdir -p /o/u /o/w
$bb mount -t overlay -o lowerdir=/r,upperdir=/o/u,workdir=/o/w o /n
$bb mkdir -p /n/vm /n/opt/sdstop
$bb mount -t ext4 -o ro $(find sdstopsite) /n/opt/sdstop
$bb mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 vm /n/vm
$bb mount --move /dev /n/dev; $bb mount --move /proc /n/proc; $bb mount --move /sys /n/sys
exec $bb switch_root /n /bin/sh /vm/init.sh
"""


class Unprepared(Exception):  # noqa: N818
    """The guest cannot be made here. Says what is missing."""


@dataclass(frozen=True, slots=True)
class Guest:
    """Files to boot: `kernel`, `initrd`, `root` (ext4, never written to), and what `uname -r` will say."""

    kernel: Path
    initrd: Path
    root: Path
    release: str


def cache() -> Path:
    """Return where what is made is kept: $SDSTOP_VM_CACHE, else a folder of the user's cache."""
    given = os.environ.get("SDSTOP_VM_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(home) / "sdstop-vm"


def prepare(*, zfs: bool = False, packages: Sequence[str] = ()) -> Guest:
    """Return the guest, made now if it is not there: two minutes; with ZFS's modules six more. Wants root.

    `packages` are Debian packages that it has besides, in a root of its own (a minute), which has no ZFS. Raises
    Unprepared.
    """
    if lacking := missing(NEEDS):
        raise Unprepared("; ".join(need.remedy for need in lacking))
    place = cache() / _name()
    with _locked(place / "lock-root"):
        if not (place / "release").exists():
            _make(place)
    release = (place / "release").read_text().strip()
    root = place / ("root-zfs.img" if zfs else "root.img")
    if zfs:
        with _locked(place / "lock-zfs"):
            if not root.exists():
                _add_zfs(place, release, root)
    elif packages:
        root = place / f"root-{hashlib.sha256(repr(sorted(packages)).encode()).hexdigest()[:12]}.img"
        with _locked(place / "lock-packages"):
            if not root.exists():
                _add_packages(place, packages, root)
    return Guest(place / "vmlinuz", place / "initrd.gz", root, release)


def _name() -> str:
    """Return a name for what this module makes: another one when its recipe changes."""
    recipe = repr((SUITE, PACKAGES, _BOOT_MODULES, _USELESS, _INIT))
    return hashlib.sha256(recipe.encode()).hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Have one process at a time make something."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(*argv: str | Path, cwd: Path | None = None, data: bytes | None = None) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    environment["PATH"] = environment.get("PATH", "") + ":/usr/sbin:/sbin"
    done = subprocess.run(argv, cwd=cwd, input=data, capture_output=True, env=environment, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-8:]
        raise Unprepared(f"{' '.join(map(str, argv))[:200]}: exit {done.returncode}: " + " | ".join(said))
    return done.stdout.decode("utf-8", "replace")


def _say(text: str) -> None:
    sys.stderr.write(f"guest: {text}\n")


def _make(place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=place, prefix="new-") as name:
        work = Path(name)
        image = next(
            line.split()[1]
            for line in _run("apt-cache", "depends", "linux-image-amd64").splitlines()
            if "linux-image-" in line and "Depends:" in line
        )
        release = image.removeprefix("linux-image-")
        _say(f"kernel {release}, {len(PACKAGES)} packages of {SUITE} and what they want; about two minutes")
        _run("apt-get", "download", "-q", image, cwd=work)
        kernel = work / "kernel"
        _run("dpkg-deb", "-x", next(work.glob("linux-image-*.deb")), kernel)
        modules = kernel / "lib/modules" / release
        for folder in _USELESS:
            shutil.rmtree(modules / "kernel" / folder, ignore_errors=True)
        _run("depmod", "-b", kernel, release)
        tree = work / "root"
        wanted = ",".join(PACKAGES)
        _run("debootstrap", "--variant=minbase", "--components=main,contrib", f"--include={wanted}", SUITE, tree)
        shutil.copytree(modules, tree / "lib/modules" / release, symlinks=True)
        _slim(tree)
        for folder in ("vm", "opt/sdstop", "proc", "sys", "dev", "run", "tmp"):
            (tree / folder).mkdir(parents=True, exist_ok=True)
        _run(
            "tar", "-C", tree, "-I", "gzip -1", "-cf", place / "root.tar.gz", "."
        )  # to add ZFS or packages, if asked for
        pack(tree, place / "root.img")
        _initrd(kernel, release, place / "initrd.gz")
        shutil.copy(kernel / f"boot/vmlinuz-{release}", place / "vmlinuz")
        (place / "release").write_text(f"{release}\n")  # last: now it is whole


def _slim(tree: Path) -> None:
    for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(tree / waste, ignore_errors=True)


def pack(tree: Path, image: Path, spare: int = 64 << 20) -> None:
    """Write a folder as an ext4 image with some room to spare."""
    size = sum(f.lstat().st_blocks * 512 for f in tree.rglob("*") if not f.is_symlink()) * 11 // 10 + spare
    new = image.with_suffix(".new")
    with new.open("wb") as file:
        file.truncate(-(-size >> 20) << 20)
    _run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-m", "0", "-d", tree, new)
    new.rename(image)


def _initrd(kernel: Path, release: str, image: Path) -> None:
    """Write what mounts the root, an overlay over it, and the share: busybox and six modules with what they want."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        for folder in ("bin", "m", "proc", "sys", "dev", "r", "o", "n"):
            (tree / folder).mkdir()
        shutil.copy("/bin/busybox", tree / "bin/busybox")
        for number, file in enumerate(_with_dependencies(kernel, release, _BOOT_MODULES), start=10):
            shutil.copy(file, tree / "m" / f"{number}-{file.name}")
        (tree / "init").write_text(_INIT)
        (tree / "init").chmod(0o755)
        names = "\n".join(str(f.relative_to(tree)) for f in sorted(tree.rglob("*"))) + "\n"
        archive = subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"], input=names.encode(), cwd=tree, capture_output=True, check=True
        ).stdout
        image.write_bytes(subprocess.run(["gzip", "-1"], input=archive, capture_output=True, check=True).stdout)


def _with_dependencies(kernel: Path, release: str, modules: Sequence[str]) -> list[Path]:
    found: dict[Path, None] = {}
    for module in modules:
        for line in _run("modprobe", "-S", release, "-d", kernel, "--show-depends", module).splitlines():
            if line.startswith("insmod "):
                found[Path(line.split()[1])] = None
    return list(found)


def _add_zfs(place: Path, release: str, image: Path) -> None:
    """Build ZFS's modules for the guest's kernel, in a chroot, at native speed."""
    _say("ZFS's modules are built; about seven minutes")
    with tempfile.TemporaryDirectory(dir=place, prefix="zfs-") as name:
        tree, build = Path(name) / "root", Path(name) / "build"
        tree.mkdir()
        _run("debootstrap", "--variant=minbase", "--components=main,contrib", SUITE, build)
        with _apt(build):
            _run("chroot", build, "apt-get", "-qy", "install", "--no-install-recommends",
                 f"linux-headers-{release}", "zfs-dkms")  # fmt: skip
        _run("tar", "-C", tree, "-xzf", place / "root.tar.gz")
        made = build / "lib/modules" / release / "updates"
        if not made.is_dir():
            raise Unprepared("zfs-dkms built no module")
        shutil.copytree(made, tree / "lib/modules" / release / "updates")
        _run("depmod", "-b", tree, release)
        pack(tree, image)


def _add_packages(place: Path, packages: Sequence[str], image: Path) -> None:
    """Install more packages into a copy of the root, in a chroot, at native speed."""
    _say(f"{' '.join(packages)} are added; about a minute")
    with tempfile.TemporaryDirectory(dir=place, prefix="packages-") as name:
        tree = Path(name) / "root"
        tree.mkdir()
        _run("tar", "-C", tree, "-xzf", place / "root.tar.gz")
        with _apt(tree):
            _run("chroot", tree, "apt-get", "-qy", "install", "--no-install-recommends", *packages)
        _slim(tree)
        shutil.rmtree(tree / "etc/apt")  # how this machine gets its packages, and its names, are nobody's business
        (tree / "etc/resolv.conf").unlink(missing_ok=True)
        (tree / "etc/hostname").write_text(f"{HOSTNAME}\n")
        pack(tree, image)


@contextmanager
def _apt(tree: Path) -> Iterator[None]:
    """Have apt work in a tree as it does here, and with what is contributed; its lists are new."""
    shutil.rmtree(tree / "etc/apt", ignore_errors=True)
    shutil.copytree("/etc/apt", tree / "etc/apt", symlinks=True)
    for file in [tree / "etc/apt/sources.list", *tree.glob("etc/apt/sources.list.d/*")]:
        if file.is_file():
            text = file.read_text().replace("Components: main\n", "Components: main contrib\n")
            file.write_text("".join(f"{line.rstrip()} contrib\n" if line.rstrip().endswith(" main") else line
                                    for line in text.splitlines(keepends=True)))  # fmt: skip
    shutil.copy("/etc/resolv.conf", tree / "etc/resolv.conf")
    _run("mount", "-t", "proc", "proc", tree / "proc")
    try:
        _run("chroot", tree, "apt-get", "-q", "update")
        yield
    finally:
        _run("umount", tree / "proc")
