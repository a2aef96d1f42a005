"""Config file (TOML): thresholds and settings. Every number used by a rule can be set here.

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

[ui]
time = "utc"
mouse = false
columns = {disks = ["DEVICE", "aqu", "await", "%util"]}

The table [ui] is also read from /etc/sdstop/config.toml and from $XDG_CONFIG_HOME/sdstop/config.toml. Unsupported
settings are rejected in one line that names the file and the setting.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from sdstop.cli.problem import Problem
from sdstop.core.config_error import ConfigError, unknown
from sdstop.core.format import safe
from sdstop.core.settings import convert, in_file, read_text, read_toml
from sdstop.tui.settings import UiSettings, found_files, ui_settings

if TYPE_CHECKING:
    from sdstop.core.finding import NodeRule, Rule
    from sdstop.node.gateway.settings import Settings

_Threshold = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
"""Allowed thresholds: larger numbers are mistakes, and NaN would disable a rule."""


class SamplerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[sampler]`: seconds between two samples, and whether SAS expanders are queried."""

    interval: Annotated[float, msgspec.Meta(ge=0.1, le=3600, description="seconds from 0.1 to 3600")] = 1.0
    smp: bool = True


class ConfigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. The types of `[export]` and `[powerflex]` are defined with the code they configure."""

    rules: dict[str, dict[str, _Threshold]] = {}
    sampler: SamplerSettings = SamplerSettings()
    export: dict[str, Any] = {}
    powerflex: dict[str, Any] | None = None
    ui: UiSettings = UiSettings()


def appearance(options: argparse.Namespace) -> UiSettings:
    """Return the `[ui]` settings of the files that are found without being named, and of `--config`. Raises Problem."""
    given: Path | None = options.config
    try:
        return ui_settings([*found_files(), *([given] if given is not None else [])])
    except ConfigError as error:
        raise Problem(safe(error, 500), 2) from error


class Config(msgspec.Struct, frozen=True):
    """Settings from the config file.

    `thresholds` by rule id and name, in the threshold's base unit; `interval` in seconds; `smp` whether SAS expanders
    are queried; `export` as written.
    """

    thresholds: Mapping[str, Mapping[str, float]] = {}
    interval: float = 1.0
    smp: bool = True
    export: Mapping[str, Any] = {}
    powerflex: Settings | None = None


def load(path: Path | None, rules: Sequence[Rule | NodeRule]) -> Config:
    """Read a config file, or return the defaults for None. Raises ConfigError."""
    if path is None:
        return Config()
    text = read_text(path)
    with in_file(path):
        file = convert(read_toml(text), ConfigFile)
        _check_names(file.rules, rules)
        powerflex = None if file.powerflex is None else _powerflex(file.powerflex)
        return Config(file.rules, file.sampler.interval, file.sampler.smp, file.export, powerflex)


def _powerflex(section: Mapping[str, Any]) -> Settings:
    from sdstop.node.gateway.settings import settings  # rarely needed: most nodes have no gateway

    return settings(section)


def _check_names(thresholds: Mapping[str, Mapping[str, float]], rules: Sequence[Rule | NodeRule]) -> None:
    """Raise ConfigError for a rule or a threshold that does not exist."""
    known: dict[str, set[str]] = {}
    for declared in rules:  # a node rule and a rule between nodes may share an id
        known.setdefault(declared.id, set()).update(t.name for t in declared.thresholds)
    for rule, values in thresholds.items():
        if rule not in known:
            raise ConfigError(f"rules.{rule}: {unknown('rule', rule, known, 'see `sdstop rules`')}")
        for name in values:
            if name not in known[rule]:
                raise ConfigError(f"rules.{rule}.{name}: {unknown('threshold', name, known[rule])}")
