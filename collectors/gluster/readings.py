"""Readings of Gluster: volumes, bricks, heals."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.evidence import command_key
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State


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


KIND = "gluster"

INFO = ("gluster", "--mode=script", "--xml", "volume", "info")


class GlusterVolume(Reading, frozen=True, kw_only=True):
    """A volume of GlusterFS.

    `tolerates` is the number of further bricks that may fail before some data cannot be written, in the worst case;
    `out` is the number of sets of bricks (a set holds the same data) that do not have enough of them.
    """

    family: ClassVar[str] = "gluster_volume"
    title: ClassVar[str] = "GlusterFS volumes"
    rows_of = (Source("{told}", "{volume}"), Source(command_key(INFO), "<name>{volume}<"))
    things: ClassVar = {
        "volume": Identity(
            ThingKind.VOLUME, Naming.VOLUME, f"{KIND}/{{volume}}", aliases=(("{volume}", Naming.VOLUME),)
        )
    }

    volume: Annotated[str, Label("Volume", "Its name", names=Name.VOLUME)]
    state: Annotated[str, State("State", "Started, Stopped or Created")]
    type: Annotated[str, Fact("Type", "Replicate, Disperse, Distribute ...", plain=True)]
    copies: Annotated[
        int | None,
        Metric("Copies", "Number of copies, arbiters included; absent if dispersed", setting=True, detail=True),
    ]
    arbiters: Annotated[int, Metric("Arbiters", "Bricks of each set that hold no data", setting=True, detail=True)]
    redundancy: Annotated[
        int | None, Metric("Redundancy", "Bricks of a dispersed set that may fail", setting=True, detail=True)
    ]
    bricks: Annotated[int, Metric("Bricks", "Configured bricks", setting=True)]
    bricks_up: Annotated[int, Metric("Bricks up", "Bricks that are online")]
    bricks_unknown: Annotated[
        int, Metric("Bricks unknown", "Bricks whose server is not connected, or not queried", detail=True)
    ]
    tolerates: Annotated[
        int | None, Metric("Tolerates", "Further bricks that may fail before writes do; absent if unknown")
    ]
    refusing: Annotated[int, Metric("Refusing", "Sets of bricks that refuse writes: no quorum, or too few bricks")]
    out: Annotated[int, Metric("Out", "Sets of bricks that cannot be read: too few bricks")]
    quorum: Annotated[str, Fact("Quorum", "cluster.quorum-type: none, auto, fixed", plain=True)]
    healers: Annotated[int | None, Metric("Heal daemons", "Self-heal daemons; absent if it has none", detail=True)]
    healers_up: Annotated[int | None, Metric("Heal daemons up", "Self-heal daemons that are online", detail=True)]
    healing: Annotated[int, Metric("Healing", "Whether the self-heal daemon is enabled (1 = yes)")]
    told: Annotated[str | None, Fact("Source", "Text that shows it", export=False, names=Name.EVIDENCE)] = None

    @property
    def down(self) -> int:
        """Number of bricks that are known to be offline."""
        return self.bricks - self.bricks_up - self.bricks_unknown


class GlusterBrick(Reading, frozen=True, kw_only=True):
    """A brick of a volume: a directory on a server."""

    family: ClassVar[str] = "gluster_brick"
    title: ClassVar[str] = "GlusterFS bricks"
    rows_of = (Source("{told}", "Brick {brick}"), Source("{origin}", "{path}<"))
    things: ClassVar = {
        "brick": Identity(ThingKind.BRICK, Naming.OSD, f"{KIND}/{{volume}}/{{host}}:{{path}}"),
        "volume": Identity(ThingKind.VOLUME, Naming.VOLUME, f"{KIND}/{{volume}}"),
        "host": Identity(ThingKind.NODE, Naming.NODE, f"{KIND}/{{host}}"),
    }
    joins = (Join("volume", "brick", Relation.MEMBER), Join("brick", "host", Relation.LOCATED))

    volume: Annotated[str, Label("Volume", "Name of the volume", names=Name.VOLUME)]
    host: Annotated[str, Label("Host", "Server of the brick", names=Name.HOST)]
    path: Annotated[str, Label("Path", "Directory on that server", names=Name.PATH)]
    set: Annotated[int, Metric("Set", "Number of the set of bricks that hold the same data, from 1")]
    arbiter: Annotated[int, Metric("Arbiter", "Whether it holds names and no data (1 = yes)")]
    state: Annotated[str, State("State", "Brick: online, offline, or unknown (its server is not connected)")]
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    told: Annotated[str | None, Fact("Text", "Text that shows it", export=False, names=Name.EVIDENCE)] = None

    @property
    def brick(self) -> str:
        """Name of the brick, as gluster writes it: `host:path`."""
        return f"{self.host}:{self.path}"
