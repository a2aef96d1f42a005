"""Readings of limits."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.expression import expression
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source

_ESCAPE = expression(r"\\x([0-9a-f]{2})")
_HEX = expression(r"[0-9a-f]{32,}")
_UNITS = (".service", ".scope", ".slice")
_USER = expression(r"(user@[0-9]+\.service)/")
SERVICES_QUESTION = "cgroup.services"
_COUNTER = Kind.COUNTER


def group_name(path: str) -> str:
    r"""Return a readable name for a group from its path below the root.

    Names of systemd units are unique on a node (except those of user managers), so the last part is sufficient; `\x2d`
    is a dash, and container ids are cut to the twelve characters that container tools show.

        /machine.slice/machine-qemu\x2d3\x2dweb.scope   machine-qemu-3-web.scope
        /system.slice/docker-<64 digits>.scope          docker-<12 digits>.scope
        /qemu.slice/100.scope                           qemu.slice/100.scope
        /lxc/101                                        lxc/101
    """
    whole = path.strip("/")
    if not whole:
        return "/"
    last = whole.rpartition("/")[2]
    if last.endswith(_UNITS) and not last.partition(".")[0].isdigit():
        manager = _USER.search(f"{whole}/")
        name = f"{manager[1]}/{last}" if manager and last != manager[1] else last
    else:
        name = whole
    name = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)
    return _HEX.sub(lambda found: found[0][:12], name)


class ServiceGroup(Reading, frozen=True, kw_only=True):
    """A control group with limits that contains a storage service.

    `quota` is the processors that its tasks may use at once; in `throttled` of `periods` they had to wait for the next
    period. `memory_stalled` is the time in which some of its tasks waited for memory. Counters are those since the
    group was created; None without such a limit.
    """

    family: ClassVar[str] = "service_group"
    title: ClassVar[str] = "Limited services"
    remembered: ClassVar[bool] = True
    rows_of = Source(f"answer:{SERVICES_QUESTION}", '"group": "{group}"')

    group: Annotated[str, Label("Group", "Path of the control group", names=Name.PATH)]
    programs: Annotated[str, Fact("Programs", "Storage services in it, separated by commas", plain=True)]
    machine: Annotated[bool, Fact("Guest", "Whether a virtual machine is all that it contains", export=False)] = False
    quota: Annotated[float | None, Metric("Quota", "Processors that may be used at once", setting=True)] = None
    periods: Annotated[int | None, Metric("Periods", "Periods with runnable tasks", kind=_COUNTER)] = None
    throttled: Annotated[int | None, Metric("Throttled", "Periods in which the quota was used up", kind=_COUNTER)] = (
        None
    )
    memory_max: Annotated[int | None, Metric("Memory limit", "Memory limit", "bytes", setting=True)] = None
    memory_used: Annotated[int | None, Metric("Memory", "Memory in use, page cache included", "bytes", detail=True)] = (
        None
    )
    memory_stalled: Annotated[
        float | None, Metric("Memory waits", "Seconds in which tasks waited for memory", "seconds", _COUNTER)
    ] = None
    killed: Annotated[int | None, Metric("Killed", "Processes killed for lack of memory", kind=_COUNTER)] = None
    tasks_max: Annotated[int | None, Metric("Tasks limit", "Maximum number of tasks", detail=True, setting=True)] = None
    refused: Annotated[int | None, Metric("Refused", "Tasks refused by the limit", kind=_COUNTER)] = None

    @property
    def name(self) -> str:
        """Readable name of the group."""
        return group_name(self.group)
