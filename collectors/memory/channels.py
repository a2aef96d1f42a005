"""Memory channels and maximum memory speed of processors, by model name.

Unlisted processors are unknown; values are never guessed from similar models. The values are published by the
vendors for one module per channel; `source` names the publication and any check against slot names of real machines.
"""

from __future__ import annotations

from msgspec import Struct

from sdstop.core.expression import expression

_ARK = "Intel ARK, product specifications"
_AMD = "AMD, server processor specifications"
_SEEN = "; the same number of channels in slot names of real machines"


class Family(Struct, frozen=True):
    """Processors with matching names: channels per socket; MT/s with one module per channel (None if it differs)."""

    pattern: str
    channels: int
    fastest: int | None
    source: str


FAMILIES: tuple[Family, ...] = (
    Family(r"Xeon.* [ELXW]5[56]\d\d\b", 3, None, _ARK),
    Family(r"Xeon.* E5-[12]4\d\d", 3, None, _ARK),
    Family(r"Xeon.* E5-26(?:03|09) v4", 4, 1866, _ARK + _SEEN),
    Family(r"Xeon.* E5-26(?:20|30|40) v4", 4, 2133, _ARK + "; 18 of 18 real machines with E5-2620 v4 run at 2133"),
    Family(r"Xeon.* E5-26[5-9]\dA? v4", 4, 2400, _ARK + _SEEN),
    Family(r"Xeon.* E5-26(?:03|09) v3", 4, 1600, _ARK + _SEEN),
    Family(r"Xeon.* E5-26(?:20|30|40) v3", 4, 1866, _ARK + _SEEN),
    Family(r"Xeon.* E5-26[5-9]\d v3", 4, 2133, _ARK + _SEEN),
    Family(r"Xeon.* E5-(?:16|26|46)\d\d", 4, None, _ARK + _SEEN),
    Family(r"Xeon.* (?:E3-12|E-2[1234])\d\d", 2, None, _ARK),
    Family(r"Xeon.* D-15\d\d", 2, None, _ARK),
    Family(r"Xeon.* Bronze 3[12]0\d", 6, 2133, _ARK + _SEEN),
    Family(r"Xeon.* Silver 4[12]\d\d", 6, 2400, _ARK + _SEEN),
    Family(r"Xeon.* Gold 62\d\dV", 6, None, _ARK + _SEEN),
    Family(r"Xeon.* (?:Gold 61|Platinum 81)\d\d", 6, 2666, _ARK + _SEEN),
    Family(r"Xeon.* (?:Gold 62|Platinum 82)\d\d", 6, 2933, _ARK + _SEEN),
    Family(r"Xeon.* (?:Gold 5[12])\d\d", 6, None, _ARK + _SEEN),
    Family(r"Xeon.* (?:Gold [56]3|Platinum 83)\d\dHL?\b", 6, None, _ARK),
    Family(r"Xeon.* Silver 43\d\d", 8, 2666, _ARK + _SEEN),
    Family(r"Xeon.* Platinum 83(?:58|60Y|62|68|80)\b", 8, 3200, _ARK + _SEEN),
    Family(r"Xeon.* (?:Gold [56]|Platinum 8)3\d\d", 8, None, _ARK + _SEEN),
    Family(r"Xeon.* (?:Bronze 3|Silver 4|Gold [56]|Platinum 8)[45]\d\d", 8, None, _ARK + _SEEN),
    Family(r"EPYC 7[0-9A-Z]\d1P?\b", 8, None, _AMD + _SEEN),
    # 7232P, 7252, 7272 and 7282 have eight channels with the bandwidth of four: not listed.
    Family(r"EPYC 7(?!232|252|272|282)[0-9A-Z]\d[23][PXF]?\b", 8, 3200, _AMD + _SEEN),
    Family(r"EPYC 8\d\d4", 6, 4800, _AMD),
    Family(r"EPYC 9[0-9A-Z]\d4", 12, 4800, _AMD),
    Family(r"EPYC 9[0-9A-Z]\d5", 12, None, _AMD),
)
"""Processor families in matching order; the first match applies."""

_COMPILED = tuple((expression(family.pattern), family) for family in FAMILIES)
_MARKS = expression(r"\((?:R|TM|r|tm)\)|\s+")


def family(model: str | None) -> Family | None:
    """Return the family of a processor name, `Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz`; None if not listed."""
    plain = " ".join(_MARKS.sub(" ", (model or "")[:200]).split())
    return next((family for pattern, family in _COMPILED if pattern.search(plain)), None)
