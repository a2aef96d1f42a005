r"""Parser for the text of ethtool: plain, -i, -k, -g, -S (ethtool 3 to 6).

    Settings for eth0:                driver: ixgbe                  Ring parameters for eth0:
            Speed: 10000Mb/s          version: 5.1.0-k               Pre-set maximums:
            Duplex: Full              firmware-version: 0x800003e7   RX:             4096
            Link detected: yes        bus-info: 0000:03:00.0         Current hardware settings:
                                                                     RX:             512

-i and -S do not show the interface; it is known from the command line only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.form import Form, Several, outputs
from sdstop.core.host import Host
from sdstop.core.text import whole

_HEADS = expression(
    r"(?P<settings>Settings) for (?P<one>\S+?):|(?P<features>Features) for (?P<two>\S+?):"
    r"|(?P<rings>Ring parameters) for (?P<three>\S+?):|(?P<driver>driver): (?P<name>\S+)|(?P<counts>NIC statistics):"
    r"|(?P<other>[A-Z][\w -]+) for \S+?:"
)
_FIELD = expression(r"\s*(?P<label>[^:]{1,60}?):\s*(?P<value>.*?)\s*")
_SPEED = expression(r"(\d{1,7})Mb/s")


class EthtoolPart(Struct):
    """One output: its kind (settings, features, rings, driver, counts), the interface, and the values by label."""

    kind: str
    interface: str | None
    said: dict[str, str] = field(default_factory=dict)
    maximum: dict[str, str] = field(default_factory=dict)
    """Preset maximums of the rings."""

    @property
    def speed(self) -> int | None:
        """Speed in Mbit/s; None for `Unknown!`."""
        found = _SPEED.fullmatch(self.said.get("Speed", ""))
        return int(found[1]) if found is not None else None

    @property
    def carrier(self) -> bool | None:
        """Whether a link is detected."""
        return {"yes": True, "no": False}.get(self.said.get("Link detected", "").partition(" ")[0])

    def number(self, label: str) -> int | None:
        """Return a value that is a number."""
        return whole(self.said.get(label))


def parse(text: str, interface: str | None) -> Iterator[EthtoolPart]:
    """Yield the outputs in a text; `interface` is the one of the command line."""
    current: EthtoolPart | None = None
    maximums = False
    for line in text.splitlines():
        head = _HEADS.match(line)
        if head is not None:
            if current is not None:
                yield current
            kind = next(name for name in ("settings", "features", "rings", "driver", "counts", "other") if head[name])
            current = EthtoolPart(kind, head["one"] or head["two"] or head["three"] or interface)
            maximums = False
            if kind == "driver":
                current.said["driver"] = head["name"]
            continue
        found = _FIELD.fullmatch(line)
        if current is None or found is None:
            continue
        if current.kind == "rings" and not found["value"]:
            maximums = line.startswith("Pre-set")
            continue
        (current.maximum if maximums else current.said).setdefault(found["label"].strip(), found["value"])
    if current is not None:
        yield current


_GOES_ON = (
    r"(?:\t| {4})\s*\S.*|(?:Pre-set maximums|Current hardware settings):|(?:RX|TX)[\w ()-]*:\s.*"
    r"|[a-z0-9-]+: (?:on|off).*"
    r"|(?:TCP data split|CQE Size|TX Push):.*|(?:Settings|Features|Ring parameters) for .*|NIC statistics: *|No data .*"
    r"|Cannot .*"
)


def fault(text: str) -> str:
    """Return why the settings may be incomplete: their last line is about the link."""
    heads = sum(line.startswith("Settings for ") for line in text.splitlines())
    links = sum(line.strip().startswith("Link detected:") for line in text.splitlines())
    return "" if heads == links else "end not shown"


SETTINGS = Form(
    key="cmd:ethtool",
    first=r"Settings for \S+:$",
    reads="speed, duplex and link of interfaces",
    versions="ethtool 3 and later",
    goes_on=_GOES_ON,
    fault=fault,
    several=Several.JOINED,
    about=r"Settings for (\S+):",
)
DRIVER = Form(
    key="cmd:ethtool -i",
    first=r"driver: \S+\nversion: ",
    reads="driver and firmware of a network card, with the command line",
    versions="ethtool 3 and later",
    goes_on=r"(?:version|(?:expansion-rom-|firmware-)?version|bus-info|supports-[a-z-]+|driver):.*",
    several=Several.JOINED,
)
OTHERS = Form(
    key="cmd:ethtool -S",
    first=r"(?:Features|Ring parameters) for \S+:$|NIC statistics: *$",
    reads="rings and offloads of network cards; with the command line their error counters",
    versions="ethtool 3 and later",
    goes_on=_GOES_ON,
    several=Several.JOINED,
)


def parts(host: Host, forms: Iterable[Form]) -> list[tuple[EthtoolPart, str]]:
    """Return the recorded outputs of some forms, with their keys; the interface may be on the command line."""
    found = []
    for output in (output for form in forms for output in outputs(host, form)):
        words = [word for word in output.words if not word.startswith("-")]
        found += [(part, output.key) for part in parse(output.text, words[-1] if words else None)]
    return found
