"""What is known of one knot of the fabric: its links, phys, budget, what it is part of, and what is said of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.style import Style

from sdstop.collectors.fabric.hba import Hba
from sdstop.collectors.fabric.sas import COUNTERS, SasPhy, SasPhyActivity, SasPort
from sdstop.core.format import bytes_, number, percent, quantity
from sdstop.tui.drives import drives, rows
from sdstop.tui.fabrics import Fabric, parts
from sdstop.tui.facts import Thing
from sdstop.tui.palette import FAINT, PLAIN, STRONG, Line, Palette, pairs, text
from sdstop.tui.pane import Row, words
from sdstop.tui.scene import Scene
from sdstop.tui.topology import Knot, total
from sdstop.tui.views.cells import counted
from sdstop.tui.why import claim_mark

_SHORT = ("invalid", "disparity", "sync lost", "resets")
"""Names of the counters, in their order."""


def gigabits(bytes_per_second: int | None) -> str:
    """Return the rate of a SAS link by its name: `12G`, `22.5G`; "" where it is not known."""
    if bytes_per_second is None:
        return ""
    bits = bytes_per_second * 10 if bytes_per_second <= 1.2e9 else bytes_per_second * 8 * 150 / 128
    return f"{round(bits / 1e8) / 10:g}G"


def lanes(speed: float | None, width: int | None) -> str:
    """Return a PCI Express link: `8G x8`, "" where nothing is known of it."""
    shown = [f"{speed / 1e9:g}G" if speed is not None else "", f"x{width}" if width is not None else ""]
    return " ".join(word for word in shown if word)


def linked(knot: Knot) -> tuple[str, str]:
    """Return what leads to a knot, now and at most: `8G x8` of PCI Express, `12G x4` of SAS."""
    if knot.hba is not None:
        return lanes(knot.hba.speed, knot.hba.width), lanes(*possible(knot.hba))
    if not knot.phys:
        return "", ""
    up = [phy.rate for phy in knot.phys if phy.rate is not None]
    can = [phy.maximum_rate for phy in knot.phys if phy.maximum_rate is not None]
    wide = len(knot.phys) if len(knot.phys) > 1 else None
    now = gigabits(min(up)) if up else "down"
    lanes_ = f" x{len(up)}" if wide else ""
    return f"{now}{lanes_}", f"{gigabits(max(can))}{f' x{wide}' if wide else ''}" if can else ""


def possible(hba: Hba) -> tuple[float | None, int | None]:
    """Return the speed and lanes that both ends of an HBA's link can, of one end where the other does not say."""
    speeds = [value for value in (hba.max_speed, hba.port_max_speed) if value is not None]
    widths = [value for value in (hba.max_width, hba.port_max_width) if value is not None]
    return min(speeds, default=None), min(widths, default=None)


def made(knot: Knot, scene: Scene) -> list[str]:
    """Return the words that say what a knot is."""
    word = scene.palette.word
    if knot.kind == "disk":
        drive = drives(scene).get(knot.name)
        device = drive.device if drive is not None else None
        names = [device.vendor, device.model] if device is not None else []
        if not any(names) and knot.hba is not None:
            names = [knot.hba.driver]
        return [word(name, 40) for name in names if name and name != "ATA"]
    if knot.hba is not None:
        return [word(name, 24) for name in (knot.hba.driver, knot.hba.kind) if name]
    if knot.kind == "phy":
        return ["link that is not up"]
    if knot.device is not None:
        return [word(knot.device.product or knot.device.kind or "", 40)]
    return ["SCSI host, its HBA is not known"] if knot.kind == "host" else []


def knot_rows(knot: Knot, shown: Fabric, width: int) -> list[Row]:
    """Return the lines about a knot: what is said of it, what it is, its links, budget and phys."""
    palette = shown.scene.palette
    found = [*_claims(knot, shown, width)]
    facts: list[tuple[str, Sequence[str]]] = [("is", _is(knot, shown)), ("link", _link(knot, shown))]
    facts.append(("moves", _moves(knot, shown)))
    if knot.kind == "disk":
        facts += [("part of", _part(knot, shown)), ("sits", _sits(knot, palette))]
    found += [words(_line(name, said, palette)) for name, said in facts if said]
    found += _phys(knot, shown)
    return found


