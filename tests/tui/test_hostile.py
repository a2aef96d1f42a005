"""Names made of markup, escape sequences, bidi controls and worse, in every view."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdstop.core.evidence import Cite, Evidence, Outcome
from sdstop.core.finding import Finding, RuledOut, Severity, Unchecked, Value
from sdstop.core.session import Session
from sdstop.tui.terminal import Options
from tests.nodes.block import Load, Node, raid10, refused
from tests.tui.hostile import NASTY, harmless
from tests.tui.rules import says
from tests.tui.screens import SMALL, WIDE, screen


def nasty_session(name: str) -> Session:
    """Return a session in which everything foreign is called `name`."""
    plain = "".join(name.split()) or "x"
    member = plain.replace("/", "!")[:60]
    process = {"pid": 1, "name": name, "started": 1.0, "user": name, "cmdline": name, "read_bytes": 0, "write_bytes": 0}
    busier = process | {"read_bytes": 1 << 30}
    finding = Finding(
        rule="device-hung", severity=Severity.CRITICAL, subject=f"md0/{name}", cause=f"{name} hangs",
        values=(Value("n", name, name), Value("m", name, 1.5, "seconds", above=2.0)),
        evidence=(Cite(f"/sys/{name}", 2, f"{name}\n{name}", name), Cite("/proc/diskstats", 2, name, plain)),
        advice=(name,), refuted_by=name, confidence=0.5, explains=(f"x:{name}",),
    )  # fmt: skip
    net = f"Inter-|\n face |\n{member}: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    files = {
        "/proc/net/dev": net,
        f"/sys/class/net/{member}/mtu": "1500",
        f"/sys/class/net/{member}/operstate": name,
        f"/sys/class/net/{member}/duplex": name,
        f"/sys/block/{member}/dm/name": name,
        f"/sys/block/{member}/queue/scheduler": f"[{name}]",
        f"/sys/block/{member}/loop/backing_file": name,
        "/proc/sys/kernel/hostname": name,
        "/proc/sys/kernel/osrelease": name,
        "/proc/version": name,
    }
    later = {
        1: [Evidence("answer:psutil.processes", data=json.dumps([process]).encode())],
        3: [
            Evidence("answer:psutil.processes", data=json.dumps([busier]).encode()),
            refused("/proc/pressure/io", Outcome.DENIED, name),
            Evidence(f"/sys/{name}", data=name.encode("utf-8", "surrogateescape"), stderr=b"\x1b[31m\xff"),
        ],
    }
    node = Node((plain, "sda", "md0"), lambda *_: Load(5, 5, queue=2.0), raid10("md0", (plain, "sda")), files, later)
    rules = says(finding, RuledOut(name, name, rule=name), Unchecked(name, name, rule=name))
    return node.session(4, rules, name=name)


async def walk(session: Session, size: tuple[int, int], *, ascii_only: bool) -> None:
    """Go through everything that can be shown."""
    async with screen(session, size, options=Options(ascii=ascii_only)) as shown:
        for key in ("1", "2", "3", "4", "5", "6", "7", "8", "0", "!", "question_mark"):
            await shown.press(key)
            harmless(shown, ascii_only=ascii_only)
        for keys in (("!", "j", "enter"), ("2", "j", "enter"), ("4", "enter"), ("6", "tab", "enter"), ("1", "enter")):
            await shown.press(*keys)
            harmless(shown, ascii_only=ascii_only)
            for deeper in (("G", "enter"), ("escape",), ("slash", "x", "enter")):
                await shown.press(*deeper)
                harmless(shown, ascii_only=ascii_only)
            await shown.press("escape", "escape", "escape")


@pytest.mark.parametrize(
    "names",
    [NASTY[3:7], *(pytest.param(names, marks=pytest.mark.slow) for names in (NASTY[:3], NASTY[7:12], NASTY[12:]))],
)
async def test_hostile_names_do_no_harm(names: tuple[str, ...]) -> None:
    await walk(nasty_session(" ".join(names)), WIDE, ascii_only=False)


async def test_hostile_names_in_ascii() -> None:
    await walk(nasty_session("".join(NASTY)), SMALL, ascii_only=True)


async def test_hostile_text_that_is_typed_or_pasted() -> None:
    async with screen(nasty_session("x")) as shown:
        foot = shown.app.foot
        await shown.press("slash")
        assert foot.question is not None
        foot.question.text = "".join(NASTY[3:12])
        foot.refresh()
        await shown.press("enter")
        harmless(shown)
        await shown.press("colon")
        assert foot.question is not None
        foot.question.text = "\x1b[31m\u202e"
        await shown.press("enter")
        harmless(shown)


CHARACTERS = st.characters(codec="utf-8", exclude_characters="/")
NO_UTF_8 = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF)
"""Bytes that are no UTF-8 as Python reads them; of other surrogates no name of a node is made."""


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.text(CHARACTERS | NO_UTF_8, min_size=10, max_size=60))
async def test_any_name_does_no_harm(name: str) -> None:
    session = nasty_session(name)
    async with screen(session, (120, 40)) as shown:
        for key in ("1", "2", "3", "4", "5", "6", "7", "8", "0", "!", "enter", "G", "enter"):
            await shown.press(key)
            harmless(shown)
