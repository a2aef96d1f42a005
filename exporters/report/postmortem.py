"""Report as a Markdown postmortem, filled in from the evidence; parts for people to add are marked.

Untrusted text is never markup: punctuation is escaped, and raw text is indented as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import UNDATED
from sdstop.core.expression import expression
from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_order import by_cause
from sdstop.core.finding_text import accepted_text, against
from sdstop.core.format import NOT_DATED, duration, percent, plural, quantity, safe, safe_block, timestamp, wait
from sdstop.core.guard import Part
from sdstop.core.headline import reason_of
from sdstop.core.placement import place_lines
from sdstop.core.session import Look, Session
from sdstop.exporters.report.diagram import DiagramBox, storage_diagram
from sdstop.exporters.report.document import host_of, subject_of
from sdstop.exporters.report.evidence_log import EvidenceEntry, evidence_log
from sdstop.exporters.report.text import outlook

FILL = "_to fill in_"
MOST_COMMANDS = 60
"""Rows of the table of commands."""
HEAD_LINES = 40
"""Maximum quoted lines of a command's output."""
_MOST_GOOD = 60
"""Verdicts listed as ruled out."""
_SPECIAL = expression(r"\\(?P<next>[!-/:-@\[-`{-~])|[\\`*_{}\[\]|<>~&]")


def postmortem(session: Session, note: str = "", ran: Sequence[EvidenceEntry] | None = None) -> str:
    """Return the postmortem of a session; `note` is an additional remark, `ran` the evidence log if already known.

    Raises LookupError before the first frame.
    """
    look = session.head()
    episodes = session.episodes()
    host = host_of(session, look.now, note)
    everything = evidence_log(session.remembered()) if ran is None else ran
    sections: dict[str, Callable[[], Iterable[str]]] = {
        "Summary": lambda: [*_summary(episodes, session), *_notes(session, host)],
        "Impact": lambda: [f"Who was affected, how, and for how long: {FILL}", "", *_impact(episodes, look)],
        "Timeline": lambda: _timeline(session, look, episodes),
        "Topology": lambda: _topology(look, episodes),
        "Findings and evidence": lambda: _findings(episodes, look),
        "Passed": lambda: _good(look),
        "Not checked": lambda: _unchecked(look),
        "Commands and files read": lambda: _ran(session, everything),
        "Root cause": lambda: [f"{FILL}{_suspect(episodes)}"],
        "Actions": lambda: _actions(episodes),
        "What went well, what did not, where we were lucky": lambda: [FILL],
    }
    lines = [*_head(host, session), ""]
    for title, make in sections.items():
        lines += [f"## {title}", "", *_guarded(session, title, make), ""]
    return "\n".join(lines)


def _guarded(session: Session, title: str, make: Callable[[], Iterable[str]]) -> Sequence[str]:
    """Return the lines of a section; an exception costs that section."""
    return session.guard.call(
        Part.REPORT, title, lambda: list(make()), lambda said: [f"Cannot be shown, internal error: {escaped(said)}"]
    )


def escaped(text: object, limit: int = 1000) -> str:
    r"""Escape an untrusted single-line text for Markdown: `md_0` becomes `md\_0`.

    A backslash before punctuation survives pasting the source into a shell: `\;` becomes `\\\;`.
    """
    return _SPECIAL.sub(_literal, safe(text, limit))


def _literal(found: re.Match[str]) -> str:
    return f"\\\\\\{found['next']}" if found["next"] else f"\\{found[0]}"


def _head(host: dict[str, object], session: Session) -> list[str]:
    return [f"# {escaped(host['name'], 100)}: {outlook(session)}"]


def _notes(session: Session, host: dict[str, object]) -> Iterator[str]:
    if session.origin.privileged is False:
        yield "\nWithout root: some sources are missing; `sdstop doctor` lists them."
    if not session.is_complete:
        yield "\nThe capture is incomplete."
    if host["note"]:
        yield f"\nNote: {escaped(host['note'])}"


