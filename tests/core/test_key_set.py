"""Sets of keys in a compact form."""

from sdstop.core.key_set import KeySet, KeySets

KEYS = {f"/sys/block/sd{number}/size" for number in range(1000)} | {"link:/sys/\udcff", "tree:"}


def test_it_has_the_keys_that_it_was_given() -> None:
    compact = KeySet(KEYS)
    assert set(compact) == KEYS
    assert len(compact) == len(KEYS)
    assert all(key in compact for key in KEYS)
    assert "/sys/block/sdx/size" not in compact


def test_it_is_compared_with_other_sets() -> None:
    compact = KeySet(KEYS)
    assert compact == KEYS
    assert compact == frozenset(KEYS)
    assert compact == KeySet(KEYS)
    assert compact != KEYS - {"tree:"}
    assert compact != (KEYS - {"tree:"}) | {"tree"}
    assert compact & {"tree:", "x"} == {"tree:"}
    assert frozenset({"tree:", "x"}) & compact == {"tree:"}


def test_few_and_many_others() -> None:
    compact = KeySet(KEYS)
    for count in (1, 500):
        others = {f"/proc/{number}" for number in range(count)}
        assert compact.isdisjoint(others)
        assert not compact.isdisjoint(others | {"tree:"})


def test_several_sets_are_one() -> None:
    both = KeySets([KeySet(KEYS), frozenset({"tree:", "x"})])
    assert set(both) == KEYS | {"x"}
    assert len(both) == len(KEYS) + 1
    assert ("x" in both, "y" in both) == (True, False)
    assert both & {"x", "y"} == {"x"}
