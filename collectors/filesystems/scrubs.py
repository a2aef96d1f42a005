"""Scrubs of btrfs, as btrfs-progs records them, and as recorded `btrfs scrub status` prints them."""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.filesystems.readings import BTRFS, RECORDS, BtrfsScrub
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several, outputs
from sdstop.core.host import Host, Malformed
from sdstop.core.text import whole
from sdstop.readings.disk import device_name

_UUID = expression(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def parse(text: str, uuid: str) -> tuple[str, int | None]:
    """Return the state and the end of the last scrub from its record, which has a line for each device.

    scrub status:1
    7f3e...:1|data_extents_scrubbed:10|...|t_start:1790000000|t_resumed:0|duration:12|canceled:0|finished:1
    """
    rows = [dict(pair.partition(":")[::2] for pair in line.split("|")[1:])
            for line in text.splitlines() if line.startswith(f"{uuid}:")]  # fmt: skip
    flags = [(whole(row.get("canceled")), whole(row.get("finished"))) for row in rows]
    if not rows or any(None in pair for pair in flags):
        return "unknown", None
    if any(canceled for canceled, _ in flags):
        return "canceled", None
    if not all(finished for _, finished in flags):
        return "running", None
    ends = []
    for row in rows:
        began, resumed, took = (whole(row.get(key)) for key in ("t_start", "t_resumed", "duration"))
        if began is None or took is None:
            return "unknown", None
        ends.append(resumed or began + took)  # of a resumed one the duration is that of all its parts
    return "finished", min(ends)


def parse_errors(text: str, uuid: str) -> tuple[int | None, int | None]:
    """Return the errors that the last scrub repaired, and those that it could not, from its record; None if unknown."""
    rows = [dict(pair.partition(":")[::2] for pair in line.split("|")[1:])
            for line in text.splitlines() if line.startswith(f"{uuid}:")]  # fmt: skip
    counts = ([whole(row.get(key)) for row in rows] for key in ("corrected_errors", "uncorrectable_errors"))
    corrected, lost = (sum(filter(None, each)) if each and None not in each else None for each in counts)
    return corrected, lost


_HEAD = expression(r"UUID:\s+(?P<uuid>[0-9a-f-]{36})\s*|scrub status for (?P<old>[0-9a-f-]{36})\s*")
_STATUS = expression(
    r"Status:\s+(?P<state>\w{1,20})\s*|.*\b(?P<old>finished after|running for|aborted|interrupted)\b.*"
)
_CLEAN = expression(r"Error summary:\s+no errors found\s*|.* with 0 errors\s*")
_COUNTS = (
    expression(r"(?:Corrected|corrected_errors):\s+(\d{1,18})|corrected errors: (\d{1,18}), .*"),
    expression(r"(?:Uncorrectable|uncorrectable_errors):\s+(\d{1,18})|.*\buncorrectable errors: (\d{1,18}), .*"),
)
_STATES = {"finished after": "finished", "running for": "running", "aborted": "canceled", "interrupted": "running"}


def parse_status(text: str, key: str) -> Iterator[BtrfsScrub]:
    """Yield the scrubs of `btrfs scrub status` (cmds/scrub.c: print_scrub_summary). Raises Malformed for one cut off.

    Error summary:    csum=41
      Corrected:      0
      Uncorrectable:  41

    Until 5.1: `corrected errors: 0, uncorrectable errors: 41, unverified errors: 0`. With -d each device has its own;
    with -R a line for each counter: `uncorrectable_errors: 41`.
    """
    uuid, blocks = "", list[tuple[str, list[str]]]()
    for line in text.splitlines():
        if (head := _HEAD.fullmatch(line.strip())) is not None:
            uuid = head["uuid"] or head["old"]
            blocks.append((uuid, []))
        elif blocks:
            blocks[-1][1].append(line.strip())
    for uuid, lines in blocks:
        found = next((match for line in lines if (match := _STATUS.fullmatch(line)) is not None), None)
        said = (found["state"] or found["old"]) if found is not None else "never"
        counts = [[int(match[1] or match[2]) for line in lines if (match := each.fullmatch(line))] for each in _COUNTS]
        clean = any(_CLEAN.fullmatch(line) for line in lines)
        if said != "never" and not clean and not all(counts):
            raise Malformed(f"btrfs scrub status: no summary of errors for {uuid}")
        corrected, lost = (sum(each) if each or clean else None for each in counts)
        yield BtrfsScrub(uuid, None, _STATES.get(said, said), None, corrected, lost, key)


STATUS_TEXT = Form(
    key="cmd:btrfs scrub status",
    first=r"UUID: +[0-9a-f-]{36}\s*\n(?:Scrub (?:started|resumed|device)|\s*\n|\s+no stats)"
    r"|scrub status for [0-9a-f-]{36}\s*\n",
    reads="errors that the last scrub of btrfs found",
    versions="btrfs-progs 3.12 and later",
    goes_on=r"(?:UUID|Scrub \w+|Status|Duration|Time left|ETA|Total to scrub|Bytes scrubbed|Rate|Error summary): .*"
    r"|\s+(?:Corrected|Uncorrectable|Unverified): .*|\s+(?:scrub|total|error|corrected|no stats) .*|\*\*\* WARNING.*"
    r"|[Ss]crub (?:device|status) .*|\s+[a-z_]{5,30}: \d+",
    several=Several.JOINED,
)


def read(host: Host) -> Iterator[BtrfsScrub]:
    """Yield the mounted btrfs, or those of recorded outputs.

    Raises Absent if the kernel has no btrfs, Denied if the records are not readable, Malformed.
    """
    shown = [row for each in outputs(host, STATUS_TEXT) for row in parse_status(each.text, each.key)]
    if shown:
        yield from shown
        return
    for uuid in filter(_UUID.fullmatch, host.entries(BTRFS)):
        devices = [device_name(name) for name in host.names(f"{BTRFS}/{uuid}/devices")]
        device = devices[0] if devices else None
        name = f"scrub.status.{uuid}"
        if name in host.names(RECORDS):
            text = host.text(f"{RECORDS}/{name}")
            yield BtrfsScrub(uuid, device, *parse(text, uuid), *parse_errors(text, uuid))
        else:
            yield BtrfsScrub(uuid, device, "never")


BTRFS_SCRUBS = Collector(
    "btrfs-scrubs",
    "Last scrubs of btrfs",
    read,
    (BtrfsScrub,),
    (
        Need(f"list:{BTRFS}", "which btrfs file systems are mounted"),
        Need(f"list:{BTRFS}/*", "their devices"),
        Need(f"list:{RECORDS}", "whether a scrub of them was recorded"),
        Need(f"{RECORDS}/scrub.status.*", "when the last scrub ended", "root", filled=True),
        Need("cmd:btrfs scrub*", "the same of `btrfs scrub status`, from captures only"),
    ),
    SLOW,
    forms=(STATUS_TEXT,),
)
