"""Memory errors in recorded output of edac-util and ras-mc-ctl.

Formats: edac-util of edac-utils 0.16 to 0.18 (edac-util.c: print_mc_errors and the full report), ras-mc-ctl of
rasdaemon 0.4 to 0.8 (util/ras-mc-ctl.in: find_dimm_errors for --error-count, summary for --summary).

    mc0: csrow2: CPU_SrcID#0_Ha#0_Chan#0_DIMM#0: 3 Corrected Errors
    mc0: 0 Uncorrected Errors with no DIMM info

    Label                           CE      UE
    CPU_SrcID#0_MC#0_Chan#0_DIMM#0  81221   2

    Memory controller events summary:
            Corrected on DIMM Label(s): 'CPU_SrcID#0_MC#0_Chan#0_DIMM#0' location: 0:0:0:-1 errors: 12
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from sdstop.collectors.memory.readings import MemoryController, MemoryErrors
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading

_UTIL = expression(
    r"(?P<mc>mc\d{1,4}): (?:(?P<place>\S.{0,100}?): )?(?P<count>\d{1,18}) (?P<kind>Corrected|Uncorrected) Errors"
    r"(?P<unplaced> with no DIMM info)?"
)
_NONE = "edac-util: No errors to report."
_COUNT = expression(r"(?P<label>\S.{0,100}?)\s+(?P<corrected>\d{1,18})\s+(?P<uncorrected>\d{1,18})\s*")
_HEAD = expression(r"Label\s+CE\s+UE\s*")
_EVENT = expression(
    r"\s+(?P<kind>Corrected|Uncorrected|Fatal|Deferred) on DIMM Label\(s\): '(?P<label>[^'\n]{0,200})' "
    r"location: (?P<place>\S{1,40}) errors: (?P<count>\d{1,18})\s*"
)
_UNKNOWN = "memory"
"""Name of the controllers where the output names none."""

UTIL = Form(
    key="cmd:edac-util",
    first=r"mc\d{1,4}: (?:.{1,120}: )?\d{1,18} (?:Corrected|Uncorrected) Errors|edac-util: No errors to report\.",
    goes_on=r"mc\d{1,4}: .*|edac-util: .*",
    reads="memory errors by module",
    versions="edac-utils 0.16 to 0.18",
)
COUNT = Form(
    key="cmd:ras-mc-ctl --error-count",
    first=r"Label\s+CE\s+UE\s*\n",
    goes_on=r"\S.*\s\d{1,18}\s+\d{1,18}\s*",
    reads="memory errors by module",
    versions="rasdaemon 0.4 to 0.8",
)
SUMMARY = Form(
    key="cmd:ras-mc-ctl --summary",
    first=r"Memory controller events summary:|No Memory errors\.",
    goes_on=r"\s+\S.*|No .{1,60} errors\.|.{1,60} summary:",
    reads="memory errors by module, as rasdaemon recorded them",
    versions="rasdaemon 0.4 to 0.8",
)


class _Total(Struct):
    """Errors of a place; None if not printed."""

    needle: str
    corrected: int | None = None
    uncorrected: int | None = None

    def add(self, kind: str, count: int) -> None:
        """Add a number of errors; all kinds that are not corrected count as uncorrected."""
        if kind == "Corrected":
            self.corrected = (self.corrected or 0) + count
        else:
            self.uncorrected = (self.uncorrected or 0) + count


def parse_util(text: str, key: str) -> Iterator[Reading]:
    """Yield the controllers and places of edac-util. Raises Malformed for a line that is not understood."""
    whole: dict[str, _Total] = {}
    places: dict[tuple[str, str], _Total] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line == _NONE:
            whole.setdefault(_UNKNOWN, _Total(line, 0, 0))
            continue
        found = _UTIL.fullmatch(line)
        if found is None:
            raise Malformed(f"edac-util: {line[:60]!r}")
        every = whole.setdefault(found["mc"], _Total(line, 0, 0))
        every.add(found["kind"], int(found["count"]))
        if found["place"]:
            place = found["place"].replace(": ", "/")
            places.setdefault((found["mc"], place), _Total(line)).add(found["kind"], int(found["count"]))
    yield from _rows(whole, places, key)


def parse_count(text: str, key: str) -> Iterator[Reading]:
    """Yield the modules of `ras-mc-ctl --error-count`. Raises Malformed for a line that is not understood."""
    places: dict[tuple[str, str], _Total] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if _HEAD.fullmatch(line):
            continue
        found = _COUNT.fullmatch(line)
        if found is None:
            raise Malformed(f"ras-mc-ctl: {line[:60]!r}")
        total = places.setdefault((_UNKNOWN, found["label"]), _Total(line, 0, 0))
        total.add("Corrected", int(found["corrected"]))
        total.add("Uncorrected", int(found["uncorrected"]))
    if not places:
        raise Malformed("ras-mc-ctl: no module")
    yield from _rows({}, places, key)


def parse_summary(text: str, key: str) -> Iterator[Reading]:
    """Yield the modules with errors of `ras-mc-ctl --summary`. Raises Malformed without its part about memory."""
    if "No Memory errors." in text:
        yield from _rows({_UNKNOWN: _Total("No Memory errors.", 0, 0)}, {}, key)
        return
    places: dict[tuple[str, str], _Total] = {}
    for line in text.splitlines():
        if (found := _EVENT.fullmatch(line)) is not None:
            label = found["label"].strip() or found["place"]
            places.setdefault((_UNKNOWN, label), _Total(line.strip())).add(found["kind"], int(found["count"]))
    if not places:
        raise Malformed("ras-mc-ctl: no memory event")
    yield from _rows({}, places, key)


def _rows(whole: dict[str, _Total], places: dict[tuple[str, str], _Total], key: str) -> Iterator[Reading]:
    for name, _ in places:
        whole.setdefault(name, _Total("", None, None))
    for name, total in whole.items():
        own = [each for (controller, _), each in places.items() if controller == name]
        corrected = total.corrected if total.needle else sum(each.corrected or 0 for each in own)
        uncorrected = total.uncorrected if total.needle else sum(each.uncorrected or 0 for each in own)
        needle = total.needle or next((each.needle for each in own), "")
        yield MemoryController(name, None, None, None, corrected, uncorrected, None, None, key, needle)
    for (name, place), total in places.items():
        yield MemoryErrors(
            f"{name}/{place}", name, place, None, None, total.corrected, total.uncorrected, key, total.needle
        )


def read(host: Host) -> Iterable[Reading]:
    """Return the errors of the first recorded output. Raises Absent without any, Malformed."""
    for form, parse in ((UTIL, parse_util), (COUNT, parse_count), (SUMMARY, parse_summary)):
        for each in outputs(host, form):
            return list(parse(each.text, each.key))
    raise Absent(UTIL.key, "not recorded", recorded=False)


EDAC_TEXT = Collector(
    "edac-text",
    "Memory errors in recorded output of edac-util and ras-mc-ctl",
    read,
    (MemoryController, MemoryErrors),
    (
        Need("cmd:edac-util*", "memory errors by module, from captures only; never run"),
        Need("cmd:ras-mc-ctl*", "the same of rasdaemon"),
    ),
    forms=(UTIL, COUNT, SUMMARY),
)
