"""Assignment of memory errors to a memory module where the names prove it."""

from __future__ import annotations

from sdstop.collectors.memory.readings import Dimm, MemoryErrors
from sdstop.core.expression import expression
from sdstop.core.history import Window

_SOURCE = expression(r"CPU_SrcID#(\d{1,3})_")


def socket_of(row: MemoryErrors) -> str | None:
    """Return the socket in the name that Intel's drivers give a module, None without one."""
    source = _SOURCE.match((row.label or "").strip())
    return str(int(source[1])) if source is not None else None


def module_of(window: Window, row: MemoryErrors) -> Dimm | None:
    """Return the module from the firmware's table, None if none is proven.

    Labels set by an administrator (edac-ctl) and those of ghes_edac contain the slot's name, alone or after the bank's.
    Names of Intel's drivers, `CPU_SrcID#0_Ha#0_Chan#1_DIMM#0`, contain the socket, which proves the module only if the
    socket has exactly one.
    """
    label = (row.label or "").strip()
    filled = [dimm for dimm in window.rows(Dimm).values() if dimm.size]
    named = [
        dimm
        for dimm in filled
        for name in {dimm.slot, dimm.needle}
        if name and (label == name or label.endswith(f" {name}"))
    ]
    if named:
        return named[0] if len({dimm.slot for dimm in named}) == 1 else None
    socket = socket_of(row)
    if socket is None or any(dimm.socket is None for dimm in filled):
        return None
    own = [dimm for dimm in filled if dimm.socket == socket]
    return own[0] if len(own) == 1 else None
