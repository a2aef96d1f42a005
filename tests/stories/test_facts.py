"""Facts changed one at a time: a story in which something turns bad is never told as before.

Each entry of facts.toml is applied alone. A finding or an unchecked verdict of the rule that it names must appear, or a
finding become more severe, and `check` must not return OK. The ordinary suite changes every sixth fact in one story;
with `-m slow`, each is changed, and in every story that has it.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from sdstop.rules import RULES
from tests.fixtures import names, opened
from tests.stories.facts import Fact, changed, facts, place, recorded, silent, stories

EVERY = [pytest.param(fact, id=f"{number}, {part}: {fact.why}") for number, (part, fact) in enumerate(facts(), 1)]
SIXTH = [
    pytest.param(*each.values, id=each.id, marks=[pytest.mark.slow] * (at % 6 > 0)) for at, each in enumerate(EVERY)
]
LEAST = 200
"""Facts that the list must have at least."""


def cheapest(fact: Fact) -> str:
    """Return the story with the fewest frames in which a fact can be changed."""
    return min(stories(fact), key=lambda story: (len(opened(story)[1]), story))


def test_the_list_is_long_and_no_fact_is_in_it_twice() -> None:
    every = Counter((fact.at, fact.find, fact.put, fact.grow, fact.hold) for _, fact in facts())
    assert [fact for fact, count in every.items() if count > 1] == []
    assert len(every) >= LEAST
    assert {part for part, _ in facts()} >= {"md", "zfs", "caches", "network", "sas", "ceph", "drbd", "powerflex"}


def test_a_fact_names_what_to_do_and_rules_that_exist() -> None:
    known, stories_known = {rule.id for rule in RULES}, names()
    for _, fact in facts():
        assert (fact.put is not None) + (fact.grow is not None) + fact.hold == 1, fact
        assert set(fact.rules) <= known, fact
        assert not fact.only or any(re.fullmatch(fact.only, story) for story in stories_known), fact


@pytest.mark.parametrize("fact", SIXTH)
def test_a_changed_fact_is_reported(fact: Fact) -> None:
    """In the cheapest story; an entry that no story has is dead, and fails here."""
    assert stories(fact), "no story has it"
    assert silent(cheapest(fact), fact) == ""


@pytest.mark.slow
@pytest.mark.parametrize("fact", EVERY)
def test_a_changed_fact_is_reported_in_every_story(fact: Fact) -> None:
    assert [(story, said) for story in stories(fact) if (said := silent(story, fact))] == []


# --- the changes themselves -------------------------------------------------------------------------------


def text_of(story: str, fact: Fact) -> list[str]:
    """Return the successive texts of the evidence that a fact changes."""
    where = place(story, fact)
    assert where is not None
    frames = changed(recorded(story)[1], fact, where.key)
    items = [item for frame in frames for item in frame.evidence if item.key == where.key]
    return [bytes(item.data).decode() for item in items]


def test_a_replacement_changes_the_first_match_in_all_frames() -> None:
    fact = Fact(r"/proc/mdstat", r"\[8/8\] \[U(U+)\]", "lost", "array-degraded", put=r"[8/7] [_\1]")
    texts = text_of("slow-member", fact)
    assert texts
    assert all("[8/7] [_UUUUUUU]" in text for text in texts)


def test_a_number_grows_by_the_second() -> None:
    fact = Fact(r"/proc/loadavg", r"(?<=/)\d+", "more tasks", "load-unexplained", grow=10)
    numbers = [int(text.split()[3].partition("/")[2]) for text in text_of("quiet-node", fact)]
    assert numbers[-1] - numbers[0] == pytest.approx(400, abs=20)


def test_a_held_fact_stays_as_in_the_first_frame() -> None:
    fact = Fact(r"/proc/uptime", r"^\S+", "stands still", "load-unexplained", hold=True)
    assert len({text.split()[0] for text in text_of("quiet-node", fact)}) == 1


def test_an_innocent_change_is_silent() -> None:
    """The test can fail: a change that no rule knows is reported as silent."""
    fact = Fact(r"/proc/sys/kernel/hostname", r"^.+", "another name", "array-degraded", put="elsewhere")
    assert silent("quiet-node", fact) == "nothing new"
