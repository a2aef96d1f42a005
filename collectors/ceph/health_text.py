"""Answers of `ceph health` and `ceph health detail` as they are printed for people.

Formats: src/mon/HealthMonitor.cc (get_health_status) of Ceph 12 to 19; messages without codes also src/mon/PGMonitor.cc
and src/mon/OSDMonitor.cc (get_health) of Ceph 0.80 to 11. The JSON form is read, too, and gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.ceph import answers
from sdstop.collectors.ceph.health import MOST_DETAILS, Check
from sdstop.collectors.ceph.health_codes import UNKNOWN, code_of, code_of_detail, severities
from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed

_JSON = expression(r"^\s*\{", re.MULTILINE)
WORDS = r"HEALTH_(?:OK|WARN|ERR)"
"""Words of the overall health, as a regular expression."""
_MUTED = expression(r"\(muted: (?P<codes>[A-Z0-9_]+(?:\([^)]*\))?(?: [A-Z0-9_]+(?:\([^)]*\))?)*)\)")
_MUTED_CODE = expression(r"([A-Z][A-Z0-9_]+)(?:\([^)]*\))?")
MUTED = "muted; whether it is active is not shown"
"""Message of a check of which only the code is printed."""


def is_json(text: str) -> bool:
    """Return whether an answer is JSON; other lines may precede it."""
    return _JSON.search(text) is not None


def messages_of(overall: str, lines: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks of messages without codes, and those that are muted, of which only the codes are printed."""
    lines = _closed(lines)
    muted = [code for line in lines for found in _MUTED.finditer(line) for code in _MUTED_CODE.findall(found["codes"])]
    messages = [message for line in lines if (message := _MUTED.sub("", line).strip().rstrip(";").strip())]
    messages = [] if overall == "HEALTH_OK" else messages
    codes = [code_of(message) for message in messages]
    told = severities(overall, list(zip(codes, messages, strict=True)))
    found: dict[str, Check] = {}
    for code, message, severity in zip(codes, messages, told, strict=True):
        number = re.match(r"(\d{1,9}) ", message)
        check = Check(code, severity, message, muted=False, count=int(number[1]) if number else None)
        if code in found and code == UNKNOWN:
            check = replace(check, code=f"{UNKNOWN}_{len(found) + 1}")
        elif code in found:  # up to Ceph 11 several messages make one check
            check = replace(found[code], message=f"{found[code].message}; {message}")
        found[check.code] = check
    for code in muted:
        found.setdefault(code, Check(code, "HEALTH_WARN", MUTED, muted=True))
    return tuple(found.values())


def _closed(lines: Sequence[str]) -> list[str]:
    """Return the lines; a list of muted checks that was wrapped is one line."""
    found: list[str] = []
    for line in lines:
        if found and "(muted:" in found[-1] and found[-1].count("(") > found[-1].count(")"):
            found[-1] = f"{found[-1]} {line.strip()}"
        else:
            found.append(line)
    return found


class PrintedHealth(Struct, frozen=True):
    """The overall health and its checks; `coded` is whether their codes were printed, `defect` as in ParsedStatus."""

    word: str
    checks: tuple[Check, ...]
    coded: bool = True
    defect: str = ""


_CHECK = expression(
    r"(?P<muted>\(MUTED[^)]*\) )?(?:\[(?P<severity>WRN|ERR|OK|UNKNOWN)\] )?(?P<code>[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)"
    r"(?P<colon>:)?(?: (?P<message>.*))?"
)
_SEVERITIES = {"WRN": "HEALTH_WARN", "ERR": "HEALTH_ERR", "OK": "HEALTH_OK"}


