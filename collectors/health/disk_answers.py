"""Rows of disk health: from one answer of smartctl or nvme, and for disks without one."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from sdstop.collectors.health import smartctl, smartctl_text
from sdstop.collectors.health.readings import (
    ANSWERED,
    FAILED,
    SKIPPED,
    STANDBY,
    UNREAD,
    UNSUPPORTED,
    DiskHealth,
)
from sdstop.collectors.health.smart_fields import Fields
from sdstop.core.host import Denied, Malformed, Output

BLOCK = "/sys/block"


def unknown(device: str, state: str, reason: str, told: str = "") -> DiskHealth:
    """Return the row of a disk without an answer; the evidence is a key, by default that of the list of disks."""
    return DiskHealth(device=device, state=state, reason=reason, told=told or f"list:{BLOCK}")


def row_of(device: str, key: str, output: Output, parse: Callable[[str], Fields]) -> DiskHealth:
    """Return the row of an output. Raises Denied if a privilege is missing."""
    text = output.text
    said = smartctl.messages(text) or smartctl.messages(output.stderr.decode("utf-8", "replace"))
    if smartctl_text.is_asleep(said):
        return unknown(device, STANDBY, "asleep; not woken up", key)
    if output.exit and smartctl_text.is_denied([*said, output.stderr.decode("utf-8", "replace")]):
        raise Denied(key, "requires root; run with sudo")
    try:
        fields = parse(text)
    except Malformed as error:
        first = next(iter(said), "")
        if (output.exit or 0) & 1 and "option" in f"{text[:4000]}".lower():
            return unknown(device, SKIPPED, "smartctl is older than 7.0, which brought JSON", key)
        if output.exit and first and not text.lstrip().startswith("{"):
            return unknown(device, FAILED, first[:120], key)
        return unknown(device, UNREAD, str(error)[:120], key)
    found = DiskHealth(device=device, state=ANSWERED, told=key, form=_form(text), **fields)
    if found.reason is not None:
        return replace(found, state=UNSUPPORTED)
    if _is_empty(found):
        unopened = (output.exit or smartctl.exit_status(text)) & 2
        reason = (said[0] if said else "the disk reports no SMART data")[:120]
        return replace(found, state=FAILED if unopened else UNSUPPORTED, reason=reason)
    return found


def _form(text: str) -> str:
    start = text.lstrip()[:40]
    return "json" if start.startswith("{") else "text" if "smartctl" in text[:4096] else "log"


def _is_empty(row: DiskHealth) -> bool:
    counts = (row.pending, row.uncorrected, row.reallocated, row.crc_errors, row.failing)  # of a part of the table
    known = (row.passed, row.critical_warning, row.attributes, row.selftest_passed, row.used)
    return all(each is None for each in (*known, *counts))
