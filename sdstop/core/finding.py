"""Finding: a fault reported by a rule, with the compared values and the supporting raw evidence."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.advice import Advice
from sdstop.core.evidence import Cite


class Severity(enum.StrEnum):
    """Severity of a finding; info need not be prominent."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for info, 2 for critical."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class Damage(enum.StrEnum):
    """Kind of damage that a finding reports, worst first."""

    DATA = "data"
    """Data is lost, or readable by others."""
    REDUNDANCY = "redundancy"
    AVAILABILITY = "availability"
    CAPACITY = "capacity"
    SPEED = "speed"
    HYGIENE = "hygiene"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _DAMAGES[self]


_DAMAGES = {damage: rank for rank, damage in enumerate(Damage)}


class Value(Struct, frozen=True, gc=False):
    """Quantity (or word) compared by a rule, in base units.

    It was compared with one of these: `of`, a maximum or total ("1 of 4"); `above`, the threshold that it exceeds
    ("> 5%"); `below`, the threshold that it falls short of ("< 2").

    `name` is unique in the finding. If that takes the name of a thing, `name` ends with it, and `thing` has it.
    """

    name: str
    title: str
    value: float | int | str | None
    unit: str = ""
    of: float | None = None
    above: float | None = None
    below: float | None = None
    thing: str = ""

    @property
    def stable(self) -> str:
        """The name without that of the thing, the same for each finding of the rule."""
        return self.name.removesuffix(f"_{self.thing}") if self.thing else self.name

    @property
    def compared(self) -> float | None:
        """The number that the value was compared with."""
        return next((number for number in (self.of, self.above, self.below) if number is not None), None)


class Accepted(Struct, frozen=True, gc=False):
    """Acceptance of a finding: the reason, its end in Unix seconds (None: none), and the severity without it."""

    reason: str
    until: float | None
    severity: Severity


class Finding(Struct, frozen=True, kw_only=True, gc=False):
    """Fault of `subject`, a stable ID such as `md2`, `md2/sdc`, `eth1`.

    `title` is at most 40 cells, the fault first and in capitals, without the subject. `cause` and `impact` are one
    sentence each, at most 71 cells. `advice` has sentences, the first of at most 71 cells, and commands. `refuted_by`
    is an observation that would disprove the finding; `harmless_if` a circumstance under which the fact does no harm.

    Rules yield verdicts without `rule`, their own ID; the caller sets it (see `of_rule`), as well as `damage`,
    `standing` and `view` where the finding leaves them to its rule. `view` is the ID of the view that shows it best,
    and `view_subject` the thing to select there, by default its subject. A `standing` finding is a condition, such as
    one DIMM per CPU, and not an incident. `cost` is the mean number of requests that wait because of it, 0 if unknown.

    `confidence` is 0..1, or None if certain. `explains` lists findings (`rule:subject`) caused by this one,
    `explained_by` those that caused it. `others` are further things of which it speaks: the rule owes no other verdict
    on them. `disks` are kernel names of disks with a part in the fault, whose own facts are added to it (see
    sdstop.core.remarks); without them the subject counts. `disproof` is text that would disprove it; a finding cannot
    be made of evidence that contains it (ValueError). `totals` is true for findings based on counter totals from before
    sampling started; findings of later frames replace them. The topology adds `part_of` (arrays, pools and others that
    contain the thing), `affected` (the nearest volumes, filesystems, mounts, targets and clients that need it) and
    `affected_count`, the number of all these. `members` are the findings that it replaces, those of its rule about
    things that share `subject` (see sdstop.core.folding). `lasting` is the time in seconds for which the samples have
    shown the fault by now, of rules that wait for a while before they report it. `left` are the names of each thing
    whose absence is the fault: the session remembers it until one of the names is there again (see sdstop.core.memory).

    Where several nodes are seen together, `host` is the node that has the fault, and `between` are the nodes whose
    evidence a rule between nodes joined; without `host` the fault lies between them. Both are empty otherwise.

    `accepted` is set if the policy accepts it (see sdstop.core.policy); its severity is then info.
    """

    severity: Severity
    subject: str
    title: str = ""
    cause: str
    impact: str = ""
    values: tuple[Value, ...] = ()
    evidence: tuple[Cite, ...] = ()
    advice: tuple[Advice, ...] = ()
    refuted_by: str = ""
    harmless_if: str = ""
    confidence: float | None = None
    explains: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()
    totals: bool = False
    rule: str = ""
    damage: Damage | None = None
    standing: bool | None = None
    view: str = ""
    view_subject: str = ""
    cost: float = 0.0
    others: tuple[str, ...] = ()
    disks: tuple[str, ...] = ()
    disproof: str = ""
    part_of: tuple[str, ...] = ()
    affected: tuple[str, ...] = ()
    affected_count: int = 0
    members: tuple[Finding, ...] = ()
    lasting: float = 0.0
    left: tuple[tuple[str, ...], ...] = ()
    host: str = ""
    between: tuple[str, ...] = ()
    accepted: Accepted | None = None

    def __post_init__(self) -> None:
        """Refuse evidence that disproves the finding. Raises ValueError."""
        if self.disproof and any(self.disproof in cite.excerpt for cite in self.evidence):
            raise ValueError(f"{self.subject}: its own evidence has {self.disproof!r}")

    @property
    def id(self) -> str:
        """`rule:subject`; among several nodes `host:rule:subject`, or `between:rule:subject` of rules between them."""
        place = "between" if self.between else self.host
        return f"{place}:{self.rule}:{self.subject}" if place else f"{self.rule}:{self.subject}"

    def on(self, host: str) -> Finding:
        """Return the finding of one node as that of a node among several."""
        explains = tuple(f"{host}:{key}" for key in self.explains)
        by = tuple(f"{host}:{key}" for key in self.explained_by)
        members = tuple(member.on(host) for member in self.members)
        return replace(self, host=host, explains=explains, explained_by=by, members=members)

    @property
    def steps(self) -> tuple[str, ...]:
        """The advice as text."""
        return tuple(map(str, self.advice))

    @property
    def shown(self) -> tuple[Value, ...]:
        """The values for people: without words that do not apply. An unknown quantity is one of them, as unknown."""
        return tuple(each for each in self.values if each.value is not None or each.unit or each.compared is not None)

    @property
    def summary(self) -> str:
        """Cause and impact."""
        return f"{self.cause} {self.impact}" if self.impact else self.cause

    @property
    def subjects(self) -> tuple[str, ...]:
        """Its subject and those of its members."""
        return (self.subject, *(member.subject for member in self.members))


