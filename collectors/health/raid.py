"""RAID controllers, asked through their own programs.

storcli and perccli (Broadcom, Dell), storcli2 and perccli2 (controllers with the driver mpi3mr), ssacli (HPE). They are
asked twice an hour, and only on nodes whose kernel has such a controller. The programs only read; `nolog` keeps storcli
from writing a log file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sdstop.collectors.health import arcconf, megacli, sasircu, ssacli, storcli
from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.form import Form, Several
from sdstop.core.host import Absent, Denied, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.text import json_text

DRIVERS = "/sys/bus/pci/drivers"
MEGARAID = ("megaraid_sas",)
MPI3 = ("mpi3mr",)
HPE = ("hpsa", "smartpqi", "cciss")
PACE = 1800.0
PROMPT = 60.0
"""Seconds for the answer of a controller; with a hundred disks it needs some."""
PROGRAMS = (
    "storcli64",
    "perccli64",
    "/opt/MegaRAID/storcli/storcli64",
    "/opt/MegaRAID/perccli/perccli64",
)
PROGRAMS_2 = (
    "storcli2",
    "perccli2",
    "/opt/MegaRAID/storcli2/storcli2",
    "/opt/MegaRAID/perccli2/perccli2",
)
QUESTIONS = (
    ("/call", "show", "all", "nolog", "J"),
    ("/call/vall", "show", "all", "nolog", "J"),
    ("/call/eall/sall", "show", "all", "nolog", "J"),
)
DETAIL = ("ssacli", "ctrl", "all", "show", "config", "detail")
_RECORDED = ("storcli64", "storcli", "perccli64", "perccli", *PROGRAMS[2:])
_RECORDED_2 = PROGRAMS_2
_RECORDED_HPE = ("ssacli", "hpssacli", "hpacucli")


def read(host: Host) -> Iterable[Reading]:
    """Return controllers, volumes and disks. Raises Absent without a controller or its program, Failed, and Denied."""
    rows: dict[tuple[type, str], Reading] = {}
    absent: Absent | None = None
    for drivers, ask in ((MEGARAID, _storcli), (MPI3, _storcli_2), (HPE, _ssacli), ((), _shown)):
        try:
            for row in ask(host, drivers):
                key = type(row), str(getattr(row, row.__struct_fields__[0]))
                rows[key] = _better(rows.get(key), row)
        except Absent as error:
            absent = error if absent is None or not error.recorded else absent
    if not rows and absent is not None:
        raise absent
    return list(rows.values())


def _better(before: Reading | None, after: Reading) -> Reading:
    """Return a row with the known fields of two answers about one thing, the later ones first."""
    if before is None:
        return after
    known = {name: getattr(before, name) for name in before.__struct_fields__}
    more = {name: value for name in after.__struct_fields__ if (value := getattr(after, name)) is not None}
    return type(after)(**{**known, **more})


def _present(host: Host, drivers: Sequence[str]) -> bool:
    """Return whether one of these drivers has a device."""
    names = [name for driver in drivers for name in host.names(f"{DRIVERS}/{driver}")]
    return any(re.match(r"[0-9a-f]{4}:", name) for name in names)


def _answers(host: Host, programs: Sequence[str], asked: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, str, str]]:
    """Yield (program, evidence key, text) of the answers: those of the first program here, or else recorded ones."""
    found = ""
    for argv in asked:
        if found not in {"", argv[0]}:
            continue
        try:
            output = host.run(argv, PROMPT)
        except Absent:
            continue
        found = argv[0]
        said = output.stderr.decode("utf-8", "replace") + output.text[:2000]
        if output.exit and re.search(r"(?i)permission|must be root|insufficient priv|administrator", said):
            raise Denied(command_key(argv), "requires root; run with sudo")
        yield argv[0], command_key(argv), output.text
    if found:
        return
    for program in programs:
        for name in host.recorded(program):
            key = f"cmd:{name}" if " " in name else f"slug:{name}"
            try:
                yield program, key, host.recorded_output(name).text
            except TimedOut:
                raise
            except Unreadable:
                continue


def _storcli(host: Host, drivers: Sequence[str]) -> Iterator[Reading]:
    yield from _of_broadcom(host, drivers, PROGRAMS, _RECORDED)


def _storcli_2(host: Host, drivers: Sequence[str]) -> Iterator[Reading]:
    yield from _of_broadcom(host, drivers, PROGRAMS_2, _RECORDED_2)


def _of_broadcom(
    host: Host, drivers: Sequence[str], programs: Sequence[str], recorded: Sequence[str]
) -> Iterator[Reading]:
    asked = [(program, *words) for program in programs for words in QUESTIONS] if _present(host, drivers) else []
    found, failed = 0, ""
    faulty: dict[str, str] = {}
    for program, key, text in _answers(host, recorded, asked):
        for controller in storcli.parse(text):
            found += 1
            failed = failed or controller.failed
            for row in _of_storcli(controller, key, program.rpartition("/")[2]):
                known = (row.volume, row.whole) if isinstance(row, RaidVolume) else ("", None)
                known = (row.disk, row.good) if isinstance(row, RaidDisk) else known
                if known[1] is False:
                    faulty.setdefault(known[0], key)
                elif known[1] and known[0] in faulty:  # which output is newer is unknown
                    host.defect(key, f"no fault, and one in {faulty[known[0]]}", known[0])
                    continue
                yield row
    if not found:
        raise Absent(
            f"list:{DRIVERS}", _no_answer(host, drivers, " or ".join(programs[:2])), recorded=bool(host.names(DRIVERS))
        )


def _no_answer(host: Host, drivers: Sequence[str], programs: str) -> str:
    return f"{programs} is not installed" if _present(host, drivers) else "no such RAID controller"


_VOLUMES = ("VD LIST", "Virtual Drives")
"""Tables of volumes of `/cN show all` and of `/cN/vall show`."""
_DISKS = ("PD LIST", "Drive Information")


def _of_storcli(controller: storcli.Controller, key: str, tool: str) -> Iterator[Reading]:
    name = f"c{controller.number}"
    basics, version, status = controller.part("Basics"), controller.part("Version"), controller.part("Status")
    if basics or status or controller.rows(*_VOLUMES, *_DISKS, *storcli.POWER):
        yield _controller(controller, name, basics, version, status, key)
    groups = dict[str, str]()
    for row in controller.rows(*_VOLUMES):
        volume = _volume(name, row, {}, key)
        if volume is not None:
            groups.setdefault(str(row.get("DG/VD", "")).partition("/")[0], volume.volume)
            yield volume
    for section, rows in controller.sections.items():
        if match := re.fullmatch(r"/c\d+/v(\d+)", section.strip()):
            for row in rows if isinstance(rows, list) else ():
                volume = _volume(name, row, controller.part(f"VD{match[1]} Properties"), key)
                yield from (volume,) if volume is not None else ()
        elif match := re.fullmatch(r"Drive /c\d+(/e\d+)?/s(\d+)", section.strip()):
            more = controller.part(f"{section.strip()} - Detailed Information") or _flat(controller, section.strip())
            for row in rows if isinstance(rows, list) else ():
                yield _disk(name, row, section.strip(), more, {}, key, tool)
    for row in controller.rows(*_DISKS):
        yield _disk(name, row, "", {}, groups, key, tool)


def _flat(controller: storcli.Controller, drive: str) -> dict[str, Any]:
    """Return the details of a disk that text shows in sections of their own."""
    return {f"{drive} {part}": controller.part(f"{drive} {part}") for part in ("State", "Device attributes")}


def _controller(
    controller: storcli.Controller, name: str, basics: dict[str, Any], version: dict[str, Any],
    status: dict[str, Any], key: str,
) -> RaidController:  # fmt: skip
    power = controller.rows(*storcli.POWER)
    word = json_text(power[0].get("State") or power[0].get("Battery State")) if power else None
    flags = [*power, *controller.rows(*storcli.STATUS)]
    if any(each.get(flag) == "Yes" for each in flags for flag in _REPLACE):
        word = "Replacement required"
    fitted = json_text(controller.part("HwCfg").get("BBU"))
    battery = word or ("none" if fitted in {"Absent", "No", "Not Present"} else None)
    tasks = controller.part("Scheduled Tasks")
    state = json_text(status.get("Controller Status"))
    address = re.fullmatch(
        r"([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2})", str(basics.get("PCI Address", "")).lower()
    )
    return RaidController(
        controller=name,
        model=json_text(basics.get("Model")) or json_text(basics.get("Product Name")),
        serial=json_text(basics.get("Serial Number")),
        firmware=json_text(version.get("Firmware Version")),
        address=f"00{address[1]}:{address[2]}:{address[3]}.{int(address[4], 16)}" if address else None,
        state=state,
        healthy=None if state is None else state in {"Optimal", "OK"},
        battery=battery,
        protected=None if battery is None else False if battery == "none" else _charged(battery),
        patrol=json_text(tasks.get("Patrol Read Reoccurrence")),
        told=key,
        needle="Cachevault_Info"
        if controller.rows("Cachevault_Info")
        else "BBU_Info"
        if power
        else "Controller Status",
    )


_REPLACE = ("Replacement required", "Battery Replacement required")


def _charged(word: str) -> bool | None:
    """Return whether a state of a battery is a good one; None for unknown ones."""
    low = word.lower()
    found = storcli.BATTERIES.get(low)
    return found if found is not None else storcli.BATTERIES.get(low.partition(" (")[0])


def _volume(name: str, row: Any, properties: dict[str, Any], key: str) -> RaidVolume | None:
    number = re.fullmatch(r"(?:\d+|-)/(\d+)", str(row.get("DG/VD", "")).strip()) if isinstance(row, dict) else None
    if number is None:
        return None
    state, cache = json_text(row.get("State")), json_text(row.get("Cache")) or json_text(row.get("CurrentCache"))
    initial = json_text(properties.get("Write Cache(initial setting)")) or json_text(row.get("DefaultWriteCache"))
    policy = re.fullmatch(r"(?:N?R?A?,)?N?R?(A?WB|WT)[CD]?", cache or "")
    known = storcli.VOLUMES.get(state or "")
    device = json_text(properties.get("OS Drive Name"))
    return RaidVolume(
        volume=f"{name}/v{number[1]}",
        controller=name,
        device=device.removeprefix("/dev/") if device and device.startswith("/dev/") else None,
        level=json_text(row.get("TYPE")),
        state=state,
        whole=None if known is None else known[0],
        lost=None if known is None else known[1],
        cache=cache,
        write_back=None if policy is None else policy[1] != "WT",
        configured=None if initial is None else "back" in initial.lower() or initial in {"WB", "AWB"},
        forced=None if policy is None else policy[1] == "AWB" or "always" in (initial or "").lower(),
        told=key,
        needle=str(row["DG/VD"]),
    )


def _disk(
    name: str, row: Any, drive: str, more: dict[str, Any], groups: dict[str, str], key: str, tool: str
) -> RaidDisk:
    said: dict[str, Any] = row if isinstance(row, dict) else {}
    enclosure, _, slot = str(said.get("EID:Slt", "")).strip().partition(":")
    if re.fullmatch(r"\d{0,5} ?", enclosure) is None or re.fullmatch(r"\d{1,5}", slot) is None:
        raise Malformed("a disk without enclosure and slot")
    word, status = json_text(said.get("State")), json_text(said.get("Status"))
    state = f"{word} {status}" if word and status else word
    counts = next((part for title, part in more.items() if title.endswith(" State") and isinstance(part, dict)), {})
    about = next(
        (part for title, part in more.items() if title.endswith(" Device attributes") and isinstance(part, dict)), {}
    )
    alert = json_text(counts.get("S.M.A.R.T alert flagged by drive"))
    wide = (json_text(about.get("WWN")) or "").strip()
    place = f"e{enclosure.strip()}/" if enclosure.strip() else ""
    return RaidDisk(
        disk=f"{name}/{place}s{slot}",
        controller=name,
        enclosure=f"{name}/e{enclosure.strip()}" if enclosure.strip() else None,
        volume=groups.get(str(said.get("DG", "")).strip()),
        state=state,
        good=storcli.serves(word, status),
        rebuilding=None if state is None else state in storcli.REBUILDING,
        predicted=storcli.number(counts.get("Predictive Failure Count")),
        alert=_ALERTS.get((alert or "").strip().lower()),
        media_errors=storcli.number(counts.get("Media Error Count")),
        other_errors=storcli.number(counts.get("Other Error Count")),
        temperature=storcli.celsius(counts.get("Drive Temperature")),
        flash={"SSD": True, "HDD": False}.get(str(said.get("Med"))),
        model=(json_text(said.get("Model")) or "").strip() or None,
        serial=(json_text(about.get("SN")) or "").strip() or None,
        wwn=wide if re.fullmatch(r"[0-9A-Fa-f]{16}", wide) else None,
        tool=tool,
        told=key,
        needle=f"{drive} State" if drive else str(said.get("EID:Slt", "")).strip(),
    )


_ALERTS = {"yes": True, "no": False}


_SHOWN = ((megacli.PROGRAMS, megacli.parse), (arcconf.PROGRAMS, arcconf.parse), (sasircu.PROGRAMS, sasircu.parse))
"""Programs that are never run, and parsers of their output: others ask these controllers, or they write logs."""


def _shown(host: Host, drivers: Sequence[str]) -> Iterator[Reading]:
    del drivers
    found = 0
    for programs, parse in _SHOWN:
        for _, key, text in _answers(host, programs, []):
            for row in parse(text, key):
                found += 1
                yield row
    if not found:
        raise Absent(f"list:{DRIVERS}", "no such RAID controller", recorded=bool(host.names(DRIVERS)))


# --- ssacli -----------------------------------------------------------------------------------------------


def _ssacli(host: Host, drivers: Sequence[str]) -> Iterator[Reading]:
    found = 0
    for _, key, text in _answers(host, _RECORDED_HPE, [DETAIL] if _present(host, drivers) else []):
        slot = re.search(r"\bslot[= ](\w+)", key)  # a sosreport has no "=" in names
        if "in Slot " not in text and (slot is None or "drive " not in text):
            continue
        for item in ssacli.parse(text, slot[1] if slot is not None else ""):
            found += 1
            yield _ITEMS[item.kind](item, key)
    if not found:
        raise Absent(f"list:{DRIVERS}", _no_answer(host, drivers, "ssacli"), recorded=bool(host.names(DRIVERS)))


def _hpe_controller(item: ssacli.SsacliItem, key: str) -> RaidController:
    said = item.said
    state, cache = said.get("Controller Status"), said.get("Cache Status")
    battery = said.get("Battery/Capacitor Status")
    if battery is None and said.get("Battery/Capacitor Count") == "0":
        battery = "none"
    forced = said.get("No-Battery Write Cache")
    return RaidController(
        controller=f"slot {item.slot}",
        model=item.model,
        serial=said.get("Serial Number"),
        firmware=said.get("Firmware Version"),
        address=said.get("PCI Address (Domain:Bus:Device.Function)"),
        state=state,
        healthy=None if state is None else state == "OK",
        battery=battery,
        protected=None if battery is None else False if battery == "none" else _hpe_charged(battery),
        cache=cache,
        forced=None if forced is None else forced == "Enabled",
        told=key,
        needle="Battery/Capacitor Status" if "Battery/Capacitor Status" in said else "Controller Status",
    )


def _hpe_charged(word: str) -> bool | None:
    if word == "OK" or word.startswith("Recharging"):
        return True
    return False if word.startswith(("Failed", "Replace", "Not Present", "Missing")) else None


def _hpe_volume(item: ssacli.SsacliItem, key: str) -> RaidVolume:
    state, caching = item.said["Status"], item.said.get("Caching")
    word = state.partition(",")[0]
    device = item.said.get("Disk Name", "")
    return RaidVolume(
        volume=f"slot {item.slot}/ld {item.name}",
        controller=f"slot {item.slot}",
        device=device.removeprefix("/dev/") if device.startswith("/dev/") else None,
        level=item.said.get("Fault Tolerance"),
        state=state,
        whole=_HPE_VOLUMES.get(word, (None, None))[0],
        lost=_HPE_VOLUMES.get(word, (None, None))[1],
        cache=caching,
        told=key,
        needle=f"Logical Drive: {item.name}",
    )


_HPE_VOLUMES: dict[str, tuple[bool | None, bool | None]] = {
    "OK": (True, False), "Interim Recovery Mode": (False, False), "Ready for Rebuild": (False, False),
    "Recovering": (False, False), "Ready for Recovery": (False, False), "Failed": (False, True),
    "Transforming": (True, False), "Expanding": (True, False), "Queued for Expansion": (True, False),
    "Wrong Physical Drive Replaced": (False, True), "Not Available": (False, True), "Overheated": (False, True),
}  # fmt: skip


def _hpe_disk(item: ssacli.SsacliItem, key: str) -> RaidDisk:
    state = item.said["Status"]
    box = item.name.rpartition(":")[0]
    wide = item.said.get("WWID", "")
    heat = storcli.celsius(f"{item.said.get('Current Temperature (C)', '')}C")
    return RaidDisk(
        disk=f"slot {item.slot}/{item.name}",
        controller=f"slot {item.slot}",
        enclosure=f"slot {item.slot}/{box}" if box else None,
        state=state,
        good=_HPE_DISKS.get(state.partition(",")[0]),
        rebuilding=state.startswith("Rebuilding"),
        predicted=int("Predictive" in state),
        temperature=heat,
        flash="Solid State" in item.said["Interface Type"] if "Interface Type" in item.said else None,
        model=item.said.get("Model"),
        serial=item.said.get("Serial Number"),
        wwn=wide if re.fullmatch(r"[0-9A-Fa-f]{16}", wide) else None,
        tool="ssacli",
        told=key,
        needle=f"physicaldrive {item.name}",
    )


_HPE_DISKS = {
    "OK": True, "Rebuilding": True, "Predictive Failure": True, "Erase Complete": True, "Failed": False,
    "Offline": False, "Missing": False,
}  # fmt: skip
_ITEMS: dict[str, Callable[[ssacli.SsacliItem, str], Reading]] = {
    "controller": _hpe_controller, "volume": _hpe_volume, "disk": _hpe_disk,
}  # fmt: skip


TEXT = Form(
    key="cmd:storcli64 /call show all",
    first=r"(?:CLI Version = [^\n]*\n)?Operating system = [^\n]*\nController = \d+ *$",
    reads="controllers, caches, batteries, volumes and disks",
    versions="storcli and perccli 7, storcli2 and perccli2 8",
    several=Several.JOINED,
)
DOCUMENT = Form(
    key="cmd:storcli64 /call show all J",
    first=r'\{\s*"Controllers": ?\[',
    reads="the same as the text",
    versions="storcli and perccli 7, storcli2 and perccli2 8",
)
HPE_TEXT = Form(
    key="cmd:ssacli ctrl all show config detail",
    first=r"(?:HPE? )?Smart Array [^\n]* in Slot \w+",
    reads="controllers, caches, batteries, volumes and disks of HPE",
    versions="ssacli, hpssacli, hpacucli",
    several=Several.JOINED,
)

RAID = Collector(
    "raid-controllers",
    "RAID controllers, their caches, volumes and disks",
    read,
    (RaidController, RaidVolume, RaidDisk),
    (
        Need(f"list:{DRIVERS}", "whether the kernel knows drivers of PCI devices"),
        *(
            Need(f"list:{DRIVERS}/{driver}", "whether there is such a controller")
            for driver in (*MEGARAID, *MPI3, *HPE)
        ),
        *(
            Command((program, *words), "controllers, caches, batteries, volumes and disks", "root")
            for program in (*PROGRAMS, *PROGRAMS_2)
            for words in QUESTIONS
        ),
        Command(DETAIL, "controllers, caches, batteries, volumes and disks of HPE", "root"),
        *(
            Need(f"cmd:{program} *", "controllers, volumes and disks, from captures only")
            for program in (*_RECORDED, *_RECORDED_2, *_RECORDED_HPE, *arcconf.PROGRAMS, *sasircu.PROGRAMS)
        ),
        *(
            Need(f"cmd:{program} *", "volumes, disks, batteries, from captures only", redact=megacli.without_inquiry)
            for program in megacli.PROGRAMS
        ),
    ),
    PACE,
    deadline=400.0,
    forms=(TEXT, DOCUMENT, HPE_TEXT, megacli.TEXT, arcconf.TEXT, sasircu.TEXT),
)
