"""dimm-too-few-channels, dimm-unequal-sockets, dimm-below-rated-speed."""

from __future__ import annotations

import pytest

from sdstop.collectors.memory.dimms import CPUINFO, DIMMS
from sdstop.collectors.memory.readings import TABLE
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Verdict
from sdstop.core.session import Session
from sdstop.rules.memory.dimm_below_rated_speed import DIMM_BELOW_RATED_SPEED
from sdstop.rules.memory.dimm_mixed import DIMM_MIXED
from sdstop.rules.memory.dimm_too_few_channels import DIMM_TOO_FEW_CHANNELS
from sdstop.rules.memory.dimm_unequal_sockets import DIMM_UNEQUAL_SOCKETS
from tests.fixtures import FIXTURES
from tests.nodes.firmware import E5_2620_V4, Board, Module, board
from tests.nodes.frames import check, value
from tests.pasted.corpus import judged as pasted

RULES = (DIMM_TOO_FEW_CHANNELS, DIMM_UNEQUAL_SOCKETS, DIMM_BELOW_RATED_SPEED, DIMM_MIXED)
E5_2680_V4 = "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz"
HPE = "PROC {cpu} DIMM {n}"


def said(made: Board) -> dict[str, Verdict]:
    """Return the one word of each rule that speaks."""
    return judged(Evidence(TABLE, data=made.table()), Evidence(CPUINFO, Outcome.ABSENT))


def judged(*evidence: Evidence) -> dict[str, Verdict]:
    session = Session(Origin("n"), (DIMMS,), RULES)
    session.feed_all([Frame(1, 1_700_000_000.0, 0.0, evidence)])
    judgement = session.head().judgement
    every: list[Verdict] = [*judgement.findings, *judgement.ruled_out, *judgement.unchecked]
    assert len({verdict.rule for verdict in every}) == len(every)
    return {verdict.rule: verdict for verdict in every}


def finding(made: Board, rule: str) -> Finding:
    found = said(made)[rule]
    assert isinstance(found, Finding), found
    assert found.subject == "memory"
    check(found)
    return found


def test_one_module_a_socket() -> None:
    found = finding(board((1, 1)), "dimm-too-few-channels")
    assert found.severity is Severity.WARNING
    assert found.title == "ONE DIMM PER CPU"
    assert found.cause == "1 of 4 memory channels filled on each socket: 34.1 of 136.5 GB/s."
    assert value(found, "peak0") == pytest.approx(17.064e9)
    assert value(found, "peak") == pytest.approx(34.128e9)
    assert found.values[-1].compared == pytest.approx(136.512e9)
    assert "Fill 3 channels per socket" in found.steps[0]


@pytest.mark.parametrize(("filled", "severity"), [(1, Severity.WARNING), (2, Severity.INFO), (3, Severity.INFO)])
def test_from_half_of_the_channels_it_is_said_quietly(filled: int, severity: Severity) -> None:
    assert finding(board((filled, filled)), "dimm-too-few-channels").severity is severity


def test_all_channels() -> None:
    found = said(board((4, 4)))["dimm-too-few-channels"]
    assert isinstance(found, RuledOut)
    assert found.summary == "8 of 8 memory channels used: peak 68.3 GB/s per socket, 136.5 GB/s for the node"


@pytest.mark.parametrize(("filled", "kind"), [(3, Finding), (4, Unchecked), (9, Unchecked), (10, RuledOut)])
def test_as_many_modules_as_channels_may_share_some(filled: int, kind: type) -> None:
    assert type(said(board((filled, filled), slots=12, names=HPE))["dimm-too-few-channels"]) is kind


def test_two_modules_in_one_channel_fill_one() -> None:
    modules = [Module(f"P1-DIMM{slot}", 16384) for slot in ("A1", "A2")] + [
        Module(f"P1-DIMM{slot}") for slot in ("B1", "B2", "C1", "C2", "D1", "D2")
    ]
    found = finding(Board(modules, cpus=(E5_2620_V4,)), "dimm-too-few-channels")
    assert value(found, "used0") == 1
    assert found.severity is Severity.WARNING


