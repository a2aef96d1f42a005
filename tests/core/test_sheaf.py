"""Evidence in buffers: every field comes back exactly."""

from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.sheaf import TOGETHER, Sheaf, bound

ODD = [
    Evidence(
        "/sys/block/sda/queue/rotational", data=b"1\n", taken=1795991532.1130548, monotonic=0.1 + 0.2, duration=1e-6
    ),
    Evidence("/sys/block/\udcff\n/size", data=b"\x00\xff", detail="\udc80 \u2028"),
    Evidence("link:/sys/a\0b", Outcome.ABSENT, detail="no such file"),
    Evidence("cmd:x -y", Outcome.FAILED, b"out", "exit 3", -0.0, 1e300, float("inf"), b"err\r\n", 3, "cut"),
    Evidence("", Outcome.DENIED),
    Evidence("/x", Outcome.TIMEOUT, exit=-9),
    Evidence("/y", Outcome.UNREAD),
]


def many(count: int) -> list[Evidence]:
    return [Evidence(f"/sys/block/sd{n}/size", data=b"%d\n" % (n % 3), monotonic=n / 7) for n in range(count)]


def exactly(pieces: list[Evidence]) -> list[str]:
    """All fields, with the sign of zero and every bit of a number."""
    return list(map(repr, pieces))


def test_every_field_comes_back_exactly() -> None:
    sheaf = Sheaf([buffer for buffer, _ in bound(ODD)])
    assert exactly(list(sheaf)) == exactly(ODD)
    assert all(type(piece) is Evidence for piece in sheaf)


def test_pieces_keep_their_order_among_loose_ones() -> None:
    pieces = many(3 * TOGETHER + 5)
    for apart in ((), (0,), (len(pieces) - 1,), (0, 1, 2, 700, 701, len(pieces) - 1)):
        small = [piece for place, piece in enumerate(pieces) if place not in apart]
        sheaf = Sheaf([buffer for buffer, _ in bound(small)], [(place, pieces[place]) for place in apart])
        assert list(sheaf) == pieces
        assert len(sheaf) == len(pieces)
        assert (sheaf[700], sheaf[-1], sheaf[3:5]) == (pieces[700], pieces[-1], pieces[3:5])


def test_some_pieces_by_their_keys() -> None:
    pieces = many(2 * TOGETHER)
    sheaf = Sheaf([buffer for buffer, _ in bound(pieces[1:])], [(0, pieces[0])])
    wanted = {pieces[0].key, pieces[9].key, pieces[-1].key, "/not/there"}
    assert sheaf.some(wanted) == {piece.key: piece for piece in pieces if piece.key in wanted}


def test_attributes_take_a_tenth_of_their_objects() -> None:
    names = ("queue/rotational", "queue/scheduler", "device/timeout", "device/queue_depth", "size", "ro", "removable")
    pieces = [
        Evidence(
            f"/sys/block/sd{disk:04}/{name}", data=b"30\n", taken=1795991532.0 + disk, monotonic=disk / 3, duration=1e-5
        )
        for disk in range(500)
        for name in names
    ]
    assert Sheaf([buffer for buffer, _ in bound(pieces)]).size < 30 * len(pieces)
