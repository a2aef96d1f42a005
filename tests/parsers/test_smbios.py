"""SMBIOS tables and dmidecode's text: the same machine by both, and what no table may do."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.memory import dmidecode, smbios
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed
from tests.fixtures import names, opened
from tests.nodes.firmware import DMIDECODE, E5_2620_V4, Board, Module, board, device, structure

MACHINES = [name for name in names() if name.startswith("vm-numa-")]


@pytest.mark.parametrize("fixture", MACHINES)
def test_raw_table_and_text_are_the_same_machine(fixture: str) -> None:
    host = EvidenceHost()
    for frame in opened(fixture)[1]:
        host.apply(frame.evidence)
    raw = smbios.parse(host.read("/sys/firmware/dmi/tables/DMI"))
    assert raw == dmidecode.parse(host.run(["dmidecode"]).text)
    assert len(raw.processors) == 2
    assert len(raw.devices) >= 12
    assert raw.mapped
    assert raw.virtual


def test_there_are_machines() -> None:
    assert len(MACHINES) == 3


def test_fields_of_a_raw_table() -> None:
    found = smbios.parse(board((1, 0), slots=1, cpus=(E5_2620_V4, None)).table())
    assert [(p.designation, p.version, p.populated) for p in found.processors] == [
        ("CPU1", E5_2620_V4, True),
        ("CPU2", None, False),
    ]
    assert (found.arrays[0].system, found.arrays[0].ecc, found.arrays[0].capacity) == (True, "multi-bit ECC", 1 << 34)
    filled, empty = found.devices
    assert (filled.size, filled.speed, filled.configured, filled.rank, filled.type) == (1 << 34, 2400, 2133, 2, "DDR4")
    assert (filled.locator, filled.bank, filled.manufacturer, filled.part) == ("P1-DIMMA1", None, "Maker", "PART-1")
    assert empty.size == 0
    assert not found.virtual


def test_text_of_an_old_dmidecode() -> None:
    found = dmidecode.parse(DMIDECODE)
    filled, empty = found.devices
    assert (filled.size, filled.speed, filled.configured) == (16 << 30, 2400, 2133)
    assert (filled.locator, filled.bank, empty.size) == ("PROC  1 DIMM  1", None, 0)
    assert found.processors[0].populated
    assert found.arrays[0].capacity == 768 << 30


def test_text_without_handles() -> None:
    quiet = "\n".join(line for line in DMIDECODE.splitlines() if not line.startswith("Handle"))
    assert [d.size for d in dmidecode.parse(quiet).devices] == [16 << 30, 0]


def test_text_that_lacks_a_slot_is_half_a_machine() -> None:
    cut = DMIDECODE[: DMIDECODE.index("Handle 0x1101")]
    with pytest.raises(Malformed, match="1 memory devices of 2"):
        dmidecode.parse(cut)
    assert len(dmidecode.parse(f"{cut}End Of Table\n").devices) == 1


@pytest.mark.parametrize(
    ("length", "configured", "rank"), [(0x15, None, None), (0x1B, None, None), (0x1C, None, 2), (0x22, 2133, 2)]
)
def test_a_short_structure_does_not_say(length: int, configured: int | None, rank: int | None) -> None:
    only = device(1, Module("A1", 8192), length) + structure(127, 2, b"")
    found = smbios.parse(only).devices[0]
    assert (found.size, found.configured, found.rank) == (8 << 30, configured, rank)


@pytest.mark.parametrize(
    ("size", "expected"), [(0, 0), (0x7FFE, 0x7FFE << 20), (0x7FFF, 0x7FFF << 20), (65536, 1 << 36)]
)
def test_sizes_up_to_and_beyond_the_short_field(size: int, expected: int) -> None:
    assert smbios.parse(Board([Module("A1", size)]).table()).devices[0].size == expected


def test_a_size_that_is_not_known_is_not_empty() -> None:
    area = bytearray(device(1, Module("A1", 8192)))
    area[0x0C:0x0E] = b"\xff\xff"
    assert smbios.parse(bytes(area) + structure(127, 2, b"")).devices[0].size is None
    area[0x0C:0x0E] = b"\x10\x80"
    assert smbios.parse(bytes(area) + structure(127, 2, b"")).devices[0].size == 16 << 10


def test_flash_and_optane_are_no_memory() -> None:
    modules = [Module("A1", 16, kind=9), Module("A2", 16384, technology=7), Module("A3", 16384)]
    assert [d.dram for d in smbios.parse(Board(modules).table()).devices] == [False, False, True]


def test_addresses() -> None:
    more = structure(19, 1, bytes.fromhex("00000000 ffff0f00 0010 02")) + structure(
        20,
        2,
        bytes.fromhex("ffffffff ffffffff 0011 0113 01 ff ff")
        + (1 << 30).to_bytes(8, "little")
        + (2 << 30).to_bytes(8, "little"),
    )
    found = smbios.parse(Board([], more=more).table()).mapped
    assert [(m.owner, m.start, m.end, m.device) for m in found] == [
        (0x1000, 0, 1 << 30, False),
        (0x1100, 1 << 30, (2 << 30) + 1, True),
    ]


@pytest.mark.parametrize("system", [("QEMU", "Standard PC"), ("VMware, Inc.", "VMware7,1"), ("Red Hat", "KVM")])
def test_virtual_machines(system: tuple[str, str]) -> None:
    assert smbios.parse(Board([], system=system).table()).virtual


def test_what_is_cut_off_is_refused() -> None:
    whole = board().table()
    for length in range(1, len(whole) - 2):
        with pytest.raises(Malformed):
            smbios.parse(whole[:length])
    for tail in (0, 1, 2):  # of the end itself the strings may be missing
        assert smbios.parse(whole[: len(whole) - tail]).devices


def test_a_broken_length_is_refused() -> None:
    with pytest.raises(Malformed, match="structure 0 at 0"):
        smbios.parse(b"\x11\x03\x00\x00\x00\x00")
    with pytest.raises(Malformed, match="empty"):
        smbios.parse(b"")


def test_an_endless_table_ends() -> None:
    with pytest.raises(Malformed, match="no end after 4096"):
        smbios.parse(structure(2, 1, b"") * 5000)


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        smbios.parse(data)


@given(st.data())
def test_no_damage_raises_anything_else(data: st.DataObject) -> None:
    table = bytearray(board((2, 1)).table())
    for _ in range(data.draw(st.integers(1, 8))):
        table[data.draw(st.integers(0, len(table) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Malformed):
        smbios.parse(bytes(table))


_LINES = st.sampled_from(
    [*DMIDECODE.splitlines(), "\tSize: ١٦ GB", "\tRank: ²", "Memory Device", "\tNumber Of Devices: ²"]
)


@given(st.lists(_LINES | st.text(max_size=30), max_size=40))
def test_no_text_raises_anything_else(lines: list[str]) -> None:
    with contextlib.suppress(Malformed):
        dmidecode.parse("\n".join(lines))


def test_text_of_something_else() -> None:
    with pytest.raises(Malformed, match="no structure"):
        dmidecode.parse("/dev/mem: Permission denied\n")
