"""ZFS kstats: pool states, the intent log and datasets (module/zfs, /proc/spl/kstat/zfs).

Reading them never waits for a disk, so suspended pools are reported as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.collectors.zfs.datasets import Dataset, DatasetActivity, IntentLog, activity
from sdstop.collectors.zfs.readings import KSTATS, PoolState
from sdstop.collectors.zfs.zpool_status import imported
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Derivation, Reading

_ROW = expression(r"^(\w{1,31}) +([347]) +(.*)$", re.MULTILINE | re.ASCII)
_SECONDS = 5.0
"""Seconds between runs."""
_LARGEST = 2**64 - 1
"""Counters have 64 bits."""


def parse(text: str) -> dict[str, int | str]:
    """Return the values of a kstat by name: types 3 and 4 are numbers, 7 is text. Raises Malformed if it has none.

    23 1 0x01 7 2160 221578688875 6665999035587
    name                            type data
    dataset_name                    7    pool1
    writes                          4    200
    """
    whole = text if text.endswith("\n") else text[: text.rfind("\n") + 1]
    found: dict[str, int | str] = {}
    for name, kind, value in _ROW.findall(whole):
        if kind == "7":
            found[name] = value
        elif re.fullmatch(r"\d{1,20}", value, re.ASCII) and int(value) <= _LARGEST:
            found[name] = int(value)
    if not found:
        raise Malformed(f"no rows in a kstat: {text[:80]!r}")
    return found


def read(host: Host) -> Iterator[Reading]:
    """Yield a PoolState for each pool, and the IntentLog."""
    for pool in imported(host):
        state = host.maybe(f"{KSTATS}/{pool}/state")
        if state and len(state) <= 32:
            yield PoolState(pool, state)
    text = host.maybe(f"{KSTATS}/zil")
    if text:
        said = parse(text + "\n")
        names = ("commit_count", "itx_metaslab_normal_count", "itx_metaslab_normal_bytes", "itx_metaslab_slog_count",
                 "itx_metaslab_slog_bytes")  # fmt: skip
        yield IntentLog("zil", *(_number(said, f"zil_{name}") for name in names))


def read_datasets(host: Host) -> Iterator[Reading]:
    """Yield the I/O counters of each dataset since the import. Raises Absent before OpenZFS 0.8, which has none."""
    paths = [path for pool in imported(host) for path in host.glob(f"{KSTATS}/{pool}/objset-0x*")]
    if not paths:
        raise Absent(f"{KSTATS}/*/objset-*", "no dataset has counters")
    for path in paths:
        said = parse(host.text(path))
        name = said.get("dataset_name")
        if isinstance(name, str) and name:
            yield Dataset(
                path.split("/")[5],
                name,
                _number(said, "reads"),
                _number(said, "writes"),
                _number(said, "nread"),
                _number(said, "nwritten"),
                _number(said, "zil_commit_count"),
                _number(said, "zil_itx_metaslab_normal_bytes"),
                _number(said, "zil_itx_metaslab_slog_bytes"),
                path,
            )


def _number(said: dict[str, int | str], name: str) -> int | None:
    value = said.get(name)
    return value if isinstance(value, int) else None


ZFS_STATE = Collector(
    "zfs-state",
    "States of ZFS pools, and the intent log",
    read,
    (PoolState, IntentLog),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Need(f"{KSTATS}/*/state", "state of each pool, even if zpool status does not respond", filled=True),
        Need(f"{KSTATS}/zil", "waits for the intent log, and where it is written", filled=True),
    ),
    LIVE,
    devices=r"zd\d+",
)

ZFS_DATASETS = Collector(
    "zfs-datasets",
    "I/O of ZFS datasets",
    read_datasets,
    (Dataset,),
    (
        Need(f"list:{KSTATS}", "whether any pool is imported"),
        Need(f"list:{KSTATS}/*", "which datasets it has"),
        Need(
            f"{KSTATS}/*/objset-0x*",
            "reads, writes and waits for the intent log of each file system and volume",
            filled=True,
        ),
    ),
    _SECONDS,
    deadline=5.0,
    derives=(Derivation(Dataset, DatasetActivity, activity),),
)
