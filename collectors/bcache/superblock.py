"""Superblocks of bcache in recorded output of bcache-super-show (bcache-tools 1.0 to 1.1, bcache-super-show.c).

    sb.magic                ok
    sb.first_sector         8 [match]
    sb.csum                 70AE2DCA768AC61A [match]
    sb.version              1 [backing device]

    dev.label               (empty)
    dev.uuid                063814f0-a14b-4db5-9cd5-b98ef658993f
    dev.data.cache_mode     1 [writeback]
    dev.data.cache_state    2 [dirty]

    cset.uuid               d6420bd9-a45f-4688-a9c0-217c88072449

A wrong magic, sector or checksum ends the output with its line: `sb.csum 01 [expected 02]`.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.bcache.readings import BcacheSuperblock
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import Form, FormOutput, Several, outputs
from sdstop.core.host import Absent, Host, Malformed

_FIELD = expression(r"(?P<name>(?:sb|dev|cset)\.[a-z_.]{2,40})\s+(?P<value>\S.{0,200}?)\s*")
_CHECKED = ("sb.magic", "sb.first_sector", "sb.csum")
_DEVICE = expression(r"[ _](?:/dev/|[._]dev[._])(?P<name>[a-z][a-z0-9]{1,30})$")
"""Device in the key of an output, or in the name of its file in a capture or sosreport."""
_WORD = expression(r"\d{1,3} \[(?P<word>[a-z ]{1,30})\]")


def _parts(text: str) -> list[dict[str, str]]:
    """Return the fields of each superblock of a text."""
    found: list[dict[str, str]] = []
    for line in text.splitlines():
        field = _FIELD.fullmatch(line.strip())
        if field is not None:
            if field["name"] == "sb.magic" or not found:
                found.append({})
            found[-1].setdefault(field["name"], field["value"])
    return found


def _word(value: str | None) -> str | None:
    word = _WORD.fullmatch(value or "")
    return word["word"] if word is not None else None


def parse(text: str, device: str, key: str) -> list[BcacheSuperblock]:
    """Return the superblocks. Raises Malformed for one that ends before the state of its data, and is not damaged."""
    rows = []
    for place, said in enumerate(_parts(text)):
        damage = next((name for name in _CHECKED if said.get(name, "ok").startswith("bad") or "[expected" in
                       said.get(name, "")), None)  # fmt: skip
        kind, state = _word(said.get("sb.version")), _word(said.get("dev.data.cache_state"))
        if damage is None and (kind is None or (kind == "backing device" and state is None)):
            raise Malformed(f"bcache-super-show: ends after {next(reversed(said), '')[:40]!r}")
        needle = damage or ("dev.data.cache_state" if state is not None else "sb.version")
        name = device if not place else f"{device}#{place + 1}"
        rows.append(BcacheSuperblock(name, kind, _word(said.get("dev.data.cache_mode")), state, damage, key, needle))
    if not rows:
        raise Malformed(f"bcache-super-show: {text.strip()[:60]!r}")
    return rows


FORM = Form(
    key="cmd:bcache-super-show",
    first=r"sb\.magic\s+(?:ok|bad magic)",
    reads="superblocks of bcache: whether they are valid, and the state of the data",
    versions="bcache-tools 1.0 and 1.1",
    goes_on=r"(?:sb|dev|cset)\.[a-z_.]+\s+\S.*|(?:Invalid|Corrupt) superblock .*",
    several=Several.JOINED,
)


def _device(output: FormOutput) -> str:
    found = _DEVICE.search(output.key)
    return found["name"] if found is not None else "superblock"


def read(host: Host) -> Iterable[BcacheSuperblock]:
    """Return the superblocks of all recorded outputs. Raises Absent without any, Malformed."""
    known = list(outputs(host, FORM))
    if not known:
        raise Absent(FORM.key, "not recorded", recorded=False)
    return [row for each in known for row in parse(each.text, _device(each), each.key)]


BCACHE_SUPERBLOCK = Collector(
    "bcache-superblock",
    "Superblocks of bcache in recorded output of bcache-super-show",
    read,
    (BcacheSuperblock,),
    (Need("cmd:bcache-super-show*", "superblocks of cache and backing devices, from captures only; never run"),),
    forms=(FORM,),
)
