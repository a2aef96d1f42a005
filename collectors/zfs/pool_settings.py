"""Settings of ZFS pools that decide what happens when a pool fails (`zpool get`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sdstop.collectors.zfs.readings import KSTATS, PoolSettings
from sdstop.collectors.zfs.zpool_status import imported
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.form import Form
from sdstop.core.host import Absent, Failed, Host
from sdstop.core.model import Reading

GET = ("zpool", "get", "-H", "-p", "-o", "name,property,value", "failmode")
_SECONDS = 600.0
"""Seconds between runs."""
_ANSWER = 8.0
"""Seconds that zpool may take."""
_FAILMODE = "failmode"


def parse(text: str) -> dict[str, str]:
    """Return failmode by pool, from the output with tabs or the table that people read.

    NAME  PROPERTY  VALUE     SOURCE
    tank  failmode  continue  local
    """
    rows = (line.split() for line in text.splitlines())
    return {words[0]: words[2] for words in rows if len(words) in {3, 4} and words[1] == _FAILMODE}


def read(host: Host) -> Iterable[Reading]:
    """Return the settings of each imported pool. Raises Absent without any, Failed if `zpool get` fails."""
    try:
        imported(host)
        output = host.run(GET, _ANSWER)
    except Absent as error:
        found = list(_recorded(host))
        if error.recorded or not found:
            raise
        return found
    if output.exit:
        raise Failed(command_key(GET), output.failure)
    key = command_key(GET)
    return [PoolSettings(pool=pool, failmode=mode, where=key) for pool, mode in parse(output.text).items()]


def _recorded(host: Host) -> Iterator[PoolSettings]:
    known: dict[str, PoolSettings] = {}
    for name in host.recorded("zpool"):
        if re.match(r"zpool[ _]get[ _]", name):
            for pool, mode in parse(host.recorded_output(name).text).items():
                known.setdefault(
                    pool, PoolSettings(pool=pool, failmode=mode, where=f"cmd:{name}" if " " in name else f"slug:{name}")
                )
    yield from known.values()


FORM = Form(
    key="cmd:zpool get all",
    first=r"NAME +PROPERTY +VALUE +SOURCE\n\S+ +(?:failmode|size|capacity|altroot|health|ashift) ",
    reads="what happens to requests when a pool fails",
    versions="ZFS 0.6 and later",
    goes_on=r"\S+ +\S+ +\S.*",
)

POOL_SETTINGS = Collector(
    "zpool-settings",
    "Settings of ZFS pools",
    read,
    (PoolSettings,),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Command(GET, "whether requests wait or fail when a pool fails"),
        Need("cmd:zpool get*", "the same, from captures only; never run in this form"),
    ),
    _SECONDS,
    deadline=_ANSWER + 4,
    forms=(FORM,),
)
