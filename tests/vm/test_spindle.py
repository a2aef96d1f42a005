"""The disk with an arm, asked by a client of its protocol."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.spindle import Spindle, served

SIZE = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[socket.socket]:
    """A connection to a disk of 1 MiB, past the handshake by which QEMU opens it."""
    file = tmp_path / "disk.img"
    file.write_bytes(b"\0" * SIZE)
    with served({tmp_path / "s": Spindle(file, SIZE, 0.02)}), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(tmp_path / "s"))
        assert take(client, 18)[:16] == b"NBDMAGICIHAVEOPT"
        client.sendall(struct.pack(">I", 3))
        client.sendall(b"IHAVEOPT" + struct.pack(">II", 8, 0))  # structured replies: it knows none
        assert struct.unpack(">QIII", take(client, 20))[1:] == (8, 0x80000001, 0)
        client.sendall(b"IHAVEOPT" + struct.pack(">IIIH", 7, 6, 0, 0))
        assert struct.unpack(">QIII", take(client, 20))[1:] == (7, 3, 12)
        assert struct.unpack(">HQH", take(client, 12))[1] == SIZE
        assert struct.unpack(">QIII", take(client, 20))[1:] == (7, 1, 0)
        yield client


def take(client: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        data += client.recv(length - len(data))
    return data


def send(client: socket.socket, kind: int, handle: int, offset: int, length: int, data: bytes = b"") -> None:
    client.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, handle, offset, length) + data)


def answer(client: socket.socket, length: int = 0) -> tuple[int, int, bytes]:
    """Return error, handle and content."""
    magic, error, handle = struct.unpack(">IIQ", take(client, 16))
    assert magic == 0x67446698
    return error, handle, take(client, length)


def test_what_was_written_is_read(disk: socket.socket) -> None:
    send(disk, 1, 7, 4096, 512, b"x" * 512)
    assert answer(disk) == (0, 7, b"")
    send(disk, 0, 8, 4096, 1024)
    assert answer(disk, 1024) == (0, 8, b"x" * 512 + b"\0" * 512)
    send(disk, 3, 9, 0, 0)
    assert answer(disk) == (0, 9, b"")


def test_what_is_beyond_the_end_is_refused(disk: socket.socket) -> None:
    send(disk, 0, 1, SIZE - 512, 1024)
    assert answer(disk) == (22, 1, b"")


def test_answers_come_in_the_order_of_requests_and_the_arm_takes_its_time(disk: socket.socket) -> None:
    began = time.monotonic()
    for handle in range(10):
        send(disk, 0, handle, (handle % 2) * (SIZE // 2) + handle * 512, 512)
    assert [answer(disk, 512)[1] for _ in range(10)] == list(range(10))
    assert time.monotonic() - began >= 9 * 0.02  # the first one is where the arm is


def test_a_stream_alone_waits_for_no_arm() -> None:
    spindle = Spindle(Path(), SIZE, 0.02, request=0.001, rate=1e6)
    assert spindle.time_for(4096, 1000) == pytest.approx(0.022)
    assert spindle.time_for(5096, 1000) == pytest.approx(0.002)
    assert spindle.time_for(5096, 1000) == pytest.approx(0.022)
