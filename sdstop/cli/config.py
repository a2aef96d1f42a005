"""Config files (TOML): thresholds, policy and settings. Every number used by a rule can be set here.

[rules.stripe-convoy]
deficit = 0.08

[rules.link-saturated]
enabled = true                        # false: the rule is not checked
severity = "info"                     # of its warnings and critical findings
subjects = {"backup*" = {share = 0.99}}   # thresholds of single things

[[accept]]                            # shown as accepted, without an alarm
rule = "dimm-too-few-channels"        # patterns of rule and subject
subject = "memory"
reason = "modules ordered, ticket 4711"
until = 2026-12-31
severity = "critical"                 # the worst that is accepted

[sampler]
interval = 1.0
smp = false
smart = false

[export]
limit = 5000

[record]
file = "/var/lib/sdstop/node7.sdstop"   # the exporter records, too
keep = "7d"
max_size = "1GiB"
on_critical = "/var/lib/sdstop/critical"   # captures of the minutes around critical findings

[powerflex]
gateways = ["https://gateway"]
user = "monitor"

[ui]
time = "utc"
mouse = false
columns = {disks = ["DEVICE", "aqu", "await", "%util"]}

Read are /etc/sdstop/config.toml, $XDG_CONFIG_HOME/sdstop/config.toml and the file of `--config`; later files override
earlier ones key by key, and their [[accept]] are added. A capture is judged by the policy of the node that recorded it
and by `--config`. Unsupported settings are rejected in one line that names the file and the setting.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec

from sdstop.cli.problem import Problem
from sdstop.cli.record_settings import RecordSettings
from sdstop.cli.settings import FACT, Config, merged
from sdstop.core.config_error import ConfigError, unknown
from sdstop.core.finding import Severity
from sdstop.core.format import safe
from sdstop.core.policy import Acceptance, Policy, RulePolicy
from sdstop.core.settings import convert, in_file, read_text, read_toml
from sdstop.core.suggestion import nearest
from sdstop.tui.settings import UiSettings, found_files, ui_settings

if TYPE_CHECKING:
    from sdstop.core.evidence import Origin
    from sdstop.core.rule import NodeRule, Rule, Threshold
    from sdstop.node.gateway.settings import Settings

_Threshold = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
"""Allowed thresholds: larger numbers are mistakes, and NaN would disable a rule."""


class SamplerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[sampler]`: seconds between two samples, and whether SAS expanders and disks are queried."""

    interval: Annotated[float, msgspec.Meta(ge=0.1, le=3600, description="seconds from 0.1 to 3600")] = 1.0
    smp: bool = True
    smart: bool = True


class AcceptSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[[accept]]`: patterns of rule and subject, why, the last day (UTC), and the worst severity that is accepted."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=200, description="a reason")]
    rule: str = "*"
    subject: str = "*"
    until: Annotated[date, msgspec.Meta(description="a date such as 2026-12-31")] | None = None
    severity: Literal["warning", "critical"] | None = None


class ConfigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. The types of `[export]` and `[powerflex]` are defined with the code they configure."""

    rules: dict[str, dict[str, Any]] = {}
    accept: list[AcceptSetting] = []
    sampler: SamplerSettings = SamplerSettings()
    record: RecordSettings = RecordSettings()
    export: dict[str, Any] = {}
    powerflex: dict[str, Any] | None = None
    ui: UiSettings = UiSettings()


class _RuleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a rule beside its thresholds."""

    enabled: bool = True
    severity: Severity | None = None
    subjects: dict[str, dict[str, _Threshold]] = {}


def appearance(options: argparse.Namespace) -> UiSettings:
    """Return the `[ui]` settings of the files that are found without being named, and of `--config`. Raises Problem."""
    given: Path | None = options.config
    try:
        return ui_settings([*found_files(), *([given] if given is not None else [])])
    except ConfigError as error:
        raise Problem(safe(error, 500), 2) from error


def renewed(origin: Origin, config: Config) -> Origin:
    """Return an origin whose facts have the policy of this configuration."""
    facts = {name: value for name, value in origin.facts.items() if name != FACT}
    return msgspec.structs.replace(origin, facts={**facts, **config.recorded})


def load(paths: Sequence[Path], rules: Sequence[Rule | NodeRule]) -> Config:
    """Read config files, of which later ones override earlier ones. Raises ConfigError."""
    tables = []
    for path in paths:
        text = read_text(path)
        with in_file(path):
            table = read_toml(text)
            config_of([(str(path), table)], rules)
            tables.append((str(path), table))
    return config_of(tables, rules)


def with_recorded(config: Config, facts: Mapping[str, str], rules: Sequence[Rule | NodeRule]) -> tuple[Config, str]:
    """Return the settings with the policy that a capture recorded below them, and a note if it is not usable.

    Rules and thresholds that this version does not have are left out: the capture may be of another one.
    """
    if FACT not in facts:
        return config, ""
    try:
        table = msgspec.json.decode(facts[FACT])
        known = {rule.id for rule in rules}
        named = table.get("rules", {})
        kept = {**table, "rules": {name: values for name, values in named.items() if name in known}}
        if "accept" in table:
            kept["accept"] = [one for one in table["accept"] if _names_one(one.get("rule", "*"), known)]
        return config_of([("the capture", kept), *config.tables], rules), ""
    except (msgspec.DecodeError, ConfigError, AttributeError, TypeError, RecursionError) as error:
        return config, f"its policy is not usable: {safe(error, 200)}"


def _names_one(pattern: object, known: Iterable[str]) -> bool:
    """Return whether a pattern of rules matches one; anything but text is left for the error message."""
    return not isinstance(pattern, str) or any(fnmatchcase(rule, pattern) for rule in known)


def config_of(tables: Sequence[tuple[str, Mapping[str, Any]]], rules: Sequence[Rule | NodeRule]) -> Config:
    """Return the settings of the contents of several files. Raises ConfigError."""
    whole = merged([table for _, table in tables])
    if isinstance(whole.get("accept"), Mapping):
        raise ConfigError("accept: expected a list; write [[accept]], in two pairs of brackets")
    file = convert(whole, ConfigFile)
    known = _thresholds(rules)
    thresholds: dict[str, dict[str, float]] = {}
    chosen: dict[str, RulePolicy] = {}
    for rule, values in file.rules.items():
        beside = {name: values[name] for name in _RuleSettings.__struct_fields__ if name in values}
        settings = convert(beside, _RuleSettings, f"rules.{rule}")
        if beside:
            chosen[rule] = RulePolicy(settings.enabled, settings.severity, settings.subjects)
        numbers = {name: value for name, value in values.items() if name not in beside}
        _check_names(rule, [n for n, value in numbers.items() if type(value) not in {int, float}], known)
        thresholds[rule] = convert(numbers, dict[str, _Threshold], f"rules.{rule}")
        _check_numbers(rule, thresholds[rule], known)
        for pattern, limits in settings.subjects.items():
            _check_numbers(rule, limits, known, f"subjects.{pattern}.")
    for index, each in enumerate(file.accept):
        if not any(fnmatchcase(rule, each.rule) for rule in known):
            raise ConfigError(f"accept[{index}].rule: {unknown('rule', each.rule, known, _LISTED)}")
    accepted = tuple(
        Acceptance(
            each.reason,
            each.rule,
            each.subject,
            None if each.until is None else _end(each.until),
            None if each.severity is None else Severity(each.severity),
        )
        for each in file.accept
    )
    powerflex = None if file.powerflex is None else _powerflex(file.powerflex)
    return Config(
        {rule: values for rule, values in thresholds.items() if values}, Policy(chosen, accepted),
        file.sampler.interval, file.sampler.smp, file.sampler.smart, file.export, file.record, powerflex, tuple(tables),
    )  # fmt: skip


def _end(until: date) -> float:
    """Return the end of a day (UTC) in Unix seconds."""
    return datetime(until.year, until.month, until.day, tzinfo=UTC).timestamp() + 86400.0  # 9999-12-31 has no next day


def _powerflex(section: Mapping[str, Any]) -> Settings:
    from sdstop.node.gateway.settings import settings  # rarely needed: most nodes have no gateway

    return settings(section)


_LISTED = "see `sdstop rules`"
_Known: TypeAlias = "Mapping[str, Mapping[str, Threshold]]"


def _thresholds(rules: Sequence[Rule | NodeRule]) -> dict[str, dict[str, Threshold]]:
    """Return the thresholds of each rule by name; a node rule and a rule between nodes may share an id."""
    known: dict[str, dict[str, Threshold]] = {}
    for declared in rules:
        known.setdefault(declared.id, {}).update((each.name, each) for each in declared.thresholds)
    return known


def _check_names(rule: str, names: Iterable[str], known: _Known, within: str = "") -> None:
    """Raise ConfigError for a rule or a threshold that does not exist."""
    if rule not in known:
        raise ConfigError(f"rules.{rule}: {unknown('rule', rule, known, _LISTED)}")
    for name in names:
        if name not in known[rule]:
            settings = () if within else _RuleSettings.__struct_fields__
            what = "setting" if nearest(name, settings) else "threshold"
            valid = {**known[rule], **dict.fromkeys(settings)} if what == "setting" else known[rule]
            raise ConfigError(f"rules.{rule}.{within}{name}: {unknown(what, name, valid)}")


def _check_numbers(rule: str, numbers: Mapping[str, float], known: _Known, within: str = "") -> None:
    """Raise ConfigError for names that do not exist, and for shares above 1: 95 instead of 0.95 disables a rule."""
    _check_names(rule, numbers, known, within)
    for name, value in numbers.items():
        declared = known[rule][name]
        if declared.unit == "ratio" and declared.default < 1 < value:
            raise ConfigError(f"rules.{rule}.{within}{name}: expected a share from 0 to 1; 95% is 0.95")