def health_of(text: str) -> PrintedHealth:
    """Return the answer of `ceph health detail`, or of `ceph health`, which has no codes.

        HEALTH_WARN 1 osds down; 1 host (1 osds) down; (muted: POOL_NO_REDUNDANCY)
        [WRN] OSD_DOWN: 1 osds down
            osd.2 (root=default,host=node2) is down
        (MUTED ttl 57m, STICKY) [WRN] POOL_NO_REDUNDANCY: 1 pool(s) have no replicas configured
            pool 'scratch' has no replicas configured

    Up to Ceph 14 a check is printed as `OSD_DOWN 1 osds down`, up to 11 without its code:

        HEALTH_WARN 34 requests are blocked > 32 sec; 1 osds have slow requests
        31 ops are blocked > 262.144 sec on osd.23

    Raises Malformed without a health.
    """
    if is_json(text):
        said = answers.as_object(text, "ceph health")
        return PrintedHealth(
            str(said.get("status") or said.get("overall_status") or "unknown"), answers.parse_health(text)
        )
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    start = next((place for place, line in enumerate(lines) if re.match(rf"\s*{WORDS}\b", line)), None)
    if start is None:
        raise Malformed(f"ceph health: no health: {text.strip()[:60]!r}")
    head = lines[start].strip()
    word, _, rest = head.partition(" ")
    messages = re.split(r"; (?=\S)", rest.strip())
    listed = messages_of(word, messages)
    found = _detailed(word, lines[start + 1 :])
    if not found:
        return _uncoded(word, messages, list(map(str.strip, lines[start + 1 :])))
    known = {check.message for check in found} | {check.code for check in found}
    missing = [check for check in listed if check.message not in known and check.code not in known]
    active = [check for check in missing if not check.muted]
    defect = f"lists {len(listed)} checks, ends after {len(found)}" if active else ""
    return PrintedHealth(word, (*found, *active), defect=defect)


def _uncoded(word: str, said: Sequence[str], details: Sequence[str]) -> PrintedHealth:
    """Return a health without codes: its messages, which its details repeat, and the details that belong to them."""
    again = [line for line in dict.fromkeys(details) if line not in said and code_of(line) != UNKNOWN]
    checks = messages_of(word, [*said, *again])
    lines: dict[str, list[str]] = {}
    for line in details:
        lines.setdefault(code_of_detail(line), []).append(line)
    found = (replace(check, details=tuple(lines.get(check.code, ())[:MOST_DETAILS])) for check in checks)
    return PrintedHealth(word, tuple(found), coded=not checks)


def _detailed(overall: str, lines: Sequence[str]) -> list[Check]:
    found: list[Check] = []
    bare: list[bool] = []
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    for line in lines:
        if re.match(WORDS, line.strip()):
            break  # another health
        indent = len(line) - len(line.lstrip())
        check = _CHECK.fullmatch(line.strip()) if indent == margin else None
        if check is not None:
            severity = _SEVERITIES.get(check["severity"] or "", "")
            message = (check["message"] or "").strip()
            number = re.match(r"(\d{1,9}) ", message)
            found.append(
                Check(
                    check["code"], severity, message, check["muted"] is not None, (), int(number[1]) if number else None
                )
            )
            bare.append(not severity)
        elif found and len(found[-1].details) < MOST_DETAILS:
            found[-1] = replace(found[-1], details=(*found[-1].details, line.strip()))
    told = severities(overall, [(check.code, check.message) for check in found])
    return [
        replace(check, severity=severity) if is_bare else check
        for check, severity, is_bare in zip(found, told, bare, strict=True)
    ]


_CODE = r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+"
_MUTE = r"(?:\(MUTED[^\n]*\) )?"
_OLD = r"(?:pg \d+\.[0-9a-f]+ is |\d+ ops are blocked > |recovery \d+/\d+ |osd\.\d+ (?:is|has) |\d+ osds have slow)"
"""Beginning of a detail up to Ceph 11."""
_VERSIONS = "Ceph 0.80 and later"
HEALTH = Form(
    key="cmd:ceph health detail",
    first=rf"HEALTH_(?:WARN|ERR) \S[^\n]*\n(?:{_MUTE}(?:\[(?:WRN|ERR)\] )?{_CODE}:? \S|{_OLD})"
    r"|HEALTH_OK(?: \(muted: [^\n]*\))?$",
    goes_on=rf"{_MUTE}(?:\[(?:WRN|ERR)\] )?{_CODE}:? .*| {{2,}}\S.*|{_OLD}.*"
    r"|(?:mon|pool|mds|osd)\b[^\n]* (?:is|has|at|pg_num) .*",
    reads="health checks, and the things they name",
    versions=_VERSIONS,
)
HEALTH_JSON = Form(
    key="cmd:ceph health detail -f json",
    first=r'\{\s*(?:"status":\s*"HEALTH_\w+",\s*)?"checks":\s*\{',
    reads=HEALTH.reads,
    versions=_VERSIONS,
)
