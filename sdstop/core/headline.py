"""Headline: one line and an exit code for all verdicts and outcomes, the same for check, screen and report.

Exit codes are those of monitoring plugins. A finding gives its severity; worst are critical, warning, unknown, ok.
Findings that are information are named unless there are worse ones, and leave the code as it is.
The result is unknown if evidence contradicts itself, is incomplete, unread, damaged or older than the moment that was
asked for, if a source failed or hangs, if a fault shows for less time than its rule needs, and if nothing was judged.
Sources that were not recorded or were denied, and rules that need more time, are named and do not change the code;
with `strict`, a denied source makes the result unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from sdstop.core.collector import Collector
from sdstop.core.evidence import Origin, Outcome
from sdstop.core.finding import Finding, Gap, Severity, Unchecked
from sdstop.core.finding_order import by_cause
from sdstop.core.finding_text import finding_text, subject_text
from sdstop.core.format import natural, plural, safe
from sdstop.core.judgement import Judgement
from sdstop.core.policy import OFF
from sdstop.core.snapshot import Run

OK, WARNING, CRITICAL, UNKNOWN = range(4)
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
NOT_YET = "no data yet"
LONGEST = 240
"""Maximum characters of the worst finding."""

_CODES = {Severity.CRITICAL: CRITICAL, Severity.WARNING: WARNING}
UNSURE = frozenset({Gap.FAULTY, Gap.SIGNS})
"""Gaps with which nothing is OK."""
_FAULTY = frozenset({Outcome.FAILED, Outcome.TIMEOUT, Outcome.UNREAD})
_MOST = 5
"""Maximum names of a kind."""
_MOST_LACKING = 20
"""Maximum names of sources that a capture lacks although its recorder had them."""


class Headline(Struct, frozen=True):
    """Summary of a judgement.

    `found` summarizes the findings, or their absence; it is "" if sources had no usable or incomplete data instead.
    `rest` lists the gaps. `unseen` are these sources with the reasons, `lacking` those not recorded. `unjudged` are
    existing devices without a verdict because their source was not recorded.
    """

    code: int
    found: str
    rest: tuple[str, ...]
    unseen: Mapping[str, str]
    lacking: tuple[str, ...]
    unjudged: str = ""

    @property
    def word(self) -> str:
        """The result as a word: OK, WARNING, CRITICAL or UNKNOWN."""
        return WORDS[self.code]

    @property
    def text(self) -> str:
        """The line without the word."""
        return "; ".join(filter(None, (self.found, *self.rest)))


def headline(
    judgement: Judgement,
    runs: Mapping[str, Run],
    collectors: Iterable[Collector],
    origin: Origin,
    *,
    strict: bool = False,
    unread: Mapping[str, str] | None = None,
    doubt: str = "",
) -> Headline:
    """Return the headline of a judgement and of the collectors' latest runs; `unread` and `doubt` are as in SeenNode.

    Sources that no live node has, such as the output of iostat, are not missed in a capture.
    """
    seen = SeenNode("", runs, tuple(collectors), origin, unread or {}, doubt)
    return headline_of(judgement, (seen,), strict=strict)


class SeenNode(Struct, frozen=True):
    """Collectors of a node and their latest runs, as a headline needs them.

    `host` is its name among several nodes, and that of its verdicts. `unread` are outputs of a pasted text from which
    nothing was read, by key, with the reason (sdstop.core.account). `doubt` is why all of it may be older than the
    moment that is shown.
    """

    host: str
    runs: Mapping[str, Run]
    collectors: Sequence[Collector]
    origin: Origin
    unread: Mapping[str, str] = {}
    doubt: str = ""

    def called(self, name: str) -> str:
        """Return the name of a source, with that of the node where there are several."""
        return f"{self.host}: {name}" if self.host else name


def headline_of(judgement: Judgement, nodes: Sequence[SeenNode], *, strict: bool = False) -> Headline:
    """Return the headline of a judgement of one node, or of several and between them."""
    unseen: dict[str, str] = {}
    lacking: list[str] = []
    for node in nodes:
        missing = _unseen([collector.name for collector in node.collectors], node.runs, strict=strict)
        unseen |= {node.called(name): why for name, why in (*missing.items(), *node.unread.items())}
        if not node.origin.live:
            names = [each.name for each in node.collectors if each.is_live]
            own = [verdict for verdict in judgement.unchecked if verdict.host == node.host]
            lacking += [name for name in _lacking(names, node.runs, node.origin, own) if name not in lacking]
    bad = [finding for finding in judgement.findings if finding.severity in _CODES]
    gaps = {verdict.gap for verdict in judgement.unchecked}
    doubts = [node.called(node.doubt) for node in nodes if node.doubt]
    unsure = bool(gaps & UNSURE) or (strict and Gap.DENIED in gaps)
    unknown = bool(unseen or doubts) or not judgement.judged or unsure
    code = max((_CODES[finding.severity] for finding in bad), default=UNKNOWN if unknown else OK)
    rest = [*doubts]
    partial = [name for name, why in unseen.items() if why.startswith("partial:")]
    if len(partial) < len(unseen):
        rest.append(f"no usable data: {named([name for name in unseen if name not in partial])}")
    if partial:
        rest.append(f"incomplete data: {named(partial)}")
    noted = [finding for finding in judgement.findings if finding.severity not in _CODES and finding.accepted is None]
    if noted and not bad:
        causes = [noted[led.place] for led in by_cause(noted) if not led.follows]
        rest.append(f"info: {_things(causes)}")
    unjudged = ", ".join(filter(None, (_unjudged(judgement.unchecked, node) for node in nodes)))
    if unjudged and not bad:
        rest.append(f"state not recorded: {unjudged}")
    if lacking and not bad:
        had = frozenset[str]().union(*(node.origin.collectors or () for node in nodes))
        rest.append(f"not recorded: {_named_lacking(lacking, had)}")
    rest += _named_verdicts(judgement, is_bad=bool(bad))
    found = (
        ""
        if (unseen or doubts or Gap.SIGNS in gaps) and not bad
        else _found(judgement, bad, noted, lacking=bool(lacking))
    )
    return Headline(code, found, tuple(rest), unseen, tuple(lacking), unjudged)


def _named_verdicts(judgement: Judgement, *, is_bad: bool) -> Iterator[str]:
    """Yield the accepted findings and the rules switched off or not checked; unless `is_bad` also those that wait."""
    accepted = [finding for finding in judgement.findings if finding.accepted is not None]
    if accepted:
        yield f"accepted: {_things(accepted)}"
    off = [verdict.rule for verdict in judgement.unchecked if verdict.reason == OFF]
    if off:
        yield f"switched off: {named(off)}"
    signs = [verdict for verdict in judgement.unchecked if verdict.gap is Gap.SIGNS]
    if signs:
        more = f" and {len(signs) - 1} more" if len(signs) > 1 else ""
        yield f"too early to judge: {signs[0].rule} {safe(reason_of(signs[0]), LONGEST)}{more}"
    early = [verdict for verdict in judgement.unchecked if verdict.gap is Gap.EARLY and judgement.judged]
    loud = [verdict for verdict in judgement.unchecked if not verdict.calm or not judgement.judged]
    loud = [verdict for verdict in loud if verdict.gap not in {Gap.SIGNS, Gap.EARLY} or not judgement.judged]
    if loud:
        yield _not_checked(loud)
    if early and not is_bad:
        yield f"not yet judged: {named(sorted({verdict.rule for verdict in early}))}"


def _found(judgement: Judgement, bad: Sequence[Finding], noted: Sequence[Finding], *, lacking: bool) -> str:
    if bad:
        causes = [bad[led.place] for led in by_cause(bad) if not led.follows]
        more = f"; {plural(len(bad) - len(causes), 'consequence')}" if len(bad) > len(causes) else ""
        worst = "; ".join([safe(finding_text(causes[0]), LONGEST), *filter(None, [_things(causes[1:])])])
        return f"{plural(len(causes), 'finding')}: {worst}{more}"
    if not judgement.judged:
        return "nothing checked"
    none = "no findings above info" if noted else "no findings"
    return f"{none} in the recorded data" if lacking else none


def _things(findings: Iterable[Finding]) -> str:
    """Return the rules and subjects of the first findings, and the number of the others."""
    return named([f"{finding.rule} {subject_text(finding)}" for finding in findings])


def named(names: Sequence[str], most: int = _MOST) -> str:
    """Return the first names and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(safe(name, 60) for name in names[:most]) + more


