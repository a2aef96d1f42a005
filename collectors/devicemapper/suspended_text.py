"""Suspended device mapper devices in recorded output of `dmsetup info`, for captures without sysfs."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.devicemapper import dmtable
from sdstop.collectors.devicemapper.readings import MappedState
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.form import Form
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.recorded import outputs


def read(host: Host) -> Iterable[MappedState]:
    """Return whether each device is suspended, as the last output shows. Raises Absent without any, Malformed."""
    found: dict[str, MappedState] = {}
    known = [*outputs(host, "dmsetup", r"dmsetup[ _]info\b")]
    for output in known:
        states = dmtable.mappings(output.text)
        if not states and output.text.strip() not in {"", "No devices found"}:
            raise Malformed(f"no device of dmsetup info: {output.text.strip()[:60]!r}")
        for name, each in states.items():
            if each.suspended is not None:
                found[each.device] = MappedState(each.device, int(each.suspended), output.key, name)
    if not known:
        raise Absent("cmd:dmsetup info", "not recorded", recorded=False)
    return list(found.values())


FORM = Form(
    key="cmd:dmsetup info",
    first=r"Name: {5,}\S+\nState: +(?:ACTIVE|SUSPENDED)|Name +Maj Min Stat Open Targ Event",
    reads="names and states of device mapper devices",
    versions="dmsetup 1.02 and later",
    goes_on=r"(?:Name|State|Read Ahead|Tables present|Open count|Event number|Major, minor|Number of targets|UUID):.*"
    r"|\S+ +\d+ +\d+ +[A-Za-z-]{3,8} .*",
)

SUSPENDED_TEXT = Collector(
    "suspended-text",
    "Suspended devices in recorded output of dmsetup",
    read,
    (MappedState,),
    (Need("cmd:dmsetup info*", "names and states of device mapper devices, from captures only; never run"),),
    SLOW,
    forms=(FORM,),
)
