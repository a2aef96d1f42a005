"""Both sides of a DRBD 8.4 connection made by hand, as /proc/drbd shows them."""

from __future__ import annotations

from collections.abc import Mapping

from sdstop.core.policy import Policy
from sdstop.core.site_session import SiteSession
from tests.nodes.site import Shown, site

PROC = "/proc/drbd"
_HEAD = "version: 8.4.11 (api:1/proto:86-101)\nsrcversion: F73C670A7EC572DB9CF3E5B\n"


def side(state: str, roles: str, disks: str = "UpToDate/DUnknown", oos: int = 0) -> str:
    """Return /proc/drbd of version 8 with one resource; `oos` is KiB."""
    return (
        f"{_HEAD} 0: cs:{state} ro:{roles} ds:{disks} C r-----\n"
        f"    ns:0 nr:45016 dw:45016 dr:0 al:8 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:{oos}\n"
    )


def shown(proc: str, start: float = 0.0, frames: int = 4) -> Shown:
    """Return frames every 5 s from `start` on."""
    return [(start + 5 * number, {PROC: proc}) for number in range(frames)]


def pair(one: str, other: str, later: float = 1.0, policies: Mapping[str, Policy] | None = None) -> SiteSession:
    """Return store1 and store2 judged together; store2 is seen `later` seconds afterwards."""
    return site({"store1": shown(one), "store2": shown(other, later)}, policies=policies)
