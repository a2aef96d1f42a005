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
severity = "warning"                  # not accepted if it becomes critical

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
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from sdstop.cli.problem import Problem
from sdstop.cli.record_settings import RecordSettings
from sdstop.core.config_error import ConfigError, unknown
from sdstop.core.finding import Severity
from sdstop.core.format import safe
from sdstop.core.policy import NO_POLICY, Acceptance, Policy, RulePolicy
from sdstop.core.settings import convert, in_file, read_text, read_toml
from sdstop.tui.settings import UiSettings, found_files, ui_settings

if TYPE_CHECKING:
    from sdstop.core.finding import NodeRule, Rule
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


class Config(msgspec.Struct, frozen=True):
    """Settings from the config files.

    `thresholds` by rule id and name, in the threshold's base unit; `policy` is the other settings of rules;
    `interval` in seconds; `smp` whether SAS expanders are queried, `smart` whether disks are (SMART, NVMe log);
    `export` as written; `record` for the exporter; `tables` are the files with their contents, the most general first.
    """

    thresholds: Mapping[str, Mapping[str, float]] = {}
    policy: Policy = NO_POLICY
    interval: float = 1.0
    smp: bool = True
    smart: bool = True
    export: Mapping[str, Any] = {}
    record: RecordSettings = RecordSettings()
    powerflex: Settings | None = None
    tables: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    @property
    def recorded(self) -> dict[str, str]:
        """The policy as a fact of captures, so that they are judged alike elsewhere; nothing without one."""
        merged = _merged([table for _, table in self.tables])
        chosen = {name: merged[name] for name in _POLICY if merged.get(name)}
        return {FACT: msgspec.json.encode(chosen, order="deterministic").decode()} if chosen else {}


FACT = "policy"
"""Name of the fact of a capture that has the policy of the node, as JSON."""
_POLICY = ("rules", "accept")


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
        return config_of([("the capture", kept), *config.tables], rules), ""
    except (msgspec.DecodeError, ConfigError, AttributeError, TypeError, RecursionError) as error:
        return config, f"its policy is not usable: {safe(error, 200)}"


def config_of(tables: Sequence[tuple[str, Mapping[str, Any]]], rules: Sequence[Rule | NodeRule]) -> Config:
    """Return the settings of the contents of several files. Raises ConfigError."""
    file = convert(_merged([table for _, table in tables]), ConfigFile)
    thresholds: dict[str, dict[str, float]] = {}
    chosen: dict[str, RulePolicy] = {}
    for rule, values in file.rules.items():
        beside = {name: values[name] for name in _RuleSettings.__struct_fields__ if name in values}
        settings = convert(beside, _RuleSettings, f"rules.{rule}")
        if beside:
            chosen[rule] = RulePolicy(settings.enabled, settings.severity, settings.subjects)
        numbers = {name: value for name, value in values.items() if name not in beside}
        thresholds[rule] = convert(numbers, dict[str, _Threshold], f"rules.{rule}")
    _check_names(thresholds, rules)
    for rule, own in chosen.items():
        for pattern, limits in own.subjects.items():
            _check_names({rule: limits}, rules, f"subjects.{pattern}.")
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
    return (datetime(until.year, until.month, until.day, tzinfo=UTC) + timedelta(days=1)).timestamp()


def _merged(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return tables merged key by key; lists of tables are joined."""
    merged: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            known = merged.get(name)
            if isinstance(known, Mapping) and isinstance(value, Mapping):
                merged[name] = _merged([known, value])
            elif isinstance(known, list) and isinstance(value, list) and name == "accept":
                merged[name] = [*known, *value]
            else:
                merged[name] = value
    return merged


def _powerflex(section: Mapping[str, Any]) -> Settings:
    from sdstop.node.gateway.settings import settings  # rarely needed: most nodes have no gateway

    return settings(section)


def _check_names(
    thresholds: Mapping[str, Mapping[str, float]], rules: Sequence[Rule | NodeRule], within: str = ""
) -> None:
    """Raise ConfigError for a rule or a threshold that does not exist."""
    known: dict[str, set[str]] = {}
    for declared in rules:  # a node rule and a rule between nodes may share an id
        known.setdefault(declared.id, set()).update(t.name for t in declared.thresholds)
    for rule, values in thresholds.items():
        if rule not in known:
            raise ConfigError(f"rules.{rule}: {unknown('rule', rule, known, 'see `sdstop rules`')}")
        for name in values:
            if name not in known[rule]:
                raise ConfigError(f"rules.{rule}.{within}{name}: {unknown('threshold', name, known[rule])}")