def test_fewer_modules_than_channels_need_no_names() -> None:
    found = finding(board((1, 1), names="DIMM{all}"), "dimm-too-few-channels")
    assert found.severity is Severity.WARNING
    assert "2 modules can fill at most 2 of 8 channels on 2 sockets" in found.cause
    assert value(found, "peak") == pytest.approx(34.128e9)
    assert isinstance(said(board((4, 4), names="DIMM{all}"))["dimm-too-few-channels"], Unchecked)


def test_a_processor_that_is_not_known_is_not_judged() -> None:
    found = said(board((1, 1), names=HPE, cpus=("Future 1", "Future 1")))["dimm-too-few-channels"]
    assert isinstance(found, Unchecked)
    assert "Future 1" in found.reason


def test_a_slot_that_may_be_filled_leaves_the_rest_open() -> None:
    made = board((1, 1))
    made.modules[1].size = -1
    found = said(made)
    assert isinstance(found["dimm-too-few-channels"], Unchecked)
    assert isinstance(found["dimm-unequal-sockets"], Unchecked)


def test_a_virtual_machine_s_slots_are_invented() -> None:
    made = Board(
        [Module(f"RAM slot #{n}", 8192 if n == 0 else 0, speed=0, configured=0) for n in range(64)],
        cpus=(E5_2620_V4,),
        system=("VMware, Inc.", "VMware7,1"),
    )
    assert {type(verdict) for verdict in said(made).values()} == {Unchecked}
    assert all(verdict.calm for verdict in said(made).values() if isinstance(verdict, Unchecked))


def test_sockets_that_are_equal() -> None:
    assert isinstance(said(board((2, 2)))["dimm-unequal-sockets"], RuledOut)
    for one in (board((2,), cpus=(E5_2620_V4,)), board((2, 0), cpus=(E5_2620_V4, None))):
        verdict = said(one)["dimm-unequal-sockets"]
        assert isinstance(verdict, Unchecked)
        assert verdict.reason == "not applicable: 1 socket"


def test_one_module_less() -> None:
    found = finding(board((4, 3)), "dimm-unequal-sockets")
    assert found.severity is Severity.WARNING
    assert found.cause == "Socket 0 has 4 modules (64 GiB), socket 1 3 modules (48 GiB)."
    assert "socket 1 has the least" in found.steps[0]


def test_a_processor_without_memory() -> None:
    made = board((2, 0))
    assert "Socket 1 has no local memory" in finding(made, "dimm-unequal-sockets").impact


@pytest.mark.parametrize(("last", "severity"), [(9831, Severity.INFO), (9830, Severity.WARNING)])
def test_smaller_modules(last: int, severity: Severity) -> None:
    made = board((4, 4))
    made.modules[-1].size = last  # the socket lacks 10 % of 64 GiB below 9830.4 MiB
    found = finding(made, "dimm-unequal-sockets")
    assert found.severity is severity


def test_the_same_modules_in_fewer_channels() -> None:
    modules = [Module(f"P{cpu}-DIMM{slot}", 16384 * (slot in filled)) for cpu, filled in
               ((1, ("A1", "B1")), (2, ("A1", "A2"))) for slot in ("A1", "A2", "B1", "B2", "C1", "D1")]  # fmt: skip
    assert finding(Board(modules), "dimm-unequal-sockets").severity is Severity.WARNING


def test_sockets_that_are_not_known_are_not_compared() -> None:
    assert isinstance(said(board((3, 1), names="DIMM{all}"))["dimm-unequal-sockets"], Unchecked)


def test_the_processor_is_the_limit() -> None:
    found = finding(board(speed=2400, configured=2133), "dimm-below-rated-speed")
    assert found.severity is Severity.INFO
    assert "processor maximum 2133 MT/s" in found.cause


def test_slower_than_the_processor_takes() -> None:
    made = board(speed=2400, configured=2133, cpus=(E5_2680_V4, E5_2680_V4))
    found = finding(made, "dimm-below-rated-speed")
    assert found.severity is Severity.WARNING
    assert value(found, "configured") == 2133e6


