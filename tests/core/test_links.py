"""Links of things."""

import pytest

from sdstop.core.joins import Relation
from sdstop.core.links import Links

NEIGHBORS = [{2: Relation.MEMBER, 1: Relation.PART}, {}, {0: Relation.STORED}]


def test_links_are_those_given_in_their_order() -> None:
    links = Links(NEIGHBORS)
    assert [list(each.items()) for each in links] == [list(each.items()) for each in NEIGHBORS]
    assert len(links) == 3
    assert links[-1] == {0: Relation.STORED}
    assert links[1:] == NEIGHBORS[1:]
    assert all(how is Relation.STORED for how in links[2].values())
    with pytest.raises(IndexError):
        links[3]


def test_a_dict_that_is_changed_is_not_kept() -> None:
    links = Links(NEIGHBORS)
    links[0].clear()
    assert links[0] == NEIGHBORS[0]


def test_no_things_have_no_links() -> None:
    assert list(Links([])) == []
