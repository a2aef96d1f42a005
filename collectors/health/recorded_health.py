"""Disk health in outputs of smartctl and nvme that others recorded or pasted, with any options."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from sdstop.collectors.health import nvme_log, smartctl, smartctl_text
from sdstop.collectors.health.disk_answers import BLOCK, row_of, unknown
from sdstop.collectors.health.readings import (
    ANSWERED,
    FAILED,
    SILENT,
    UNREAD,
    DiskHealth,
)
from sdstop.collectors.health.smart_fields import Fields
from sdstop.core.expression import expression
from sdstop.core.host import Denied, Host, Output, TimedOut, Unreadable

_SUBJECT = expression(r"[ _](?:[/._]?dev[/._])(?P<device>[\w./!-]+?)(?:[ _]-(?:o|-output-format)\W?.*)?$")
_INNER = expression(r"-d[ _]?(?P<type>(?:sat\+)?(?:megaraid|cciss|aacraid|3ware|areca|hpt)[,_]\w+)")


def recorded_rows(host: Host, own: Sequence[tuple[str, ...]]) -> Iterator[DiskHealth]:
    """Yield the disks in recorded output of smartctl and nvme with any options; several of a disk are one row.

    The output of our own commands counts only without a list of disks: that of a disk that was pulled or fell asleep
    since is old.
    """
    found: dict[str, DiskHealth] = {}
    known = bool(host.names(BLOCK))
    for program in ("smartctl", "nvme"):
        for name in host.recorded(program):
            if known and _is_own(name, own):
                continue
            if program == "nvme" and not _LOG.match(name):
                _pass(host, name)
                continue
            for row in _of_recorded(host, program, name):
                before = found.get(row.device)
                found[row.device] = row if before is None else _merged(host, before, row)
    yield from found.values()


def _pass(host: Host, name: str) -> None:
    """Mark the output of another command of nvme as known: it has no health data in another form."""
    with contextlib.suppress(Unreadable):
        host.recorded_output(name)


_LOG = expression(r"nvme[ _]smart-log")


def _is_own(name: str, own: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a recorded command is one that this source runs."""
    words = tuple(name.split(" "))
    return any(
        len(words) == len(argv) and all(asked in {"*", word} for asked, word in zip(argv, words, strict=True))
        for argv in own
    )


def _merged(host: Host, before: DiskHealth, row: DiskHealth) -> DiskHealth:
    """Return the facts of two outputs about a disk, such as `-H` and `-A`; the worse ones where they differ."""
    best, other = (row, before) if _rank(row) > _rank(before) else (before, row)
    if other.state != ANSWERED or best.state != ANSWERED:
        return best
    if best.passed is not None and other.passed is not None and best.passed != other.passed:
        said = f"assessment {_said(best)}, and {_said(other)} in {other.told}"
        host.defect(best.told, said, best.device)
    if other.passed is False and best.passed is not False:
        other = replace(other, form=best.form, protocol=best.protocol, attributes=best.attributes)
        best, other = other, best
    lacking = {name: getattr(other, name) for name in best.__struct_fields__ if getattr(best, name) is None}
    return replace(best, **lacking)


def _said(row: DiskHealth) -> str:
    return "passed" if row.passed else "failed"


def _rank(row: DiskHealth) -> tuple[bool, bool, int]:
    known = sum(getattr(row, field) is not None for field in row.__struct_fields__)
    return row.state == ANSWERED, row.attributes is not None, known


def _named(host: Host, name: str) -> str | None:
    """Return the kernel name of the disk that a recorded command is about, None if it names none.

    A disk behind a RAID controller is named by its number there.
    """
    found = _SUBJECT.search(name)
    if found is None:
        return None
    device = found["device"].rstrip(".")
    inner = _INNER.search(name)
    return f"{device}:{inner['type'].replace('_', ',')}" if inner else _disk(host, device)


def _disk(host: Host, device: str) -> str:
    """Return the disk of a name: the only disk of an NVMe controller."""
    only = re.fullmatch(r"nvme\d+", device) is not None and host.names(f"{BLOCK}/{device}n1")
    return f"{device}n1" if only else device


def _of_recorded(host: Host, program: str, name: str) -> Iterator[DiskHealth]:
    key = f"cmd:{name}" if " " in name else f"slug:{name}"
    device = _named(host, name)
    try:
        output = host.recorded_output(name)
    except TimedOut:
        if device is not None:
            yield unknown(device, SILENT, f"{program} did not answer", key)
        return
    except Unreadable:
        return
    text = output.text.strip()
    if device is not None and text:
        yield _parsed(device, key, output, program)
    elif text:  # pasted without the command: several outputs follow each other
        for at, part in enumerate(_documents(text) if text.startswith("{") else _parts(text)):
            own = _disk(host, found[1] or found[2]) if (found := _OWN_NAME.search(part)) else None
            row = _parsed(
                own or f"disk {at + 1}", key, replace(output, stdout=part.encode("utf-8", "surrogateescape")), program
            )
            masked = re.search(r"(?i)\bserial[ _]number\b", part) is not None
            if own is None and row.serial is None and row.state == ANSWERED and not masked and not _has_fault(row):
                row = unknown(row.device, UNREAD, "the text names no disk", key)
            yield replace(row, device=own or row.serial or row.device)


def _has_fault(row: DiskHealth) -> bool:
    """Return whether a row shows a fault, which counts even if the text does not name the disk."""
    counts = (row.critical_warning, row.pending, row.uncorrected, row.reallocated, row.failing)
    return any(counts) or row.passed is False or row.selftest_passed is False


_PARTS = expression(r"(?m)^(?=smartctl \d\.\d|Smart Log for NVME device)")
_OWN_NAME = expression(r'Smart Log for NVME device: ?(nvme\w+)|"name": ?"/dev/([\w/]+)"')


def _parts(text: str) -> list[str]:
    """Return the outputs in a text; the whole text if it has only a table of attributes, or lines of one."""
    return _PARTS.split(text)[1:] or ([text] if smartctl_text.has_table(text) else [])


def _documents(text: str) -> list[str]:
    """Return the JSON documents that follow each other in a text; the rest of the text if one is damaged."""
    found: list[str] = []
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return [*found, text[at:]]
        found.append(text[at:end])
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return found


def _parsed(device: str, key: str, output: Output, program: str) -> DiskHealth:
    """Return the row of an output that others recorded, as JSON or text."""
    parsers: dict[tuple[str, bool], Callable[[str], Fields]] = {
        ("smartctl", True): smartctl.parse_json, ("smartctl", False): smartctl_text.parse_text,
        ("nvme", True): nvme_log.parse_json, ("nvme", False): nvme_log.parse_text,
    }  # fmt: skip
    try:
        return row_of(device, key, output, parsers[program, output.text.lstrip().startswith("{")])
    except Denied:
        return unknown(device, FAILED, "no permission", key)
