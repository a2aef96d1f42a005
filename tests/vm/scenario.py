"""Scenario: what a file under scenarios/ declares. README.md says what may stand in one.

about = "One member of a RAID10 answers 35 requests a second; the other seven have no limit."
disks = ["d0..d7 256M", "d3 iops=35"]
setup = "mdadm --create /dev/md0 --run --assume-clean --level=10 --chunk=512 --raid-devices=8 $d0 $d1 ..."
load = "fio --name=load --filename=/dev/md0 ..."
[[expect]]
found = ["warning slow-stripe-member md0/vdd"]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.expectation import Expect, Misdeclared, parse_expect

FOLDER = Path(__file__).parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk of the machine.

    `size` in bytes; `iops` and `bps` are limits that the machine enforces, None: none. `seek` is how many ms a request
    takes more that does not begin where the last one ended (spindle.py), 0: it is all the same. `on` is `virtio`,
    `slot` (a virtio disk that can be unplugged), `nvme`, `none` (a drive that `qemu` attaches), or a SCSI bus
    (`scsi0.0`), and properties of QEMU's device after a comma (`nvme,bus=rp2`).
    """

    name: str
    size: int
    iops: int | None = None
    bps: int | None = None
    seek: float = 0.0
    on: str = "virtio"


@dataclass(frozen=True, slots=True)
class Step:
    """What is done `at` so many seconds of the recording.

    One of: `run` in the guest's shell, a `monitor` command to the machine, `keys` to the dashboard, the dashboard's
    `screen` kept under a name; `shows` are texts which that screen must hold, `hides` those that it must not.
    """

    at: float
    run: str = ""
    monitor: str = ""
    keys: tuple[str, ...] = ()
    screen: str = ""
    shows: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One fault on one machine, and what is to be said of it."""

    name: str
    about: str
    disks: tuple[Disk, ...] = ()
    setup: str = ""
    load: str = ""
    seconds: float = 20.0
    interval: float = 1.0
    warm: float = 2.0  # seconds of load before the recording starts; negative: so late it starts
    cpus: str = "2"
    memory: str = "1G"
    qemu: tuple[str, ...] = ()
    dimms: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    raw: tuple[str, ...] = ()
    options: str = ""  # of sdstop capture
    zfs: bool = False
    packages: tuple[str, ...] = ()  # of Debian, that the guest has besides
    sos: str = ""  # options of `sos report`, which is made after the recording
    dashboard: str = ""
    report: float = 0.0
    core: bool = False
    fixture: bool = True
    steps: tuple[Step, ...] = ()
    expect: tuple[Expect, ...] = ()
    shows: str = ""  # for the fixture's README


_KEYS = {
    "about": str, "like": str, "disks": list, "setup": str, "load": str, "seconds": (int, float),
    "interval": (int, float), "warm": (int, float), "cpus": str, "memory": str, "qemu": list, "dimms": str,
    "env": dict, "raw": list, "options": str, "zfs": bool, "packages": list,
    "sos": str, "dashboard": str, "report": (int, float), "core": bool,
    "fixture": bool, "step": list, "expect": list, "shows": str,
}  # fmt: skip
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def names() -> list[str]:
    """Return the names of all scenarios."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Scenario:
    """Return a scenario by its name. Raises Misdeclared."""
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise Misdeclared(f"there is no scenario {name}; there are {', '.join(names())}")
    return parse(name, _declared(path))


def _declared(path: Path, depth: int = 0) -> dict[str, Any]:
    """Return what a file declares, over what the file that it is `like` declares."""
    if depth > 3:
        raise Misdeclared(f"{path.name}: like: too many, one after the other")
    try:
        declared = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Misdeclared(f"{path.name}: {error}") from error
    parent = declared.pop("like", None)
    if parent is None:
        return declared
    below = _declared(path.with_name(f"{parent}.toml"), depth + 1)
    env = {**below.get("env", {}), **declared.get("env", {})}
    return {**below, "core": False, **declared, **({"env": env} if env else {})}


