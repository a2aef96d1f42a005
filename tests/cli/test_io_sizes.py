"""`--io-sizes`: who may, for how long, and that it is taken back before the command ends."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

import pytest

from sdstop.cli import live_source
from sdstop.cli.arguments import parse
from sdstop.cli.opening import begin
from sdstop.cli.problem import Problem
from sdstop.node import tracing

pytestmark = pytest.mark.live


class Counted:
    """What was asked of the kernel."""

    made: list[Counted]
    failure = ""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.closed = False
        self.made.append(self)

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    Counted.made = []
    monkeypatch.setattr(tracing, "SizeCounting", Counted)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Counted.made


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (["report", "--io-sizes"], 70.0),
        (["capture", "-o", "x", "--io-sizes", "--duration", "2m"], 180.0),
        (["", "--io-sizes"], 600.0),
    ],
)
def test_it_is_limited_and_ends_with_the_watching(counted: list[Counted], words: list[str], seconds: float) -> None:
    with begin(parse(words[0], [*words[1:], "--collectors", "io-sizes"])):
        assert [(each.seconds, each.closed) for each in counted] == [(seconds, False)]
    assert counted[0].closed


def test_without_the_option_nothing_is_counted(counted: list[Counted]) -> None:
    for command in ("report", "", "check", "doctor", "export"):
        with begin(parse(command, ["--collectors", "io-sizes"])):
            assert counted == []


def test_who_is_not_root_is_told_so(counted: list[Counted], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Problem, match="--io-sizes requires root"):
        begin(parse("report", ["--io-sizes"]))
    assert counted == []


def test_a_source_that_was_left_out_counts_nothing(counted: list[Counted]) -> None:
    with pytest.raises(Problem, match="excludes the source io-sizes"):
        begin(parse("report", ["--io-sizes", "--collectors", "diskstats"]))
    assert counted == []


def test_what_the_kernel_refuses_is_said_and_the_rest_goes_on(
    counted: list[Counted], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Counted, "failure", "this kernel has no hist triggers")
    with begin(parse("report", ["--io-sizes"])) as begun:
        assert begun.sampler is not None
    assert capsys.readouterr().err == "sdstop: --io-sizes: unavailable: this kernel has no hist triggers\n"


@pytest.mark.parametrize(("root", "user", "swept"), [("/", 0, 1), ("/", 1000, 0), ("other", 0, 0)])
def test_every_start_by_root_takes_back_what_was_left(
    root: str, user: int, swept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(tracing, "remove_leftovers", lambda: calls.append(True))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    live_source._live(root, [])
    assert len(calls) == swept
