"""Details of one fabric node: links, phys, budget, membership and findings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.style import Style

from sdstop.analysis.disks.membership import memberships
from sdstop.analysis.fabric.state import FabricState
from sdstop.analysis.fabric.tree import FabricNode, total
from sdstop.collectors.fabric.port_readings import SasPhy, SasPhyActivity, SasPort
from sdstop.collectors.fabric.readings import Hba
from sdstop.collectors.fabric.sas import COUNTERS
from sdstop.core.format import bytes_, number, percent, quantity
from sdstop.tui.facts import FactLink, FactSubject
from sdstop.tui.scene import Scene
from sdstop.tui.views.cells import counted
from sdstop.tui.why import entry_mark
from sdstop.tui.widgets.palette import FAINT, PLAIN, STRONG, Line, Palette, pairs, text
from sdstop.tui.widgets.pane import Row, words

_SHORT = ("invalid", "disparity", "sync lost", "resets")
"""Short names of the counters, in the order of COUNTERS."""


def gigabits(bytes_per_second: int | None) -> str:
    """Return the nominal rate of a SAS link, such as `12G` or `22.5G`; "" if unknown."""
    if bytes_per_second is None:
        return ""
    bits = bytes_per_second * 10 if bytes_per_second <= 1.2e9 else bytes_per_second * 8 * 150 / 128
    return f"{round(bits / 1e8) / 10:g}G"


def lanes(speed: float | None, width: int | None) -> str:
    """Return a PCI Express link such as `8G x8`; "" if unknown."""
    shown = [f"{speed / 1e9:g}G" if speed is not None else "", f"x{width}" if width is not None else ""]
    return " ".join(word for word in shown if word)


def linked(node: FabricNode) -> tuple[str, str]:
    """Return the current and the maximum link of a node: `8G x8` for PCI Express, `12G x4` for SAS."""
    if node.hba is not None:
        return lanes(node.hba.speed, node.hba.width), lanes(*supported_link(node.hba))
    if not node.phys:
        return "", ""
    up = [phy.rate for phy in node.phys if phy.rate is not None]
    can = [phy.maximum_rate for phy in node.phys if phy.maximum_rate is not None]
    wide = len(node.phys) if len(node.phys) > 1 else None
    now = gigabits(min(up)) if up else "down"
    lanes_ = f" x{len(up)}" if wide else ""
    return f"{now}{lanes_}", f"{gigabits(max(can))}{f' x{wide}' if wide else ''}" if can else ""


def supported_link(hba: Hba) -> tuple[float | None, int | None]:
    """Return the speed and lanes supported by both ends of an HBA's link, or by the one end that reports them."""
    speeds = [value for value in (hba.max_speed, hba.port_max_speed) if value is not None]
    widths = [value for value in (hba.max_width, hba.port_max_width) if value is not None]
    return min(speeds, default=None), min(widths, default=None)


def made(node: FabricNode, scene: Scene) -> list[str]:
    """Return the words that describe a node, such as vendor, model or driver."""
    word = scene.palette.word
    if node.kind == "disk":
        drive = scene.drives().get(node.name)
        device = drive.device if drive is not None else None
        names = [device.vendor, device.model] if device is not None else []
        if not any(names) and node.hba is not None:
            names = [node.hba.driver]
        return [word(name, 40) for name in names if name and name != "ATA"]
    if node.hba is not None:
        return [word(name, 24) for name in (node.hba.driver, node.hba.kind) if name]
    if node.kind == "phy":
        return ["link down"]
    if node.device is not None:
        return [word(node.device.product or node.device.kind or "", 40)]
    return ["SCSI host, HBA unknown"] if node.kind == "host" else []


def fabric_node_rows(node: FabricNode, shown: FabricState, scene: Scene, width: int) -> list[Row]:
    """Return the rows about a node: findings, description, links, budget and phys."""
    palette = scene.palette
    found = [*_entries(node, scene, width)]
    facts: list[tuple[str, Sequence[str]]] = [("is", _is(node, scene)), ("link", _link(node, scene))]
    facts.append(("moves", _moves(node, shown)))
    if node.kind == "disk":
        facts += [("member", _part(node, scene)), ("sits", _sits(node, palette))]
    found += [words(_line(name, said, palette)) for name, said in facts if said]
    found += _phys(node, shown, scene)
    return found


