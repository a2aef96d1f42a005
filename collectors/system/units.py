r"""Failed units of systemd, from `systemctl --failed` or `list-units` (src/systemctl/systemctl-list-units.c).

      UNIT                LOAD   ACTIVE SUB    DESCRIPTION
    ● ceph-osd@3.service  loaded failed failed Ceph object storage daemon osd.3
    2 loaded units listed.

Without a color the mark is `*` in a plain locale; `--plain` and sosreports have none. Up to version 239, a list of no
units has no heading.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdstop.collectors.system.readings import FailedUnit, Units
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, outputs
from sdstop.core.host import Absent, Denied, Failed, Host, Malformed, Output

LIST = ("systemctl", "--failed", "--full", "--plain", "--no-pager")
CALM = 300.0
"""Seconds between two lists of a node at rest: a start of systemctl takes 10 ms."""
MANAGER = "/proc/1/comm"
_HEAD = r"[ ]*UNIT +LOAD +ACTIVE +SUB +(?:JOB +)?DESCRIPTION[ ]*"
_KINDS = r"service|mount|swap|socket|target|device|automount|timer|path|slice|scope"
_ROW = expression(
    rf"\W{{0,3}}\s*(?P<unit>\S{{1,255}}\.(?:{_KINDS})) +(?P<load>loaded|not-found|bad-setting|error|masked|merged|stub)"
    r" +(?P<active>active|reloading|inactive|failed|activating|deactivating|maintenance|refreshing)"
    r" +(?P<sub>[a-z-]{2,30})(?: .*)?"
)
_COUNT = expression(r"(?P<count>\d{1,6}) (?:loaded )?units? listed\..*")


def parse(text: str, key: str) -> Iterator[FailedUnit | Units]:
    """Yield the failed units of a list, and the numbers of all if the list is complete."""
    listed, failed = 0, list[FailedUnit]()
    count: int | None = None
    for line in text.splitlines():
        if (row := _ROW.fullmatch(line.rstrip())) is not None:
            listed += 1
            if row["active"] == "failed":
                failed.append(FailedUnit(row["unit"], row["sub"], key, row["unit"]))
        elif (said := _COUNT.match(line.strip())) is not None:
            count = int(said["count"])
    yield from failed
    if count == listed:
        yield Units(listed, len(failed), key)


def fault(text: str) -> str:
    """Return whether the number of units, which is the last line, is missing, or is not that of the rows."""
    rows = list(parse(text, ""))
    return "" if any(isinstance(row, Units) for row in rows) else NOT_SHOWN


def kept(data: bytes) -> bytes:
    """Return the rows without descriptions, which an administrator may have written."""
    lines = []
    for line in data.decode("utf-8", "replace").splitlines():
        row = _ROW.fullmatch(line.rstrip())
        if row is not None:
            lines.append(" ".join(row[name] for name in ("unit", "load", "active", "sub")))
        elif _COUNT.match(line.strip()) or expression(_HEAD).fullmatch(line):
            lines.append(line.strip())
    return "".join(f"{line}\n" for line in lines).encode()


TEXT = Form(
    key="cmd:systemctl --failed",
    first=rf"{_HEAD}$|0 loaded units listed\.",
    goes_on=(
        rf"\W{{0,3}}\s*\S+\.(?:{_KINDS}) .*|[A-Z]{{3,6}} += .*|\d+ (?:loaded )?units? listed\..*"
        r"|To show all .*|Pass --all .*"
    ),
    reads="failed units, and how many there are",
    versions="systemd 219 and later",
    fault=fault,
)


def read(host: Host) -> Iterator[FailedUnit | Units]:
    """Yield the units of recorded lists, or of systemd.

    Raises Absent where systemd does not run, Denied and Failed if it does not answer.
    """
    found = [row for each in outputs(host, TEXT) for row in parse(each.text, each.key)] or list(_asked(host))
    yield from {(type(row), getattr(row, "unit", "")): row for row in found}.values()


def _asked(host: Host) -> Iterator[FailedUnit | Units]:
    if host.text(MANAGER).strip() != "systemd":
        raise Absent(MANAGER, "process 1 is not systemd")
    key, output = command_key(LIST), host.run(LIST, 5.0)
    if output.exit != 0:
        raise _refused(key, output)
    found = list(parse(output.text, key))
    if not found:
        raise Malformed("no number of units at the end")
    yield from found


def _refused(key: str, output: Output) -> Denied | Failed:
    is_denied = expression(".*(?:ermission denied|ccess denied|not permitted)").match(output.error)
    return (Denied if is_denied else Failed)(key, output.failure)


UNITS = Collector(
    "units",
    "Failed units of systemd",
    read,
    (FailedUnit, Units),
    (
        Command(LIST, "failed services, mounts and swaps; descriptions are not kept", filled=True),
        Need(MANAGER, "whether systemd runs this node", filled=True, everyone=True),
        Need("cmd:systemctl *", "lists recorded by other tools", keep=kept),
    ),
    SLOW,
    deadline=6.0,
    forms=(TEXT,),
    resting=CALM,
)
