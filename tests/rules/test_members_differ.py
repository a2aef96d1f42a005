"""members-differ: settings of the members of one array."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.md.arrays import MDRAID
from sdstop.collectors.md.members import MDMEMBERS
from sdstop.core.finding import Finding, RuledOut, Severity
from sdstop.rules.arrays.members_differ import MEMBERS_DIFFER
from tests.nodes.frames import Judged

ALIKE = {
    "queue/rotational": "0", "queue/write_cache": "write back", "queue/nr_requests": "256",
    "queue/scheduler": "[none] mq-deadline", "device/rev": "A001", "device/model": "M1", "device/vendor": "V",
}  # fmt: skip


def judged(*changed: dict[str, str], count: int = 4) -> Judged:
    """Judge a RAID5 whose members have these settings besides those that are alike."""
    names = [f"sd{letter}" for letter in "abcdefgh"[:count]]
    rows = [*changed, *[{}] * (count - len(changed))]
    members = " ".join(f"{name}1[{place}]" for place, name in enumerate(names))
    files = {
        "list:/sys/block": "\n".join([*names, "md0"]), "/sys/block/md0/dev": "9:0",
        "/proc/mdstat": f"Personalities : [raid6]\nmd0 : active raid5 {members}\n      2093056 blocks super 1.2"
        f" level 5, 512k chunk, algorithm 2 [{count}/{count}] [{'U' * count}]\n\nunused devices: <none>\n",
    }  # fmt: skip
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        files |= {f"/sys/block/{name}/{file}": f"{value}\n" for file, value in (ALIKE | row).items() if value}
        files |= {
            f"link:/sys/block/{name}/device": f"../../../0:0:{place}:0",
            f"/sys/block/{name}/dev": f"8:{16 * place}\n",
            f"/sys/block/{name}/{name}1/dev": f"8:{16 * place + 1}\n",
        }
        files |= {
            f"/sys/block/{name}/{name}1/partition": "1\n",
            f"list:/sys/block/{name}": f"dev\n{name}1\nqueue\ndevice",
        }
    return Judged((BLOCKDEV, MDRAID, MDMEMBERS), [MEMBERS_DIFFER], [(0.0, files)])


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"queue/write_cache": "write through"}, "sda: write cache write through, write back on the other members."),
        ({"queue/scheduler": "none [mq-deadline]"}, "sda: scheduler mq-deadline, none on the other members."),
        ({"queue/nr_requests": "64"}, "sda: queue size 64, 256 on the other members."),
        ({"queue/rotational": "1"}, "sda: kind of disk rotating, flash on the other members."),
        ({"device/rev": "A002"}, "sda: firmware A002, A001 on the other members."),
    ],
)
def test_a_member_that_differs(changed: dict[str, str], cause: str) -> None:
    finding = judged(changed).finding("md0")
    assert (finding.severity, finding.cause, finding.disks) == (Severity.INFO, cause, ("sda",))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"queue/nr_requests": "65"},  # not four times fewer
        {"device/rev": "A002", "device/model": "M2"},  # another model has its own firmware
        {"queue/write_cache": ""},  # unknown is no difference
    ],
)
def test_members_that_are_alike(changed: dict[str, str]) -> None:
    assert judged(changed).ruled_out("md0").summary == "4 members with the same settings"


def test_of_two_halves_none_is_the_odd_one() -> None:
    finding = judged({"queue/write_cache": "write through"}, count=2).finding("md0")
    assert finding.cause == "Its write cache differs: write through on sda, write back on sdb."
    assert finding.disks == ("sda", "sdb")


def test_several_settings_are_counted() -> None:
    finding = judged({"queue/write_cache": "write through", "queue/nr_requests": "4"}).finding("md0")
    assert finding.title == "MEMBERS DIFFER: write cache, queue size"
    more = judged({"queue/write_cache": "write through", "queue/nr_requests": "4", "queue/rotational": "1"})
    assert more.finding("md0").title == "MEMBERS DIFFER in 3 settings"


def test_a_member_without_a_queue_is_not_called_alike() -> None:
    said = judged(dict.fromkeys(ALIKE, ""))
    assert not any(isinstance(each, (Finding, RuledOut)) for each in said.all)
