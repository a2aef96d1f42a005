"""Volumes: used share of each limit, time at the limit, and the part of the wait that the limit causes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from msgspec import Struct
from textual.app import ComposeResult

from sdstop.analysis.limiting import LimitAnalysis, LimitedWait, limit_analyses
from sdstop.core.finding import Severity
from sdstop.core.format import (
    NONE,
    bytes_,
    duration,
    mebibytes,
    milliseconds,
    number,
    percent,
    quantity,
    wait,
    whole,
    whole_percent,
)  # fmt: skip
from sdstop.core.model import Reading
from sdstop.readings.cluster import ClusterVolume
from sdstop.readings.limit import Limit, LimitUse
from sdstop.tui.facts import FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import bar_cell, counted, severity_name
from sdstop.tui.views.finding_rows import note_row
from sdstop.tui.views.view import Listing, View
from sdstop.tui.why import entry_mark
from sdstop.tui.widgets.graph import layers
from sdstop.tui.widgets.palette import FAINT, STRONG, Line, Palette, text
from sdstop.tui.widgets.pane import Pane, Row, words
from sdstop.tui.widgets.table import MIB, MS, PERCENT, Cell, LineTable, TableColumn

SOURCES = ("scaleio", "cgroups", "qemu", "rbd", "ceph")
"""Names of the collectors for volumes and limits."""


class LimitedVolume(Struct, frozen=True):
    """A volume with one of its limits, or without any; `longest` is the scale of waits in seconds."""

    scene: Scene
    name: str
    known: LimitAnalysis | None
    volume: ClusterVolume | None
    severity: Severity | None
    longest: float

    @property
    def limit(self) -> Limit | None:
        """The limit."""
        return self.known.limit if self.known is not None else None

    @property
    def iops(self) -> float | None:
        """Completed requests per second."""
        if self.known is not None and self.known.requests is not None:
            return self.known.requests
        return _sum(self.volume, "reads", "writes")

    @property
    def bytes(self) -> float | None:
        """Completed bytes per second."""
        if self.known is not None and self.known.bytes is not None:
            return self.known.bytes
        return _sum(self.volume, "read", "write")

    @property
    def iops_share(self) -> float | None:
        """Used share of the IOPS limit."""
        limit = self.limit
        if limit is None or not limit.iops or self.known is None or self.known.requests is None:
            return None
        return self.known.requests * limit.weight(self.known.size) / limit.iops

    @property
    def bytes_share(self) -> float | None:
        """Used share of the bandwidth limit."""
        limit = self.limit
        if limit is None or not limit.bandwidth or self.known is None or self.known.bytes is None:
            return None
        return self.known.bytes / limit.bandwidth

    @property
    def shared(self) -> bool:
        """Whether the numbers cover several mappings together and are only upper bounds for this one."""
        return self.known is not None and not self.known.certain

    @property
    def at_limit(self) -> float | None:
        """Share of the time at the limit."""
        if self.known is None:
            return None
        return self.known.maybe_at_limit if self.shared else self.known.at_limit

    @property
    def wait(self) -> float | None:
        """Mean time of a request in seconds, including the limit's part if known."""
        if self.split is not None and self.split.wait is not None:
            return self.split.wait
        if self.split is not None and self.split.disks is not None:
            return self.split.disks
        return _mean(self.volume)

    @property
    def split(self) -> LimitedWait | None:
        """The wait and its parts, as on the volume's path."""
        return self.known.split if self.known is not None else None

    @property
    def least(self) -> bool:
        """Whether the wait and the limit's part are lower bounds."""
        return self.split is not None and self.split.least

    @property
    def urgency(self) -> tuple[int, float, float, float]:
        """Sort key, worst first: severity, time at the limit, wait caused by the limit, used share."""
        rank = -1 if self.severity is None else self.severity.rank
        own = self.split.limit if self.split is not None else None
        share = max(self.iops_share or 0.0, self.bytes_share or 0.0)
        proven = self.known.at_limit if self.known is not None else None
        return rank, proven or 0.0, own or 0.0, share

    @property
    def opens(self) -> FactSubject:
        """Target that Enter opens for this row."""
        parts: list[tuple[type[Reading], Hashable]] = []
        if self.limit is not None:
            key = (self.limit.volume, self.limit.owner, self.limit.kind, self.limit.direction)
            parts += [(Limit, key), (LimitUse, key)]
        if self.volume is not None:
            parts.append((ClusterVolume, (self.volume.cluster, self.volume.volume)))
        return FactSubject(self.name, tuple(parts))


