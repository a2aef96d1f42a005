"""Settings of a run. Without a file, none of the code that reads files (sdstop.cli.config) is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from sdstop.cli.record_settings import RecordSettings
from sdstop.core.policy import NO_POLICY, Policy

if TYPE_CHECKING:
    from sdstop.node.gateway.settings import Settings


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
        whole = merged([table for _, table in self.tables])
        chosen = {name: whole[name] for name in _POLICY if whole.get(name)}
        return {FACT: msgspec.json.encode(chosen, order="deterministic").decode()} if chosen else {}


FACT = "policy"
"""Name of the fact of a capture that has the policy of the node, as JSON."""
_POLICY = ("rules", "accept")


def merged(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return tables merged key by key, the keys of later ones first; lists of tables are joined."""
    found: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            known = found.get(name)
            if isinstance(known, Mapping) and isinstance(value, Mapping):
                both = merged([known, value])
                found[name] = {**{key: both[key] for key in value}, **both}
            elif isinstance(known, list) and isinstance(value, list) and name == "accept":
                found[name] = [*known, *value]
            else:
                found[name] = value
    return found
