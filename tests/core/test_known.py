"""Known evidence: a table that looks like a dict, whatever has moved to buffers."""

import random
from collections.abc import Sequence

import pytest

from sdstop.core import known as known_module
from sdstop.core import sheaf as sheaf_module
from sdstop.core.evidence import Evidence
from sdstop.core.known import KEPT, LENT, Known
from sdstop.core.sheaf import Sheaf, bound


def piece(name: str, said: int = 0) -> Evidence:
    return Evidence(f"/sys/{name}", data=b"%d\n" % said, monotonic=said / 3)


def moved(known: Known, pieces: list[Evidence]) -> None:
    for buffer, some in bound(pieces):
        known.adopt(buffer, some)


def same(known: Known, model: dict[str, Evidence], asked: list[str]) -> bool:
    assert {key: known.get(key) for key in asked} == {key: model.get(key) for key in asked}
    assert dict(known.items()) == model
    assert len(known) == len(model)
    assert all((key in known) is (key in model) for key in asked)
    assert sorted(known) == sorted(model)
    return True


@pytest.mark.parametrize("seed", range(20))
def test_it_is_a_dict_whatever_moves(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_module, "LENT", 2 + seed % 3)
    monkeypatch.setattr(known_module, "_PASSES", 1 + seed % 5)
    monkeypatch.setattr(known_module, "_MOST_ASKED", 20 if seed % 3 else 4096)
    monkeypatch.setattr(sheaf_module, "TOGETHER", 40 if seed % 2 else 512)
    dice = random.Random(seed)
    names = [f"n{number}" for number in range(1500)]
    asked = [f"/sys/{name}" for name in (*names[::40], "not/there")]
    known, model, number = Known(), dict[str, Evidence](), 0
    copies: list[tuple[Known, dict[str, Evidence]]] = []
    late, late_model, waiting = Known(places=known.places), dict[str, Evidence](), list[Sequence[Evidence]]()
    for _ in range(25):
        some = [piece(name, number := number + 1) for name in dice.sample(names, dice.choice((3, 40, 700)))]
        step = dice.randrange(7)
        if step == 0:
            known.update(Sheaf([buffer for buffer, _ in bound(some[1:])], [(0, some[0])]))
        else:
            known.update(some)
        model.update({each.key: each for each in some})
        if step == 1:
            for each in some[:9]:
                assert known.pop(each.key) == model.pop(each.key)
                assert known.pop(each.key) is None
        waiting.append(some)
        if step in {2, 3}:
            chosen = {at: each for at, each in enumerate(some) if dice.random() < 0.9}
            parts = list(bound(list(chosen.values())))
            for part in parts:
                known.adopt(*part)
            loose = [(at, each) for at, each in enumerate(some) if at not in chosen]
            waiting[-1] = Sheaf([buffer for buffer, _ in parts], loose)
        if step == 4:
            known.settle()
        if step == 5:
            copies.append((known.copy(), dict(model)))
        if step == 6:
            known.let_go()
        assert same(known, model, asked)
        if len(waiting) > 3:  # the state at the start of a timeline follows, and shares the places
            late.update(waiting[0])
            late_model.update({each.key: each for each in waiting.pop(0)})
            assert same(late, late_model, asked)
            if dice.random() < 0.2:
                late.settle()
    assert all(same(*each, asked) for each in copies)


def test_pieces_move_and_become_objects_again_when_asked_for() -> None:
    pieces = [piece(f"n{number}", number) for number in range(1000)]
    known = Known(pieces)
    moved(known, pieces)
    assert known["/sys/n7"] == pieces[7]
    assert known["/sys/n7"] is not pieces[7]
    with pytest.raises(KeyError):
        known["/sys/none"]


def test_a_piece_that_changed_since_does_not_move_again() -> None:
    first = [piece(f"n{number}") for number in range(300)]
    known = Known(first)
    moved(known, first)
    second = piece("n7", 1)
    known[second.key] = second
    moved(known, [second])
    assert known[second.key] is second


def test_an_older_version_does_not_move() -> None:
    old, new = piece("n1"), piece("n1", 1)
    known = Known([old])
    known[new.key] = new
    moved(known, [old])
    assert known[new.key] is new