def _sum(volume: ClusterVolume | None, *fields: str) -> float | None:
    known = [getattr(volume, field) for field in fields] if volume is not None else []
    return None if not known or any(value is None for value in known) else float(sum(known))


def _mean(volume: ClusterVolume | None) -> float | None:
    if volume is None:
        return None
    pairs = ((volume.read_wait, volume.reads), (volume.write_wait, volume.writes))
    known = [(time, count) for time, count in pairs if time is not None and count]
    total = sum(count for _, count in known)
    return sum(time * count for time, count in known) / total if total else None


def limited_volumes(scene: Scene) -> list[LimitedVolume]:
    """Return every limit with its use, then the volumes without a limit."""
    volumes = list(scene.rows(ClusterVolume)[0].values())
    by_name = {row.volume: row for row in volumes}
    worst = scene.worst()

    def said(name: str, limit: Limit | None = None) -> Severity | None:
        """Return the worst severity of a volume or of its limit for one owner."""
        told = [worst[s] for s in (f"vol:{name}", limit.subject if limit is not None else "") if s in worst]
        return max(told, key=lambda severity: severity.rank, default=None)

    found = limit_analyses(scene.window)
    waits = [known.split.wait or known.split.disks or 0.0 for known in found]
    longest = max([*waits, *(_mean(row) or 0.0 for row in volumes)], default=0.0)
    limited = [
        LimitedVolume(
            scene,
            known.limit.volume,
            known,
            by_name.get(known.limit.volume),
            said(known.limit.volume, known.limit),
            longest,
        )
        for known in found
    ]
    named = {item.name for item in limited}
    others = [row for row in volumes if row.volume not in named]
    return limited + [LimitedVolume(scene, r.volume, None, r, said(r.volume), longest) for r in others]


def _name(item: LimitedVolume, _: int) -> Line:
    return severity_name(item.name, item.severity, item.scene.palette)


def _owner(item: LimitedVolume, _: int) -> Cell:
    limit = item.limit
    word = item.scene.palette.word
    if limit is None:
        return text(("no limit", FAINT))
    way = "" if limit.direction == "total" else f" {limit.direction}s"
    return text((f"{word(limit.owner or limit.kind, 60)}{way}", FAINT))


def _share(read: Callable[[LimitedVolume], float | None]) -> dict[str, Any]:
    def cell(item: LimitedVolume, width: int) -> Cell:
        found = read(item)
        if found is None:
            return text(("-".rjust(5), FAINT))
        if not item.shared:
            return _colored(bar_cell(found, width, item.scene.palette), found, item)
        most = min(found, 1.0)
        first, *bar = bar_cell(most, width, item.scene.palette)
        return first._replace(text=f"{item.scene.palette.at_most}{whole_percent(most)}".rjust(5) + first.text[5:]), *bar

    return {"cell": cell, "value": read, "scale": PERCENT}


def _colored(line: Line, share: float, item: LimitedVolume) -> Line:
    if item.severity is None or share < _NEAR:
        return line
    style = item.scene.palette.severity(item.severity)
    return (line[0]._replace(style=style), *line[1:]) if line else line


_NEAR = 0.9
"""Used share of a limit from which it is colored if the volume has a severity."""


def _figure(
    read: Callable[[LimitedVolume], float | None], shown: Callable[[float | None], str], *, most: bool = False
) -> dict[str, Any]:
    """Return column arguments for a number; `most` marks it as an upper bound if the limit is shared."""

    def cell(item: LimitedVolume, _: int) -> Cell:
        said = shown(read(item))
        if said in {"0", "-", "0.0"}:
            return text((said, FAINT))
        return f"{item.scene.palette.at_most}{said}" if most and item.shared else said

    return {"cell": cell, "value": read, "right": True}


def _waited(read: Callable[[LimitedVolume], float | None]) -> dict[str, Any]:
    """Return column arguments for a wait; `>` marks a lower bound."""

    def cell(item: LimitedVolume, _: int) -> Cell:
        value = read(item)
        return text((NONE, FAINT)) if value is None else f"{'>' if item.least else ''}{milliseconds(value)}"

    return {"cell": cell, "value": read, "right": True, "scale": MS}


