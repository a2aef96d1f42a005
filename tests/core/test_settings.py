"""Settings are converted to declared types; a mistake is one line with its path and without its value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.config_error import ConfigError, InvalidSetting, unknown
from sdstop.core.settings import LARGEST, convert, in_file, read_text, read_toml, read_yaml


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pace: Annotated[float, msgspec.Meta(ge=0.5, description="seconds from 0.5")] = 1.0
    names: list[str] = []
    mode: Literal["fast", "slow"] = "fast"

    def __post_init__(self) -> None:
        if "bad" in self.names:
            raise InvalidSetting("names", 'must not contain "bad"')


class Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    must: bool
    inner: Inner | None = None
    shares: dict[str, dict[str, Annotated[int, msgspec.Meta(ge=0, le=9)]]] = {}
    rows: list[Inner] = []
    patterns: Mapping[str, re.Pattern[str]] = {}
    ids: dict[str | int, str] = {}
    file: Path | None = None


def refused(**given: object) -> str:
    with pytest.raises(ConfigError) as caught:
        convert({"must": True, **given}, Outer, "top")
    return str(caught.value)


def test_what_fits_is_converted() -> None:
    found = convert({"must": True, "patterns": {"a": "b+"}, "file": "x/y", "ids": {1: "a", "b": "c"}}, Outer)
    assert (found.patterns["a"].pattern, found.file, found.ids, found.inner) == (
        "b+",
        Path("x/y"),
        {1: "a", "b": "c"},
        None,
    )


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"must": 1}, "top.must: expected true or false, got a whole number"),
        ({"inner": 3}, "top.inner: expected a table, got a whole number"),
        ({"inner": {"pace": 0.1}}, "top.inner.pace: expected seconds from 0.5"),
        ({"inner": {"pace": float("nan")}}, "top.inner.pace: expected seconds from 0.5"),
        ({"inner": {"pace": 10**400}}, "top.inner.pace: expected seconds from 0.5"),
        ({"inner": {"names": "a"}}, "top.inner.names: expected a list of text, got text"),
        ({"inner": {"names": ["a", 2]}}, "top.inner.names[1]: expected text, got a whole number; put it in quotes"),
        ({"inner": {"names": ["bad"]}}, 'top.inner.names: must not contain "bad"'),
        ({"inner": {"mode": "secret"}}, "top.inner.mode: expected one of fast, slow"),
        ({"inner": {"mode": None}}, "top.inner.mode: expected one of fast, slow, got nothing"),
        ({"rows": [{}, {"pac": 1}]}, "top.rows[1].pac: unknown setting; did you mean pace?"),
        ({"rows": [{}, {"names": ["bad"]}]}, 'top.rows[1].names: must not contain "bad"'),
        ({"pace": 1}, "top.pace: unknown setting; did you mean inner.pace?"),
        ({"secret": 1}, "top.secret: unknown setting; valid: file, ids, inner, must, patterns, rows, shares"),
        ({"x\x1b[2J": 1}, "top.x\\x1b[2J: unknown setting; valid: file, ids, inner, must, patterns, rows, shares"),
        ({"shares": {"a": {"x": 1, "y": 12}, "b": {"y": 13}}}, "top.shares.a.y: expected a whole number from 0 to 9"),
        ({"shares": {"a": {"x": 1}, "b": 1}}, "top.shares.b: expected a table, got a whole number"),
        ({"shares": {1: {}}}, "top.shares: a key is not text; put it in quotes"),
        ({"patterns": {"a": "b", "c": "("}}, "top.patterns.c: not a regular expression: missing ), unterminated "),
        ({"patterns": {"a": 3}}, "top.patterns.a: expected a regular expression; put it in quotes"),
        ({"file": 3}, "top.file: expected a path; put it in quotes"),
        ({"ids": {True: "a"}}, "top.ids: a key is not text; put it in quotes"),
        ({"ids": {4: 5}}, "top.ids[4]: expected text, got a whole number; put it in quotes"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(given: dict[str, object], line: str) -> None:
    assert refused(**given).startswith(line)


def test_without_a_place_the_whole_is_meant() -> None:
    for value, line in (({}, "must: missing; expected true or false"), ([], "expected a table, got a list")):
        with pytest.raises(ConfigError) as caught:
            convert(value, Outer)
        assert str(caught.value) == line


_NAMES = [*Outer.__struct_fields__, *Inner.__struct_fields__, "a", "]", "$.a", 3]
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just("hunter2-secret") | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner),
    max_leaves=12,
)


@given(_ANY)
def test_no_data_raises_anything_else_and_no_value_is_repeated(value: object) -> None:
    line = ""
    try:
        convert({"must": True, **value} if isinstance(value, dict) else value, Outer)
    except ConfigError as error:
        line = str(error)
    assert "hunter2" not in line
    assert "\n" not in line


def test_depth_is_refused() -> None:
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ConfigError, match="patterns"):
        convert({"must": True, "patterns": {"a": deep}}, Outer)
    with pytest.raises(ConfigError, match="not YAML"):
        read_yaml("[" * 20_000)
    with pytest.raises(ConfigError, match="not TOML"):
        read_toml("a = " + "[" * 20_000)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: *hunter2", "line 1: not YAML"),
        ("a: 'hunter2", "line 1: not YAML: found unexpected end of stream"),
        ("a: !hunter2 b", "line 1: not YAML"),
        ("a: b: c", "line 1: not YAML: mapping values are not allowed here"),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "line 5: duplicate key c"),
    ],
)
def test_what_is_not_yaml_is_named_by_its_line(text: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_yaml(text)
    assert str(caught.value) == line


def test_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    for data, line in ((b"\xff", "not UTF-8 text"), (b"x" * (LARGEST + 1), "larger than 1 MiB")):
        path.write_bytes(data)
        with pytest.raises(ConfigError, match=f"{path}: {line}"):
            read_text(path)
    with pytest.raises(ConfigError, match="none: No such file or directory"):
        read_text(tmp_path / "none")
    with pytest.raises(ConfigError, match="not a path"):
        read_text(Path("a\0b"))
    with pytest.raises(ConfigError, match=f"{path}: a.b: wrong"), in_file(path):
        raise ConfigError("a.b: wrong")


def test_the_nearest_name_is_suggested() -> None:
    assert unknown("rule", "stripe-convoi", {"stripe-convoy", "slow"}) == "unknown rule; did you mean stripe-convoy?"
    assert unknown("rule", "x", {"b", "a"}) == "unknown rule; valid: a, b"
    assert unknown("rule", "x", {"b", "a"}, "see `sdstop rules`") == "unknown rule; see `sdstop rules`"
    assert unknown("threshold", "x", ()) == "unknown threshold; valid: none"
