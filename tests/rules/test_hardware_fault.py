"""hardware-fault: sensors as they are, and a log of which old entries are history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.platform.ipmi import parse_events, parse_sensors
from sdstop.pasted import TextRefused
from tests.pasted.corpus import findings, judged, rows, ruled_out

NAME = "hardware-fault"


def shown(text: str, command: str = "ipmitool sdr elist") -> bytes:
    return f"[root@a ~]# {command}\n{text}[root@a ~]# \n".encode()


def elist(name: str, status: str, reading: str) -> str:
    return f"{name:16} | 30h | {status:3} |  3.1 | {reading}\n"


def event(number: int, date: str, what: str, way: str = "Asserted", sensor: str = "Power Supply #0x51") -> str:
    return f"{number:4x} | {date} | 04:00:12 | {sensor} | {what} | {way}\n"


@pytest.mark.parametrize(
    ("status", "reading", "found"),
    [
        ("ok", "45 degrees C", "good"),
        ("unc", "81 degrees C", ""),  # information
        ("ucr", "92 degrees C", "warning"),
        ("unr", "101 degrees C", "critical"),
        ("lcr", "0 RPM", "warning"),
        ("ns", "No Reading", ""),
        ("ok", "Drive Present", "good"),
        ("ok", "Drive Present, Drive Fault", "critical"),
        ("ok", "Presence detected, Failure detected", "warning"),
        ("ok", "Presence detected, AC out-of-range, but present", "warning"),
        ("ok", "Fully Redundant", "good"),
        ("ok", "Non-Redundant: Insufficient Resources", "critical"),
        ("ok", "State Asserted", ""),  # its meaning is unknown
        ("ok", "", ""),
    ],
)
def test_a_sensor_by_its_status_and_states(status: str, reading: str, found: str) -> None:
    session = judged(shown(elist("Thing", status, reading)))
    assert findings(session) == ({f"{found} {NAME} Thing"} if found in {"warning", "critical"} else set())
    assert (f"{NAME} Thing" in ruled_out(session)) == (found == "good")


def test_a_discrete_sensor_whose_state_is_not_shown_is_unchecked() -> None:
    session = judged(shown("PS2 Status       | 0x01              | ok\n", "ipmitool sdr"))
    assert ruled_out(session) == set()
    (said,) = [each for each in session.head().judgement.unchecked if each.rule == NAME]
    assert (said.subject, said.calm) == ("PS2 Status", False)


def test_a_table_of_somebody_is_no_output_of_ipmitool() -> None:
    for line in ("backup job | 12 GB | ok", "db1 | 45 ms | cr", "| Fan1 | 0 RPM | cr |"):
        with pytest.raises(TextRefused):
            judged(f"{line}\n".encode())


AC = "Power Supply AC lost"


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (event(1, "11/27/2026", AC), "warning"),
        (event(1, "11/27/2026", AC) + event(2, "11/27/2026", AC, "Deasserted"), "good"),
        (event(1, "11/27/2026", AC) + event(2, "12/27/2026", "Presence detected"), "warning"),  # 30 days
        (event(1, "11/27/2026", AC) + event(2, "12/28/2026", "Presence detected"), ""),  # history: information
        (event(1, "11/27/26", AC) + event(2, "12/28/26", "Presence detected"), ""),
        (event(1, "27.11.2026", AC) + event(2, "28.12.2026", "Presence detected"), "warning"),  # dates unknown
        (event(1, "11/27/2026", "Presence detected"), "good"),
        (event(1, "11/27/2026", "State Asserted"), ""),
    ],
)
def test_an_event_by_its_direction_and_age(log: str, found: str) -> None:
    session = judged(shown(log, "ipmitool sel list"))
    subject = "Power Supply #0x51"
    assert findings(session) == ({f"{found} {NAME} {subject}"} if found == "warning" else set())
    assert (f"{NAME} {subject}" in ruled_out(session)) == (found == "good")


def test_the_sensor_decides_where_it_is_readable() -> None:
    log = shown(event(1, "11/27/2026", AC, sensor="Power Supply PS2 Status"), "ipmitool sel elist")
    now = shown(elist("PS2 Status", "ok", "Presence detected"))
    assert findings(judged(log)) == {f"warning {NAME} Power Supply PS2 Status"}
    assert findings(judged(log + now)) == set()
    still = shown(elist("PS2 Status", "ok", f"Presence detected, {AC}"))
    assert findings(judged(log + still)) == {f"warning {NAME} PS2 Status"}


def test_memory_errors_are_not_healed_by_a_sensor() -> None:
    log = shown(event(1, "11/27/2026", "Uncorrectable ECC", sensor="Memory DIMM A1"), "ipmitool sel elist")
    now = shown(elist("DIMM A1", "ok", "Presence Detected"))
    assert findings(judged(log + now)) == {f"critical {NAME} Memory DIMM A1"}


def test_a_cut_log_rules_nothing_out() -> None:
    log = event(1, "11/27/2026", AC) + event(2, "11/27/2026", AC, "Deasserted")
    assert ruled_out(judged(f"# ipmitool sel list | tail -2\n{log}".encode())) == set()


def test_the_password_of_the_controller_is_not_kept() -> None:
    command = "ipmitool -I lanplus -H bmc1 -U ADMIN -P hunter2 sdr elist"
    session = judged(shown(elist("Fan1", "lcr", "0 RPM"), command))
    assert findings(session) == {f"warning {NAME} Fan1"}
    assert "hunter2" not in repr((rows(session), session.head().judgement, session.origin))


@given(st.text("Fan1 |0RPMcrok.nshdiscete/:Assertd\n", max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for parse in (parse_sensors, parse_events):
        for row in parse(elist("Fan1", "ok", "100 RPM") + event(1, "11/27/2026", AC) + text, "cmd:ipmitool"):
            assert row.sensor


FREE = "ID  | Date        | Time     | Name        | Type         | State    | Event\n"


def test_a_log_of_freeipmi_is_judged_and_its_password_is_not_kept() -> None:
    log = (
        FREE + "13  | Nov-24-2026 | 19:47:12 | PSU2 Status | Power Supply | Critical | Power Supply Failure detected\n"
    )
    session = judged(shown(log, "ipmi-sel -h bmc7 -u admin -p hunter22 --output-event-state"))
    assert findings(session) == {"warning hardware-fault Power Supply PSU2 Status"}
    assert "hunter22" not in str(session.origin) + str(dict(session.head().host.state))


def test_a_nominal_event_ends_the_fault_and_is_none_itself() -> None:
    line = "{}  | Nov-24-2026 | 19:47:12 | PSU2 Status | Power Supply | {} | Power Supply input lost (AC/DC)\n"
    assert findings(judged(shown(FREE + line.format(1, "Critical") + line.format(2, "Nominal"), "ipmi-sel"))) == set()
    assert findings(judged(shown(FREE + line.format(2, "Nominal"), "ipmi-sel"))) == set()
    assert findings(judged(shown(FREE + line.format(2, "Nominal") + line.format(3, "Critical"), "ipmi-sel")))
