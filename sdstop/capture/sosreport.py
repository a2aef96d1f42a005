"""sosreport: the output of sos 3 and 4, opened as one frame of a node.

    proc/, sys/, etc/, run/           files at their own paths, links as links
    sos_commands/PLUGIN/COMMAND       output of a command; the name is the mangled command line
    sos_reports/manifest.json         sos 4: each command as it was run, with status and time
    version.txt                       `sosreport: 4.5.6`, `sos report: ...`
    date, hostname, uptime            links to the commands' outputs

sos derives a file's name from a command line: it removes the directory of the program, replaces each run of characters
other than letters, digits, `_`, `-`, `.` and `/` by `_`, then `/` by `.` (sos/report/plugins, _mangle_command).

sos copies little of /sys/block and nothing of udev's database, but runs programs that print the same data:

    uname -a             Linux san1 6.1.0-38-amd64 #1 SMP ...           /proc/sys/kernel/osrelease
    blockdev --report    rw   256   512  4096   0   134217728   /dev/vda    /sys/block/vda/size, ro
    udevadm info /dev/X  E: ID_SERIAL_SHORT=ZC1A7WQ9                    udev's answer for block devices
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from sdstop.capture.contents import Contents, ForeignTree, ReadLimits
from sdstop.capture.layout import parse_json, usable_key
from sdstop.core import dates
from sdstop.core.evidence import UNDATED, Evidence, Frame, Origin, Outcome
from sdstop.core.expression import expression
from sdstop.core.host import LARGEST
from sdstop.core.refusal import refusal

ROOT = ("proc", "sys", "etc", "run", "var", "sos_commands", "sos_reports", "version.txt", "date", "hostname")
"""Entries of an unpacked sosreport that are read."""
LIMITS = ReadLimits(total=2 << 30, ratio=400, ratio_from=64 << 20)
"""Reading limits: logs are large, and trees of small files compress well."""

_KEPT = expression(
    r"(?:proc|sys|run/(?:udev/data|libvirt/qemu)|sos_commands)/|etc/(?:hostname|fstab|mdadm|zfs|drbd|ceph/ceph\.conf"
    r"|corosync/corosync\.conf|libvirt/qemu/|multipath)"
    r"|var/log/(?:(?:sa|sysstat)/sar\d+|kern\.log|messages|syslog)$|sos_reports/manifest\.json$|version\.txt$"
)
_LOGS = expression(
    r"sos_commands/(?:(?:logs(?!/journalctl_--no-pager(?:_--catalog)?_--boot$)|selinux|auditd|rpm|dpkg|apt|yum|python|java)/|systemd/(?!timedatectl$))"
)
_PATH = expression(r"^/?(?:usr/(?:local/)?)?s?bin/")
_SAR = expression(r"sar\d\d(?:\d{6})?")
_UNAME = expression(r"Linux (\S+) (\S+) #")
_REPORT = expression(
    r"^(?P<mode>rw|ro) +\d+ +\d+ +\d+ +\d+ +(?P<size>\d{1,19}) +/dev/(?P<device>[\w./-]{1,80})$", re.MULTILINE
)
_ABOUT = expression(r"cmd:udevadm info (?:--export-db|(?:-n |-q all -n |--name[= ])?\S*dev[./]\S+)")
_PROPERTY = expression(r"E: (?P<name>[A-Z][A-Z0-9_]{0,80})=(?P<value>.*)")
_SECTOR = 512
"""Bytes of a sector in /sys/block/*/size."""
_MOST = 1 << 20
"""Bytes read of a file."""
_MOST_COMMANDS = 20_000
"""Maximum commands of a manifest."""
_NOTE = "a sosreport is a single snapshot; rates are unavailable"


def foreign_tree(*, topped: bool) -> ForeignTree:
    """Return the selection of a sosreport's files to keep; `topped`: there is a single top-level directory."""

    def wanted(name: str) -> bool:
        inner = name.partition("/")[2] if topped else name
        return _KEPT.match(inner) is not None and _LOGS.match(inner) is None

    return ForeignTree(wanted)


def is_sosreport(contents: Contents) -> bool:
    """Return whether a tree, without its top-level directory, is a sosreport with command output."""
    commands = any(name.startswith("sos_commands/") for name in (*contents.files, *contents.folders))
    return commands and (
        "version.txt" in contents.files or any(name.startswith("sos_reports/") for name in contents.files)
    )


def read_sosreport(contents: Contents, name: str) -> tuple[Origin, list[Frame]]:
    """Return the origin of a sosreport and its only frame."""
    manifest = _manifest(contents)
    evidence: dict[str, Evidence] = {}
    for key, item in (*_files(contents), *_links(contents), *_commands(contents, manifest)):
        evidence.setdefault(key, item)
    for item in list(stand_ins(evidence)):
        evidence.setdefault(item.key, item)
    host = _line(contents, "etc/hostname") or _line(contents, "sos_commands/host/hostname") or name
    taken, said = _taken(contents, manifest)
    version = _line(contents, "version.txt")
    origin = Origin(
        host[:253],
        complete=contents.complete,
        note="; ".join(filter(None, [_NOTE, said, *contents.notes[:5]])),
        facts={"made by": version} if version else {},
        collectors=frozenset(),
        made="a sosreport",
    )
    return origin, [Frame(1, taken if taken is not None else UNDATED, 0.0, tuple(evidence.values()))]


def _files(contents: Contents) -> Iterator[tuple[str, Evidence]]:
    for name, data in contents.files.items():
        if name.startswith(("proc/", "sys/", "etc/", "run/")):
            yield f"/{name}", Evidence(f"/{name}", data=data[:LARGEST])
        elif name.startswith("var/log/") and not _SAR.fullmatch(name.rpartition("/")[2]):
            yield f"/{name}", Evidence(f"/{name}", data=data[-LARGEST:])


def _links(contents: Contents) -> Iterator[tuple[str, Evidence]]:
    for name, target in contents.links.items():
        if name.startswith(("proc/", "sys/", "run/")):
            key = f"link:/{name}"
            yield key, Evidence(key, data=target.encode("utf-8", "surrogateescape"))


def _commands(contents: Contents, manifest: dict[str, Any]) -> Iterator[tuple[str, Evidence]]:
    """Yield the commands in the manifest, then those whose command line is derived from the file's name."""
    known: set[str] = set()
    for command in _listed(manifest):
        path, line = command.get("filepath"), command.get("exec")
        data = contents.files.get(path) if isinstance(path, str) else None
        if data is None or not isinstance(path, str) or not isinstance(line, str):
            continue
        key = f"cmd:{_plain(line, command.get('parameters'))}"
        if usable_key(key):
            known.add(path)
            status = command.get("return_code")
            exit_ = status if isinstance(status, int) else None
            # The file contains standard error, too.
            stderr = data[:4096] if exit_ else b""
            yield key, _refused(key, data) or Evidence(key, data=data[:LARGEST], stderr=stderr, exit=exit_)
    for name, data in contents.files.items():
        file = name.rpartition("/")[2]
        if _SAR.fullmatch(file):  # a whole day from sysstat's data
            key = f"cmd:sar -A -f {file.replace('sar', 'sa')}"
            yield key, Evidence(key, data=data[:LARGEST])
        elif name.startswith("sos_commands/") and name not in known:
            key = f"cmd:{unmangled(file)}"
            part = data[-LARGEST:] if file.startswith("journalctl") else data[:LARGEST]
            yield key, _refused(key, data) or Evidence(key, data=part)


def _refused(key: str, data: bytes) -> Evidence | None:
    """Return the evidence for a command that was refused, None for others; sos 3 records no exit status."""
    said = refusal(key.partition(":")[2], data[:4096].decode("utf-8", "replace"))
    return Evidence(key, said.outcome, detail=said.reason) if said is not None else None


def _listed(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the commands of all plugins in a manifest."""
    count = 0
    report: Any = manifest.get("components")
    for step in ("report", "plugins"):
        report = report.get(step) if isinstance(report, dict) else None
    for plugin in report.values() if isinstance(report, dict) else ():
        commands = plugin.get("commands") if isinstance(plugin, dict) else None
        for command in commands if isinstance(commands, list) else ():
            count += 1
            if isinstance(command, dict) and count <= _MOST_COMMANDS:
                yield command


def _plain(line: str, parameters: object) -> str:
    """Return a command line as used in keys: the program without its directory, words separated by one space."""
    words: list[str] = [line]
    if isinstance(parameters, list) and parameters and " " not in line.strip():
        words += [word for word in parameters if isinstance(word, str)]
    try:
        words = shlex.split(" ".join(words))
    except ValueError:
        words = " ".join(words).split()
    return " ".join([_PATH.sub("", words[0]), *words[1:]]) if words else ""


def unmangled(name: str) -> str:
    """Return the command line for a file's name: `dmsetup table` for `dmsetup_table`.

    An original underscore also becomes a space, except in known program names.
    """
    for program in _UNDERSCORED:
        if name == program or name.startswith(f"{program}_"):
            return program + name[len(program) :].replace("_", " ")
    return name.replace("_", " ")


_UNDERSCORED = (
    "smp_rep_phy_err_log",
    "smp_rep_general",
    "smp_discover",
    "smp_rep_manufacturer",
    "sg_map",
    "sg_ses",
    "xfs_repair",
    "crm_mon",
    "ibv_devinfo",
)


def _manifest(contents: Contents) -> dict[str, Any]:
    data = contents.files.get("sos_reports/manifest.json")
    if data is None:
        return {}
    try:
        found = parse_json(data)
    except ValueError:
        contents.notes.append("sos_reports/manifest.json is damaged")
        return {}
    return found if isinstance(found, dict) else {}


def _line(contents: Contents, name: str) -> str:
    """Return the first line of a file, "" if it is missing or not printable."""
    text = contents.files.get(name, b"")[:500].decode("utf-8", "replace").strip().partition("\n")[0]
    return text if text.isprintable() else ""


_DATES = ("date/date_--utc", "date/date", "host/date", "general/date")
_SETTINGS = ("systemd/timedatectl", "date/timedatectl", "general/timedatectl", "host/timedatectl")


def _taken(contents: Contents, manifest: dict[str, Any]) -> tuple[float | None, str]:
    """Return the time of the sosreport (Unix seconds), and a note about it.

    The sources are `date` if it is in UTC, else the kernel's boot time and uptime, else timedatectl, else the manifest
    or `date` in an unknown zone, which have the node's local time.
    """
    files = contents.files
    lines = [_line(contents, f"sos_commands/{name}") for name in _DATES]
    settings = [files.get(f"sos_commands/{name}", b"")[:4000].decode("utf-8", "replace") for name in _SETTINGS]
    certain = [
        *map(dates.unix_time, lines),
        dates.since_boot(files.get("proc/stat", b""), files.get("proc/uptime", b"")),
        *(dates.unix_time(line) for text in settings for line in text.split("\n")),
    ]
    found = next((taken for taken in certain if taken is not None), None)
    if found is not None:
        return found, ""
    started = manifest.get("start_time")
    for said in (started if isinstance(started, str) else "", *map(dates.local_time, lines)):
        with contextlib.suppress(ValueError, OverflowError):
            local = datetime.fromisoformat(said).replace(tzinfo=UTC).timestamp()
            return local, "time zone unknown; node clock assumed"
    return None, "time of creation unknown"


def stand_ins(evidence: Mapping[str, Evidence]) -> Iterator[Evidence]:
    """Yield evidence for files that were not copied, from equivalent command output; the detail has the command."""
    names: dict[str, dict[str, str]] = {}
    for key, item in evidence.items():
        if item.outcome is not Outcome.OK or not key.startswith(("cmd:uname", "cmd:blockdev", "cmd:udevadm")):
            continue
        text = item.data[:_MOST].decode("utf-8", "replace")
        if key == "cmd:uname -a" and (found := _UNAME.match(text)):
            yield _stand_in("/proc/sys/kernel/hostname", found[1], key)
            yield _stand_in("/proc/sys/kernel/osrelease", found[2], key)
        elif key == "cmd:blockdev --report":
            yield from _sizes(text, evidence)
        elif _ABOUT.fullmatch(key):
            _properties(text, names)
    if names:
        document = json.dumps(names, sort_keys=True)
        yield Evidence("answer:udev.block", data=document.encode(), detail="from udevadm info")


def _stand_in(key: str, text: str, command: str) -> Evidence:
    return Evidence(key, data=f"{text}\n".encode(), detail=f"from {command.removeprefix('cmd:')}")


def _sizes(text: str, evidence: Mapping[str, Evidence]) -> Iterator[Evidence]:
    """Yield sizes of whole devices that exist in the tree, even if only as a link or with few attributes."""
    whole = {part[3] for key in evidence if len(part := key.split("/")) > 3 and part[1:3] == ["sys", "block"]}
    copied = {"/".join(key.rsplit("/", 2)[1:]) for key in evidence if key.endswith(("/size", "/ro"))}
    for found in _REPORT.finditer(text):
        name = found["device"].replace("/", "!")
        values = {"size": str(int(found["size"]) // _SECTOR), "ro": str(int(found["mode"] == "ro"))}
        for file, value in values.items() if name in whole else ():
            if f"{name}/{file}" not in copied:
                yield _stand_in(f"/sys/block/{name}/{file}", value, "blockdev --report")


def _properties(text: str, names: dict[str, dict[str, str]]) -> None:
    """Add the properties of block devices; a blank line ends a device."""
    for block in text.split("\n\n"):
        said = {found["name"]: found["value"] for line in block.splitlines() if (found := _PROPERTY.fullmatch(line))}
        device = said.get("DEVNAME", "")
        if said.get("SUBSYSTEM") == "block" and device.startswith("/dev/"):
            names[device.removeprefix("/dev/")] = said