def _summary(episodes: Sequence[Episode], session: Session) -> Iterator[str]:
    if not episodes:
        said = outlook(session)
        yield f"{said[0].upper()}{said[1:]}."
    for led in by_cause([episode.finding for episode in episodes]):
        finding = episodes[led.place].finding
        indent = "  " if led.follows else ""
        yield f"{indent}- **{finding.severity.value}** {escaped(finding.subject)}: {escaped(_said(finding))}"


def _said(finding: Finding) -> str:
    return f"{finding.title}. {finding.summary}" if finding.title else finding.summary


def _impact(episodes: Sequence[Episode], look: Look) -> Iterator[str]:
    if not episodes:
        yield "No findings."
        return
    yield "Evidence:\n"
    for episode in episodes:
        if episode.finding.severity is not Severity.INFO:
            yield f"- {escaped(episode.finding.subject)}: {episode.finding.rule}, {_when(episode, look)}"


def _when(episode: Episode, look: Look) -> str:
    lasted = duration(episode.lasted(look.now.monotonic))
    if episode.until is None:
        if episode.since <= UNDATED:
            return f"since the first frame, at least {lasted}" if look.now.monotonic > episode.began else NOT_DATED
        return f"since {timestamp(episode.since)}, at least {lasted}"
    return f"{timestamp(episode.since)} to {timestamp(episode.until)}, {lasted}"


def _timeline(session: Session, look: Look, episodes: Sequence[Episode]) -> Iterator[str]:
    started = session.started if session.started is not None else look.now.taken
    rows = [(started, f"observation starts, {plural(session.frames_seen, 'frame')}")]
    for episode in episodes:
        finding = episode.finding
        rows.append((episode.since, f"{finding.severity.value}: {finding.rule} {escaped(finding.subject)} starts"))
        if episode.until is not None:
            rows.append((episode.until, f"{finding.rule} {escaped(finding.subject)} ends"))
    rows.append((look.now.taken, "observation ends"))
    yield from _table(("when", "what"), ((timestamp(at), what) for at, what in sorted(rows, key=lambda row: row[0])))
    yield f"\nBefore and after: {FILL}"


def _topology(look: Look, episodes: Sequence[Episode]) -> Iterator[str]:
    known = storage_diagram(look.window, [episode.finding for episode in episodes if episode.until is None])
    if not known.things:
        yield "Topology unknown."
        return
    things = {thing.id: thing for thing in known.things}
    above: dict[str, list[str]] = {}
    for low, high in known.joins:
        above.setdefault(low, []).append(high)
    roots = [thing for thing in known.things if thing.id not in {high for _, high in known.joins}]
    drawn: set[str] = set()
    for root in roots:
        yield from _branch(root, things, above, 0, drawn)


def _branch(
    thing: DiagramBox, things: dict[str, DiagramBox], above: dict[str, list[str]], depth: int, drawn: set[str]
) -> Iterator[str]:
    word = f" **{thing.severity.value}**" if thing.severity is not None else ""
    again = " (above)" if thing.id in drawn and above.get(thing.id) else ""
    what = f" ({escaped(thing.what)})" if thing.what else ""
    yield f"{'  ' * depth}- {escaped(thing.name)}{what}{word}{again}"
    if thing.id in drawn or depth > 8:
        return
    drawn.add(thing.id)
    for key in above.get(thing.id, ()):
        if key in things:
            yield from _branch(things[key], things, above, depth + 1, drawn)


