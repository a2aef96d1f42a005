"""Slots of SES enclosures: the disk in each slot, its status, and the LEDs for fault and locate. Nothing is set.

The kernel asks the enclosure's processor for each attribute (drivers/misc/enclosure.c, drivers/scsi/ses.c), so they are
read six times an hour, one after the other, and an enclosure that does not answer is left alone for an hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from sdstop.core.collector import Collector, Need
from sdstop.core.host import Absent, Host, TimedOut, Unreadable
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source, State

ENCLOSURES = "/sys/class/enclosure"
PACE = 600.0
PROMPT = 5.0
"""Seconds for the answer of an enclosure, which needs some milliseconds."""
REST = 3600.0
"""Seconds without questions to an enclosure that did not answer."""
_OTHERS = frozenset({"components", "device", "id", "power", "subsystem", "uevent"})
_TYPES = frozenset({"device", "array device"})


class EnclosureSlot(Reading, frozen=True, kw_only=True):
    """A slot of an enclosure. The LEDs are those for fault and locate (IDENT), as the enclosure reports them."""

    family: ClassVar[str] = "enclosure_slot"
    title: ClassVar[str] = "Enclosure slots"
    remarked: ClassVar[str] = "slot"
    rows_of = Source(f"{ENCLOSURES}/{{address}}/{{slot}}/status")
    fields_of: ClassVar = {name: Source(f"{ENCLOSURES}/{{address}}/{{slot}}/{name}") for name in ("fault", "locate")}
    things: ClassVar = {
        "device": Identity(None, Naming.DEV),
        "bay": Identity(ThingKind.SLOT, Naming.ENCLOSURE, "{enclosure}/{number}"),
        "enclosure": Identity(ThingKind.ENCLOSURE, Naming.ENCLOSURE),
    }
    joins = (Join("device", "bay|enclosure", Relation.LOCATED), Join("bay", "enclosure", Relation.PART))

    address: Annotated[str, Label("Enclosure", "SCSI address of its processor", plain=True)]
    slot: Annotated[str, Label("Slot", "Name of the slot", plain=True)]
    enclosure: Annotated[str, Fact("Identifier", "Identifier of the enclosure", export=False, names=Name.IDENTIFIER)]
    number: Annotated[int | None, Metric("Number", "Number of the slot", export=False, exact=True)] = None
    device: Annotated[str | None, Fact("Device", "Kernel name of the disk in the slot", names=Name.DEVICE)] = None
    status: Annotated[
        str | None, State("Status", "OK, critical, non-critical, unrecoverable, not installed, unknown, unavailable")
    ] = None
    fault: Annotated[bool | None, Metric("Fault LED", "Whether a fault is signaled")] = None
    locate: Annotated[bool | None, Metric("Locate LED", "Whether the locate LED is lit")] = None

    def remark(self) -> str:
        """Return the slot, its status and the LEDs that are lit."""
        said = [f"{self.slot} of enclosure {self.address}"]
        said += [f"status {self.status}"] if self.status not in {None, "OK"} else []
        said += ["fault LED on"] if self.fault else []
        said += ["locate LED on"] if self.locate else []
        return ", ".join(said)


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
