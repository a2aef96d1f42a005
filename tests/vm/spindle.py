"""Spindle: a disk with an arm, for a machine whose own disks answer requests at any place alike.

A server of the NBD protocol (Network Block Device, doc/proto.md of its project: fixed newstyle handshake, simple
replies) over a Unix socket. It serves one request after the other, as they came; one that does not begin where the
last one ended waits `seek` seconds more. So, as on any rotating disk, a stream that is alone is fast, and streams that
take turns slow each other down.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_MAGIC = 0x4E42444D41474943  # "NBDMAGIC"
_OPTION = 0x49484156454F5054  # "IHAVEOPT"
_OPTION_REPLY = 0x3E889045565A9
_REQUEST, _REPLY = 0x25609513, 0x67446698
_FIXED_NEWSTYLE, _NO_ZEROES = 1, 2
_HAS_FLAGS, _SEND_FLUSH, _SEND_FUA, _SEND_TRIM = 1, 4, 8, 32
_EXPORT_NAME, _ABORT, _GO = 1, 2, 7
_ACK, _INFO, _UNSUPPORTED = 1, 3, 0x80000001
_READ, _WRITE, _DISCONNECT, _FLUSH, _TRIM = 0, 1, 2, 3, 4
_EIO, _EINVAL = 5, 22
_LARGEST = 32 << 20


@dataclass(slots=True)
class Spindle:
    """A file that is served as a disk; `seek` and `request` in seconds, `rate` in bytes a second."""

    file: Path
    size: int
    seek: float
    request: float = 0.0005
    rate: float = 150e6
    _head: int = 0

    def time_for(self, offset: int, length: int) -> float:
        """Return how long a request takes, and leave the arm where it ends."""
        moved = offset != self._head
        self._head = offset + length
        return self.request + length / self.rate + (self.seek if moved else 0.0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client until it leaves."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), self.file.open("r+b") as disk:
            if await self._shake_hands(reader, writer):
                await self._transmit(reader, writer, disk.fileno())
        writer.close()

    async def _shake_hands(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(struct.pack(">QQH", _MAGIC, _OPTION, _FIXED_NEWSTYLE | _NO_ZEROES))
        (client,) = struct.unpack(">I", await reader.readexactly(4))
        flags = _HAS_FLAGS | _SEND_FLUSH | _SEND_FUA | _SEND_TRIM
        while True:
            magic, option, length = struct.unpack(">QII", await reader.readexactly(16))
            if magic != _OPTION or length > 4096:
                return False
            await reader.readexactly(length)
            if option == _EXPORT_NAME:
                writer.write(struct.pack(">QH", self.size, flags) + b"\0" * (0 if client & _NO_ZEROES else 124))
                return True
            if option == _GO:
                about = struct.pack(">HQH", 0, self.size, flags)  # of the information that was asked for: the size
                writer.write(struct.pack(">QIII", _OPTION_REPLY, option, _INFO, len(about)) + about)
                writer.write(struct.pack(">QIII", _OPTION_REPLY, option, _ACK, 0))
                return True
            writer.write(struct.pack(">QIII", _OPTION_REPLY, option, _ACK if option == _ABORT else _UNSUPPORTED, 0))
            if option == _ABORT:
                return False

    async def _transmit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, disk: int) -> None:
        loop = asyncio.get_running_loop()
        free = loop.time()
        waiting: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

        async def answer() -> None:
            while (ready := await waiting.get()) is not None:
                await asyncio.sleep(max(0.0, ready[0] - loop.time()))
                writer.write(ready[1])

        answering = asyncio.create_task(answer())
        try:
            while True:
                header = await reader.readexactly(28)
                magic, _, kind, handle, offset, length = struct.unpack(">IHHQQI", header)
                if magic != _REQUEST or kind == _DISCONNECT or length > _LARGEST:
                    return
                data = await reader.readexactly(length) if kind == _WRITE else b""
                error, content = _act(disk, kind, offset, length, data, self.size)
                if kind in {_READ, _WRITE}:
                    free = max(free, loop.time()) + self.time_for(offset, length)
                waiting.put_nowait((free, struct.pack(">IIQ", _REPLY, error, handle) + content))
        finally:
            waiting.put_nowait(None)
            answering.cancel()


def _act(disk: int, kind: int, offset: int, length: int, data: bytes, size: int) -> tuple[int, bytes]:
    """Return the error (0: none) and the content that a request is answered with."""
    if offset + length > size:
        return _EINVAL, b""
    try:
        if kind == _READ:
            content = os.pread(disk, length, offset)
            return 0, content + b"\0" * (length - len(content))
        if kind == _WRITE:
            os.pwrite(disk, data, offset)
    except OSError:
        return _EIO, b""
    return (0 if kind in {_WRITE, _FLUSH, _TRIM} else _EINVAL), b""


@contextmanager
def served(spindles: Mapping[Path, Spindle]) -> Iterator[None]:
    """Serve disks, each at its socket's path, in a thread, until the end of the `with`."""
    if not spindles:
        yield
        return
    loop = asyncio.new_event_loop()
    listening = threading.Event()

    async def serve() -> None:
        servers = [await asyncio.start_unix_server(disk.serve, path, limit=1 << 20) for path, disk in spindles.items()]
        listening.set()
        await ended.wait()
        for server in servers:
            server.close()

    ended = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    listening.wait(10)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
