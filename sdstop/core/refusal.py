"""Refusals: error messages that a program prints instead of its output.

Recorded output often has standard error among its lines, and no exit status.
"""

from __future__ import annotations

import re

from msgspec import Struct

from sdstop.core.evidence import Outcome
from sdstop.core.expression import expression

NO_MAPPER = "device mapper is not active in this kernel"
NO_PACEMAKER = "Pacemaker does not run here"
_BEGINNING = 2000
"""Characters at the beginning of an output that can be a refusal."""
_SEPARATOR = expression(r"[ _]")


class Refusal(Struct, frozen=True):
    """Why a program showed nothing: ABSENT or DENIED, and the reason."""

    outcome: Outcome
    reason: str


_DENIED = r"[Pp]ermission denied|[Oo]peration not permitted"
_MESSAGES = (
    (
        expression(r"dmsetup|dmstats"),
        expression(r"\A.{0,80}?(?:/dev/mapper/control: open failed: No such|Check that device-mapper is a)", re.DOTALL),
        Refusal(Outcome.ABSENT, NO_MAPPER),
    ),
    (
        expression(r"dmsetup|dmstats"),
        expression(rf"\A/dev/mapper/control: [\w ]+: (?:{_DENIED})"),
        Refusal(Outcome.DENIED, "needs root: device mapper requires it"),
    ),
    (
        expression(r"crm|pcs"),  # crm_mon, too
        expression(
            r"Connection to cluster failed: (?![Pp]erm)|cluster is not (?:currently running|available on this node)"
            r"|is pacemaker running\?"
        ),
        Refusal(Outcome.ABSENT, NO_PACEMAKER),
    ),
    (
        expression(r"dmidecode"),
        expression(r"^# No SMBIOS nor DMI entry point found", re.MULTILINE),
        Refusal(Outcome.ABSENT, "no SMBIOS table"),
    ),
    (
        expression(r"dmidecode"),
        expression(rf"^/dev/mem: |^/sys/firmware/dmi/tables/\w+: (?:{_DENIED})", re.MULTILINE),
        Refusal(Outcome.DENIED, "dmidecode was not able to read the table"),
    ),
)
"""Programs, the beginnings of their messages, and the meaning: dmsetup 1.02, crm_mon 1.1 and 2, pcs 0.9 to 0.11,
dmidecode 3."""


def refusal(command: str, text: str) -> Refusal | None:
    """Return why a command showed nothing, None if its output has no such message; `command`: a line or its slug."""
    program = _SEPARATOR.split(command, maxsplit=1)[0]
    beginning = text[:_BEGINNING]
    return next(
        (found for of, message, found in _MESSAGES if of.fullmatch(program) and message.search(beginning)), None
    )
