"""Slots, modules and channels from the firmware's table."""

import pytest

from sdstop.collectors.memory.dimms import CPUINFO, read
from sdstop.collectors.memory.readings import TABLE, Dimm, MemorySocket
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Denied, Malformed
from sdstop.core.model import Source, schema
from tests.nodes.firmware import DMIDECODE, E5_2620_V4, Board, Module, board


def rows(made: Board, cpuinfo: str = "") -> tuple[list[Dimm], list[MemorySocket]]:
    found = list(read(EvidenceHost.of({TABLE: made.table(), CPUINFO: cpuinfo})))
    return [r for r in found if isinstance(r, Dimm)], [r for r in found if isinstance(r, MemorySocket)]


def test_the_story_s_node() -> None:
    dimms, sockets = rows(board((1, 1)))
    assert [(d.slot, d.socket, d.channel, d.size) for d in dimms[:2]] == [
        ("P1-DIMMA1", "0", "A", 1 << 34),
        ("P1-DIMMB1", "0", "B", 0),
    ]
    for row in sockets:
        assert (row.channels, row.used, row.at_most, row.dimms, row.slots, row.basis) == (4, 1, False, 1, 4, "cpu")
        assert (row.cpu, row.capacity, row.fastest) == (E5_2620_V4, 1 << 34, 2133)
        assert row.peak == pytest.approx(17.064e9)
        assert row.possible == pytest.approx(68.256e9)


def test_speeds_are_told_in_transfers_a_second() -> None:
    dimms, _ = rows(board())
    assert schema(Dimm).row(dimms[0])["configured"] == 2133e6


def test_without_a_channel_the_number_of_modules_is_the_limit() -> None:
    _, sockets = rows(board((2, 2), slots=12, names="PROC {cpu} DIMM {n}"))
    assert [(row.used, row.at_most) for row in sockets] == [(2, True)] * 2
    _, sockets = rows(board((10, 1), slots=12, names="PROC {cpu} DIMM {n}"))  # three slots a channel
    assert [(row.used, row.at_most) for row in sockets] == [(4, False), (1, False)]


def test_slots_that_do_not_tell_their_socket() -> None:
    dimms, sockets = rows(board((1, 1), names="DIMM{all}"))
    assert {d.socket for d in dimms} == {None}
    assert [(row.used, row.dimms, row.peak, row.channels) for row in sockets] == [(None, None, None, 4)] * 2


def test_an_unknown_processor_has_the_channels_that_its_slots_name() -> None:
    _, sockets = rows(board((1, 1), slots=6, cpus=("Future 1", "Future 1")))
    assert [(row.channels, row.used, row.basis) for row in sockets] == [(6, 1, "slots")] * 2
    _, sockets = rows(board((1, 1), names="PROC {cpu} DIMM {n}", cpus=("Future 1", "Future 1")))
    assert [(row.channels, row.used, row.basis) for row in sockets] == [(None, None, None)] * 2


def test_a_virtual_machine_s_processor_says_nothing_of_its_channels() -> None:
    made = board((1,), names="RAM slot #{n}", cpus=(E5_2620_V4,), system=("VMware, Inc.", "VMware7,1"))
    _, sockets = rows(made)
    assert [(row.virtual, row.channels, row.basis) for row in sockets] == [(True, None, None)]


def test_a_small_board_has_fewer_slots_than_channels() -> None:
    _, sockets = rows(board((2,), slots=2, names="DIMM{n}", cpus=("AMD EPYC 7402P 24-Core Processor",)))
    assert [(row.channels, row.used) for row in sockets] == [(2, 2)]


def test_an_empty_processor_socket_has_no_row() -> None:
    _, sockets = rows(board((2, 0), cpus=(E5_2620_V4, None)))
    assert [(row.socket, row.dimms) for row in sockets] == [("0", 2)]


def test_a_module_of_unknown_size_leaves_its_socket_unknown() -> None:
    made = board((1, 1))
    made.modules[0].size = -1
    _, sockets = rows(made)
    assert [(row.dimms, row.capacity, row.used) for row in sockets] == [(None, None, None), (1, 1 << 34, 1)]


def test_empty_slots_without_a_name_are_not_counted() -> None:
    made = board((1, 1), slots=2)
    for module in made.modules:
        module.locator = module.locator if module.size else "NO DIMM"
    _, sockets = rows(made)
    assert [(row.slots, row.dimms, row.channels, row.used, row.at_most) for row in sockets] == [
        (None, 1, 4, 1, False)
    ] * 2
    made.cpus = ("Future 1", "Future 1")
    assert {row.channels for row in rows(made)[1]} == {None}


def test_slots_without_any_module() -> None:
    _, sockets = rows(board((0, 0), names="DIMM{all}"))
    assert [(row.slots, row.peak) for row in sockets] == [(None, None)] * 2


def test_the_model_is_the_kernel_s_where_the_firmware_has_none() -> None:
    _, sockets = rows(board(cpus=("Not Specified", " ")), f"processor\t: 0\nmodel name\t: {E5_2620_V4}\n" * 2)
    assert [(row.cpu, row.channels) for row in sockets] == [(E5_2620_V4, 4)] * 2


def test_slots_of_one_name_are_told_apart() -> None:
    made = Board([Module("DIMM 1", bank="CPU 1"), Module("DIMM 1", bank="CPU 2"), Module(""), Module("")])
    assert [d.slot for d in rows(made)[0]] == ["CPU 1 DIMM 1", "CPU 2 DIMM 1", "slot #1", "slot #2"]


def test_modules_of_other_arrays_are_no_memory() -> None:
    made = board((1, 1))
    made.modules.append(Module("BIOS", 16, array=7))
    assert "BIOS" not in [d.slot for d in rows(made)[0]]


def test_recorded_text_stands_in_for_the_table() -> None:
    found = list(read(EvidenceHost.of({"cmd:dmidecode -t memory": DMIDECODE})))
    assert [r.slot for r in found if isinstance(r, Dimm)] == ["PROC  1 DIMM  1", "PROC  1 DIMM  2"]
    assert {r.source().key for r in found if isinstance(r, Dimm)} == {"cmd:dmidecode -t memory"}  # type: ignore[union-attr]


def test_whoever_is_not_root_is_told() -> None:
    with pytest.raises(Denied):
        list(read(EvidenceHost([Evidence(TABLE, Outcome.DENIED)])))
    with pytest.raises(Absent):
        list(read(EvidenceHost([Evidence(TABLE, Outcome.ABSENT)])))


def test_a_damaged_table_is_refused() -> None:
    with pytest.raises(Malformed):
        list(read(EvidenceHost.of({TABLE: board().table()[:300]})))


def test_a_row_knows_where_it_stands() -> None:
    dimms, sockets = rows(board())
    assert dimms[0].source() == Source(TABLE, "P1-DIMMA1")
    assert sockets[0].source() == Source(TABLE, E5_2620_V4)