def reason_of(verdict: Unchecked) -> str:
    """Return why something was not checked, preceded by the subjects if there are any."""
    subjects = verdict.subjects
    return f"{named(subjects)}: {verdict.reason}" if subjects else verdict.reason


def by_reason(verdicts: Iterable[Unchecked]) -> dict[str, list[str]]:
    """Return the unchecked rules by reason, with its nodes among several; reasons that are not a fault are last."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for verdict in sorted(verdicts, key=lambda verdict: verdict.calm):
        rules, hosts = found.setdefault(reason_of(verdict), ({}, {}))
        rules[verdict.rule] = None
        hosts |= {verdict.host: None} if verdict.host else {}
    return {
        f"{reason}; on {named(list(hosts))}" if hosts else reason: list(rules)
        for reason, (rules, hosts) in found.items()
    }


def _not_checked(verdicts: Sequence[Unchecked]) -> str:
    """Return the number of unchecked rules and the most common reason."""
    reasons: dict[str, set[str]] = {}
    for verdict in verdicts:
        reasons.setdefault(verdict.reason, set()).add(verdict.rule)
    rules = sorted({verdict.rule for verdict in verdicts})
    commonest = max(reasons, key=lambda reason: len(reasons[reason]))
    said = f"{rules[0] if len(rules) == 1 else f'{len(rules)} rules'} not checked"
    return f"{said} ({'mainly: ' if len(reasons) > 1 else ''}{safe(commonest, LONGEST // 2)})"


def _unjudged(verdicts: Iterable[Unchecked], node: SeenNode) -> str:
    """Return the things that exist and that no rule could judge because their source was not recorded, by source."""
    found: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        source = verdict.reason.partition(":")[0]
        mine = verdict.host == node.host and source in node.runs
        if mine and verdict.gap is Gap.UNRECORDED and verdict.subjects:
            found.setdefault(source, {}).update(dict.fromkeys(verdict.subjects))
    where = f" on {node.host}" if node.host else ""
    return ", ".join(f"{named(sorted(things, key=natural))} ({source}{where})" for source, things in found.items())


def _unseen(names: Sequence[str], runs: Mapping[str, Run], *, strict: bool) -> dict[str, str]:
    """Return the sources without usable data, each with the reason; `strict`: also denied or partial ones."""
    found = {name: NOT_YET for name in names if name not in runs}
    for name in names:
        run = runs.get(name)
        if run is None:
            continue
        denied = strict and (run.outcome is Outcome.DENIED or run.partial)
        if run.outcome in _FAULTY or denied or (run.ok and run.defects):
            found[name] = f"{run.word}: {run.reason}"
    if not found and not any(run.ok for run in runs.values()):
        found["any source"] = ""
    return found


def _lacking(
    names: Sequence[str], runs: Mapping[str, Run], origin: Origin, unchecked: Iterable[Unchecked]
) -> tuple[str, ...]:
    """Return the sources that were not recorded: those that the recorder had, then those that most rules lack."""
    had = origin.collectors or frozenset()
    wanted = Counter(verdict.reason.partition(":")[0] for verdict in unchecked if verdict.gap is Gap.UNRECORDED)
    found = [name for name in names if name in runs and not runs[name].recorded]
    return tuple(sorted(found, key=lambda name: (name not in had, -wanted[name])))


def _named_lacking(names: Sequence[str], had: AbstractSet[str]) -> str:
    return named(names, min(max(sum(name in had for name in names), _MOST), _MOST_LACKING))
