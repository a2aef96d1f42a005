"""HTML report: findings and passed checks on the first sheet, then all supporting data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sdstop import __version__
from sdstop.core.advice import Advice, ShellCommand
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import dated
from sdstop.core.finding import RuledOut, Severity, Unchecked, Value
from sdstop.core.finding_order import by_cause
from sdstop.core.finding_text import against
from sdstop.core.format import NOT_DATED, duration, lasting, percent, plural, quantity, timestamp
from sdstop.core.guard import Part
from sdstop.core.headline import OK, reason_of
from sdstop.core.placement import place_lines
from sdstop.core.session import Look, Session
from sdstop.exporters.report.document import host_of, subject_of
from sdstop.exporters.report.evidence_log import EvidenceEntry
from sdstop.exporters.report.html.appendix import evidence_anchor, raw_evidence, readings, sources, what_we_ran
from sdstop.exporters.report.html.document import document
from sdstop.exporters.report.html.markup import Markup, block, el, fold, join, table
from sdstop.exporters.report.html.plots import plots
from sdstop.exporters.report.html.tree import drawn_topology
from sdstop.exporters.report.paths import HEADINGS, report_paths
from sdstop.exporters.report.series import ReportSeries
from sdstop.exporters.report.text import outlook

_SHAPE = {Severity.CRITICAL: "\u25b2", Severity.WARNING: "\u25c6", Severity.INFO: "\u25cf"}
_MARK = 60
"""Longest excerpt mark shown in the title of a fold, where it distinguishes folds."""
FIRST = 14
"""Maximum ruled-out or unchecked items on the first sheet; the rest is folded."""


def page(session: Session, series: ReportSeries, note: str = "", ran: Sequence[EvidenceEntry] | None = None) -> str:
    """Return the whole report; `series` has the values to plot, `ran` the evidence log if already known.

    Raises LookupError before the first frame.
    """
    look = session.head()
    host = host_of(session, look.now, note)
    episodes = session.episodes()
    in_force = [episode.finding for episode in episodes if episode.until is None]
    findings = "Findings, with their evidence"
    makes: dict[str, tuple[str, Callable[[], Markup | None]]] = {
        "wrong": ("problems", lambda: _wrong(episodes, session, look)),
        "good": ("ruled out", lambda: _ruled_out(look)),
        "unchecked": ("not checked", lambda: _unchecked(look)),
        "topology": ("topology", lambda: _section("topology", "Topology", drawn_topology(look, in_force))),
        "paths": ("data paths", lambda: _section("paths", "Data paths: where the time of a request goes",
                                                 *_paths(look))),
        "time": ("over time", lambda: _section("time", "Over the time that was watched",
                                               *plots(session, series, look, episodes))),
        "findings": ("findings", lambda: _section("findings", findings, *_findings(episodes, session, look))),
        "evidence": ("raw evidence", lambda: _section("evidence", "Raw evidence", *raw_evidence(session, episodes))),
        "ran": ("what we ran", lambda: _section("ran", "What we ran", *what_we_ran(session, ran))),
        "sources": ("sources", lambda: _section("sources", "Sources", sources(session, look))),
        "readings": ("readings", lambda: _section("readings", "Readings of the last frame",
                                                  *readings(session, look))),
    }  # fmt: skip
    sections = {name: (shown, _guarded(session, name, shown, make)) for name, (shown, make) in makes.items()}
    links = [(name, shown) for name, (shown, section) in sections.items() if section]
    return document(
        f"{host['name']}: {outlook(session)}",
        el("a", "To the problems", href="#wrong", class_="skip"),
        _head(session, look, host, links),
        el("main", *(section for _, section in sections.values() if section)),
        el("footer", f"Made by sdstop {__version__} from raw evidence, which opens in the dashboard: ",
           el("code", "sdstop --from CAPTURE"), class_="dim"),
    )  # fmt: skip


def _guarded(session: Session, name: str, title: str, make: Callable[[], Markup | None]) -> Markup | None:
    """Return a section of the page; an exception costs that section."""

    def failed(said: str) -> Markup | None:
        return _section(name, title.capitalize(), el("p", f"Cannot be shown, a bug: {said}", class_="sev"))

    return session.guard.call(Part.REPORT, name, make, failed)


def _paths(look: Look) -> Iterator[Markup]:
    """Yield the table of each path, and its sentences."""
    for path in report_paths(look):
        yield el("h3", path.name)
        yield table(HEADINGS, path.rows, right=frozenset(range(2, len(HEADINGS) - 1)))
        yield from (el("p", words) for words in path.sentences)


def _section(name: str, title: str, *parts: Markup | None) -> Markup | None:
    kept = [part for part in parts if part]
    return el("section", el("h2", title), *kept, id=name) if kept else None


def _head(session: Session, look: Look, host: dict[str, object], links: list[tuple[str, str]]) -> Markup:
    started = session.started if session.started is not None else look.now.taken
    span = f"{plural(session.frames_seen, 'frame')}, {_span(session, started, look.now.taken)}"
    if session.frames_seen > 1:
        span += f" ({duration(look.now.monotonic - session.began)})"
    facts = [
        span,
        f"kernel {host['kernel']}" if host["kernel"] else "",
        "live" if host["live"] else f"from {session.origin.made}" if dated(started) else "",
    ]
    notes = [
        "Not privileged: what needs root was not seen." if host["privileged"] is False else "",
        "" if host["complete"] else "The capture is not complete.",
        f"Note: {host['note']}" if host["note"] else "",
    ]
    return el(
        "header",
        el("h1", f"{host['name']}: {outlook(session)}"),
        el("p", ", ".join(filter(None, facts)), class_="dim"),
        *(el("p", el("strong", note)) for note in notes if note),
        el("nav", *(el("a", shown, href=f"#{name}") for name, shown in links), aria_label="Sections"),
    )


def _span(session: Session, started: float, ended: float) -> str:
    if not dated(started):
        return f"{NOT_DATED}: {session.origin.made}"
    return f"{timestamp(started)} to {timestamp(ended)}" if ended != started else timestamp(ended)


def _badge(severity: Severity) -> Markup:
    return el("span", f"{_SHAPE[severity]} {severity.value}", class_=f"sev {severity.value}")


def anchor(place: int) -> str:
    """Return the anchor of a finding."""
    return f"f{place + 1}"


def _wrong(episodes: list[Episode], session: Session, look: Look) -> Markup:
    rows = []
    for led in by_cause([episode.finding for episode in episodes]):
        episode = episodes[led.place]
        finding = episode.finding
        rows.append(
            el(
                "li",
                _badge(finding.severity),
                el(
                    "div",
                    el("strong", el("a", finding.subject, href=f"#{anchor(led.place)}")),
                    el("span", f"  {finding.rule}, {period_text(episode, session, look)}", class_="dim"),
                    el("div", el("strong", finding.title)) if finding.title else None,
                    el("div", finding.summary),
                    el("div", "Do: ", advised(finding.advice[0])) if finding.advice and not led.follows else None,
                ),
                class_="follows" if led.follows else None,
            )
        )
    said = el("ol", *rows, class_="wrong") if rows else el("p", _nothing(session))
    return el("section", el("h2", "Problems"), said, id="wrong")


def _nothing(session: Session) -> Markup:
    said = session.headline()
    if said.code == OK:
        return join(el("span", "\u2713 good", class_="sev good"), f" {said.text}. The checks are listed below.")
    return join(el("span", "? unknown", class_="sev"), f" {said.text}.")


def period_text(episode: Episode, session: Session, look: Look) -> str:
    """Return start, duration and confidence of a finding."""
    finding = episode.finding
    lasted, before = episode.lasted(look.now.monotonic), episode.began <= session.began
    shown = lasting(episode.since, episode.until, lasted, before=before)
    return f"{shown}, {percent(finding.confidence)}% sure" if finding.confidence is not None else f"{shown}, certain"


def _ruled_out(look: Look) -> Markup | None:
    rows = [_good(verdict) for verdict in look.judgement.ruled_out]
    return _listed("good", "Checked and good", rows)


def _good(verdict: RuledOut) -> Markup:
    mark = el("span", "\u2022 ", class_="sev") if verdict.despite else el("span", "\u2713 ", class_="sev good")
    said = el("span", verdict.summary, class_="dim")
    return el("li", mark, el("strong", subject_of(verdict)), f" {verdict.rule}: ", said)


def _unchecked(look: Look) -> Markup | None:
    verdicts = look.judgement.unchecked
    rows = [_helpless(verdict) for verdict in verdicts if not verdict.calm]
    calm = [_helpless(verdict) for verdict in verdicts if verdict.calm]
    if not verdicts:
        return None
    said = el("ul", *rows[:FIRST], class_="plain") if rows else el("p", "Nothing that applies here and was recorded.")
    rest = fold(f"{len(rows) - FIRST} more", el("ul", *rows[FIRST:], class_="plain")) if rows[FIRST:] else None
    quiet = fold(f"{len(calm)} not recorded, or not visible to this user", el("ul", *calm, class_="plain"))
    return el("section", el("h2", "Could not be checked"), said, rest, quiet if calm else None, id="unchecked")


def _helpless(verdict: Unchecked) -> Markup:
    return el("li", "? ", el("strong", verdict.rule), ": ", el("span", reason_of(verdict), class_="dim"))


def _listed(name: str, title: str, rows: list[Markup]) -> Markup | None:
    if not rows:
        return None
    shown = el("ul", *rows[:FIRST], class_="plain")
    rest = rows[FIRST:]
    more = fold(f"{len(rest)} more", el("ul", *rest, class_="plain")) if rest else None
    return el("section", el("h2", title), shown, more, id=name)


def _findings(episodes: list[Episode], session: Session, look: Look) -> Iterator[Markup]:
    places = {episode.finding.id: place for place, episode in enumerate(episodes)}
    for led in by_cause([episode.finding for episode in episodes]):
        episode = episodes[led.place]
        finding = episode.finding
        yield el(
            "article",
            el("h3", _badge(finding.severity), f" {finding.subject}  {finding.title}"),
            el("p", f"{finding.rule}, {period_text(episode, session, look)}", class_="dim"),
            el("p", finding.cause),
            el("p", finding.impact) if finding.impact else None,
            *(el("p", f"{title}: {names}", class_="dim") for title, names in place_lines(finding)),
            table(("compared", "value", "against"), map(_compared, finding.values), right=frozenset({1, 2}))
            if finding.values
            else None,
            _cited(episode),
            el("ol", *(el("li", advised(advice)) for advice in finding.advice), class_="do")
            if finding.advice
            else None,
            el("p", "Refuted by: ", finding.refuted_by, class_="dim") if finding.refuted_by else None,
            el("p", "Harmless if: ", finding.harmless_if, class_="dim") if finding.harmless_if else None,
            el("p", "Explains: ", *_explained(finding.explains, places), class_="dim") if finding.explains else None,
            class_=f"finding {finding.severity.value}{' follows' * led.follows}",
            id=anchor(led.place),
        )


def _compared(value: Value) -> Iterable[str]:
    return value.title, quantity(value.value, value.unit), against(value)


def advised(advice: Advice) -> Markup:
    """Return a piece of advice: commands in a fixed pitch, sentences as text."""
    return el("code", str(advice)) if isinstance(advice, ShellCommand) else join(advice)


def _cited(episode: Episode) -> Markup:
    return join(
        fold(
            [
                f"Evidence: {cite.key}, frame {cite.frame}",
                el("span", f" {cite.mark}", class_="dim m") if 0 < len(cite.mark) <= _MARK else "",
            ],
            el("pre", block(cite.excerpt), class_="one"),
            el("p", el("a", "all of it", href=f"#{evidence_anchor(cite.key, cite.frame)}")),
        )
        for cite in episode.finding.evidence
    )


def _explained(explains: Iterable[str], places: dict[str, int]) -> Iterator[Markup]:
    for at, key in enumerate(explains):
        yield join(", " if at else "", el("a", key, href=f"#{anchor(places[key])}") if key in places else key)