def _line(name: str, facts: Sequence[str], palette: Palette) -> Line:
    return text((f" {name:<8}", FAINT), f" {palette.dot} ".join(facts))


def _entries(node: FabricNode, scene: Scene, width: int) -> Iterator[Row]:
    """Yield the findings about a node and about all nodes below it."""
    names = set(node.names)
    todo = list(node.below)
    while todo:
        part = todo.pop()
        names.update(part.names)
        todo.extend(part.below)
    palette = scene.palette
    for entry in scene.findings():
        if any(names & {said, said.rpartition("/")[2]} for said in entry.subjects):
            subject = palette.word(entry.subject, 40)
            said = palette.word(entry.summary, 400)
            lines = textwrap.wrap(f"{subject} {said}", max(width - 8, 20), break_long_words=True)
            first = text((subject, STRONG), lines[0].removeprefix(subject))
            yield words((*text(" "), *entry_mark(entry, palette), *text(" "), *first), entry.key, entry)
            for line in lines[1:]:
                yield words(text(f"       {line}"))


def _is(node: FabricNode, scene: Scene) -> list[str]:
    word = scene.palette.word
    facts = list(made(node, scene))
    if node.kind == "disk":
        drive = scene.drives().get(node.name)
        device = drive.device if drive is not None else None
        facts = [" ".join(facts)] if facts else []
        if device is not None:
            facts += [bytes_(device.size)] if device.size is not None else []
            facts += [] if device.rotational is None else ["rotating" if device.rotational else "non-rotating"]
            facts += [f"firmware {word(device.revision, 16)}"] if device.revision else []
            facts += [f"serial {word(device.serial, 40)}"] if device.serial else []
    if node.hba is not None:
        facts += [word(node.hba.device_id, 20)] if node.hba.device_id else []
        facts += [node.hba.hba] if node.name != node.hba.hba else []
        facts += ["NUMA node unknown" if node.hba.node is None else f"on node{node.hba.node}"]
    if node.kind in {"hba", "host", "expander"}:
        facts.append(counted(len(node.disks), "disk"))
    facts += [word(host, 16) for host in node.hosts]
    return facts


def _link(node: FabricNode, scene: Scene) -> list[str]:
    if node.hba is not None:
        hba = node.hba
        if hba.speed is None and hba.width is None:
            return []
        can = lanes(*supported_link(hba)) or "-"
        both = hba.max_width is not None and hba.port_max_width is not None
        above = f" ({hba.port})" if hba.port else ""
        ends = f"both ends support {can}" if both else f"device supports {can}, port unknown"
        return [f"PCIe {lanes(hba.speed, hba.width)}", f"{ends}{above}"]
    if node.device is None or not node.phys:
        return []
    now, can = linked(node)
    port = scene.rows(SasPort)[0].get(node.device.port or "")
    owner = scene.palette.word(node.device.above or "-", 30)
    facts = [f"SAS {now} of {can or '-'}", f"from {owner}"]
    if port is not None and port.phys is not None and port.phys > 1:
        facts.append(f"{port.port} of {port.phys} phys")
    return [*facts, f"capacity {_rate(node.carries)}"] if node.carries else facts


def _rate(value: float) -> str:
    return quantity(value, "bytes_per_second")


def _moves(node: FabricNode, shown: FabricState) -> list[str]:
    load = shown.loads.get(node.hba.hba) if node.hba is not None else None
    moves, carries = shown.moves(node), shown.carries(node)
    if moves is None or not node.disks:
        return []
    of = f" of {_rate(carries)} link capacity" if carries else ""
    facts = [f"{_rate(moves)}{of}"]
    if load is not None and load.disks:
        share = f" ({percent(load.share)}%)" if load.share is not None else ""
        facts.append(f"{counted(round(load.disks), 'disk')} could reach {_rate(load.wants)}{share}")
    return facts