def test_several_modules_a_channel_may_be_the_limit() -> None:
    made = board((6, 6), slots=12, names=HPE, speed=2400, configured=2133, cpus=(E5_2680_V4, E5_2680_V4))
    found = finding(made, "dimm-below-rated-speed")
    assert found.severity is Severity.INFO
    assert "several modules per channel" in found.cause


def test_one_slow_module_slows_all() -> None:
    made = board((2, 2), speed=2400, configured=2133, cpus=(E5_2680_V4, E5_2680_V4))
    made.modules[0].speed = 2133
    found = finding(made, "dimm-below-rated-speed")
    assert found.severity is Severity.WARNING
    assert "slowest module 2133 MT/s" in found.cause


def test_of_an_unknown_processor_the_limit_is_not_known() -> None:
    found = finding(board(cpus=("Future 1", "Future 1")), "dimm-below-rated-speed")
    assert found.severity is Severity.INFO
    assert "processor limit unknown" in found.cause


@pytest.mark.parametrize(
    ("configured", "kind"), [(2388, RuledOut), (2387, Finding), (2400, RuledOut), (2666, RuledOut)]
)
def test_rounding_is_no_difference(configured: int, kind: type) -> None:
    made = board(speed=2400, configured=configured, cpus=(E5_2680_V4, E5_2680_V4))
    assert type(said(made)["dimm-below-rated-speed"]) is kind


def test_firmware_that_does_not_tell_the_speed() -> None:
    assert isinstance(said(board(configured=0))["dimm-below-rated-speed"], Unchecked)


def test_without_the_table_nobody_says_ok() -> None:
    for outcome in (Outcome.DENIED, Outcome.ABSENT):
        assert not [v for v in judged(Evidence(TABLE, outcome)).values() if not isinstance(v, Unchecked)]


def test_modules_of_two_sizes_are_mixed() -> None:
    made = board((4, 4))
    made.modules[3].size = made.modules[7].size = 32768
    found = finding(made, "dimm-mixed")
    assert found.severity is Severity.INFO
    assert found.title == "MIXED MODULE SIZES"
    assert found.cause == "8 modules: 6 of 16 GiB, 2 of 32 GiB."
    assert [cite.excerpt for cite in found.evidence]


def test_modules_of_two_speeds_are_mixed() -> None:
    made = board((4, 4), speed=2666)
    made.modules[0].speed = 2400
    assert finding(made, "dimm-mixed").cause == "8 modules: 1 of 2400 MT/s, 7 of 2666 MT/s."


def test_rounded_speeds_and_empty_slots_are_not_mixed() -> None:
    made = board((2, 2), speed=2666)
    made.modules[0].speed = 2667
    assert isinstance(said(made)["dimm-mixed"], RuledOut)


def test_what_is_mixed_in_a_virtual_machine_is_no_module() -> None:
    made = board((2, 2), system=("QEMU", "Standard PC"))
    made.modules[0].size = 4096
    assert isinstance(said(made)["dimm-mixed"], Unchecked)


def test_modules_without_their_processors_are_not_good() -> None:
    """`dmidecode -t memory` alone: whether channels are empty is unknown, the speed is not."""
    text = (FIXTURES / "texts" / "memory" / "one-dimm-german.txt").read_text("utf-8")
    asked, _, modules = text.partition("dmidecode -t memory")
    session = pasted(f"{asked.rpartition(chr(10))[2]}dmidecode -t memory{modules}".encode())
    judgement = session.head().judgement
    unchecked = {each.rule: each for each in judgement.unchecked if each.reason == "the processors are unknown"}
    assert set(unchecked) == {"dimm-too-few-channels", "dimm-unequal-sockets"}
    assert not any(each.calm for each in unchecked.values())
    assert {each.rule for each in judgement.findings} == {"dimm-below-rated-speed"}
    assert {each.rule for each in judgement.ruled_out} == {"dimm-mixed"}
