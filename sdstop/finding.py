"""Finding: what a rule says is wrong, with the numbers it compared and the raw evidence it rests on."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sdstop.evidence import Cite
from sdstop.history import Window
from sdstop.model import Reading


class Severity(enum.StrEnum):
    """How bad: info is allowed to be quiet."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for info, 2 for critical."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Value:
    """A number (or word) that a rule compared, in base units.

    `limit` is the threshold it was held against.
    """

    name: str
    title: str
    value: float | int | str | None
    unit: str = ""
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something is wrong with `subject`, a stable id such as `md2`, `md2/sdc`, `eth1`.

    `confidence` is 0..1, None where the matter is certain. `refuted_by` says what would show the finding to
    be wrong; `explains` names findings (`rule:subject`) of which this one is the cause.
    """

    rule: str
    severity: Severity
    subject: str
    summary: str
    values: tuple[Value, ...] = ()
    evidence: tuple[Cite, ...] = ()
    advice: tuple[str, ...] = ()
    refuted_by: str = ""
    confidence: float | None = None
    explains: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`rule:subject`."""
        return f"{self.rule}:{self.subject}"


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A rule looked at `subject` and found it good; the summary names the numbers."""

    rule: str
    subject: str
    summary: str


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A rule that applies here could not look; never shown as good. `subject` is empty for the whole node."""

    rule: str
    reason: str
    subject: str = ""


Verdict = Finding | RuledOut | Unchecked
Limits = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that config can set: `[rules.ID] name = value`."""

    name: str
    default: float
    help: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One diagnosis: a pure function over a window.

    It is asked only when each family of `needs` has rows; `seconds` is how long a window it needs before it
    can speak at all (0: one frame is enough).
    """

    id: str
    says: str
    worst: Severity
    check: Callable[[Window, Limits], Iterable[Verdict]]
    needs: tuple[type[Reading], ...]
    thresholds: tuple[Threshold, ...] = ()
    seconds: float = 0.0

    def limits(self, configured: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return the thresholds by name, with what config sets."""
        return {t.name: t.default for t in self.thresholds} | dict(configured or {})


def cites(*found: Cite | None) -> tuple[Cite, ...]:
    """Drop the evidence that could not be quoted, and repetitions."""
    return tuple(dict.fromkeys(c for c in found if c is not None))
