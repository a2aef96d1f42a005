"""Settings of ZFS datasets (`zfs get`) and resilver tuning (module parameters)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sdstop.collectors.zfs.datasets import TUNABLES, DatasetSettings, Tuning
from sdstop.collectors.zfs.readings import KSTATS, PARAMETERS
from sdstop.collectors.zfs.zpool_status import imported
from sdstop.core.collector import SLOW, Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Failed, Host, Malformed
from sdstop.core.model import Reading
from sdstop.core.text import whole

GET = (
    "zfs", "get", "-H", "-p", "-t", "filesystem,volume", "-o", "name,property,value",
    "type,sync,logbias,compression,primarycache,recordsize,volblocksize,volsize,used",
)  # fmt: skip
_SECONDS = 600.0
"""Seconds between two runs: administrators change settings seldom."""
_ANSWER = 8.0
"""Seconds in which `zfs get` must end."""
_MOST = 100_000
"""Maximum lines that are read."""


def parse(text: str) -> dict[str, dict[str, str]]:
    """Return properties by dataset from `zfs get -H`, with or without the source column; snapshots are skipped.

    tank/v1	volblocksize	8192	-

    Raises Malformed for a line that does not have three or four columns.
    """
    found: dict[str, dict[str, str]] = {}
    for line in text.split("\n")[:_MOST]:
        words = line.split("\t")
        if words == [""]:
            continue
        if len(words) not in {3, 4}:
            raise Malformed(f"no line of zfs get -H: {line[:120]!r}")
        if "@" not in words[0] and "#" not in words[0]:
            found.setdefault(words[0], {})[words[1]] = words[2]
    return found


def read(host: Host) -> Iterator[Reading]:
    """Yield the settings of each file system and volume. Raises Absent if no pool is imported."""
    key, text = _asked(host)
    for dataset, said in parse(text).items():
        kind = said.get("type") or ("volume" if said.get("volblocksize", "-") != "-" else "filesystem")
        yield DatasetSettings(
            pool=dataset.partition("/")[0],
            dataset=dataset,
            kind=kind,
            sync=_word(said, "sync"),
            logbias=_word(said, "logbias"),
            compression=_word(said, "compression"),
            primarycache=_word(said, "primarycache"),
            recordsize=_number(said, "recordsize"),
            volblocksize=_number(said, "volblocksize"),
            volsize=_number(said, "volsize"),
            used=_number(said, "used"),
            device=host.target(f"/dev/zvol/{dataset}") if kind == "volume" else None,
            where=key,
        )


def _asked(host: Host) -> tuple[str, str]:
    try:
        imported(host)
        output = host.run(GET, _ANSWER)
    except Absent as error:
        recorded = [name for name in host.recorded("zfs") if re.match(r"zfs[ _]get[ _]-H", name)]
        if error.recorded or not recorded:
            raise
        return f"cmd:{recorded[0]}", host.recorded_output(recorded[0]).text
    if output.exit:
        raise Failed(command_key(GET), output.failure)
    return command_key(GET), output.text


def _word(said: Mapping[str, str], name: str) -> str | None:
    word = said.get(name, "-")
    return None if word == "-" else word


def _number(said: Mapping[str, str], name: str) -> int | None:
    word = said.get(name, "")
    return whole(word)


def read_tuning(host: Host) -> Iterator[Reading]:
    """Yield the Tuning row. Raises Absent if no pool is imported."""
    imported(host)
    numbers = {name: host.number(f"{PARAMETERS}/{file}") for name, file in TUNABLES.items()}
    yield Tuning("zfs", host.maybe("/sys/module/zfs/version"), **numbers)


ZFS_SETTINGS = Collector(
    "zfs-settings",
    "Settings of ZFS datasets",
    read,
    (DatasetSettings,),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Command(GET, "properties of each file system and volume"),
        Need("cmd:zfs get -H*", "properties, from captures only; never run in this form"),
        Need("link:/dev/zvol/*", "kernel names of the volumes"),
    ),
    _SECONDS,
    deadline=_ANSWER + 4,
)

ZFS_TUNING = Collector(
    "zfs-tuning",
    "ZFS resilver limits",
    read_tuning,
    (Tuning,),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Need(f"{PARAMETERS}/zfs_*", "limits on resilvers, scrubs and rebuilds"),
        Need("/sys/module/zfs/version", "version of the module"),
    ),
    SLOW,
)