def _split(item: LimitedVolume, width: int) -> Cell:
    """Draw a request's wait: the part of the disks, then the part of the limit."""
    split = item.split
    if split is None or item.longest <= 0:
        return ""
    return split_bar(split.disks, split.limit, item.wait, item.longest, width, item.scene.palette)


def split_bar(
    disks: float | None, own: float | None, whole: float | None, longest: float, width: int, palette: Palette
) -> Line:  # fmt: skip
    """Return a bar on a scale of `longest` seconds over `width` cells; an unsplit wait is drawn in the third shade."""
    drawn = layers(ascii=palette.ascii)
    full, light, rest = drawn[0], drawn[1], drawn[2]

    def cells(seconds: float | None) -> int:
        return max(round((seconds or 0.0) / longest * width), 1 if seconds else 0)

    if own is None or disks is None:
        return text((rest * min(cells(whole), width), FAINT))
    first = min(cells(disks), width)
    return text((full * first, FAINT), light * min(cells(own), width - first))


_COLUMNS = (
    TableColumn("volume", "VOLUME", 12, _name, lambda i: i.name, widest=28, rising=True),
    TableColumn("owner", "HELD TO IT", 12, _owner, lambda i: i.limit.owner if i.limit else "", keep=9, widest=28,
                rising=True),
    TableColumn("iops", "IOPS", 6, **_figure(lambda i: i.iops, whole, most=True)),
    TableColumn("piops", "%IOPS", 5, widest=16, **_share(lambda i: i.iops_share)),
    TableColumn("bytes", "MiB/s", 6, scale=MIB, **_figure(lambda i: i.bytes, mebibytes, most=True)),
    TableColumn("pbytes", "%MiB", 5, widest=16, **_share(lambda i: i.bytes_share)),
    TableColumn("time", "%TIME", 5, scale=PERCENT, **_figure(lambda i: i.at_limit, whole_percent, most=True)),
    TableColumn("size", "areq", 5, keep=2, **_figure(lambda i: i.known.size if i.known else None, bytes_)),
    TableColumn("wait", "await", 6, keep=8, **_waited(lambda i: i.wait)),
    TableColumn("own", "limit", 6, keep=7, **_waited(lambda i: i.split.limit if i.split else None)),
    TableColumn("disks", "disks", 6, keep=7, scale=MS,
                **_figure(lambda i: i.split.disks if i.split else None, milliseconds)),
    TableColumn("split", "WAIT: DISKS, LIMIT", 8, _split, keep=1, widest=30),
)  # fmt: skip


