"""The published JSON Schema of the report holds for the reports of the stories, and for nothing else."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sdstop.collectors import BUILTIN
from sdstop.exporters.report import document, schema
from tests.fixtures import names, story

PAGE = Path(__file__).parent.parent.parent / "docs" / "report.schema.json"
PUBLISHED = json.loads(PAGE.read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(PUBLISHED)

SAMPLE = ("hba-lost", "draid-one-hba", "drbd-split-brain", "scaleio-cloud", "aoe-flashcache", "iostat-slow-member",
          "quiet-node", "md-rebuild-finished", "bond-one-slave")  # fmt: skip
"""One story a kind of node in the ordinary suite."""
STORIES = [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.slow) for name in names()]


@functools.cache
def text(name: str) -> str:
    return document.to_json(document.document(story(name).session))


def report(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(text(name))
    return made


def faults(made: dict[str, Any]) -> list[str]:
    return [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in VALIDATOR.iter_errors(made)
    ]


def test_the_published_schema_is_one_and_is_that_of_the_code() -> None:
    Draft202012Validator.check_schema(PUBLISHED)
    assert json.loads(schema.text(BUILTIN)) == PUBLISHED
    assert PUBLISHED["$id"] == schema.IDENTIFIER == "urn:sdstop.report:2"


@pytest.mark.parametrize("name", STORIES)
def test_the_report_of_a_story_is_valid(name: str) -> None:
    made = report(name)
    assert faults(made) == []
    known = PUBLISHED["$defs"]["Report"]["properties"]
    assert set(made) <= set(known)  # each key is described
    assert set(made["readings"]) <= set(known["readings"]["properties"])
    for part, of in (
        ("findings", "ReportFinding"),
        ("ruled_out", "ReportRuledOut"),
        ("unchecked", "ReportUnchecked"),
        ("collectors", "ReportSource"),
    ):
        assert all(set(each) == set(PUBLISHED["$defs"][of]["properties"]) for each in made[part])


MISSING = object()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("headline", MISSING),
        ("findings/0/since", MISSING),
        ("ruled_out/0/subjects", MISSING),
        ("readings/disk/0/device", MISSING),
        ("schema", "sdstop.report/3"),
        ("frames", "ten"),
        ("headline/code", 4),
        ("findings/0/severity", "fatal"),
        ("findings/0/values/affected", [1]),
        ("findings/0/since", "yesterday"),
        ("findings/0/confidence", 1.5),
        ("collectors/0/outcome", "lost"),
        ("unchecked/0/gap", "some"),
        ("readings/disk/0/device", 8),
        ("readings/disk/0/reads", None),
    ],
)
def test_other_keys_and_types_are_not_valid(path: str, value: Any) -> None:
    made: Any = report("hba-lost")
    assert faults(made) == []
    *folders, last = path.split("/")
    inside = made
    for key in folders:
        inside = inside[int(key) if isinstance(inside, list) else key]
    if value is MISSING:
        del inside[last]
    else:
        inside[last] = value
    assert len(faults(made)) == 1


def test_keys_that_a_later_release_adds_are_valid() -> None:
    made = report("hba-lost")
    made["accepted"] = []
    made["findings"][0]["title"] = "NO ANSWER"
    assert faults(made) == []
