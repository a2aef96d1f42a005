"""Frames made by hand: what files a node had, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sdstop.core.collector import Collector
from sdstop.core.evidence import Evidence, Frame, Origin, Outcome
from sdstop.core.finding import Finding, RuledOut, Unchecked, Verdict
from sdstop.core.rule import Rule
from sdstop.core.session import Session

Files = Mapping[str, str]
Shown = Sequence[tuple[float, Mapping[str, str | bytes]]]
START = 1_700_000_000.0


def frames(shown: Shown) -> list[Frame]:
    """Make frames of (time, files by path); what did not change is left out, what is gone is absent."""
    known: dict[str, str | bytes] = {}
    made = []
    for number, (time, files) in enumerate(shown, start=1):
        items = [
            Evidence(key, data=text.encode() if isinstance(text, str) else text)
            for key, text in files.items()
            if known.get(key) != text
        ]
        items += [Evidence(key, Outcome.ABSENT, detail="no such file") for key in known.keys() - files.keys()]
        known = dict(files)
        made.append(Frame(number, START + time, time, tuple(items)))
    return made


class Judged:
    """What rules say at the end of a run of frames, by rule and subject."""

    def __init__(
        self,
        collectors: Sequence[Collector],
        rules: Sequence[Rule],
        shown: Shown,
        config: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self.session = Session(Origin("n"), collectors, rules, config)
        self.session.feed_all(frames(shown))
        judgement = self.session.head().judgement
        self.window = self.session.head().window
        self.all: tuple[Verdict, ...] = (*judgement.findings, *judgement.ruled_out, *judgement.unchecked)

    def of(self, subject: str, rule: str | None = None) -> Verdict:
        """Return the one verdict on a subject; AssertionError if there is none, or more than one."""
        found = [said for said in self.all if subject in (said.subject, *said.others) and rule in {None, said.rule}]
        if rule is None and len(found) > 1:  # of several rules, those with something to report
            found = [said for said in found if not (isinstance(said, Unchecked) and said.calm)]
        assert len(found) == 1, (subject, self.all)
        return found[0]

    def finding(self, subject: str, rule: str | None = None) -> Finding:
        said = self.of(subject, rule)
        assert isinstance(said, Finding), said
        check(said)
        return said

    def ruled_out(self, subject: str, rule: str | None = None) -> RuledOut:
        said = self.of(subject, rule)
        assert isinstance(said, RuledOut), said
        assert any(c.isdigit() for c in said.summary) or "all" in said.summary, said
        return said

    def unchecked(self, subject: str, rule: str | None = None) -> Unchecked:
        said = self.of(subject, rule)
        assert isinstance(said, Unchecked), said
        assert said.reason
        return said

    def silent(self, rule: str | None = None) -> bool:
        """Return whether there is nothing to report: each thing is unchecked, and nothing is wrong with that."""
        calm = (said for said in self.all if isinstance(said, Unchecked) and said.calm)
        return {said for said in self.all if rule in {None, said.rule}} <= set(calm)


def check(finding: Finding) -> None:
    """A finding has evidence that shows what it marks, numbers, and something that would refute it."""
    assert finding.evidence
    assert finding.values
    assert finding.refuted_by
    assert all(cite.excerpt and cite.mark in cite.excerpt for cite in finding.evidence), finding.evidence
    assert finding.confidence is None or 0 <= finding.confidence <= 1


def value(finding: Finding, name: str) -> float | int | str | None:
    return next(v.value for v in finding.values if v.name == name)
