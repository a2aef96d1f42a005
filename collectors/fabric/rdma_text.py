r"""RDMA ports in recorded output of ibstat, ibstatus and rdma.

    CA 'mlx5_0'                       ibstat (rdma-core infiniband-diags/ibstat.c: ca_dump, port_dump)
            Number of ports: 1
            Port 1:
                    State: Down
                    Physical state: Polling
                    Rate: 10
                    Link layer: InfiniBand
    Infiniband device 'mlx5_0' port 1 status:       ibstatus (infiniband-diags/scripts/ibstatus): the files of sysfs
            state:           4: ACTIVE
            phys state:      5: LinkUp
            rate:            100 Gb/sec (4X EDR)
    link mlx5_0/1 state DOWN physical_state DISABLED netdev ens1f0np0        rdma link (iproute2 rdma/link.c)
    1/1: mlx5_0/1: state ACTIVE physical_state LINK_UP netdev ens1f0np0      until 5.0

No counters are printed, so a port without a link may never have had one. A port is judged by its own lines; ibstat
announces their number. Lines of one port that are cut off leave its state unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sdstop.collectors.fabric.port_readings import COUNTERS, GIGABIT, HARDWARE, RdmaPort
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, Several, outputs
from sdstop.core.host import Host

_STATES = {
    "Down": "DOWN", "Initializing": "INIT", "Armed": "ARMED", "Active": "ACTIVE", "NOP": None, "UNKNOWN": None,
    "???": None,
}  # fmt: skip
"""States of ibstat and rdma as sysfs has them; None if they mean nothing."""
_PHYSICAL = {
    "SLEEP": "Sleep", "POLLING": "Polling", "DISABLED": "Disabled", "ARMED": "PortConfigurationTraining",
    "LINK_UP": "LinkUp", "LINK_ERROR_RECOVER": "LinkErrorRecovery", "PHY_TEST": "Phy Test",
    "PhyTest": "Phy Test",
}  # fmt: skip
_LAYERS = {"IB": "InfiniBand"}
_ADAPTER = expression(r"(?:CA|Switch|Router|iWARP RNIC|\?\?\?)(?:: | )'(?P<adapter>[\w.-]{1,64})'\s*")
_PORT = expression(r"\s*Port (?P<number>\d{1,3}):\s*")
_DEVICE = expression(r"Infiniband device '(?P<adapter>[\w.-]{1,64})' port (?P<number>\d{1,3}) status:\s*")
_FIELD = expression(r"\s*(?P<name>[A-Za-z_ ]{3,24}?):\s+(?P<value>\S.{0,80}?)\s*")
_RATE = expression(r"(?P<gigabits>\d{1,5}(?:\.\d)?)(?: Gb/sec)?(?: \((?:(?P<lanes>\d{1,2})X ?)?[A-Z0-9]*\))?")
_LINK = expression(
    r"(?:link |\d{1,4}/\d{1,3}: )(?P<adapter>[\w.-]{1,64})/(?P<number>\d{1,3}):? (?P<rest>.{0,400}?\bstate .{1,400})"
)
_WORDS = expression(r"\b(state|physical_state|netdev) (\S+)")


def _row(adapter: str, number: str, said: dict[str, str], key: str, needle: str, **more: Any) -> RdmaPort:
    state = said.get("state", "").rpartition(": ")[2]
    physical = said.get("physical state", said.get("phys state", said.get("physical_state", ""))).rpartition(": ")[2]
    rate = _RATE.fullmatch(said.get("rate", ""))
    layer = said.get("link layer", said.get("link_layer", more.get("layer")))
    return RdmaPort(
        adapter,
        number,
        _LAYERS.get(layer, layer) if layer else None,
        _STATES.get(state, state) or None,
        int(float(rate["gigabits"]) * GIGABIT) if rate is not None else None,
        said.get("netdev"),
        **dict.fromkeys((*COUNTERS, *HARDWARE)),
        lanes=int(rate["lanes"]) if rate is not None and rate["lanes"] is not None else None,
        physical=_PHYSICAL.get(physical, physical) or None,
        told=key,
        needle=needle,
    )


def parse_ibstat(text: str, key: str) -> Iterator[RdmaPort]:
    """Yield the ports of ibstat or ibstatus; the last field of a port without a state is cut off."""
    adapter = number = needle = ""
    said: dict[str, str] = {}
    for line in [*text.splitlines(), ""]:
        device = _DEVICE.fullmatch(line)
        above = _ADAPTER.fullmatch(line)
        port = _PORT.fullmatch(line)
        if (device or above or port) is not None:
            if number:
                yield _row(adapter, number, said, key, needle)
            said = {}
            adapter = device["adapter"] if device is not None else above["adapter"] if above is not None else adapter
            named = device if device is not None else port
            number, needle = (named["number"], line.strip()) if named is not None else ("", "")
        elif number and (found := _FIELD.fullmatch(line)) is not None:
            said[found["name"].lower()] = found["value"]
    if number and adapter:
        yield _row(adapter, number, said, key, needle)


def parse_links(text: str, key: str) -> Iterator[RdmaPort]:
    """Yield the ports of `rdma link`; a subnet shows InfiniBand, a network interface with none shows Ethernet."""
    for line in text.splitlines():
        found = _LINK.fullmatch(line.rstrip())
        if found is not None:
            said = dict(_WORDS.findall(found["rest"]))
            layer = "InfiniBand" if "subnet_prefix " in found["rest"] else "Ethernet" if "netdev" in said else None
            needle = f"{found['adapter']}/{found['number']}"
            yield _row(found["adapter"], found["number"], said, key, needle, layer=layer)


def fault_of_ibstat(text: str) -> str:
    """Return why a text is not the whole output: ports are announced, and the link layer is the last line of each."""
    announced = sum(map(int, re.findall(r"(?m)^\s+Number of ports: (\d{1,3})\s*$", text)))
    ports = re.findall(r"(?m)^\s*Port \d{1,3}:\s*$", text)
    if announced > len(ports):
        return f"{len(ports)} of {announced} ports"
    states = re.findall(r"(?m)^\s*State: \S", text)
    return f"states of {len(states)} of {len(ports)} ports" if len(states) < len(ports) else NOT_SHOWN


IBSTAT = Form(
    key="cmd:ibstat",
    first=r"(?:CA|Switch|Router|iWARP RNIC)(?:: '[\w.-]{1,64}'\s*\nPort \d{1,3}:| '[\w.-]{1,64}'\s*\n\s+\S+ type: )",
    goes_on=r"(?:CA|Switch|Router|iWARP RNIC):? '[\w.-]+'\s*|\s*[A-Z][A-Za-z ]{2,24}(?: \d{1,3})?:(?: .*)?",
    reads="states of RDMA ports",
    versions="rdma-core 15 and later, infiniband-diags 1.5 and later",
    fault=fault_of_ibstat,
    several=Several.JOINED,
)
IBSTATUS = Form(
    key="cmd:ibstatus",
    first=r"Infiniband device '[\w.-]{1,64}' port \d{1,3} status:\s*$",
    goes_on=r"Infiniband device '[\w.-]+' port \d{1,3} status:\s*|\s+[a-z_ ]{3,14}:\s.*",
    reads="states, rates and lanes of RDMA ports",
    versions="infiniband-diags 1.3 and later",
    several=Several.JOINED,
)
LINKS = Form(
    key="cmd:rdma link",
    first=_LINK.pattern,
    goes_on=rf"{_LINK.pattern}|    caps: .*",
    reads="states of RDMA ports",
    versions="iproute2 4.14 and later",
)
FORMS = (IBSTAT, IBSTATUS, LINKS)


def recorded_ports(host: Host) -> list[RdmaPort]:
    """Return the ports of recorded outputs; of several for one port, the one that shows its lanes."""
    found: dict[str, RdmaPort] = {}
    for form, parse in ((LINKS, parse_links), (IBSTAT, parse_ibstat), (IBSTATUS, parse_ibstat)):
        for each in outputs(host, form):
            found |= {row.port: row for row in parse(each.text, each.key)}
    return list(found.values())
