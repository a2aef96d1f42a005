"""Live frame sources: which commands listen to events, and let the node rest."""

from typing import Any

import pytest

import sdstop.sampler
from sdstop.cli.arguments import parse, split
from sdstop.cli.opening import begin
from sdstop.core.collector import RESTING


@pytest.mark.parametrize(
    ("words", "hotplug", "rest"),
    [
        ([], True, 0.0),
        (["export"], True, RESTING),
        (["export", "--once"], True, 0.0),
        (["record", "-o", "x"], True, 0.0),
        (["report"], False, 0.0),
        (["check", "--root", "/"], False, 0.0),
    ],
    ids=["dashboard", "export", "export-once", "record", "report", "check"],
)
def test_what_runs_for_long_listens_and_only_exporters_rest(
    monkeypatch: pytest.MonkeyPatch, words: list[str], *, hotplug: bool, rest: float
) -> None:
    asked: dict[str, Any] = {}

    class Asked:
        def __init__(self, *_: object, **options: Any) -> None:
            asked.update(options)

        def close(self) -> None:
            pass

    monkeypatch.setattr(sdstop.sampler, "Sampler", Asked)
    with begin(parse(*split(words))):
        pass
    assert (asked["hotplug"], asked["rest"]) == (hotplug, rest)
