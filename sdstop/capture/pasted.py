"""Pasted text: terminal output copied into a ticket, recognized by its prompts or by its form.

    [root@san1 ~]# dmsetup status cachedev            a prompt has the command; its output ends at the next prompt
    0 2930294784 flashcache stats:                    without a prompt, the form of the text identifies the command
    Personalities : [raid10]
      pool: tank

Recognized output becomes evidence as if it had been recorded, in one frame; the last of several occurrences counts. An
output that no prompt follows may have been cut: unless its own format shows its end, it is marked ("end not shown").
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from msgspec import Struct, field

from sdstop.capture import dates
from sdstop.capture.contents import CaptureRefused
from sdstop.core.evidence import UNDATED, Evidence, Frame, Origin
from sdstop.core.format import safe

LONGEST = 16 << 20
"""Maximum size of the text in bytes."""

PROGRAMS = frozenset({
    "ceph", "dmidecode", "dmsetup", "drbdsetup", "iostat", "ip", "lsblk", "lscpu", "lsscsi", "lvs", "sadf", "sar",
    "scli", "sg_map", "smp_discover", "smp_rep_general", "smp_rep_phy_err_log", "zpool", "zfs",
})  # fmt: skip
"""Commands whose output sdstop can parse."""

_PROMPT = re.compile(
    r"\s{0,8}(?:\[[^\]\n]{1,100}\]\s?|[\w.-]{1,64}@[\w.-]{1,64}[:\s]?[^\s#$%>]{0,200}\s?|[\w./~:-]{0,80}\s?)?"
    r"[#$%>]\s{1,4}(?P<line>\S.{0,2000})"
)
_ALONE = re.compile(
    rf"\s{{0,8}}`?(?P<line>(?:sudo )?(?:{'|'.join(sorted(PROGRAMS))})(?: [\w./:@%+=,-]{{1,100}}){{0,12}})`?:?"
)
"""Command line in back quotes, or alone on a line."""
_SUDO = re.compile(r"(?:sudo|doas)\s+(?:-\S+\s+)*")
_FOLDER = re.compile(r"/?(?:usr/(?:local/)?)?s?bin/")


class _Signature(Struct, frozen=True):
    """Signature of an output: pattern of its first line, key of its source, and pattern of its last line."""

    first: re.Pattern[str]
    key: str
    last: re.Pattern[str] | None = None


_IOSTAT = "cmd:iostat -x"
_SIGNATURES = (
    _Signature(re.compile(r"Personalities\s*:"), "/proc/mdstat", re.compile(r"unused devices:")),
    _Signature(re.compile(r"md[\w/]{1,30}\s:\s(?:active|inactive)\b"), "/proc/mdstat", re.compile(r"unused devices:")),
    _Signature(re.compile(r"(?:\S{1,200}: )?\d+ \d+ flashcache stats:"), "cmd:dmsetup status"),
    _Signature(re.compile(r"(?:\S{1,200}: )?\d+ \d+ flashcache conf:"), "cmd:dmsetup table"),
    _Signature(re.compile(r"\S{1,200}: \d+ \d+ (?:cache \d+ \d+/\d+|writecache \d+) "), "cmd:dmsetup status"),
    _Signature(re.compile(r"\s*pool: \S"), "cmd:zpool status"),
    _Signature(re.compile(r"# dmidecode \d|Handle 0x[0-9A-Fa-f]{4}, DMI type"), "cmd:dmidecode"),
    _Signature(re.compile(r"Report phy error log response:"), "cmd:smp_rep_phy_err_log"),
    _Signature(re.compile(r"Linux \S+ \(\S+\)\s.*\(\d+ CPU\)|Device:?\s.*%util|\s+r/s\s.*\sDevice$"), _IOSTAT),
    _Signature(re.compile(r"\d\d[:.]\d\d[:.]\d\d(?: [AP]M)?\s+(?:DEV\s+tps\s|tps\s.*\sDEV$)"), "cmd:sar -d"),
    _Signature(re.compile(r'\s*\{"sysstat":'), "cmd:iostat -x -o JSON"),
    _Signature(re.compile(r"\s+capacity\s+operations\s+bandwidth\b"), "cmd:zpool iostat -v"),
    _Signature(re.compile(r"\s*osd\s+(?:fs_)?commit_latency\(ms\)\s"), "cmd:ceph osd perf"),
    _Signature(re.compile(r"version: 8\.\d+\.\d+.*\(api:"), "/proc/drbd"),
)
_FILES = re.compile(r"(?:cat|less|more|head|tail)\s+(?P<path>/(?:proc|sys|etc)/\S{1,500})$")


class _Section(Struct):
    """Lines of the output of one command, or of one file."""

    key: str
    named: bool
    last: re.Pattern[str] | None = None
    lines: list[str] = field(default_factory=list)
    ended: bool = False
    """Whether a prompt or its own last line follows."""


def read_pasted(data: bytes, name: str = "pasted text") -> tuple[Origin, list[Frame]]:
    """Return the origin and the frame of a pasted text. Raises CaptureRefused if none of it is recognized."""
    if len(data) > LONGEST:
        raise CaptureRefused(f"is longer than {LONGEST >> 20} MiB")
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    evidence: dict[str, Evidence] = {}
    twice: set[str] = set()
    unknown = 0
    for section in _sections(text):
        content = "\n".join(section.lines).strip("\n")
        if not section.key:
            unknown += sum(1 for line in section.lines if line.strip())
        elif content:
            if section.key.endswith("JSON") and not section.named and '"disk-device"' in content:
                section.key = "cmd:sadf -j -- -d"  # it begins as iostat's does
            joined = _JOINED.get(section.key.removeprefix("cmd:").partition(" ")[0])
            known = evidence.get(section.key)
            if known is not None and joined:
                content = f"{known.data.decode()}\n{content}"
            elif known is not None:
                twice.add(section.key)
            ended = section.ended or _SHOWS_END.match(section.key) or content.startswith(("{", "["))
            fault = "" if ended else "end not shown"
            evidence[section.key] = Evidence(section.key, data=f"{content}\n".encode(), fault=fault)
    if not evidence:
        raise CaptureRefused(f"unrecognized text; supported: output of {', '.join(sorted(PROGRAMS))}")
    taken, said = _taken(text)
    undated = " without a date" if taken is None else ""
    sampled = any(key.startswith(_SAMPLING) for key in evidence)
    one = f"pasted text is a single snapshot{undated}; rates are unavailable"
    notes = [one] if not sampled else ["the date of the text is unknown"] if taken is None else []
    notes += [said] if said else []
    notes += [f"several outputs of {safe(key, 80)}; using the last" for key in sorted(twice)[:5]]
    notes += [f"unrecognized lines, ignored: {unknown}"] if unknown else []
    origin = Origin(name, note="; ".join(notes), collectors=frozenset(), made="pasted text")
    return origin, [Frame(1, UNDATED if taken is None else taken, 0.0, tuple(evidence.values()))]


_SHOWS_END = re.compile(r"/proc/mdstat$|cmd:zpool status\b")
"""Outputs whose parsers know the end."""
_JOINED = {"smp_rep_phy_err_log": True, "dmidecode": True, "iostat": True}
"""Programs that are run once per object or interval, so that their outputs are joined."""
_SAMPLING = ("cmd:iostat", "cmd:sar", "cmd:sadf", "cmd:zpool iostat")
"""Commands that report several intervals (sdstop.core.interval)."""


_DATE = re.compile(r"(?:/usr)?(?:/bin/)?date(?P<options>(?: \S{1,40}){0,3})")
_STAMPED = re.compile(r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] ")
_SCANNED = re.compile(r"\s*scan: .{1,200}? (?:on|since) ([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})")


def _taken(text: str) -> tuple[float | None, str]:
    """Return the time of the text (Unix seconds) if it has a date with a known zone, and a note about the time.

    The last of several dates counts. A pool scan or a line of dmesg is older than the text and only gives a bound.
    """
    found: float | None = None
    local = after = ""
    asked = ""
    for line in text.split("\n"):
        prompt = _PROMPT.fullmatch(line.rstrip())
        date = _DATE.fullmatch(_SUDO.sub("", prompt["line"].strip(), count=1)) if prompt is not None else None
        if date is not None:
            asked = date["options"].strip() or "date"
            continue
        known = dates.seconds_since_epoch(line) if asked == "+%s" else dates.unix_time(line)
        found = known if known is not None else found
        if asked and known is None:
            local = dates.local_time(line) or local
        if older := _SCANNED.match(line) or _STAMPED.match(line):
            after = dates.local_time(older[1]) or after
        asked = asked if asked and not line.strip() else ""
    if found is not None:
        return found, ""
    if local:
        return None, f"copied at {local} by the node's clock; time zone unknown"
    return None, f"copied after {after} by the node's clock; time zone unknown" if after else ""


def _sections(text: str) -> Iterator[_Section]:
    section = _Section("", named=False)
    for line in text.split("\n"):
        signature = next((signature for signature in _SIGNATURES if signature.first.match(line)), None)
        command = _command(line) if signature is None else None
        if command is not None:
            section.ended = True
            yield section
            section = _Section(command, named=True)
            continue
        if signature is not None and not _goes_on(section, signature):
            if signature.key == "cmd:sar -d" and _is_banner(section):
                section.key = signature.key  # sar prints the same first line as iostat
            else:
                yield section
                section = _Section(signature.key, named=False, last=signature.last)
        section.lines.append(line)
        if section.last is not None and section.last.match(line):
            section.ended = True
            yield section
            section = _Section("", named=False)
    yield section


def _is_banner(section: _Section) -> bool:
    """Return whether a section has only the first line of a sysstat program."""
    return section.key == _IOSTAT and not section.named and sum(1 for line in section.lines if line.strip()) == 1


def _goes_on(section: _Section, signature: _Signature) -> bool:
    """Return whether a line with a signature continues the current section."""
    return section.key == signature.key or (section.named and bool(section.key))


def _command(line: str) -> str | None:
    """Return the key of a command line; "" for a command that sdstop does not read, None for other text."""
    found = _PROMPT.fullmatch(line.rstrip()) or _ALONE.fullmatch(line.rstrip())
    if found is None:
        return None
    given = _SUDO.sub("", found["line"].strip(), count=1)
    file = _FILES.match(given)
    if file is not None:
        return file["path"]
    try:
        words = shlex.split(given)
    except ValueError:
        words = given.split()
    program = _FOLDER.sub("", words[0], count=1) if words else ""
    if program in PROGRAMS:
        kept = next((at for at, word in enumerate(words) if word in {"|", ";", "&&", ">", "||"}), len(words))
        return "cmd:" + " ".join([program, *words[1:kept]])
    return "" if re.fullmatch(r"[a-z][\w.-]{1,40}", program) and not _PLAIN.match(line) else None


_PLAIN = re.compile(r"\s*#\s")
"""Comment, or first line of dmidecode: no host name before the `#`."""
