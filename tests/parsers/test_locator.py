"""What names of slots prove, and of what they prove nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.memory.channels import FAMILIES, family
from sdstop.collectors.memory.locator import Slot, SlotPlace, places


def slot(locator: str, bank: str = "", *, filled: bool = True, array: int | None = 0) -> Slot:
    return Slot(locator, bank, array, filled)


def read(*names: tuple[str, str], sockets: int = 2, channels: int | None = None) -> list[tuple[int | None, str | None]]:
    found = places([slot(*name) for name in names], sockets, channels)
    return [(place.socket, place.channel) for place in found]


@pytest.mark.parametrize(
    ("first", "second", "channels"),
    [
        (("P1-DIMMA1", "P0_Node0_Channel0_Dimm0"), ("P2-DIMMA1", "P1_Node1_Channel2_Dimm0"), ("0", "1.2")),
        (("P1-DIMMA1", ""), ("P2_DIMMB1", ""), ("A", "B")),
        (("P1-DIMM1A", "BANK0"), ("P2-DIMM2B", "BANK1"), ("1", "2")),
        (("PROC  1 DIMM  1", ""), ("PROC  2 DIMM 12", ""), (None, None)),
        (("DIMM 9", "CPU 1"), ("DIMM 9", "CPU 2"), (None, None)),
        (("D7", "/SYS/MB/P0"), ("D7", "/SYS/MB/P1"), (None, None)),
        (("CPU0_DIMM_A0", "NODE 1"), ("CPU1_DIMM_B0", "NODE 2"), ("A", "B")),
        (("DIMM000", "_Node0_Channel0_Dimm0"), ("DIMM110", "_Node1_Channel1_Dimm0"), ("0", "1")),
        (("x", "SOCKET 0 CHANNEL 3 DIMM 0"), ("y", "SOCKET 1 CHANNEL 0 DIMM 0"), ("3", "0")),
        (("P0-ChF-DIMM0", ""), ("P1-ChA-DIMM0", ""), ("F", "A")),
        (("A1", ""), ("B12", ""), (None, None)),
        (("DIMM_A1", ""), ("DIMM_B1", ""), (None, None)),
        (("DIMM_A1", "NODE 0 CHANNEL 0 DIMM 0"), ("DIMM_J1", "NODE 1 CHANNEL 2 DIMM 0"), ("0", "2")),
        (("DIMM_A1", "NODE 1"), ("DIMM_G1", "NODE 2"), ("A", "G")),
        (("CPU0_C0D0", ""), ("CPU1_C3D1", ""), ("0", "3")),
        (("P1_DIMM_A1", ""), ("P2_DIMM_H1", ""), ("A", "H")),
        (("CPU1 DIMM A1", ""), ("CPU2 DIMM B1", ""), ("A", "B")),
        (("CPU0_CH1_DIMM0", ""), ("CPU1_CH0_DIMM1", ""), ("1", "0")),
        (("Node0_Dimm0", "Bank0"), ("Node1_Dimm1", "Bank1"), (None, None)),
    ],
)
def test_names_that_tell(first: tuple[str, str], second: tuple[str, str], channels: tuple[str | None, ...]) -> None:
    assert read(first, second) == [(0, channels[0]), (1, channels[1])]


@pytest.mark.parametrize(
    "names",
    [
        [("DIMM1", "BANK1"), ("DIMM2", "BANK2")],
        [("DIMM001", ""), ("DIMM113", "")],
        [("P2-DIMMA1", ""), ("P2-DIMMB1", "")],  # counted from 0 or from 1?
        [("P1-DIMMA1", ""), ("DIMM2", "")],
        [("A1", ""), ("B1", ""), ("C1", "")],
        [("RAM slot #0", "RAM slot #0"), ("RAM slot #1", "RAM slot #1")],
    ],
)
def test_names_that_do_not(names: list[tuple[str, str]]) -> None:
    assert set(read(*names)) == {(None, None)}


def test_letters_over_all_sockets_are_channels() -> None:
    names = [(f"DIMM_{letter}1", "") for letter in "ABCDEFGH"]
    assert read(*names, channels=4)[3:5] == [(0, "D"), (1, "E")]
    assert set(read(*names, channels=6)) == {(None, None)}


def test_a_processor_has_several_controllers() -> None:
    names = [(f"DIMM_{letter}1", f"NODE {1 + at // 2}") for at, letter in enumerate("ABCDEFGH")]
    assert read(*names) == [
        (0, "0.A"), (0, "0.B"), (0, "1.C"), (0, "1.D"), (1, "0.E"), (1, "0.F"), (1, "1.G"), (1, "1.H"),
    ]  # fmt: skip
    assert set(read(*names, sockets=3)) == {(None, None)}


def test_one_array_for_each_socket() -> None:
    slots = [slot("DIMM1", array=0), slot("DIMM1", array=1)]
    assert places(slots, 2, None) == [SlotPlace(0), SlotPlace(1)]
    assert places(slots, 3, None) == [SlotPlace(), SlotPlace()]


def test_what_empty_slots_do_not_say_is_read_of_their_other_name() -> None:
    slots = [
        slot("P1-DIMMA1", "P0_Node0_Channel0_Dimm0"),
        slot("P1-DIMMB1", "NO DIMM", filled=False),
        slot("P2-DIMMA1", "P1_Node0_Channel0_Dimm0"),
    ]
    assert places(slots, 2, None) == [SlotPlace(0, "A"), SlotPlace(0, "B"), SlotPlace(1, "A")]


def test_one_socket_has_them_all() -> None:
    assert read(("DIMM1", ""), ("DIMM2", ""), sockets=1) == [(0, None), (0, None)]


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), max_size=8), st.integers(0, 4))
def test_any_names_have_a_place_or_none(names: list[tuple[str, str]], sockets: int) -> None:
    found = read(*names, sockets=sockets, channels=4)
    assert len(found) == len(names)
    assert all(socket is None or 0 <= socket < sockets for socket, _ in found)


@pytest.mark.parametrize(
    ("model", "channels", "fastest"),
    [
        ("Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz", 4, 2133),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", 4, 2400),
        ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", 4, None),
        ("Intel(R) Xeon(R) CPU E5-2407 v2 @ 2.40GHz", 3, None),
        ("Intel(R) Xeon(R) CPU           X5650  @ 2.67GHz", 3, None),
        ("Intel(R) Xeon(R) Silver 4116 CPU @ 2.10GHz", 6, 2400),
        ("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 6, 2933),
        ("Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", 6, None),
        ("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 8, 3200),
        ("Intel(R) Xeon(R) Gold 6430", 8, None),
        ("Intel(R) Xeon(R) Platinum 8352V CPU @ 2.10GHz", 8, None),
        ("Intel(R) Xeon(R) Gold 6262V CPU @ 1.90GHz", 6, None),
        ("Intel(R) Xeon(R) Bronze 3204 CPU @ 1.90GHz", 6, 2133),
        ("AMD EPYC 7551 32-Core Processor", 8, None),
        ("AMD EPYC 7763 64-Core Processor", 8, 3200),
        ("AMD EPYC 7402P 24-Core Processor", 8, 3200),
        ("AMD EPYC 9354 32-Core Processor", 12, 4800),
        ("AMD EPYC 8324P 32-Core Processor", 6, 4800),
    ],
)
def test_processors(model: str, channels: int, fastest: int | None) -> None:
    found = family(model)
    assert found is not None
    assert (found.channels, found.fastest) == (channels, fastest)


@pytest.mark.parametrize(
    "model",
    [
        None,
        "",
        "QEMU Virtual CPU version 2.5+",
        "Intel(R) Core(TM) i7-8700",
        "AMD EPYC 7282 16-Core Processor",
        "EPYC",
        "Xeon",
    ],
)
def test_processors_that_are_not_known(model: str | None) -> None:
    assert family(model) is None


def test_every_family_has_a_source() -> None:
    assert all(known.source and 1 < known.channels <= 12 for known in FAMILIES)
