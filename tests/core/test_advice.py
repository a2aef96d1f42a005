"""Commands of advice: quoted in one place, whatever the names are."""

import subprocess

import pytest

from sdstop.core.advice import advice_lines, operands, run
from sdstop.core.finding import Damage, Finding, Severity, Value
from sdstop.core.finding_order import urgency
from sdstop.core.finding_text import against

HOSTILE = ("sdz;touch${IFS}x;", "a b", "it's", "$(reboot)", "`id`", "-rf", "=ls", "new\nline", "&", "*", "Straße", "")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_shell_gets_each_argument_as_it_is(name: str) -> None:
    command = run("printf", "%s|", name, "end").pipe("cat")
    made = subprocess.run(["bash", "-c", str(command)], capture_output=True, text=True, check=True)
    assert (made.stdout, made.stderr) == (f"{name}|end|", "")


def test_a_command_is_a_line_of_a_shell() -> None:
    blocked = run("ps", "axo", "pid,stat,comm").pipe("awk", "$2 ~ /^D/").noted("blocked tasks")
    assert str(blocked) == "ps axo pid,stat,comm | awk '$2 ~ /^D/'   # blocked tasks"
    assert str(run("echo", "idle", into="/sys/block/md 0/md/sync_action")) == (
        "echo idle > '/sys/block/md 0/md/sync_action'"
    )
    assert str(run("smartctl", "-x", "/dev/sda", background=True)) == "smartctl -x /dev/sda &"


def test_no_name_becomes_an_option() -> None:
    assert operands("sda") == ("sda",)
    assert operands("sda", "-rf") == ("--", "sda", "-rf")


def test_a_value_says_how_it_was_compared() -> None:
    assert against(Value("used", "channels used", 1, of=4)) == "of 4"
    assert against(Value("loss", "frames lost", 0.1, "ratio", above=0.05)).startswith("> 5")
    assert against(Value("left", "copies", 1, below=2)) == "< 2"
    assert against(Value("state", "state", "offline")) == ""
    assert Value("left", "copies", 1, below=2).compared == 2


def test_findings_are_ordered_by_what_they_cost() -> None:
    def finding(name: str, severity: Severity, damage: Damage, **more: object) -> Finding:
        return Finding(severity=severity, subject=name, cause="", rule=f"z-{name}", damage=damage, **more)  # type: ignore[arg-type]

    critical, warning = Severity.CRITICAL, Severity.WARNING
    wanted = [
        finding("lost", critical, Damage.DATA),
        finding("exposed", critical, Damage.DATA, standing=True),
        finding("bare", critical, Damage.REDUNDANCY),
        finding("queue", critical, Damage.SPEED, cost=11.0, confidence=0.2),
        finding("sure", critical, Damage.SPEED, cost=1.0),
        finding("likely", critical, Damage.SPEED, cost=1.0, confidence=0.9),
        finding("unsure", critical, Damage.SPEED, cost=1.0, confidence=0.3),
        finding("mild", warning, Damage.DATA),
    ]
    assert sorted(set(wanted), key=urgency) == wanted


def test_the_lines_of_a_note_are_comments() -> None:
    """What a name in it holds is no command then."""
    said = str(run("systemctl", "status", "ceph-osd@2", note="on store2;reboot; or on its peer"))
    assert advice_lines(said, 80) == ["systemctl status ceph-osd@2   # on store2;reboot; or on its peer"]
    assert advice_lines(said, 32) == ["systemctl status ceph-osd@2", "# on store2;reboot; or on its", "# peer"]
    assert advice_lines(said, 16)[:2] == ["systemctl status", "ceph-osd@2"]
    assert all(line.startswith("# ") for line in advice_lines(said, 16)[2:])


def test_the_lines_of_a_command_are_broken_between_words() -> None:
    assert advice_lines(r"cat /a\ b c", 6) == ["cat", r"/a\ b", "c"]
    assert advice_lines("Replace the disk.", 12) == ["Replace the", "disk."]
    assert advice_lines("", 12) == [""]


def test_no_line_break_ends_a_note() -> None:
    assert str(run("ip", "link", note="on a\nreboot\x85b")) == "ip link   # on a?reboot?b"