def parse(name: str, declared: Mapping[str, Any]) -> Scenario:
    """Return the scenario that a TOML document declares. Raises Misdeclared."""
    for key, value in declared.items():
        if key not in _KEYS:
            raise Misdeclared(f"{name}: {key}: no such key; there are {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):  # type: ignore[arg-type]
            raise Misdeclared(f"{name}: {key}: {value!r} is of another kind")
    if not declared.get("about"):
        raise Misdeclared(f"{name}: about: say in a sentence what is made")
    if not declared.get("expect"):
        raise Misdeclared(f"{name}: expect: say what must be found; nothing is found = []")
    if declared.get("zfs") and declared.get("packages"):
        raise Misdeclared(f"{name}: packages: the guest with ZFS has none besides")
    plain = {
        k: v for k, v in declared.items() if k not in {"disks", "step", "expect", "qemu", "raw", "packages", "like"}
    }
    try:
        return Scenario(
            name,
            **plain,
            disks=tuple(_disks(declared.get("disks", ()))),
            qemu=tuple(declared.get("qemu", ())),
            raw=tuple(declared.get("raw", ())),
            packages=tuple(declared.get("packages", ())),
            steps=tuple(sorted((_step(step) for step in declared.get("step", ())), key=lambda step: step.at)),
            expect=tuple(parse_expect(expect) for expect in declared["expect"]),
        )
    except (TypeError, ValueError, KeyError) as error:
        raise Misdeclared(f"{name}: {error}") from error


def _disks(lines: Sequence[str]) -> list[Disk]:
    """Return the disks that lines declare: `d0..d7 256M`, and later `d3 iops=35`, which says more of one."""
    found: dict[str, Disk] = {}
    for line in lines:
        names, *words = line.split()
        for name in _range(names):
            disk = found.get(name)
            for word in words:
                key, equals, value = word.partition("=")
                if not equals:
                    disk = replace(disk, size=_size(word)) if disk else Disk(name, _size(word))
                elif disk is None:
                    raise ValueError(f"disks: {line!r}: {name} has no size yet")
                elif key == "iops":
                    disk = replace(disk, iops=int(value))
                elif key == "bps":
                    disk = replace(disk, bps=int(value))
                elif key == "seek":
                    disk = replace(disk, seek=float(value))
                elif key == "on":  # the rest of the word, with its own equals signs
                    disk = replace(disk, on=value)
                else:
                    raise ValueError(f"disks: {line!r}: {key} is neither iops, bps, seek nor on")
            if disk is None:
                raise ValueError(f"disks: {line!r}: no size")
            found[name] = disk
    return list(found.values())


def _range(text: str) -> list[str]:
    match = re.fullmatch(r"([a-z]+)(\d+)(?:\.\.\1(\d+))?|[a-z][a-z0-9]*", text)
    if match is None:
        raise ValueError(f"disks: {text!r} is neither a name (d3) nor some (d0..d7)")
    if match[1] is None:
        return [text]
    return [f"{match[1]}{number}" for number in range(int(match[2]), int(match[3] or match[2]) + 1)]


def _size(word: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG])", word)
    if match is None:
        raise ValueError(f"disks: {word!r} is no size (256M)")
    return int(match[1]) * _UNITS[match[2]]


def _step(declared: Mapping[str, Any]) -> Step:
    known = {"at", "run", "monitor", "keys", "screen", "shows", "hides"}
    if set(declared) - known or "at" not in declared:
        raise ValueError(f"step: {sorted(declared)}: at and one of {sorted(known - {'at'})}")
    run, monitor, screen = (declared.get(key, "") for key in ("run", "monitor", "screen"))
    keys, shows, hides = (tuple(declared.get(key, ())) for key in ("keys", "shows", "hides"))
    return Step(float(declared["at"]), run, monitor, keys, screen, shows, hides)