class Volumes(View):
    """Volumes and their limits above, details of the volume under the cursor below."""

    families = (ClusterVolume, Limit, LimitUse)
    tables = (_COLUMNS,)

    @classmethod
    def listed(cls, scene: Scene) -> Iterator[Listing]:
        """Yield the tables with the rows that a search finds here."""
        yield Listing(_COLUMNS, _rows(scene))

    def compose(self) -> ComposeResult:
        """Lay out the panes."""
        self.scene: Scene | None = None
        self.main = LineTable("Volumes and their limits", _COLUMNS, id="volumes", steady=True)
        self.detail = Pane("Volume", id="volume-detail")
        yield self.main
        yield self.detail

    def show(self, scene: Scene) -> None:
        """Paint the scene."""
        self.scene = scene
        found = _rows(scene)
        listed = [row.item for row in found]
        self.main.put(found or [note_row(_nothing(scene), scene)], scene.palette, _note(listed, scene))
        self.detail.display = bool(found) and self.app.size.height >= 18
        self.detail.styles.height = min(max(self.app.size.height // 3, 6), 12)
        self._show_chosen()

    def moved(self, pane: Pane) -> None:
        """Show details of the row under the cursor."""
        if pane is self.main:
            self._show_chosen()

    def _show_chosen(self) -> None:
        row = self.main.chosen
        item = row.item if row is not None else None
        if isinstance(item, LimitedVolume):
            self.detail.title = item.scene.palette.word(item.name, 60)
            self.detail.put(list(_detail(item)), item.scene.palette)


def _rows(scene: Scene) -> list[Row]:
    listed = sorted(limited_volumes(scene), key=lambda item: item.urgency, reverse=True)
    return [Row(_key(item), item, None, _searchable(item)) for item in listed]


def _key(item: LimitedVolume) -> Hashable:
    limit = item.limit
    return (item.name, *((limit.owner, limit.kind, limit.direction) if limit is not None else ()))


def _searchable(item: LimitedVolume) -> str:
    limit, volume = item.limit, item.volume
    facts = [item.name]
    if limit is not None:
        facts += [limit.owner, limit.kind, limit.direction, limit.group or "", limit.device or ""]
    if volume is not None:
        facts += [volume.pool or "", volume.cluster, volume.mapped or ""]
    return " ".join(facts)


def _note(listed: list[LimitedVolume], scene: Scene) -> str:
    limited = {item.name for item in listed if item.limit is not None and item.limit.limited not in {None, "none"}}
    names = {item.name for item in listed}
    facts = [counted(len(names), "volume"), f"{len(limited)} limited"] if names else []
    return f" {scene.palette.dot} ".join(facts)


def _detail(item: LimitedVolume) -> Iterator[Row]:
    palette = item.scene.palette
    subject = item.limit.subject if item.limit is not None else f"vol:{item.name}"
    for entry in item.scene.findings():
        if not {subject, f"vol:{item.name}"}.isdisjoint(entry.subjects):
            line = text((f" {palette.word(entry.finding.rule if entry.finding else '', 30)} ", STRONG),
                        palette.word(entry.summary, 400))  # fmt: skip
            yield words((*text(" "), *entry_mark(entry, palette), *line), entry.key, entry)
    for title, facts in (("limit", list(_limits(item))), ("use", list(_use(item))), ("is", list(_is(item)))):
        if facts:
            yield words(text((f" {title:<8}", FAINT), f" {palette.dot} ".join(palette.word(f, 90) for f in facts)))


def _limits(item: LimitedVolume) -> Iterator[str]:
    limit, known = item.limit, item.known
    if limit is None or known is None:
        yield "none is known"
        return
    yield f"{limit.kind}, {limit.direction}"
    if limit.limited == "none":
        yield "none is set"
    if limit.iops is not None:
        yield f"{number(limit.iops)} IOPS"
    if limit.bandwidth is not None:
        yield quantity(limit.bandwidth, "bytes_per_second")
    if limit.break_even is not None:
        yield f"from requests of {bytes_(limit.break_even)} on the bandwidth binds"
    if limit.iops_size:
        yield f"a request counts once per {bytes_(limit.iops_size)}"
    if limit.group:
        yield f"shared in group {limit.group}"
    if limit.unheld:
        yield f"nobody enforces it: {limit.unheld}"
    if known.burst_left is not None:
        yield f"a burst, {duration(known.burst_left)} left at most"


def _use(item: LimitedVolume) -> Iterator[str]:
    known = item.known
    if known is None or not known.samples:
        if known is not None and known.limit.limited not in {None, "none"}:
            yield "nothing that is read counts what passes" if not known.measured else "not known yet"
        return
    if known.binding:
        share = percent(known.share) if known.certain else f"{percent(known.low)} to {percent(known.share)}"
        yield f"{share}% of its {known.binding} limit"
    if not known.certain:
        yield f"told for {known.limit.sharers} together"
    yield f"at it {percent(known.at_limit)}% of {duration(known.seconds)}"
    if known.size is not None:
        yield f"requests of {bytes_(known.size)}"
    if known.headroom is not None:
        yield f"{number(known.headroom)} more a second would pass"
    split = known.split
    if split.wait is not None and split.limit is not None:
        least = "at least " if split.least else ""
        yield f"await {least}{wait(split.wait)} ms: limit {wait(split.limit)}, disks {wait(split.disks)}"


def _is(item: LimitedVolume) -> Iterator[str]:
    volume, limit = item.volume, item.limit
    if volume is not None:
        yield " ".join(word for word in (volume.provisioning or "", quantity(volume.size, "bytes")) if word)
        yield f"pool {volume.pool or '-'} of {volume.cluster}"
        if volume.mapped:
            yield f"mapped to {volume.mapped}"
        if volume.local:
            yield f"here: {volume.local}"
    if limit is not None and limit.device:
        yield f"device {limit.device}"


def _nothing(scene: Scene) -> str:
    said = scene.unseen(SOURCES)
    if said:
        return f"no volume or limit is known; {said}"
    return "no volume of a cluster is known here, and nothing limits the I/O of anybody"
