"""State of the fleet at one time: nodes, their findings, arrays, rebuilds and volumes."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from msgspec import Struct, field

from sdstop.core.expression import expression
from sdstop.core.finding import Finding, Severity, Verdict
from sdstop.fleet.silences import SilencedAlert

Key = tuple[str, str]
"""Key of a node: the server's job and instance labels."""

_PORT = expression(r"^(.+):\d{1,5}$")
"""An instance with its port."""


def short(instance: str) -> str:
    """Return an instance without its port: `n1` for `n1:10042`."""
    found = _PORT.match(instance)
    return found[1] if found else instance


class FleetFinding(Struct, frozen=True):
    """An active finding on a node."""

    node: Key
    rule: str
    severity: Severity
    subject: str


class FleetNode(Struct, frozen=True, kw_only=True):
    """A node: number of findings by severity, age of its last sample in seconds, and one of its worst findings.

    `silence` is why the node is silent, "" if it is not. `history` is its number of critical and warning findings,
    oldest first, None where unknown.
    """

    key: Key
    name: str
    critical: int = 0
    warning: int = 0
    info: int = 0
    age: float | None = None
    worst: FleetFinding | None = None
    silence: str = ""
    history: tuple[float | None, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """Worst severity, None for info or no findings."""
        return Severity.CRITICAL if self.critical else Severity.WARNING if self.warning else None

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Sort key of nodes, the worst highest; silent nodes rank below critical ones."""
        return (self.critical, int(bool(self.silence)), self.warning, self.info)


class FleetArray(Struct, frozen=True):
    """An array that has findings or uneven load.

    `skew` is the busy time of the busiest member relative to the mean of all; 1 is even.
    """

    node: Key
    array: str
    claims: tuple[FleetFinding, ...] = ()
    skew: float | None = None

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the findings, None if there are none."""
        return max((c.severity for c in self.claims), key=lambda s: s.rank, default=None)

    @property
    def members(self) -> tuple[str, ...]:
        """Members that have findings."""
        return tuple(dict.fromkeys(c.subject.partition("/")[2] for c in self.claims if "/" in c.subject))


class RebuildRow(Struct, frozen=True):
    """A rebuild: share done, seconds remaining, bytes per second; None if not reported."""

    node: Key
    array: str
    operation: str
    state: str = ""
    done: float | None = None
    remaining: float | None = None
    speed: float | None = None


class VolumeRow(Struct, frozen=True):
    """A volume at or near a limit, by its use or by a finding. `used` is the share of the limit."""

    node: Key
    volume: str
    owner: str = ""
    binds: str = ""
    used: float | None = None
    claims: tuple[FleetFinding, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """Worst severity of the findings, None if there are none."""
        return max((c.severity for c in self.claims), key=lambda s: s.rank, default=None)


class RuleRow(Struct, frozen=True):
    """A rule and the number of nodes with its findings of a severity."""

    rule: str
    severity: Severity
    nodes: int

    @property
    def advice(self) -> str:
        """The first thing to do about them, "" for a rule that this version does not have."""
        return advice(self.rule)


def advice(rule: str, subject: str = "") -> str:
    """Return the first thing to do about findings of a rule, or about one of them."""
    return _advice().get(rule, "").replace("{subject}", subject or "it")


@functools.cache
def _advice() -> dict[str, str]:
    from sdstop.rules import RULES  # noqa: PLC0415  # the rules load all families

    return {rule.id: rule.advice for rule in RULES}


class FleetState(Struct, frozen=True):
    """State of the fleet. `total` is the number of nodes with samples, `nodes` the worst MOST_NODES at most.

    `troubles` are failed queries, `warnings` and `infos` the server's remarks, each in one line; `failed` is set if
    the server did not answer at all. `silenced` are the alerts that an Alertmanager holds back, None if none was asked
    or it did not answer. `asked` is in Unix seconds, `took` the seconds until the last answer.
    """

    asked: float = 0.0
    took: float = 0.0
    server: str = ""
    total: int | None = None
    named: Mapping[Key, str] = field(default_factory=dict)
    counts: Mapping[Severity, int] = field(default_factory=dict)
    nodes: tuple[FleetNode, ...] = ()
    findings: tuple[FleetFinding, ...] = ()
    rules: tuple[RuleRow, ...] = ()
    accepted: tuple[RuleRow, ...] = ()
    """Rules with accepted findings, and the severity that these would have."""
    arrays: tuple[FleetArray, ...] = ()
    rebuilds: tuple[RebuildRow, ...] = ()
    volumes: tuple[VolumeRow, ...] = ()
    outliers: tuple[Verdict, ...] = ()
    silenced: tuple[SilencedAlert, ...] | None = None
    troubles: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    failed: bool = False

    @property
    def silent(self) -> tuple[FleetNode, ...]:
        """Silent nodes, longest silent first."""
        quiet = [node for node in self.nodes if node.silence]
        return tuple(sorted(quiet, key=lambda node: (-(node.age if node.age is not None else math.inf), node.name)))

    @property
    def differing(self) -> tuple[Finding, ...]:
        """Findings on differences between nodes, worst first."""
        found = [verdict for verdict in self.outliers if isinstance(verdict, Finding)]
        return tuple(sorted(found, key=lambda finding: (-finding.severity.rank, finding.subject)))

    def silence(self, claim: FleetFinding) -> SilencedAlert | None:
        """Return the alert about a finding that a silence holds back."""
        about = (claim.node, claim.rule, claim.subject)
        return next((each for each in self.silenced or () if (each.node, each.rule, each.subject) == about), None)

    def name(self, key: Key) -> str:
        """Return a node's name."""
        return self.named.get(key, short(key[1]))
