"""The lines about one device: who does the I/O is known of the whole node only."""

from __future__ import annotations

import json

from sdstop.core.evidence import Evidence
from tests.nodes.block import Load, Node
from tests.tui.screens import WIDE, screen


def answer(n: int) -> Evidence:
    process = {"pid": 41, "name": "qemu", "started": 1.0, "user": "root", "cmdline": "qemu", "read_bytes": n << 20,
               "write_bytes": n << 22}  # fmt: skip
    return Evidence("answer:psutil.processes", data=json.dumps([process]).encode())


def node(load: Load) -> Node:
    return Node(loads=lambda device, _: load if device == "sda" else Load(), later={1: [answer(0)], 6: [answer(10)]})


async def shown_of(node: Node, device: str) -> str:
    """Return the line about who does the I/O, beneath a device."""
    async with screen(node.session(6), WIDE) as shown:
        await shown.press("2", "home")
        for _ in range(6):
            if f"Device {device}" in shown.text():
                return shown.line(" I/O by ")
            await shown.press("down")
        raise AssertionError(shown.text())


async def test_beside_a_busy_device_it_is_said_whose_processes_they_are() -> None:
    line = await shown_of(node(Load(reads=50, queue=1.0, busy=0.9)), "sda")
    assert "whole node: qemu (41) r 2.0M" in line, line


async def test_beside_an_idle_device_nobody_is_named() -> None:
    assert await shown_of(node(Load(reads=50, queue=1.0, busy=0.9)), "sdb") == ""


async def test_a_request_in_flight_is_not_idle() -> None:
    assert "whole node" in await shown_of(node(Load(queue=1.0)), "sda")