def test_a_piece_in_use_all_the_time_becomes_an_object() -> None:
    pieces = [piece(f"n{number}", number) for number in range(300)]
    known = Known(pieces)
    moved(known, pieces)
    known.settle()
    lent = known["/sys/n1"]
    known.settle()
    assert known["/sys/n1"] is not lent
    known.settle()
    kept = known["/sys/n1"]
    known.settle()
    assert known["/sys/n1"] is kept
    other = known["/sys/n2"]
    known.settle()
    assert known["/sys/n2"] is not other
    assert dict(known.items()) == {each.key: each for each in pieces}


@pytest.mark.parametrize("in_order", [True, False])
def test_few_buffers_are_unpacked_at_once_unless_all_are_needed(
    *, in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheaf_module, "TOGETHER", 10)
    pieces = [piece(f"n{number}", number) for number in range(1000)]
    known = Known(pieces)
    moved(known, pieces)
    known.settle()
    asked = list(pieces)
    if not in_order:
        random.Random(1).shuffle(asked)
    assert [known[each.key] for each in asked] == asked
    buffers = 100
    if in_order:
        assert (len(known._lent), known._unpacked) == (LENT, buffers)
    else:
        assert len(known._lent) > LENT
        assert known._unpacked <= 5 * buffers


def test_pieces_asked_for_in_each_frame_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheaf_module, "TOGETHER", 10)
    pieces = [piece(f"n{number}", number) for number in range(1000)]
    known = Known(pieces)
    moved(known, pieces)
    asked = [pieces[number] for number in (3, 503)]
    lent = [known[each.key] for each in asked]
    for _ in range(5):
        known.let_go()
        assert all(known[each.key] is one for each, one in zip(asked, lent, strict=True))


def test_all_that_is_read_again_and_again_is_in_buffers_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheaf_module, "TOGETHER", 10)
    monkeypatch.setattr(known_module, "_MOST_ASKED", 900)
    pieces = [piece(f"n{number}", number) for number in range(1000)]
    known = Known(pieces)
    moved(known, pieces)
    unpacked = []
    for _ in range(6):
        for _ in range(10):
            assert [known[each.key] for each in pieces] == pieces
            unpacked.append(known._unpacked)
            assert len(known._lent) <= LENT
            known.let_go()
            assert len(known._lent) <= KEPT
        known.settle()
    assert max(unpacked) == 100
    assert not known._own
    assert len(known) == 1000


def test_the_last_valid_pieces_of_a_buffer_become_objects() -> None:
    pieces = [piece(f"n{number}", number) for number in range(300)]
    known = Known(pieces)
    moved(known, pieces)
    known.update(piece(f"n{number}", number + 1000) for number in range(299))
    known.settle()
    last = known["/sys/n299"]
    known.settle()
    assert known["/sys/n299"] is last


def test_keys_of_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (known_module, sheaf_module):
        monkeypatch.setattr(module, "hash", lambda _: 5, raising=False)
    one, other, never = piece("one"), piece("other"), piece("never")
    known = Known([one, other])
    moved(known, [one, other])
    assert (known.get(one.key), known.get(other.key), known.get(never.key)) == (one, other, None)
    known[never.key] = never
    assert (known.get(one.key), known.get(other.key), known.get(never.key)) == (one, other, never)
    assert dict(known.items()) == {each.key: each for each in (one, other, never)}
    assert len(known) == 3


def test_states_of_a_node_share_places() -> None:
    pieces = [piece(f"n{number}") for number in range(1000)]
    now = Known(pieces)
    then = Known(pieces, places=now.places)
    changed = piece("n7", 1)
    for buffer, some in bound(pieces):
        now.adopt(buffer, some)
        now[changed.key] = changed
        then.adopt(buffer, some)
    assert now.places is then.places
    assert (len(now._own), len(then._own)) == (1, 0)
    assert dict(then.items()) == {each.key: each for each in pieces}
    assert dict(now.items()) == {each.key: each for each in (*pieces[:7], changed, *pieces[8:])}
    then.pop(pieces[0].key)
    assert (now.get(pieces[0].key), then.get(pieces[0].key)) == (pieces[0], None)


def test_a_buffer_of_pieces_that_change_again_and_again_is_not_kept() -> None:
    first = [piece(f"n{number}") for number in range(300)]
    known = Known(first)
    moved(known, first)
    for time in range(1, 20):
        some = [piece(f"n{number}", time) for number in range(300)] + [piece(f"once/{time}")]
        known.update(some)
        moved(known, some)
    assert (len(known._buffers), len(known.places), len(known.places._parts)) == (0, 300, 1)
