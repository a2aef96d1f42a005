"""GlusterFS: entries that wait to be healed, and those in split brain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.gluster.answers import (
    Refused,
    SplitBrain,
    VolumeInfo,
    parse_counts,
    parse_split_brain,
)
from sdstop.collectors.gluster.readings import INFO, GlusterHeal, GlusterSplitBrain
from sdstop.collectors.gluster.volumes import VOLUMES, answer, read_volumes
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

COUNT = ("gluster", "--mode=script", "volume", "heal", "*", "statistics", "heal-count")
SPLIT = ("gluster", "--mode=script", "--xml", "volume", "heal", "*", "info", "split-brain")
PACE = 300.0
"""Seconds between runs: each asks all bricks for their entries."""
MOST_PENDING = 2000
"""Entries to heal above which split brain is not looked for: each entry is locked and read on all bricks for it."""
UNCOUNTED = "not counted for dispersed volumes"
NOT_SHOWN = "not shown by info split-brain"
MOST_VOLUMES = 16
"""Volumes that are asked in one run."""


def read(host: Host) -> Iterable[Reading]:
    """Return what waits to be healed, of started volumes with several copies. Raises Absent if there are none."""
    volumes = [
        volume for volume in read_volumes(host)
        if volume.state == "Started" and volume.together > 1 and (volume.dispersed or volume.copies > 1)
    ]  # fmt: skip
    if not volumes:
        raise Absent(command_key(INFO), "no started volume has several copies")
    return [row for volume in volumes[:MOST_VOLUMES] for row in _healing(host, volume)]


def _healing(host: Host, volume: VolumeInfo) -> Iterator[Reading]:
    if volume.dispersed:  # gluster has no cheap count for these, and they have no split brain
        yield GlusterHeal(
            volume=volume.name, pending=None, split=0, silent=0, why=UNCOUNTED, origin=command_key(INFO),
            needle=f"<name>{volume.name}<",
            searched=command_key(INFO),
        )  # fmt: skip
        return
    count = (*COUNT[:4], volume.name, *COUNT[5:])
    counts: dict[str, int | None] = {}
    why = None
    try:
        counts = parse_counts(host.run(count, 10.0).text)
    except Refused as error:
        words = {"disabled": "self-heal daemon disabled", "not running": "a self-heal daemon does not run"}
        why = next((known for word, known in words.items() if word in str(error)), "not counted")
    known = [entries for entries in counts.values() if entries is not None]
    pending = max(known) if known else None
    silent = sum(entries is None for entries in counts.values())
    found: SplitBrain | None = None
    split = (*SPLIT[:5], volume.name, *SPLIT[6:])
    if pending != 0 and (pending or 0) <= MOST_PENDING:
        try:
            found = parse_split_brain(answer(split, host.run(split, 15.0)))
        except Refused:
            found = None
    yield GlusterHeal(
        volume=volume.name,
        pending=pending,
        split=found.count if found is not None else 0 if pending == 0 and not silent else None,
        silent=silent,
        why=why,
        origin=command_key(count),
        needle="Number of entries" if known else "Gathering count",
        searched=command_key(split) if found is not None else command_key(count),
    )
    for entry in found.entries if found is not None else ():
        yield GlusterSplitBrain(
            volume=volume.name,
            entry=entry.name,
            gfid=entry.gfid,
            bricks=" ".join(entry.bricks),
            origin=command_key(split),
        )


GLUSTER_HEAL = Collector(
    "gluster-heal",
    "GlusterFS entries to heal",
    read,
    (GlusterHeal, GlusterSplitBrain),
    (
        Command(INFO, "volumes and bricks, from this server's files", "root", filled=True),
        Command(COUNT, "entries to heal, from the index of the bricks", "root", filled=True),
        Command(
            SPLIT, f"entries in split brain, where 1 to {MOST_PENDING} entries wait to be healed", "root", filled=True
        ),
        Need(f"list:{VOLUMES}", "configured volumes, if glusterd does not answer"),
    ),
    PACE,
    deadline=60.0,
)
