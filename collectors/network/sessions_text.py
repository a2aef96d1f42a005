"""States of iSCSI sessions and NVMe controllers from recorded output of their tools.

Target: iqn.2003-01.org.linux-iscsi.san:t1 (non-flash)               iscsiadm -m session -P 1 (to 3)
    Current Portal: 10.1.1.1:3260,1
        SID: 1
        iSCSI Session State: LOGGED_IN
            Attached scsi disk sdb      State: running

nvme-subsys0 - NQN=nqn.2014-08.org.lab:n1                            nvme list-subsys (nvme-cli 1 and 2)
 +- nvme1 tcp traddr=10.1.2.1,trsvcid=4420 connecting
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sdstop.collectors.network.peer_readings import NvmePath, SessionState, StorageSession
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.model import Reading

_TARGET = expression(r"Target: (?P<target>\S{1,223})(?: \((?:non-)?flash\))?")
_PAIR = expression(r"(?P<name>Current Portal|SID|iSCSI Session State): (?P<value>\S.*)")
_DISK = expression(r"Attached scsi disk (?P<disk>[a-z]\w{1,20})\b.*")
_NAMESPACE = expression(r"(?:^|[/._])(nvme\d{1,5}n\d{1,6})$")
_SUBSYSTEM = expression(r"(?P<name>nvme-subsys\d{1,5}) - NQN=(?P<target>\S{1,223})")
_CONTROLLER = expression(
    r"\+- (?P<name>nvme\d{1,5}) (?P<transport>tcp|rdma|fc|pcie|loop)(?P<address> .*?)?"
    r" (?P<state>new|live|resetting|connecting|deleting(?: \(no IO\))?|dead)(?: (?P<access>[a-z-]{4,20}))?"
)


def parse_iscsi(text: str, key: str) -> Iterator[Reading]:
    """Yield the sessions. Raises Malformed for one without a state, as `-P 0` prints it."""
    target = ""
    said: dict[str, str] = {}
    disks: list[str] = []
    for line in [*(line.strip() for line in text.splitlines()), "Current Portal: end"]:
        pair = _PAIR.fullmatch(line)
        if pair is not None and pair["name"] == "Current Portal" and said:
            yield from _iscsi(target, said, disks, key)
            said, disks = {}, []
        if (begun := _TARGET.fullmatch(line)) is not None:
            if said:
                yield from _iscsi(target, said, disks, key)
                said, disks = {}, []
            target = begun["target"]
        elif pair is not None:
            said[pair["name"]] = pair["value"]
        elif (disk := _DISK.fullmatch(line)) is not None:
            disks.append(disk["disk"])


def _iscsi(target: str, said: dict[str, str], disks: list[str], key: str) -> Iterator[Reading]:
    number, state = said.get("SID", ""), said.get("iSCSI Session State")
    if not number.isdigit() or state is None:
        raise Malformed("a session without number or state")
    name, peer = f"session{number}", said.get("Current Portal", "").partition(",")[0]
    yield SessionState(name, state, key, f"SID: {number}")
    yield StorageSession(
        name, "iscsi", ",".join(disks) or None, peer or None, target, state, None, told=key, needle=f"SID: {number}"
    )


def parse_nvme(text: str, key: str) -> Iterator[Reading]:
    """Yield the controllers, and with a namespace in the command line the paths to it, as the array grants them.

    Raises Malformed for a line of a controller that is not understood.
    """
    target, subsystem = None, ""
    names = [match[1] for word in key.replace("_", " ").split() if (match := _NAMESPACE.search(word)) is not None]
    for line in map(str.strip, text.splitlines()):
        if (begun := _SUBSYSTEM.fullmatch(line)) is not None:
            target, subsystem = begun["target"], begun["name"]
        elif (found := _CONTROLLER.fullmatch(line)) is not None:
            needle = f"+- {found['name']} "
            yield SessionState(found["name"], found["state"], key, needle)
            if found["access"] is not None:
                device = names[0] if names else subsystem
                yield NvmePath(
                    found["name"], device, found["name"], subsystem, found["state"], found["access"], None, key
                )
            if found["transport"] in {"tcp", "rdma", "fc"}:
                peer = _peer(found["address"] or "")
                yield StorageSession(
                    found["name"], f"nvme-{found['transport']}", None, peer, target, found["state"], None,
                    told=key, needle=needle,
                )  # fmt: skip
        elif line.startswith("+-"):
            raise Malformed(f"a controller is not understood: {line[:60]!r}")


def _peer(address: str) -> str | None:
    place, port = re.search(r"\btraddr=([^,\s]+)", address), re.search(r"\btrsvcid=(\d{1,5})\b", address)
    if place is None:
        return None
    return f"{place[1]}:{port[1]}" if port is not None else place[1]


ISCSI_TEXT = Form(
    key="cmd:iscsiadm -m session -P 1",
    first=r"(?:iSCSI Transport Class version \S+\n)?(?:version \S+\n)?Target: (?:iqn|eui|naa)\.\S+",
    reads="iSCSI sessions, their states, portals and disks",
    versions="open-iscsi 2",
)
NVME_TEXT = Form(
    key="cmd:nvme list-subsys",
    first=r"nvme-subsys\d+ - NQN=\S+",
    reads="controllers of NVMe subsystems, and their states",
    versions="nvme-cli 1 and 2",
    several=Several.JOINED,
)


def read(host: Host) -> Iterable[Reading]:
    """Return the sessions and controllers of recorded outputs. Raises Absent without any."""
    found = [
        row
        for form, parse in ((ISCSI_TEXT, parse_iscsi), (NVME_TEXT, parse_nvme))
        for each in outputs(host, form)
        for row in parse(each.text, each.key)
    ]
    if not found:
        raise Absent("cmd:iscsiadm", "none recorded; never run on a live node", recorded=False)
    return found


SESSIONS_TEXT = Collector(
    "sessions-text",
    "iSCSI sessions and NVMe controllers from texts",
    read,
    (SessionState, StorageSession, NvmePath),
    (
        Need("cmd:iscsiadm *", "iSCSI sessions, from captures only"),
        Need("cmd:nvme list-subsys*", "NVMe controllers, from captures only"),
    ),
    LIVE,
    forms=(ISCSI_TEXT, NVME_TEXT),
)
