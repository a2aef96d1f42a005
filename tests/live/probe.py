"""What sdstop sees and says in a network namespace, before and after datagrams are sent; run by a process within."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from typing import Any

from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.links import LINKS
from sdstop.collectors.network.paths import PATHS, TCP
from sdstop.core.collector import Collector
from sdstop.core.evidence import Frame, Origin
from sdstop.core.host import Malformed, Unreadable
from sdstop.core.model import schema
from sdstop.core.recording import RecordingHost
from sdstop.core.session import Session
from sdstop.node.live import LiveHost
from sdstop.rules.network.frames_dropped import FRAMES_DROPPED
from sdstop.rules.network.mtu_mismatch import MTU_MISMATCH
from sdstop.rules.network.path_mtu_shrunk import PATH_MTU_SHRUNK

COLLECTORS: tuple[Collector, ...] = (NETWORK, INTERFACES, LINKS, TCP, PATHS)
RULES = (MTU_MISMATCH, PATH_MTU_SHRUNK, FRAMES_DROPPED)
_DISCARD = 9
_DONT_FRAGMENT = ((socket.IPPROTO_IP, 10), (socket.IPPROTO_IPV6, 23))  # IP(V6)_MTU_DISCOVER, which no module names
_ALWAYS = 2


def probe(sent: tuple[tuple[str, int], ...]) -> None:
    """Print what sdstop sees and says in this namespace, as JSON."""
    session = Session(Origin("live", live=True), COLLECTORS, RULES)
    session.feed(frame(1))
    for address, size in sent:
        send(address, size)
    time.sleep(0.2)
    session.feed(frame(2))
    look = session.head()
    rows = {
        family.family: {str(key): family_row(row) for key, row in table.items()}
        for run in look.now.runs.values()
        for family, table in run.tables.items()
    }
    said = {
        f"{finding.rule}:{finding.subject}": [
            finding.severity.value,
            finding.summary,
            [c.key for c in finding.evidence],
        ]
        for finding in look.judgement.findings
    }
    good = [f"{said.rule}:{said.subject}" for said in look.judgement.ruled_out]
    outcomes = {name: [run.outcome.value, run.reason] for name, run in look.now.runs.items()}
    print(json.dumps({"rows": rows, "findings": said, "good": good, "outcomes": outcomes}))  # noqa: T201


def family_row(row: Any) -> dict[str, Any]:
    return {column.name: getattr(row, column.name) for column in schema(type(row)).columns}


def frame(number: int) -> Frame:
    host = RecordingHost(LiveHost(collectors=COLLECTORS))
    for collector in COLLECTORS:
        with contextlib.suppress(Unreadable, Malformed):
            list(collector.read(host))
    return Frame(number, time.time(), time.monotonic(), tuple(host.evidence.values()))


def send(address: str, size: int) -> None:
    """Send datagrams that must not be fragmented until the kernel refuses, four at most."""
    six = ":" in address
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(*_DONT_FRAGMENT[six], _ALWAYS)
        for _ in range(4):
            with contextlib.suppress(OSError):
                sender.sendto(bytes(size), (address, _DISCARD))
            time.sleep(0.05)
