r"""Nodes: the parts of a text that are from different hosts.

    [root@san1 ~]# cat /proc/mdstat        prompts
    san1 | CHANGED | rc=0 >>               Ansible
    san1: md0 : active raid1               pdsh, whose lines can alternate; the margin is removed (margins.py)
    ---------------                        clush -b, dshbak: names of hosts with the same output
    san1,san[3-4] (3)
    ---------------
    ## san1:                               headings written by people, if several differ only in numbers

Lines of tools are replaced by HOST and the name; the text below them is from that host until the next one. Headings
of people count only outside of outputs, as outputs can have such lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from sdstop.core.expression import expression

HOST = "\u241f"
"""First character of a line that names the host of the text below it."""
_WHOLE = HOST * 2
"""The same in front of a host that a tool names, which prints no output before it is whole."""


class NodeHeading(Struct, frozen=True):
    """Heading with the name of a host; `ends` is whether the output above it is complete."""

    host: str
    ends: bool = False


def heading(line: str) -> NodeHeading | None:
    """Return the heading that a marked line is, None for other lines."""
    return NodeHeading(line.lstrip(HOST), line.startswith(_WHOLE)) if line[:1] == HOST else None


_ANSIBLE = expression(
    r"(?P<host>[\w.-]{1,64}) \| (?:CHANGED|SUCCESS|FAILED|UNREACHABLE!?)"
    r"(?: ?\| ?rc=-?\d{1,3} ?(?:>>|\|).{0,20}| => ?\{)"
)
_RULE = expression(r"-{4,}")
_FOLDED = expression(r"(?P<host>[\w.\[\],-]{1,200})(?: \(\d{1,5}\))?")
_HEADING = expression(
    r"\s{0,3}(?:[#=*>+_-]{1,6} ?)?(?:(?:on|host|node|server|auf|sur)[ :]{1,2})?(?P<mark>[*`_]{0,2})"
    r"(?P<host>[A-Za-z][A-Za-z-]{0,30}\d{1,4}[a-z]?(?:\.[\w.-]{1,60})?)(?P=mark)(?: ?[:#=*_-]{1,40})?\s*",
    re.IGNORECASE,
)
_THINGS = expression(
    r"(?:sd[a-z]+|hd[a-z]|x?vd[a-z]+|nvme|md|dm-?|loop|sr|st|sg|eth|en|em|bond|br|ib|wl|veth|vlan|osd|cpu|disk|pool|vol|volume|lun|slot|bay"
    r"|port|ctrl|c|p|e|s|vg|lv|part|step|test|run|page|case|ticket|day|round|no|nr|raid|drbd|r|res|phy|expander|dimm|numa"
    r"|socket|slide|figure|attempt|version|v|sas|log|line|mpath)-?\d.*",
    re.IGNORECASE,
)
"""Things with a number that are not hosts."""


def marked(text: str) -> str:
    """Return a text in which lines of tools that name a host are marked, with the same number of lines."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if found := _ANSIBLE.fullmatch(line.strip()):
            lines[at] = f"{_WHOLE}{found['host']}"
        elif _is_folded(lines, at):
            lines[at - 1], lines[at], lines[at + 1] = "", f"{_WHOLE}{line.strip().partition(' ')[0]}", ""
    return "\n".join(lines)


def _is_folded(lines: Sequence[str], at: int) -> bool:
    """Return whether a line is a heading of clush or dshbak, between two rules."""
    if not 0 < at < len(lines) - 1 or _FOLDED.fullmatch(lines[at].strip()) is None:
        return False
    return all(_RULE.fullmatch(lines[each].strip()) for each in (at - 1, at + 1))


def headings(lines: Sequence[str]) -> dict[str, NodeHeading]:
    """Return the headings of people by line: names that differ only in their numbers, at least two of them."""
    found: dict[str, str] = {}
    for line in lines:
        heading = _HEADING.fullmatch(line) if len(line) <= 120 else None
        if heading is not None and not _THINGS.fullmatch(heading["host"]):
            found[line] = heading["host"]
    shapes: dict[str, set[str]] = {}
    for name in found.values():
        shapes.setdefault(_shape(name), set()).add(name.lower())
    return {line: NodeHeading(name) for line, name in found.items() if len(shapes[_shape(name)]) > 1}


def _shape(name: str) -> str:
    return re.sub(r"\d+", "0", name.lower())


def short(host: str) -> str:
    """Return the name of a host without its domain; lists of hosts are unchanged."""
    return host if "," in host or "[" in host else host.partition(".")[0]


def most(names: Sequence[str]) -> str:
    """Return the most frequent name, "" if there is none."""
    found = Counter(name for name in names if name)
    return found.most_common(1)[0][0] if found else ""