def _sits(node: FabricNode, palette: Palette) -> list[str]:
    path, device = node.path, node.device
    facts = []
    bay = next((row.bay for row in (path, device) if row is not None and row.bay is not None), None)
    enclosure = next((row.enclosure for row in (path, device) if row is not None and row.enclosure), None)
    if bay is not None:
        facts.append(f"bay {bay}" + (f" of enclosure {palette.word(enclosure, 24)}" if enclosure else ""))
    if path is not None:
        way = [path.hba, path.host, path.port, path.expander, path.end_device]
        facts.append(" > ".join(palette.word(part, 30) for part in way if part))
    return facts


def _part(node: FabricNode, scene: Scene) -> list[str]:
    word = scene.palette.word
    found = memberships(scene.window, node.name)
    return [f"{word(part.whole, 40)} {word(part.part, 40)}".rstrip() for part in found] or ["no array or pool"]


def _phys(node: FabricNode, shown: FabricState, scene: Scene) -> Iterator[Row]:
    """Yield a row for each phy that leads to the node, and for each degraded phy of an expander."""
    own = list(node.phys)
    listed = own + [phy for phy in node.owned if phy not in own and _telling(phy, scene)]
    ends = {phy.phy: part for part in node.below for phy in part.phys}
    for phy in listed:
        counts = _counts(phy, shown, scene)
        alone = len(counts) == 1
        line = _phy_line(phy, ends.get(phy.phy), scene)
        yield words(
            (*line, *counts) if alone else line,
            ("phy", phy.phy),
            FactLink(FactSubject(phy.phy, ((SasPhy, phy.phy), (SasPhyActivity, phy.phy)))),
            phy.phy,
        )
        if not alone:
            yield words(text("     ", *pairs(counts)))
    up = sum(phy.state == "up" for phy in node.owned)
    clean = up - sum(phy.state == "up" for phy in listed[len(own) :])
    if node.owned:
        said = f"{clean} more phys up at full rate without errors, {len(node.owned) - up} without link"
        yield words(text((f" {said}", FAINT)))


def _telling(phy: SasPhy, scene: Scene) -> bool:
    if phy.state not in {"up", "Unknown", None}:
        return True
    slow = phy.rate is not None and phy.maximum_rate is not None and phy.rate < phy.maximum_rate
    return slow or bool(total(phy)) or phy.phy in scene.worst()


def _phy_line(phy: SasPhy, end: FabricNode | None, scene: Scene) -> Line:
    palette = scene.palette
    now = gigabits(phy.rate) or ("down" if phy.state not in {None, "Unknown"} else "-")
    link = f"{now}/{gigabits(phy.maximum_rate) or '-'}"
    state = "not attached" if phy.state == "Unknown" else "-" if phy.state in {"up", None} else phy.state
    leads = end.name if end is not None else phy.attached or state
    head = text((f" {palette.fit(palette.word(phy.phy, 24), 12)} ", _style(phy, scene)), f"{link:<9} ")
    return (*head, *text((f"{palette.fit(palette.word(leads, 40), 18)}  ", FAINT)))


def _style(phy: SasPhy, scene: Scene) -> Style:
    severity = scene.worst().get(phy.phy)
    return PLAIN if severity is None else scene.palette.severity(severity)


def _counts(phy: SasPhy, shown: FabricState, scene: Scene) -> Line:
    """Return the nonzero counters, each with its increase since the previous sample."""
    fresh = shown.fresh.get(phy.phy)
    known = {name: value for name in COUNTERS if (value := getattr(phy, name)) is not None}
    if not any(known.values()):
        return text(("no errors" if known else "" if phy.state == "Unknown" else "no error counters", FAINT))
    found: list[tuple[str, Style]] = []
    for name, title in zip(COUNTERS, _SHORT, strict=True):
        if not known.get(name):
            continue
        per_second = getattr(fresh, f"{name}_per_second") if fresh is not None else None
        new = round(per_second * fresh.seconds) if fresh is not None and per_second is not None else None
        found.append((f"{title} ", FAINT))
        found.append((number(known[name]), PLAIN))
        found.append((f" +{number(new)}  " if new is not None else "  ", _style(phy, scene) if new else FAINT))
    return text(*found)