def _line(name: str, facts: Sequence[str], palette: Palette) -> Line:
    return text((f" {name:<8}", FAINT), f" {palette.dot} ".join(facts))


def _claims(knot: Knot, shown: Fabric, width: int) -> Iterator[Row]:
    """Yield what is said of a knot; of one that has others below, of them too."""
    names = set(knot.names)
    todo = list(knot.below)
    while todo:
        part = todo.pop()
        names.update(part.names)
        todo.extend(part.below)
    palette = shown.scene.palette
    for claim in shown.scene.findings():
        if names & {claim.subject, claim.subject.rpartition("/")[2]}:
            subject = palette.word(claim.subject, 40)
            said = palette.word(claim.summary, 400)
            lines = textwrap.wrap(f"{subject} {said}", max(width - 8, 20), break_long_words=True)
            first = text((subject, STRONG), lines[0].removeprefix(subject))
            yield words((*text(" "), *claim_mark(claim, palette), *text(" "), *first), claim.key, claim)
            for line in lines[1:]:
                yield words(text(f"       {line}"))


def _is(knot: Knot, shown: Fabric) -> list[str]:
    scene = shown.scene
    word = scene.palette.word
    facts = list(made(knot, scene))
    if knot.kind == "disk":
        drive = drives(scene).get(knot.name)
        device = drive.device if drive is not None else None
        facts = [" ".join(facts)] if facts else []
        if device is not None:
            facts += [bytes_(device.size)] if device.size is not None else []
            facts += [] if device.rotational is None else ["rotates" if device.rotational else "does not rotate"]
            facts += [f"firmware {word(device.revision, 16)}"] if device.revision else []
            facts += [f"serial {word(device.serial, 40)}"] if device.serial else []
    if knot.hba is not None:
        facts += [word(knot.hba.device_id, 20)] if knot.hba.device_id else []
        facts += [knot.hba.hba] if knot.name != knot.hba.hba else []
        facts += ["near no known NUMA node" if knot.hba.node is None else f"near node{knot.hba.node}"]
    if knot.kind in {"hba", "host", "expander"}:
        facts.append(counted(len(knot.disks), "disk"))
    facts += [word(host, 16) for host in knot.hosts]
    return facts


def _link(knot: Knot, shown: Fabric) -> list[str]:
    if knot.hba is not None:
        hba = knot.hba
        if hba.speed is None and hba.width is None:
            return []
        can = lanes(*possible(hba)) or "-"
        both = hba.max_width is not None and hba.port_max_width is not None
        above = f" ({hba.port})" if hba.port else ""
        ends = f"both ends can {can}" if both else f"it can {can}, what the port can is not known"
        return [f"PCIe {lanes(hba.speed, hba.width)}", f"{ends}{above}"]
    if knot.device is None or not knot.phys:
        return []
    now, can = linked(knot)
    port = rows(shown.scene, SasPort)[0].get(knot.device.port or "")
    owner = shown.scene.palette.word(knot.device.above or "-", 30)
    facts = [f"SAS {now} of {can or '-'}", f"from {owner}"]
    if port is not None and port.phys is not None and port.phys > 1:
        facts.append(f"{port.port} of {port.phys} phys")
    return [*facts, f"carries {_rate(knot.carries)}"] if knot.carries else facts


def _rate(value: float) -> str:
    return quantity(value, "bytes_per_second")


def _moves(knot: Knot, shown: Fabric) -> list[str]:
    load = shown.loads.get(knot.hba.hba) if knot.hba is not None else None
    moves, carries = shown.moves(knot), shown.carries(knot)
    if moves is None or not knot.disks:
        return []
    of = f" of {_rate(carries)} that its links carry" if carries else ""
    facts = [f"{_rate(moves)}{of}"]
    if load is not None and load.disks:
        share = f" ({percent(load.share)} %)" if load.share is not None else ""
        facts.append(f"{counted(round(load.disks), 'disk')} could move {_rate(load.wants)}{share}")
    return facts


