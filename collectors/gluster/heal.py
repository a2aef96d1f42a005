"""GlusterFS: entries that wait to be healed, and those in split brain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from sdstop.collectors.gluster.answers import (
    Refused,
    SplitBrain,
    VolumeInfo,
    parse_counts,
    parse_split_brain,
)
from sdstop.collectors.gluster.volumes import INFO, VOLUMES, answer, read_volumes
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Host
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source

COUNT = ("gluster", "--mode=script", "volume", "heal", "*", "statistics", "heal-count")
SPLIT = ("gluster", "--mode=script", "--xml", "volume", "heal", "*", "info", "split-brain")
PACE = 300.0
MOST_PENDING = 2000
"""Entries to heal above which split brain is not looked for: each entry is locked and read on all bricks for it."""
UNCOUNTED = "not counted for dispersed volumes"
NOT_SHOWN = "not shown by info split-brain"
MOST_VOLUMES = 16
"""Volumes that are asked in one run."""


class GlusterHeal(Reading, frozen=True, kw_only=True):
    """Entries of a volume that differ between its bricks.

    `pending` is the largest count of a brick; a file that is being written counts for a moment. `split` are entries
    that no brick may heal because each blames the other; absent if they were not looked for.
    """

    family: ClassVar[str] = "gluster_heal"
    title: ClassVar[str] = "GlusterFS entries to heal"
    remembered: ClassVar[bool] = True
    rows_of = Source("{origin}", "{needle}")
    fields_of: ClassVar = {"split": Source("{searched}", "{mark}")}

    volume: Annotated[str, Label("Volume", "Its name", names=Name.VOLUME)]
    pending: Annotated[int | None, Metric("Pending", "Entries to heal on the brick with most; absent if unknown")]
    split: Annotated[int | None, Metric("Split brain", "Entries in split brain; absent if not looked for")]
    silent: Annotated[int, Metric("Silent", "Bricks that did not answer")]
    why: Annotated[str | None, Fact("Reason", "Reason for which entries were not counted", plain=True)] = None
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Needle", "Text that marks it in the evidence", export=False, names=Name.EVIDENCE)] = ""
    searched: Annotated[str, Fact("Searched", "Key of the evidence of split brain", export=False,
                                  names=Name.EVIDENCE)] = ""  # fmt: skip
    mark: Annotated[str, Fact("Mark", "Text that marks split brain there", export=False, names=Name.EVIDENCE)] = "<file"


class GlusterSplitBrain(Reading, frozen=True, kw_only=True):
    """A file or directory in split brain: each copy blames the other, and reads fail with an I/O error."""

    family: ClassVar[str] = "gluster_split_brain"
    title: ClassVar[str] = "GlusterFS files in split brain"
    rows_of = Source("{origin}", 'gfid="{gfid}"')

    volume: Annotated[str, Label("Volume", "Name of the volume", names=Name.VOLUME)]
    entry: Annotated[str, Label("Entry", "Path in the volume, or gfid:UUID without a path", names=Name.PATH)]
    gfid: Annotated[str, Fact("GFID", "Its identifier on the bricks", names=Name.IDENTIFIER)]
    bricks: Annotated[str, Fact("Bricks", "Bricks that hold it, spaces between", export=False, names=Name.EVIDENCE)]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""


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
