"""RAID controllers, asked through their own programs.

storcli and perccli (Broadcom, Dell), storcli2 and perccli2 (controllers with the driver mpi3mr), ssacli (HPE). They are
asked twice an hour, and only on nodes whose kernel has such a controller. The programs only read; `nolog` keeps storcli
from writing a log file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sdstop.collectors.health import arcconf, broadcom, megacli, sasircu, ssacli, storcli
from sdstop.collectors.health.raid_readings import RaidController, RaidDisk, RaidVolume
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.host import Absent, Denied, Host, TimedOut, Unreadable, again
from sdstop.core.model import Reading

DRIVERS = "/sys/bus/pci/drivers"
MEGARAID = ("megaraid_sas",)
MPI3 = ("mpi3mr",)
HPE = ("hpsa", "smartpqi", "cciss")
PACE = 1800.0
"""Seconds between runs."""
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
_RECORDED = ("storcli64", "storcli", "perccli64", "perccli", *PROGRAMS[2:])
_RECORDED_2 = PROGRAMS_2


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
            absent = again(error) if absent is None or not error.recorded else absent
    if not rows and absent is not None:
        raise again(absent)
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
            for row in broadcom.rows_of(controller, key, program.rpartition("/")[2]):
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


def _ssacli(host: Host, drivers: Sequence[str]) -> Iterator[Reading]:
    found = 0
    for _, key, text in _answers(host, ssacli.PROGRAMS, [ssacli.DETAIL] if _present(host, drivers) else []):
        for row in ssacli.rows_of(text, key):
            found += 1
            yield row
    if not found:
        raise Absent(f"list:{DRIVERS}", _no_answer(host, drivers, "ssacli"), recorded=bool(host.names(DRIVERS)))


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
        Command(ssacli.DETAIL, "controllers, caches, batteries, volumes and disks of HPE", "root"),
        *(
            Need(f"cmd:{program} *", "controllers, volumes and disks, from captures only")
            for program in (*_RECORDED, *_RECORDED_2, *ssacli.PROGRAMS, *arcconf.PROGRAMS, *sasircu.PROGRAMS)
        ),
        *(
            Need(f"cmd:{program} *", "volumes, disks, batteries, from captures only", redact=megacli.without_inquiry)
            for program in megacli.PROGRAMS
        ),
    ),
    PACE,
    deadline=400.0,
    forms=(broadcom.TEXT, broadcom.DOCUMENT, ssacli.TEXT, megacli.TEXT, arcconf.TEXT, sasircu.TEXT),
)
