"""AoE disks as the kernel shows them, and processes of vblade."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.aoe.readings import COMMAND, PACKET, AoeExport, AoePort, AoeSocket, AoeTarget
from sdstop.collectors.aoe.targets import AOE, fingerprint, parse_cmdline, parse_debug, parse_max_mtus, parse_sockets
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from sdstop.core.model import Reading

DISK = "/sys/block/etherd!e7.12"
DEBUG = (
    "rttavg: 412 rttdev: 180\nnskbpool: 0\nkicked: 3\nmaxbcnt: 3584\nref: 1\n"
    "02005e107fa1:0:16:16\n\tssthresh:8\n\ttaint:0\n\tr:292\n\tw:148\n\teth1\n"
)
SOCKETS = (
    "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
    "00000000ab4e9cdf 3      3    88a2   2     1 0      0      471621\n"
    "00000000cd4e9cdf 3      3    0003   2     1 0      0      471622\n"
    "00000000ef4e9cdf 3      3    88a2   4     1 512    0      471623\n"
)
LINKS = '[{"ifindex": 2, "ifname": "eth1", "mtu": 4000, "max_mtu": 9000}, {"ifname": "lo", "mtu": 65536, "max_mtu": 0}]'
IP = f"cmd:{' '.join(COMMAND)}"


def disk(**said: str) -> dict[str, str]:
    known = {"state": "up", "payload": "3584", "netif": "eth1", "mac": "02005e107fa1", "firmware-version": "0x4019"}
    return {f"{DISK}/{name}": f"{text}\n" for name, text in (known | said).items()}


def process(pid: int, *argv: str, comm: str = "vblade") -> dict[str, str]:
    return {f"/proc/{pid}/comm": f"{comm}\n", f"/proc/{pid}/cmdline": "".join(f"{word}\0" for word in argv)}


def rows(files: dict[str, str]) -> list[Reading]:
    return list(AOE.read(EvidenceHost.of(files)))


def exports(files: dict[str, str]) -> list[AoeExport]:
    return [row for row in rows(files) if isinstance(row, AoeExport)]


def test_a_disk() -> None:
    files = disk() | {"/sys/kernel/debug/aoe/e7.12": DEBUG, IP: LINKS}
    target, port = rows(files)
    assert target == AoeTarget(
        "etherd/e7.12", "up", 3584, "eth1", "02005e107fa1", "0x4019", rtt=0.000412, largest=3584
    )  # fmt: skip
    assert port == AoePort("eth1", 9000)
    for field in ("state", "payload", "interfaces", "mac", "firmware"):
        source = target.source(field)
        assert source is not None
        assert source.key in files


def test_a_disk_that_was_not_found_yet() -> None:
    (target,) = rows(disk(netif="none", mac="none", payload="0", state="down"))
    assert isinstance(target, AoeTarget)
    assert (target.interfaces, target.mac, target.payload, target.rtt, target.largest) == (None, None, 0, None, None)


def test_what_the_kernel_is_too_old_to_say_is_not_said() -> None:
    (target,) = rows({f"{DISK}/state": "up\n", PACKET: SOCKETS[:70]})
    assert isinstance(target, AoeTarget)
    assert target.payload is None


def test_debugfs_that_is_denied_is_named() -> None:
    host = EvidenceHost.of(disk())
    host.apply([Evidence("/sys/kernel/debug/aoe/e7.12", Outcome.DENIED, detail="needs root")])
    assert next(iter(AOE.read(host))).source("payload") is not None
    assert host.denied


def test_an_export() -> None:
    argv = ("/usr/sbin/vblade", "-d", "-b", "64", "-rs", "-m", "02005e107fa1", "7", "12", "eth1", "/dev/vg0/disks")
    files = process(4711, *argv) | {PACKET: SOCKETS, "link:/dev/vg0/disks": "../dm-3", IP: LINKS}
    said = rows(files)
    assert [row for row in said if isinstance(row, AoeSocket)] == [AoeSocket(471621, 2), AoeSocket(471623, 4)]
    assert [row for row in said if isinstance(row, AoePort)] == [AoePort("eth1", 9000)]
    (export,) = (row for row in said if isinstance(row, AoeExport))
    assert export == AoeExport(
        shelf=7, slot=12, interface="eth1", device="/dev/vg0/disks", direct=1, pid=4711, where="/proc/4711/cmdline",
        kernel="dm-3", sync=1, read_only=1, buffers=64, clients="02005e107fa1", offset=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "kernel"),
    [("/dev/md2", "md2"), ("/dev/etherd/e0.1", "etherd/e0.1"), ("/dev/mapper/cachedev", None), ("/srv/disk.img", None),
     ("disk.img", None)],
)  # fmt: skip
def test_the_kernels_name_of_what_is_served(path: str, kernel: str | None) -> None:
    (export,) = exports(process(9, "vblade", "0", "0", "eth1", path))
    assert (export.device, export.kernel, export.direct) == (path, kernel, 0)


def test_other_processes_and_other_command_lines_are_passed_over() -> None:
    files = (
        process(1, "/sbin/init", comm="systemd")
        | process(2, "vblade", "0", "0", "eth1")
        | process(3, "vblade", "-z", "0", "0", "eth1", "/dev/sda")
        | process(4, "vblade", "shelf", "0", "eth1", "/dev/sda")
        | {"/proc/5/comm": "vblade\n", PACKET: SOCKETS}
    )
    assert exports(files) == []


def test_without_a_socket_no_process_is_looked_at() -> None:
    files = process(9, "vblade", "0", "0", "eth1", "/dev/md2") | {PACKET: SOCKETS.splitlines()[0] + "\n"}
    host = EvidenceHost.of(files)
    assert list(AOE.read(host)) == []
    assert not {key for key in host.touched if key.startswith("/proc/9")}


def test_a_capture_that_has_neither_is_no_node_without_aoe() -> None:
    with pytest.raises(Absent) as raised:
        rows({"/proc/mdstat": ""})
    assert not raised.value.recorded


def test_a_kernel_without_packet_sockets_serves_nothing() -> None:
    host = EvidenceHost([Evidence(PACKET, Outcome.ABSENT)])
    assert list(AOE.read(host)) == []


def test_a_new_payload_and_a_new_socket_are_seen_at_once() -> None:
    seen = [disk(), disk(payload="8192"), disk() | {PACKET: SOCKETS}]
    assert len({fingerprint(EvidenceHost.of(files)) for files in seen}) == 3
    assert fingerprint(EvidenceHost.of(disk())) == fingerprint(EvidenceHost.of(disk(state="down,closewait")))


@pytest.mark.parametrize("text", ["", "nothing", "sk RefCnt\n1 2"])
def test_what_is_no_table_of_sockets(text: str) -> None:
    with pytest.raises(Malformed):
        parse_sockets(text)


def test_no_limit_is_none() -> None:
    assert parse_max_mtus(LINKS) == {"eth1": 9000}
    assert parse_max_mtus('[{"ifname": "a", "max_mtu": true}, {"ifname": 3, "max_mtu": 9000}, 7]') == {}


@given(st.text(), st.integers(0, 300), st.text(max_size=6))
def test_no_text_raises_what_is_not_declared(text: str, at: int, put: str) -> None:
    argv = "vblade\0-d\0-b\x0064\x000\x001\0eth1\0/dev/md2\0"
    for body in (text, DEBUG[:at] + put + DEBUG[at:], SOCKETS[:at] + put + SOCKETS[at:], LINKS[:at] + put + LINKS[at:],
                 argv[:at] + put + argv[at:]):  # fmt: skip
        rtt, largest = parse_debug(body)
        assert rtt is None or rtt >= 0
        assert largest is None or largest >= 0
        assert all(most > 0 for most in parse_max_mtus(body).values())
        known = parse_cmdline(body)
        assert known is None or (0 <= known[1] < 100_000 and known[3])
        with contextlib.suppress(Malformed):
            assert all(row.inode >= 0 for row in parse_sockets(body))
        files = {"/proc/7/comm": "vblade", "/proc/7/cmdline": body} | disk(payload=body, state=body, netif=body)
        assert len(rows(files)) >= 1