def _findings(episodes: Sequence[Episode], look: Look) -> Iterator[str]:
    if not episodes:
        yield "None."
    for led in by_cause([episode.finding for episode in episodes]):
        episode = episodes[led.place]
        finding = episode.finding
        sure = f", {percent(finding.confidence)}% sure" if finding.confidence is not None else ""
        yield f"### {finding.severity.value}: {escaped(finding.subject)} {escaped(finding.title)}".rstrip() + "\n"
        yield f"{escaped(finding.summary)} ({finding.rule}, {_when(episode, look)}{sure})\n"
        for title, names in place_lines(finding):
            yield f"{title}: {escaped(names)}\n"
        if finding.shown:
            yield from _table(
                ("compared", "value", "against"),
                ((escaped(v.title), escaped(quantity(v.value, v.unit)),
                  escaped(against(v))) for v in finding.shown),
            )  # fmt: skip
            yield ""
        for cite in finding.evidence:
            yield f"Evidence {escaped(cite.key)}, frame {cite.frame}:\n"
            yield from code_lines(cite.excerpt)
        if finding.accepted is not None:
            yield f"This is {escaped(accepted_text(finding))}\n"
        if finding.refuted_by:
            yield f"Would be disproved by: {escaped(finding.refuted_by)}\n"
        if finding.harmless_if:
            yield f"Harmless if: {escaped(finding.harmless_if)}\n"
        if finding.explains:
            yield f"Consequences: {', '.join(map(escaped, finding.explains))}\n"


def _good(look: Look) -> Iterator[str]:
    good = look.judgement.ruled_out
    if not good:
        yield "None."
    for verdict in good[:_MOST_GOOD]:
        yield f"- {verdict.rule} {escaped(subject_of(verdict))}: {escaped(verdict.summary)}"
    if len(good) > _MOST_GOOD:
        yield f"- and {len(good) - _MOST_GOOD} more"


def _unchecked(look: Look) -> Iterator[str]:
    if not look.judgement.unchecked:
        yield "All applicable rules had data."
    for verdict in look.judgement.unchecked:
        yield f"- {verdict.rule}: {escaped(reason_of(verdict))}"


def _ran(session: Session, everything: Sequence[EvidenceEntry]) -> Iterator[str]:
    commands = [each for each in everything if each.kind in {"command", "request"}]
    files = len(everything) - len(commands)
    yield f"{plural(len(commands), 'command')} and {plural(files, 'file')} (including directories, links and answers)."
    yield "The capture has all of them with their content.\n"
    if not commands:
        return
    yield from _table(("command", "first", "max ms", "outcome"), map(_evidence_row, commands[:MOST_COMMANDS]))
    yield ""
    outputs = {item.key: item for frame in session.remembered() for item in frame.evidence if item.exit is not None}
    for each in commands[:MOST_COMMANDS]:
        item = outputs.get(each.key)
        if item is not None and item.data:
            yield f"Output of {escaped(each.name)}:\n"
            text = item.data.decode("utf-8", "replace").splitlines()
            yield from code_lines("\n".join(text[:HEAD_LINES]))
            if len(text) > HEAD_LINES:
                yield f"and {len(text) - HEAD_LINES} more lines\n"


def _evidence_row(each: EvidenceEntry) -> tuple[str, ...]:
    first = timestamp(each.first) if each.first is not None else ""
    return (
        escaped(each.name),
        first,
        wait(each.longest),
        escaped(each.worst or (f"exit {each.exit}" if each.exit else "ok")),
    )


def _suspect(episodes: Sequence[Episode]) -> str:
    order = by_cause([episode.finding for episode in episodes])
    if not order or episodes[order[0].place].finding.severity is Severity.INFO:
        return ""
    finding = episodes[order[0].place].finding
    return f"; evidence points at {escaped(finding.subject)}: {escaped(_said(finding))}"


def _actions(episodes: Sequence[Episode]) -> Iterator[str]:
    rows = []
    for led in by_cause([episode.finding for episode in episodes]):
        finding = episodes[led.place].finding
        if not led.follows and finding.severity is not Severity.INFO:
            rows += [(escaped(str(advice)), escaped(finding.subject), "", "") for advice in finding.advice]
    rows.append((FILL, "", "", ""))
    yield from _table(("action", "for", "owner", "due"), rows)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def code_lines(text: str) -> Iterator[str]:
    """Yield raw text as indented code, and an empty line."""
    yield from (f"    {line}".rstrip() for line in safe_block(text, 8000).split("\n"))
    yield ""
