"""PromQL strings and selectors, quoted so that label values cannot break out of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sdstop.core.config_error import ConfigError
from sdstop.core.expression import expression
from sdstop.core.format import safe

_META = expression(r"([\\.+*?()|\[\]{}^$])")
_MATCHER = expression(
    r"""\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*(?P<op>=~|!~|!=|=)\s*"""
    r"""(?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)\s*"""
)


def quoted(text: str) -> str:
    """Return a text as a PromQL string literal."""
    shown = text.encode("utf-8", "replace").decode("utf-8").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", shown) + '"'


def one_of(values: Iterable[str]) -> str:
    """Return an RE2 expression, as a string literal, that matches exactly the given values."""
    return quoted("|".join(_META.sub(r"\\\1", value) for value in values))


def matchers(text: str) -> str:
    """Return matchers as written between braces: `job="sdstop",cluster=~"a|b"`. Raises ConfigError.

    Accepts `{job="sdstop"}` and the same without braces; "" selects every series.
    """
    said = text.strip()
    if said.startswith("{") and said.endswith("}"):
        said = said[1:-1].strip()
    found: list[str] = []
    place = 0
    while place < len(said):
        matcher = _MATCHER.match(said, place)
        if matcher is None or matcher["name"] == "__name__":
            raise ConfigError(f'invalid --match {safe(text, 80)!r}; use \'job="sdstop",cluster="a"\'')
        found.append(f"{matcher['name']}{matcher['op']}{matcher['value']}")
        place = matcher.end()
        if place < len(said):
            if said[place] != ",":
                raise ConfigError(f"--match {safe(text, 80)!r} lacks a comma after {safe(found[-1], 60)}")
            place += 1
    return ",".join(found)


def series(metric: str, *conditions: str) -> str:
    """Return a selector: the metric with those of the conditions that are not empty."""
    chosen = ",".join(each for each in conditions if each)
    return f"{metric}{{{chosen}}}" if chosen else metric
