"""Parsers for smp_utils output (0.98 to 1.00, src/smp_*.c): SMP reports of an expander and its phys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from sdstop.collectors.fabric.port_readings import LOG_LINES
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several
from sdstop.core.host import Malformed
from sdstop.core.text import whole

VACANT = "vacant"
UP = "up"


class ExpanderReport(Struct, frozen=True):
    """General report of an expander; `changes` is a 16-bit counter of link changes behind the expander."""

    phys: int | None
    changes: int | None
    zoning: bool | None
    enclosure: str | None


class PhyErrors(Struct, frozen=True):
    """Error log of a phy: saturating 32-bit counters; `changes` is the expander's change count, None if it is 0.

    (smp_rep_phy_err_log omits a change count of 0, so 0 and unknown cannot be distinguished.)
    """

    phy: int
    changes: int | None
    invalid_dwords: int
    disparity_errors: int
    sync_losses: int
    reset_problems: int


class Phy(Struct, frozen=True):
    """A discovered phy.

    `state` is up (a device is attached), none, vacant, or the tool's text: disabled, reset problem, spinup hold...
    `rate` is data bytes per second, `attached` the SAS address of the other end, `kind` the type of that device.
    """

    number: int
    state: str
    rate: int | None = None
    attached: str | None = None
    kind: str | None = None
    zone: int | None = None
    slot: int | None = None


_FIELD = expression(r"^  ([A-Za-z][A-Za-z /()_-]{1,60}): ([0-9A-Fa-f]{1,16})\s*$", re.MULTILINE)
_RESULT = expression(r"^Report phy error log result[^:\n]{0,40}: (.{1,60})$", re.MULTILINE)
_LINE = expression(
    r"  phy +(?P<number>\d{1,3}):(?:(?P<routing>[DSTUR]):)?"
    r"(?:attached:\[(?P<address>[0-9a-f]{16}):(?P<phy>\d{1,3})(?P<what>[^\]\n]{0,80})\]|(?P<state>[a-z ()]{4,40}?))"
    r"(?P<more>(?:  .{1,30})*)"
)
_RATE = expression(r"  (\d{1,2}(?:\.\d)?) Gbps(?:  |$)")
_KINDS = {"exp": "edge expander", "fex": "fanout expander", "res": "reserved"}


def data_rate(gbit: float) -> int:
    """Return the data rate in bytes per second of a link with the given line rate in Gbit/s.

    Line coding is 8b/10b up to 12 Gbit/s (SPL) and 128b/150b at 22.5 Gbit/s and above.
    """
    return round(gbit * 1e9 / 10 if gbit <= 12 else gbit * 1e9 * 128 / 150 / 8)


def parse_general(text: str) -> ExpanderReport:
    """Parse the output of smp_rep_general.

        Report general response:
          expander change count: 567
          long response: 1
          number of phys: 65
          enclosure logical identifier (hex): 500093d0016c0000
          zoning enabled: 1

    Raises Malformed for any other text.
    """
    if "Report general" not in text or " response:" not in text:
        raise Malformed(f"smp_rep_general: no response in {text[:60]!r}")
    said = dict(_FIELD.findall(text))
    zoning = whole(said.get("zoning enabled"), 10)
    return ExpanderReport(
        whole(said.get("number of phys"), 10),
        whole(said.get("expander change count"), 10),
        None if zoning is None else bool(zoning),
        said.get("enclosure logical identifier (hex)"),
    )


def parse_errors(text: str) -> list[PhyErrors]:
    """Parse the output of one or several runs of smp_rep_phy_err_log; empty for a refusal.

    Report phy error log response:
      Expander change count: 567
      phy identifier: 52
      invalid dword count: 168
      running disparity error count: 172
      loss of dword synchronization count: 5
      phy reset problem count: 0
    """
    found = []
    for part in text.split("Report phy error log response:")[1:]:
        said = dict(_FIELD.findall(part))
        phy = whole(said.get("phy identifier"), 10)
        counters = {field: whole(said.get(name), 10) for name, field in LOG_LINES.items()}
        known = {field: value for field, value in counters.items() if value is not None}
        if phy is not None and len(known) == len(LOG_LINES):
            found.append(PhyErrors(phy, whole(said.get("Expander change count"), 10), **known))
    return found


def cut_logs(text: str) -> int:
    """Return the number of error logs in the output that lack counters, as where it was cut."""
    return text.count("Report phy error log response:") - len(parse_errors(text))


ERRORS_FORM = Form(
    key="cmd:smp_rep_phy_err_log",
    first="Report phy error log response:",
    reads="error counters of a phy",
    versions="smp_utils 0.92 and later",
    goes_on=r"  [A-Za-z][\w ]+: \d+|Report phy error log re(?:sponse|sult).*",
    several=Several.JOINED,
    about=r"phy identifier: (\d+)",
)


def refusal(text: str) -> str | None:
    """Return the reason for a missing log: `Phy vacant`, `Phy does not exist`, `SMP zone violation`; else None.

    Report phy error log result: Phy vacant
    """
    found = _RESULT.search(text)
    return None if found is None else found[1].strip()


_BLOCK = expression(
    r"^(?:Discover response[^\n]{0,20}:|phy identifier: (?=\d)|expander_cc=\d+|phy_id=(?=\d))", re.MULTILINE
)
_SAID = expression(r"^ {0,2}([a-zA-Z][\w ]{1,50}?)(?:: |=)(.{0,60}?)\s*$", re.MULTILINE)
_RATES = {8: 1.5, 9: 3.0, 10: 6.0, 11: 12.0, 12: 22.5}
"""Line rate in Gbit/s by code of a negotiated link rate (SPL)."""
_STATES = {1: "disabled", 2: "reset problem", 3: "spinup hold", 4: "port selector", 5: "reset in progress",
           6: "unsupported phy attached"}  # fmt: skip


def parse_phys(text: str) -> list[Phy]:
    """Parse the output of one or several runs of smp_discover in any form: a line per phy, full or brief text, list.

    Discover response:                                   phy_id=5
      phy identifier: 5                                    att_dev_type=1
      attached SAS device type: SAS or SATA device         att_sas_addr=0x5000c50000000afd
      negotiated logical link rate: phy enabled, 12 Gbps   dev_slot_num=2
      attached SAS address: 0x5000c50000000afd             neg_phy_lrate=11
    """
    return parse_discover(text) or list(_blocks(text))


def _blocks(text: str) -> Iterator[Phy]:
    starts = [found.start() for found in _BLOCK.finditer(text)]
    joined: dict[str, str] = {}
    for start, end in pairwise([*starts, len(text)]):
        said = dict(_SAID.findall(text[start:end]))
        joined = {**(joined if joined.keys() == {"expander_cc"} else {}), **said}
        number = whole(joined.get("phy identifier") or joined.get("phy_id"), 3)
        address = joined.get("attached SAS address") or joined.get("att_sas_addr")
        if number is not None and address is not None:
            yield _described(number, address, joined)


def _described(number: int, address: str, said: Mapping[str, str]) -> Phy:
    zone = whole(said.get("zone group") or said.get("zg"), 3)
    slot = whole(said.get("device slot number") or said.get("dev_slot_num"), 3)
    slot = None if slot == 255 else slot
    words = said.get("negotiated physical link rate") or said.get("negotiated logical link rate") or ""
    code = whole(said.get("neg_phy_lrate") or said.get("neg_log_lrate"), 3)
    code = code or whole(said.get("neg_log_lrate"), 3)
    gbit = re.search(r"(\d{1,2}(?:\.\d)?) Gbps", words)
    speed = float(gbit[1]) if gbit is not None else _RATES.get(code or 0)
    if not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", address) or not int(address, 16):
        state = _STATES.get(code or 0) or words.removeprefix("phy enabled; ") or "none"
        return Phy(number, "none" if state.startswith(("unknown", "phy enabled")) else state, zone=zone, slot=slot)
    kind = said.get("attached SAS device type") or {"2": "edge expander", "3": "fanout expander"}.get(
        said.get("att_dev_type", ""), "end device"
    )
    is_expander = "expander" in kind
    return Phy(
        number, UP, data_rate(speed) if speed else None, address, kind if is_expander else "end device", zone, slot
    )


def parse_discover(text: str) -> list[Phy]:
    """Parse the phys in the output of `smp_discover --multiple`; other lines are skipped.

    phy   0:U:attached:[500605b00b5c1230:04  i(SSP+STP+SMP)]  12 Gbps  ZG:8
    phy  11:T:attached:[5000c50000000afd:00  t(SSP)]  12 Gbps  ZG:2  dsn=5
    phy  12:T:attached:[0000000000000000:00]
    phy  13:D:disabled
    phy  56: inaccessible (phy vacant)
    """
    return [phy for line in text.splitlines() if (phy := _discovered(line)) is not None]


def _discovered(line: str) -> Phy | None:
    found = _LINE.fullmatch(line.rstrip())
    if found is None:
        return None
    number, more = int(found["number"]), found["more"]
    zone = re.search(r"  ZG:(\d{1,3})(?:  |$)", more)
    slot = re.search(r"  dsn=(\d{1,3})(?:  |$)", more)
    group, bay = int(zone[1]) if zone else None, int(slot[1]) if slot else None
    if found["address"] is None:
        state = found["state"].strip()
        return Phy(number, VACANT if state == "inaccessible (phy vacant)" else state, zone=group, slot=bay)
    if not int(found["address"], 16):
        return Phy(number, "none", zone=group, slot=bay)
    rate = _RATE.search(more)
    words = found["what"].split()
    kind = _KINDS.get(words[0], "end device") if words else "end device"
    return Phy(number, UP, data_rate(float(rate[1])) if rate else None, f"0x{found['address']}", kind, group, bay)


DISCOVER_FORM = Form(
    key="cmd:smp_discover",
    first=r"(?:Device <[0-9a-f]{16}>[^\n]*\n)?  phy +\d+:(?:[DSTU]:)?(?:attached|disabled| inaccessible)"
    r"|Discover response.{0,20}:$"
    r"|(?:expander_cc=\d+\n)?phy_id=\d+$",
    reads="devices attached to the phys of an expander",
    versions="smp_utils 0.94 and later",
    goes_on=r"  (?!pool:|cluster:)\S.*|Discover response.*|phy identifier: .*|phy_id=.*|expander_cc=.*|Device <.*",
    several=Several.JOINED,
)
GENERAL_FORM = Form(
    key="cmd:smp_rep_general",
    first=r"Report general (?:response|.{0,20}response):",
    reads="number of phys, link changes and zoning of an expander",
    versions="smp_utils 0.92 and later",
    goes_on=r"  (?!pool:|cluster:)\S.*",
)
