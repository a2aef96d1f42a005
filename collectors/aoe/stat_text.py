"""AoE disks in recorded output of aoe-stat (aoetools 30 to 37, aoe-stat.in: a shell script that prints sysfs).

e1.0      2000.398GB   eth2 1024  up
e1.1      2000.398GB   eth2,eth3 8704  down
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.aoe.readings import AoeTarget
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import whole

_LINE = expression(
    r"\s*(?P<target>e\d{1,5}\.\d{1,3})\s+(?P<size>[\d.]{1,20}[KMGTP]?B)\s+(?P<interfaces>[\w.,:@-]{1,200})"
    r"(?:\s+(?P<payload>\d{1,6}))?\s+(?P<state>[a-z]{2,20}(?:,[a-z]{2,20}){0,4})\s*"
)

FORM = Form(
    key="cmd:aoe-stat",
    first=r"\s*e\d{1,5}\.\d{1,3}\s+[\d.]+[KMGTP]?B\s+\S+\s+(?:\d+\s+)?[a-z]",
    goes_on=r"\s*e\d{1,5}\.\d{1,3}\s.*",
    reads="AoE disks, their interfaces and states",
    versions="aoetools 30 to 37",
)


def parse(text: str, key: str) -> Iterator[AoeTarget]:
    """Yield the disks. Raises Malformed for a line that is not understood."""
    for line in filter(None, map(str.strip, text.splitlines())):
        found = _LINE.fullmatch(line)
        if found is None:
            raise Malformed(f"aoe-stat: {line[:60]!r}")
        device = f"etherd/{found['target']}"
        yield AoeTarget(device, found["state"], whole(found["payload"]), found["interfaces"], None, None, told=key)


def read(host: Host) -> Iterable[Reading]:
    """Return the disks of all recorded outputs. Raises Absent without any, Malformed."""
    known = list(outputs(host, FORM))
    if not known:
        raise Absent(FORM.key, "not recorded", recorded=False)
    return [row for each in known for row in parse(each.text, each.key)]


AOE_TEXT = Collector(
    "aoe-text",
    "AoE disks in recorded output of aoe-stat",
    read,
    (AoeTarget,),
    (Need("cmd:aoe-stat*", "disks, interfaces and states, from captures only; never run"),),
    forms=(FORM,),
)
