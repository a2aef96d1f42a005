"""Quotas of users, groups and projects: how many are exhausted, and the fullest one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from sdstop.collectors.filesystems.readings import Quotas
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several, outputs
from sdstop.core.host import Absent, Host, Malformed
from sdstop.core.text import json_text, json_whole

QUESTION = "filesystems.quotas"
NEAR = 0.95
"""Share of a hard limit above which a quota is nearly exhausted."""
_PACE = 600.0
"""Seconds between runs."""


class Quota(Struct, frozen=True):
    """The quota of one owner: bytes and files used, their limits (0: none), and whether the time of grace is over."""

    owner: str
    used: int
    soft: int
    hard: int
    files: int
    file_soft: int
    file_hard: int
    expired: bool = False

    @property
    def share(self) -> float:
        """Largest share of a limit that is used; of soft limits only without a hard one."""
        limits = ((self.used, self.hard or self.soft), (self.files, self.file_hard or self.file_soft))
        return max((used / limit for used, limit in limits if limit), default=0.0)

    @property
    def exhausted(self) -> bool:
        """Whether the owner cannot write, or cannot make files."""
        full = (self.hard and self.used >= self.hard) or (self.file_hard and self.files >= self.file_hard)
        above = (self.soft and self.used > self.soft) or (self.file_soft and self.files > self.file_soft)
        return bool(full) or bool(above and self.expired)


def _row(device: str, kind: str, quotas: list[Quota], told: str, needle: str, **more: Any) -> Quotas:
    fullest = max(quotas, key=lambda each: (each.exhausted, each.share), default=None)
    return Quotas(
        device=device, kind=kind, exhausted=sum(each.exhausted for each in quotas),
        near=sum(each.exhausted or each.share >= NEAR for each in quotas),
        fullest=fullest.owner if fullest is not None else None,
        share=fullest.share if fullest is not None else None, told=told, needle=needle, **more,
    )  # fmt: skip


def parse(said: Any) -> Iterator[Quotas]:
    """Yield the rows of an answer (sdstop.node.answers has its form). Raises Malformed for anything else."""
    if not isinstance(said, list):
        raise Malformed(f"{QUESTION}: not a list")
    for row in said:
        device, kind = (json_text(row.get(name)) if isinstance(row, dict) else None for name in ("source", "kind"))
        if device is None or kind is None or not isinstance(row.get("fullest"), list):
            raise Malformed(f"{QUESTION}: quotas without a device")
        yield _row(
            device, kind, [_quota(each) for each in row["fullest"]], f"answer:{QUESTION}", f'"source": "{device}"',
            point=json_text(row.get("point")), limited=json_whole(row.get("limited")), cut=row.get("cut") is True,
        )  # fmt: skip


_NUMBERS = ("used", "soft", "hard", "files", "file_soft", "file_hard")


def _quota(said: Any) -> Quota:
    names = ("id", *_NUMBERS, "expired")
    numbers = [json_whole(said.get(name)) if isinstance(said, dict) else None for name in names]
    known = [number for number in numbers if number is not None]
    if len(known) < len(names):
        raise Malformed(f"{QUESTION}: a quota without numbers")
    ident, used, soft, hard, files, file_soft, file_hard, expired = known
    return Quota(str(ident), used, soft, hard, files, file_soft, file_hard, bool(expired))


_HEAD = expression(r"\*\*\* Report for (?P<kind>user|group|project) quotas on device (?P<device>/dev/\S+)")
_SIZE = r"\d{1,20}[KMGTP]?"
_GRACE = r"(?:none|\d{1,4}days?|\d{1,3}:\d\d|-)"
_ROW = expression(
    rf"(?P<owner>\S+)\s+[+-]{{2}}\s+(?P<used>{_SIZE})\s+(?P<soft>{_SIZE})\s+(?P<hard>{_SIZE})(?:\s+(?P<grace>{_GRACE}))?"
    rf"\s+(?P<files>{_SIZE})\s+(?P<file_soft>{_SIZE})\s+(?P<file_hard>{_SIZE})(?:\s+(?P<file_grace>{_GRACE}))?"
)
_POWERS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_QUIET = expression(r"Block grace time: .*|.*Block limits +File limits|User .*|Group .*|Project .*|[-=]{20,}|#.*|")


def parse_text(text: str, key: str) -> Iterator[Quotas]:
    """Yield the rows of `repquota` (quota-tools 4, also with -s and -a).

    Raises Malformed for a line that is not understood.

    *** Report for user quotas on device /dev/mapper/vg0-home
    User            used    soft    hard  grace    used  soft  hard  grace
    anna      +- 1048576  943718 1048576  6days    1211     0     0
    """
    head: re.Match[str] | None = None
    found: list[Quota] = []
    for line in [*text.splitlines(), "*** Report for user quotas on device /dev/none"]:
        begun = _HEAD.fullmatch(line.strip())
        if begun is not None:
            if head is not None:
                limited = [each for each in found if each.share or each.exhausted]
                yield _row(head["device"], head["kind"], found, key, head[0], limited=len(limited))
            head, found = begun, []
        elif (row := _ROW.fullmatch(line.strip())) is not None and head is not None:
            found.append(_of_text(row))
        elif _QUIET.fullmatch(line.strip()) is None:
            raise Malformed(f"repquota: {line.strip()[:60]!r}")


def _of_text(row: re.Match[str]) -> Quota:
    used, soft, hard = (_number(row[name], 1024) for name in ("used", "soft", "hard"))
    files, file_soft, file_hard = (_number(row[name], 1) for name in ("files", "file_soft", "file_hard"))
    expired = "none" in {row["grace"], row["file_grace"]}
    return Quota(row["owner"], used, soft, hard, files, file_soft, file_hard, expired)


def _number(text: str, unit: int) -> int:
    if text[-1].isdigit():
        return int(text) * unit
    return int(text[:-1]) * (_POWERS[text[-1]] if unit > 1 else 1000 ** (1 + "KMGTP".index(text[-1])))


def without_owners(data: bytes) -> bytes:
    """Return an output of repquota with numbers instead of the names of users, groups and projects."""
    lines, number = [], 0
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        row = _ROW.fullmatch(line.strip())
        number += row is not None
        lines.append(line if row is None else line.replace(row["owner"], f"owner{number}", 1))
    return "\n".join(lines).encode("utf-8", "surrogateescape")


TEXT = Form(
    key=command_key(("repquota", "-a")),
    first=r"\*\*\* Report for (?:user|group|project) quotas on device /dev/\S+",
    reads="quotas of users, groups and projects",
    versions="quota-tools 4",
    several=Several.JOINED,
)


def read(host: Host) -> Iterable[Quotas]:
    """Return the quotas of the live node, or those of recorded outputs. Raises Absent without any."""
    found = [row for each in outputs(host, TEXT) for row in parse_text(each.text, each.key)]
    if found:
        return found
    found = list(parse(host.answer(QUESTION)))
    if not found:
        raise Absent(f"answer:{QUESTION}", "no quotas on")
    return found


QUOTAS = Collector(
    "quotas",
    "Quotas of local file systems",
    read,
    (Quotas,),
    (
        Question(QUESTION, "quotas of users, groups and projects, if they are on", "root"),
        Need("cmd:repquota *", "the same, from captures only", redact=without_owners),
    ),
    _PACE,
    deadline=10.0,
    resting=3600.0,
    forms=(TEXT,),
)