def _sits(knot: Knot, palette: Palette) -> list[str]:
    path, device = knot.path, knot.device
    facts = []
    bay = next((row.bay for row in (path, device) if row is not None and row.bay is not None), None)
    enclosure = next((row.enclosure for row in (path, device) if row is not None and row.enclosure), None)
    if bay is not None:
        facts.append(f"bay {bay}" + (f" of enclosure {palette.word(enclosure, 24)}" if enclosure else ""))
    if path is not None:
        way = [path.hba, path.host, path.port, path.expander, path.end_device]
        facts.append(" > ".join(palette.word(part, 30) for part in way if part))
    return facts


def _part(knot: Knot, shown: Fabric) -> list[str]:
    word = shown.scene.palette.word
    found = parts(shown.scene, knot.name)
    return [f"{word(part.whole, 40)} {word(part.part, 40)}".rstrip() for part in found] or ["no array or pool"]


def _phys(knot: Knot, shown: Fabric) -> Iterator[Row]:
    """Yield a line for each phy that leads to it, and for those of an expander's own that are not as they should."""
    own = list(knot.phys)
    listed = own + [phy for phy in knot.owned if phy not in own and _telling(phy, shown)]
    ends = {phy.phy: part for part in knot.below for phy in part.phys}
    for phy in listed:
        counts = _counts(phy, shown)
        alone = len(counts) == 1
        line = _phy_line(phy, ends.get(phy.phy), shown)
        yield words((*line, *counts) if alone else line, ("phy", phy.phy), _Phy(phy), phy.phy)
        if not alone:
            yield words(text("     ", *pairs(counts)))
    up = sum(phy.state == "up" for phy in knot.owned)
    clean = up - sum(phy.state == "up" for phy in listed[len(own) :])
    if knot.owned:
        said = f"{clean} more of its phys are up at full rate and count no errors, {len(knot.owned) - up} have no link"
        yield words(text((f" {said}", FAINT)))


class _Phy:
    """A phy's line."""

    def __init__(self, phy: SasPhy) -> None:
        self.opens = Thing(phy.phy, ((SasPhy, phy.phy), (SasPhyActivity, phy.phy)))


def _telling(phy: SasPhy, shown: Fabric) -> bool:
    if phy.state not in {"up", "Unknown", None}:
        return True
    slow = phy.rate is not None and phy.maximum_rate is not None and phy.rate < phy.maximum_rate
    return slow or bool(total(phy)) or phy.phy in shown.scene.worst()


def _phy_line(phy: SasPhy, end: Knot | None, shown: Fabric) -> Line:
    palette = shown.scene.palette
    now = gigabits(phy.rate) or ("down" if phy.state not in {None, "Unknown"} else "-")
    link = f"{now}/{gigabits(phy.maximum_rate) or '-'}"
    state = "nothing attached" if phy.state == "Unknown" else "-" if phy.state in {"up", None} else phy.state
    leads = end.name if end is not None else phy.attached or state
    head = text((f" {palette.fit(palette.word(phy.phy, 24), 12)} ", _style(phy, shown)), f"{link:<9} ")
    return (*head, *text((f"{palette.fit(palette.word(leads, 40), 18)}  ", FAINT)))


def _style(phy: SasPhy, shown: Fabric) -> Style:
    severity = shown.scene.worst().get(phy.phy)
    return PLAIN if severity is None else shown.scene.palette.severity(severity)


def _counts(phy: SasPhy, shown: Fabric) -> Line:
    """Return the counters that are not 0, each with what is new since the reading before."""
    fresh = shown.fresh.get(phy.phy)
    known = {name: value for name in COUNTERS if (value := getattr(phy, name)) is not None}
    if not any(known.values()):
        return text(("no errors" if known else "" if phy.state == "Unknown" else "errors are not counted", FAINT))
    found: list[tuple[str, Style]] = []
    for name, title in zip(COUNTERS, _SHORT, strict=True):
        if not known.get(name):
            continue
        per_second = getattr(fresh, f"{name}_per_second") if fresh is not None else None
        new = round(per_second * fresh.seconds) if fresh is not None and per_second is not None else None
        found.append((f"{title} ", FAINT))
        found.append((number(known[name]), PLAIN))
        found.append((f" +{number(new)}  " if new is not None else "  ", _style(phy, shown) if new else FAINT))
    return text(*found)
