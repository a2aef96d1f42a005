"""Slots of SES enclosures: the disk in each slot, its status, and the LEDs for fault and locate. Nothing is set.

The kernel asks the enclosure's processor for each attribute (drivers/misc/enclosure.c, drivers/scsi/ses.c), so they are
read six times an hour, one after the other, and an enclosure that does not answer is left alone for an hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdstop.collectors.health.readings import ENCLOSURES, EnclosureSlot
from sdstop.core.collector import Collector, Need
from sdstop.core.host import Absent, Host, TimedOut, Unreadable
from sdstop.core.model import Reading

PACE = 600.0
"""Seconds between runs."""
PROMPT = 5.0
"""Seconds for the answer of an enclosure, which needs some milliseconds."""
REST = 3600.0
"""Seconds without questions to an enclosure that did not answer."""
_OTHERS = frozenset({"components", "device", "id", "power", "subsystem", "uevent"})
_TYPES = frozenset({"device", "array device"})


def read(host: Host) -> Iterable[Reading]:
    """Return the slots of all enclosures. Raises Absent without an enclosure."""
    rows = [row for address in host.entries(ENCLOSURES) for row in _slots(host, address)]
    if not rows:
        raise Absent(f"list:{ENCLOSURES}", "no enclosure with slots", recorded=True)
    return rows


def _slots(host: Host, address: str) -> Iterator[EnclosureSlot]:
    base = f"{ENCLOSURES}/{address}"
    ident = host.maybe(f"{base}/id") or address
    quiet = host.rests(base)
    for slot in host.names(base):
        if slot in _OTHERS or host.maybe(f"{base}/{slot}/type") not in _TYPES:
            continue
        said: dict[str, str | None] = {}
        for name in ("status", "fault", "locate"):
            if not quiet:
                try:
                    said[name] = host.promptly(f"{base}/{slot}/{name}", PROMPT).strip()
                except TimedOut:  # of this enclosure, not of all
                    quiet = True
                    host.rest(base, REST)
                except Unreadable:
                    continue
        disks = host.names(f"{base}/{slot}/device/block")
        yield EnclosureSlot(
            address=address,
            slot=slot,
            enclosure=ident,
            number=host.number(f"{base}/{slot}/slot"),
            device=disks[0] if disks else None,
            status=said.get("status") or None,
            fault=_lit(said.get("fault")),
            locate=_lit(said.get("locate")),
        )


def _lit(word: str | None) -> bool | None:
    return word != "0" if word and word.isdecimal() else None


ENCLOSURE_SLOTS = Collector(
    "enclosures",
    "Enclosure slots and their LEDs",
    read,
    (EnclosureSlot,),
    (
        Need(f"list:{ENCLOSURES}", "which enclosures there are"),
        Need(f"list:{ENCLOSURES}/*", "slots of an enclosure"),
        Need(f"{ENCLOSURES}/*/id", "identifier of an enclosure"),
        Need(f"{ENCLOSURES}/*/*/*", "status of a slot, its LEDs, its number; the kernel asks the enclosure"),
        Need(f"list:{ENCLOSURES}/*/*/device/block", "disk in a slot"),
    ),
    PACE,
    deadline=120.0,
)
