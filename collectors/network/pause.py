"""Pause frames of physical network interfaces: how often a switch stopped this node, or this node a switch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sdstop.collectors.network import netclass
from sdstop.collectors.network.readings import CLASS, PauseFrames
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading
from sdstop.core.text import whole

_PACE = 120.0
"""Some cards ask their firmware for each counter."""
_KEPT = r"\s*[\w.-]*(?:pause|xoff|pfc)[\w.-]*:\s"


_LINE = expression(r"\s*([\w.-]{1,60}): (\d{1,20})\s*", re.ASCII)
_PRIORITY = expression(r"(?:^|[_.])pri(?:o|ority)?_?\d")
_OTHER = expression(r"xon|duration|transition|time|storm|_ena_")
_RECEIVED = expression(r"(?:^|[_.])rx(?:[_.]|$)|rcvd|received")
_SENT = expression(r"(?:^|[_.])tx(?:[_.]|$)|sent|xmit")


def parse(text: str) -> tuple[int | None, int | None]:
    """Return the frames received and sent in the output of `ethtool -S` (ethtool 3 to 6); None if not counted.

    NIC statistics:
         rx_pause_ctrl_phy: 10234
         tx_pause_ctrl_phy: 0
         rx_prio3_pause: 10234
    """
    totals: dict[tuple[bool, bool], int] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        name = match[1].lower() if match is not None else ""
        count = whole(match[2]) if match is not None else None
        if count is None or not re.search("pause|xoff|pfc", name) or _OTHER.search(name):
            continue
        one, other = _RECEIVED.search(name) is not None, _SENT.search(name) is not None
        if one is not other:
            by_priority = _PRIORITY.search(name) is not None
            known = totals.get((one, by_priority), 0)
            totals[one, by_priority] = known + count if by_priority else max(known, count)
    received, sent = (
        max((count for (each, _), count in totals.items() if each is way), default=None) for way in (True, False)
    )
    return received, sent


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each physical interface whose driver counts pause frames. Raises Absent without any."""
    found = []
    for folder in netclass.folders(host).values():
        if folder.kind != "physical" or host.maybe(f"{CLASS}/{folder.name}/carrier") != "1":
            continue
        output = host.run(("ethtool", "--statistics", folder.name))
        received, sent = parse(output.text) if output.exit == 0 else (None, None)
        if received is not None or sent is not None:
            found.append(PauseFrames(folder.name, received, sent))
    if not found:
        raise Absent("cmd:ethtool --statistics", "no network card that counts pause frames")
    return found


PAUSE = Collector(
    "pause",
    "Pause frames of network cards",
    read,
    (PauseFrames,),
    (
        Need(f"list:{CLASS}", "which interfaces there are"),
        Need(f"list:{CLASS}/*", "which of them are physical"),
        Need(f"{CLASS}/*/*", "kind and link of an interface"),
        Command(("ethtool", "--statistics", "*"), "pause frames, of physical interfaces with a link", keep=_KEPT),
    ),
    _PACE,
    deadline=20.0,
)
