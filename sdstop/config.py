"""Config: the TOML file that sets thresholds and choices. Every number that a rule uses can be set here.

[rules.stripe-convoy]
deficit = 0.08

[sampler]
interval = 1.0
smp = false

[export]
limit = 5000

[powerflex]
gateways = ["https://gateway"]
user = "monitor"

What cannot be honoured is refused in one line that names the file and the key: what is written there and does
nothing would be believed. `[export]` is read by the exporter that it is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdstop.core.finding import NodeRule, Rule
    from sdstop.gateway.settings import Settings

_LARGEST = 1e18
"""No threshold is larger: a number beyond it is a mistake."""


class ConfigError(Exception):
    """The file cannot be used; one line that says what to mend."""


@dataclass(frozen=True, slots=True)
class Config:
    """What the file sets.

    `thresholds` by rule id and name, in the threshold's base unit; `interval` in seconds; `smp` whether SAS expanders
    are asked for anything; `export` as it stands.
    """

    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    interval: float = 1.0
    smp: bool = True
    export: Mapping[str, Any] = field(default_factory=dict)
    powerflex: Settings | None = None


def load(path: Path | None, rules: Sequence[Rule | NodeRule]) -> Config:
    """Read a config file, or return the defaults for None. Raises ConfigError."""
    if path is None:
        return Config()
    import tomllib  # noqa: PLC0415  # most nodes have no file

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}") from error
    for name in sorted(table.keys() - {"rules", "sampler", "export", "powerflex"}):
        what = f"[{name}] is no section" if isinstance(table[name], dict) else f"{name} stands in no section"
        raise ConfigError(f"{path}: {what}; there are [rules.ID], [sampler], [export], [powerflex]")
    return Config(
        _thresholds(path, table, rules),
        _interval(path, table),
        _smp(path, table),
        _section(path, table, "export"),
        _powerflex(path, table) if "powerflex" in table else None,
    )


def _powerflex(path: Path, table: Mapping[str, Any]) -> Settings:
    from sdstop.gateway.settings import settings  # noqa: PLC0415  # most nodes have no gateway

    try:
        return settings(_section(path, table, "powerflex"))
    except ValueError as error:
        raise ConfigError(f"{path}: powerflex.{error}") from error


def _section(path: Path, table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = table.get(name, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: [{name}] must be a table")
    return section


def _interval(path: Path, table: Mapping[str, Any]) -> float:
    sampler = _section(path, table, "sampler")
    for name in sorted(sampler.keys() - {"interval", "smp"}):
        raise ConfigError(f"{path}: sampler.{name}: there is no such setting; there are interval, smp")
    interval = sampler.get("interval", 1.0)
    if not isinstance(interval, int | float) or isinstance(interval, bool) or not 0.1 <= interval <= 3600:
        raise ConfigError(f"{path}: sampler.interval must be seconds from 0.1 to 3600")
    return float(interval)


def _smp(path: Path, table: Mapping[str, Any]) -> bool:
    smp = _section(path, table, "sampler").get("smp", True)
    if not isinstance(smp, bool):
        raise ConfigError(f"{path}: sampler.smp must be true or false")
    return smp


def _thresholds(path: Path, table: Mapping[str, Any], rules: Sequence[Rule | NodeRule]) -> dict[str, dict[str, float]]:
    known: dict[str, set[str]] = {}
    for declared in rules:  # one of a node and one between nodes may share an id
        known.setdefault(declared.id, set()).update(t.name for t in declared.thresholds)
    chosen: dict[str, dict[str, float]] = {}
    for rule, values in _section(path, table, "rules").items():
        if rule not in known:
            raise ConfigError(f"{path}: [rules.{rule}]: there is no such rule; `sdstop rules` lists them")
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: [rules.{rule}] must be a table")
        for name, value in values.items():
            if name not in known[rule]:
                has = ", ".join(sorted(known[rule])) or "none"
                raise ConfigError(f"{path}: rules.{rule}.{name}: there is no such threshold; {rule} has {has}")
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ConfigError(f"{path}: rules.{rule}.{name} must be a number")
            if not 0 <= value <= _LARGEST:  # nan is neither: it would switch the rule off without a word
                raise ConfigError(f"{path}: rules.{rule}.{name} must be a number from 0 to 1e18")
            chosen.setdefault(rule, {})[name] = float(value)
    return chosen
