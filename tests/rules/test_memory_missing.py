"""memory-missing: modules that the firmware lists and the kernel does not have."""

from __future__ import annotations

import pytest

from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.readings import TABLE
from sdstop.collectors.system.node import NODE
from sdstop.core.finding import Severity
from sdstop.rules.memory.memory_missing import MEMORY_MISSING
from tests.nodes.firmware import Board, Module, board
from tests.nodes.frames import Judged

GIB = 1 << 20
"""KiB of a GiB."""
LISTED = 8 * 16 * GIB
BOARD = board((4, 4))


def judged(total: int | None, made: Board = BOARD) -> Judged:
    """Judge a node whose kernel has so many KiB."""
    memory = {} if total is None else {"/proc/meminfo": f"MemTotal: {total} kB\n"}
    files: dict[str, str | bytes] = {TABLE: made.table(), "/proc/loadavg": "0.1 0.1 0.1 1/2 3\n", **memory}
    return Judged((DIMMS, NODE), [MEMORY_MISSING], [(0.0, files)])


def test_a_module_that_the_firmware_left_out() -> None:
    finding = judged(LISTED - 17 * GIB).finding("memory")
    assert finding.severity is Severity.WARNING
    assert finding.title == "MEMORY MISSING: 17 GiB"
    assert finding.standing


@pytest.mark.parametrize("total", [LISTED, LISTED * 97 // 100, LISTED * 945 // 1000, LISTED + GIB])
def test_what_firmware_and_kernel_reserve_is_normal(total: int) -> None:
    assert "in use" in judged(total).ruled_out("memory").summary


def test_a_small_share_of_a_few_modules_is_less_than_a_module() -> None:
    """Of one module of 16 GiB, 8 % can be graphics memory and a crash kernel."""
    assert judged(16 * GIB * 92 // 100, board((1, 0))).ruled_out("memory").summary
    assert judged(16 * GIB * 9 // 100, board((1, 0))).finding("memory").summary


def test_virtual_machines_and_other_modules_are_not_judged() -> None:
    virtual = board((4, 4), system=("QEMU", "Standard PC"))
    assert judged(LISTED // 2, virtual).unchecked("memory").calm
    persistent = Board([Module("A1", 16384), Module("B1", 65536, kind=0x1F)])
    assert "in 1 module in use" in judged(16 * GIB, persistent).ruled_out("memory").summary
    assert judged(None).unchecked("memory").calm
