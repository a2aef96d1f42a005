"""queue-depth-reduced: disks that get fewer requests at once than others of their model."""

from __future__ import annotations

import pytest

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.core.finding import Finding, Gap, RuledOut, Unchecked, Verdict
from sdstop.rules.disks.queue_depth_reduced import QUEUE_DEPTH_REDUCED
from tests.nodes.frames import Judged


def judged(*depths: int, model: str = "ST4000NM0035") -> Verdict:
    """Return the verdict on the first disk."""
    files: dict[str, str] = {}
    for number, depth in enumerate(depths):
        base = f"/sys/block/sd{chr(ord('a') + number)}"
        files |= {
            f"{base}/dev": f"8:{16 * number}\n",
            f"{base}/size": "7814037168\n",
            f"link:{base}/device": f"../../../0:0:{number}:0",
            f"{base}/device/vendor": "SEAGATE\n",
            f"{base}/device/model": f"{model}\n",
            f"{base}/device/queue_depth": f"{depth}\n",
        }
    return Judged((BLOCKDEV,), [QUEUE_DEPTH_REDUCED], [(0.0, files)]).of("sda")


@pytest.mark.parametrize(
    ("depths", "kind"),
    [
        ((1, 32, 32, 32), Finding),
        ((4, 32, 32), Finding),
        ((5, 32, 32, 32), RuledOut),  # the kernel lowers it for a while when a queue is full
        ((32, 1, 32, 32), RuledOut),
        ((1, 1, 1, 1), RuledOut),  # no disk of this node has a queue
        ((1, 32), Unchecked),
        ((1, 1, 32, 32), Unchecked),  # two kinds of controllers
        ((254, 64, 32, 1), Unchecked),
    ],
)
def test_disks_of_a_model(depths: tuple[int, ...], kind: type[Verdict]) -> None:
    assert isinstance(judged(*depths), kind)


@pytest.mark.parametrize(("depths", "gap"), [((1, 32, 32, 32), Gap.FAULTY), ((5, 32, 32, 32), Gap.OPEN)])
def test_disks_whose_model_is_not_known(depths: tuple[int, ...], gap: Gap) -> None:
    verdict = judged(*depths, model="")
    assert isinstance(verdict, Unchecked)
    assert verdict.gap is gap


def test_a_finding_states_both() -> None:
    verdict = judged(1, 32, 32, 32)
    assert isinstance(verdict, Finding)
    assert verdict.title == "QUEUE DEPTH 1, 32 on its peers"
    assert verdict.cause == "The disk gets 1 request at once, most of 4 alike 32."
