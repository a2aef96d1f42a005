"""Elements of enclosures as sg_ses prints them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.platform.ses import fault, parse
from sdstop.core.form import NOT_SHOWN
from tests.pasted.corpus import findings, judged, ruled_out

NAME = "hardware-fault /dev/sg1/Power supply 0"
OVERALL = "      Overall descriptor:\n        Predicted failure=0, Disabled=0, Swap=0, status: Critical\n"


def page(status: str, *flags: str, predicted: int = 0) -> str:
    lines = "".join(f"        {each}\n" for each in flags)
    return (
        "  LSI       SAS3x40           0601\nEnclosure Status diagnostic page:\n"
        "  INVOP=0, INFO=0, NON-CRIT=0, CRIT=0, UNRECOV=0\n  generation code: 0x0\n  status descriptor list\n"
        f"    Element type: Power supply, subenclosure id: 0 [ti=0]\n{OVERALL}      Element 0 descriptor:\n"
        f"        Predicted failure={predicted}, Disabled=0, Swap=0, status: {status}\n{lines}"
    )


def shown(text: str) -> bytes:
    return f"[root@a ~]# sg_ses -p 2 /dev/sg1\n{text}[root@a ~]# \n".encode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (page("OK", "Ident=1, Hot swap=1, Fail=0, Rqsted on=1, Off=0"), "good"),
        (page("OK", "Ovrtmp fail=0, Temp warn=0, AC fail=1, DC fail=0"), "warning"),
        (page("OK", predicted=1), "warning"),
        (page("OK", "Temp warn=1"), "warning"),
        (page("Critical"), "warning"),
        (page("Unrecoverable"), "critical"),
        (page("Noncritical"), ""),  # information
        (page("Not installed", "Fail=0, Off=1"), ""),
        (page("Unsupported"), ""),
        (page("reserved [9]"), ""),
    ],
)
def test_an_element_by_its_status_and_flags(text: str, found: str) -> None:
    session = judged(shown(text))
    assert findings(session) == ({f"{found} {NAME}"} if found in {"warning", "critical"} else set())
    assert (NAME in ruled_out(session)) == (found == "good")


def test_an_unknown_status_is_unchecked_and_not_calm() -> None:
    (said,) = [
        each for each in judged(shown(page("reserved [9]"))).head().judgement.unchecked if each.rule == "hardware-fault"
    ]
    assert (said.reason, said.calm) == ('unknown status "reserved [9]"', False)


def test_two_enclosures_stand_side_by_side() -> None:
    other = shown(page("Critical")).replace(b"/dev/sg1", b"/dev/sg2")
    assert findings(judged(shown(page("OK")) + other)) == {"warning hardware-fault /dev/sg2/Power supply 0"}


def test_an_element_without_its_status_is_cut_off() -> None:
    text = page("OK")
    assert fault(text) == NOT_SHOWN
    assert fault(text[: text.rindex("        Predicted")]) == "last element cut off"
    assert [row.sensor for row in parse(text[: text.rindex("        Predicted")], "cmd:sg_ses", "enclosure")] == []


@given(st.text("Elemnt 0descripo:,=1Fail[ti]\n", max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for row in parse(page("OK") + text, "cmd:sg_ses", "enclosure"):
        assert row.sensor
