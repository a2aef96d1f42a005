"""Guest: the tree of another tool, as a sosreport, of which a bounded part is taken into memory.

It has links, devices and large files that no capture has. What nobody wants is passed over without being kept, links
are kept as words that nobody follows on this machine, and what leads out of the tree refuses the whole of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sdstop.capture.bounds import Limits, Refused, fault_of_name
from sdstop.capture.tarheader import BLOCK
from sdstop.capture.unpacking import Source
from sdstop.core.format import safe


@dataclass(frozen=True, slots=True)
class Guest:
    """A tree that another tool made: it has links and other things that no capture has, and far more than is wanted.

    `wanted` says of a name whether its content is kept; what cannot be taken is left out and counted.
    """

    wanted: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a guest's tree; a hard one is another name of a file that came before."""

    target: str
    hard: bool


class Left:
    """An entry of a guest's tree that is left out."""


Body = bytes | Link | Left | None
"""What a member brings; None is a folder."""


def take(
    guest: Guest, source: Source, name: str, size: int, kind: bytes, target: str, limits: Limits
) -> tuple[str, Body] | None:
    """Take a member of a guest's tree: what no capture may hold is left out, what leads out of the tree refused."""
    name = name.removeprefix("./").rstrip("/")
    if name in {"", "."}:
        return None
    fault = fault_of_name(name, limits)
    if fault and (name.startswith("/") or ".." in name.split("/")):
        raise Refused(f"holds a member whose name {fault}: {safe(name)}")
    if kind in {b"1", b"2"} and not fault:
        return name, Link(target.removeprefix("./") if kind == b"1" else target, kind == b"1")
    if kind == b"5" and not fault:
        return name, None
    kept = kind in {b"0", b"\0"} and not fault and guest.wanted(name) and size <= limits.member
    if kept:
        return name, source.body(size)
    source.skip(size + -size % BLOCK)
    return (name, Left()) if fault or kind not in {b"0", b"\0"} or guest.wanted(name) else None
