"""Order of the tests: those of one story follow each other."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.conftest import story_of
from tests.fixtures import names


def test_the_tests_of_one_story_follow_each_other(request: pytest.FixtureRequest) -> None:
    stories = frozenset(names())
    told = [story for story, _ in groupby(story_of(item, stories) for item in request.session.items)]
    assert len(told) == len(set(told))


@pytest.mark.parametrize("name", ["quiet-node"])
def test_a_parameter_names_the_story(name: str, request: pytest.FixtureRequest) -> None:
    assert story_of(request.node, frozenset({name})) == name
    assert story_of(request.node, frozenset({name[1:]})) == ""


def test_so_does_a_text_in_the_test(request: pytest.FixtureRequest) -> None:
    named = "slow-member"
    assert story_of(request.node, frozenset({named})) == named
