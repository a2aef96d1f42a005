"""Superblocks of bcache in text of bcache-super-show."""

from __future__ import annotations

import pytest

from sdstop.collectors.bcache.superblock import BCACHE_SUPERBLOCK, parse
from sdstop.core.finding import Finding, Gap, RuledOut, Severity, Unchecked
from sdstop.core.host import Malformed
from sdstop.rules.caches.cache_errors import CACHE_ERRORS
from tests.nodes.frames import Judged

SUM = "sb.csum\t\t\t259C90FD74B4D4BA [match]\n"
TOP = f"sb.magic\t\tok\nsb.first_sector\t\t8 [match]\n{SUM}"
BACKING = TOP + (
    "sb.version\t\t1 [backing device]\n\ndev.label\t\t(empty)\ndev.uuid\t\t49202fdf\n"
    "dev.data.cache_mode\t{mode}\ndev.data.cache_state\t{state}\n\ncset.uuid\t\t9572380e\n"
)
BACK, THROUGH = "1 [writeback]", "0 [writethrough]"


def judged(text: str) -> Finding | RuledOut | Unchecked:
    said = Judged((BCACHE_SUPERBLOCK,), [CACHE_ERRORS], [(0.0, {"cmd:bcache-super-show /dev/sdb": text})])
    verdict = said.of("sdb")
    assert isinstance(verdict, Finding | RuledOut | Unchecked)
    return verdict


@pytest.mark.parametrize("state", ["0 [detached]", "1 [clean]", "2 [dirty]"])
def test_a_valid_superblock_is_good(state: str) -> None:
    assert isinstance(judged(BACKING.format(mode=BACK, state=state)), RuledOut)


@pytest.mark.parametrize(("mode", "severity"), [(BACK, Severity.CRITICAL), (THROUGH, Severity.WARNING)])
def test_a_device_that_ran_without_its_cache(mode: str, severity: Severity) -> None:
    verdict = judged(BACKING.format(mode=mode, state="3 [inconsistent]"))
    assert isinstance(verdict, Finding)
    assert (verdict.severity, verdict.title) == (severity, "STARTED WITHOUT ITS CACHE")


@pytest.mark.parametrize("rest", ["", "sb.version\t\t1 [backing device]\ndev.data.cache_state\t1 [clean]\n"])
def test_a_wrong_checksum_is_critical(rest: str) -> None:
    verdict = judged(TOP.replace("[match]\n", "[expected 0123456789ABCDEF]\n").replace("8 [exp", "8 [match]#") + rest)
    assert isinstance(verdict, Finding)
    assert (verdict.severity, verdict.title) == (Severity.CRITICAL, "SUPERBLOCK DAMAGED")


@pytest.mark.parametrize("text", ["sb.magic\t\tbad magic\n", BACKING.format(mode=BACK, state="7 [new]")])
def test_what_is_not_known_is_unchecked(text: str) -> None:
    verdict = judged(text)
    assert isinstance(verdict, Unchecked)
    assert verdict.gap is Gap.FAULTY


@pytest.mark.parametrize("cut", ["sb.version", "dev.data.cache_state"])
def test_a_superblock_that_is_cut_off_is_malformed(cut: str) -> None:
    text = BACKING.format(mode=BACK, state="1 [clean]")
    with pytest.raises(Malformed):
        parse(text[: text.index(cut)], "sdb", "k")