class RuledOut(Struct, frozen=True, gc=False):
    """Result of a check that `subject` passed, and `others` as well; `summary` states the values.

    `despite` are critical findings (`rule:subject`) about these things or things that contain their data; the summary
    names them (see sdstop.core.placement). `host` is the node, where several are seen together.
    """

    subject: str
    summary: str
    rule: str = ""
    others: tuple[str, ...] = ()
    despite: tuple[str, ...] = ()
    host: str = ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """All things that passed with this summary."""
        return (self.subject, *self.others)


class Gap(enum.StrEnum):
    """Cause of an unchecked verdict; the exit code of a check depends on it."""

    OPEN = "open"
    """The evidence is there and whole, and does not decide."""
    UNRECORDED = "unrecorded"
    EARLY = "early"
    """More time is needed, and nothing seen so far shows the fault."""
    SIGNS = "signs"
    """The newest samples show the fault, for less time than its rule needs."""
    DENIED = "denied"
    FAULTY = "faulty"
    """The evidence contradicts itself, is incomplete, unread or damaged, or its source failed or hangs."""


SIGN = 5.0
"""Seconds for which an average must be above its threshold to be a sign of the fault; a live check lasts 7."""


class Unchecked(Struct, frozen=True, gc=False):
    """Result of an applicable rule that lacked data; never rendered as OK.

    It holds for `subject` and `others`; `subject` is empty for the whole node. `calm`: nothing is faulty and nothing
    can be done here: the capture lacks the evidence (for example because it is older than the rule), the data is not
    available on any node, or there is nothing to judge by. `host` is the node, where several are seen together.
    """

    reason: str
    subject: str = ""
    calm: bool = False
    rule: str = ""
    gap: Gap = Gap.OPEN
    others: tuple[str, ...] = ()
    host: str = ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """All things that were not checked for this reason; none for the whole node."""
        return (self.subject, *self.others) if self.subject else self.others


Verdict = Finding | RuledOut | Unchecked


def passed(subjects: Iterable[str], summary: str) -> Iterator[RuledOut]:
    """Yield one verdict for all these subjects, none if there are none."""
    first, *others = tuple(dict.fromkeys(subjects)) or ("",)
    if first:
        yield RuledOut(first, summary, others=tuple(others))


def unchecked(subjects: Iterable[str], reason: str, *, calm: bool = False, gap: Gap = Gap.OPEN) -> Iterator[Unchecked]:
    """Yield one verdict for all these subjects, none if there are none."""
    first, *others = tuple(dict.fromkeys(subjects)) or ("",)
    if first:
        yield Unchecked(reason, first, calm=calm, gap=gap, others=tuple(others))


def cites(*found: Cite | None) -> tuple[Cite, ...]:
    """Return the citations without None and duplicates."""
    return tuple(dict.fromkeys(c for c in found if c is not None))


def with_members(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, each followed by its members."""
    for finding in findings:
        yield finding
        yield from finding.members


def worst_by_subject(findings: Iterable[Finding]) -> dict[str, Severity]:
    """Return the worst severity by subject, of folded findings too, and by its last component (`md2/sdc`: sdc)."""
    found: dict[str, Severity] = {}
    for finding in with_members(findings):
        for name in {finding.subject, finding.subject.rpartition("/")[2]}:
            known = found.get(name)
            if known is None or known.rank < finding.severity.rank:
                found[name] = finding.severity
    return found


def worst_of(severities: Iterable[Severity | None]) -> Severity | None:
    """Return the worst of several severities, or None if there are none."""
    return max((one for one in severities if one is not None), key=lambda one: one.rank, default=None)
