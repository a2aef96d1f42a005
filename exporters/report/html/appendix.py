"""Appendix of the page: raw evidence, log of all queries, outcome of each source, all readings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Evidence, Outcome, readable
from sdstop.core.format import NONE, bytes_, plural, right_aligned, timestamp, utc, wait
from sdstop.core.headline import NOT_YET
from sdstop.core.model import Reading, schema
from sdstop.core.session import Look, Session
from sdstop.exporters.report.document import families_of
from sdstop.exporters.report.evidence_log import EvidenceEntry, evidence_log, quoted_evidence
from sdstop.exporters.report.html.markup import Markup, block, code, el, fold, table
from sdstop.exporters.report.table import heading, notable, shown

MOST = 24_000
"""Maximum characters of one piece of evidence on the page."""
MOST_ALL = 600_000
"""Maximum characters of all evidence on the page, so that it can be sent by mail."""
MOST_ROWS = 250
"""Maximum rows of a family."""
MOST_ASKED = 4000
"""Rows of the table of evidence."""


def evidence_anchor(key: str, frame: int) -> str:
    """Return the anchor of a piece of evidence."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    return f"e{frame}-{digest}"


def raw_evidence(session: Session, episodes: Iterable[Episode]) -> Iterator[Markup]:
    """Yield each piece of evidence that a finding cites, in its state at the cited frame."""
    wanted = {(cite.key, cite.frame): cite.excerpt for episode in episodes for cite in episode.finding.evidence}
    found = quoted_evidence(session.remembered(), wanted)
    room = MOST_ALL
    for (key, frame), excerpt in sorted(wanted.items(), key=lambda pair: (pair[0][0], pair[0][1])):
        item = found.get((key, frame))
        data = readable(item.data, "replace") if item is not None and item.data else excerpt
        kept = data[: max(min(MOST, room), len(excerpt))]
        room -= len(kept)
        rest = len(data) - len(kept)
        yield fold(
            [el("code", key), el("span", f" frame {frame}{_origin_text(item)}", class_="dim")],
            el("pre", block(kept, MOST), class_="one"),
            el("p", f"{rest} more characters in the capture", class_="dim") if rest > 0 else None,
            id_=evidence_anchor(key, frame),
        )


def _origin_text(item: Evidence | None) -> str:
    """Return when and how evidence was taken, as far as recorded."""
    if item is None:
        return ", excerpt only: the frame has expired"
    told = [
        timestamp(item.taken) if item.taken is not None else "",
        f"read in {wait(item.duration)} ms" if item.duration is not None else "",
        "" if item.outcome is Outcome.OK else str(item.outcome),
        f"exit {item.exit}" if item.exit else "",
    ]
    return "".join(f", {part}" for part in told if part)


def what_we_ran(session: Session, ran: Sequence[EvidenceEntry] | None = None) -> Iterator[Markup]:
    """Yield the commands, then files and others in folds, each with time, outcome and duration."""
    everything = evidence_log(session.remembered()) if ran is None else ran
    groups: dict[str, list[EvidenceEntry]] = {}
    for each in everything[:MOST_ASKED]:
        groups.setdefault(each.kind, []).append(each)
    for kind, rows in groups.items():
        shown_rows = table(_ASKED, map(_asked, rows), right=frozenset({3, 4}))
        title = plural(len(rows), _PLURAL.get(kind, kind))
        yield el("div", el("h3", title), shown_rows) if kind in {"command", "request"} else fold([title], shown_rows)
    if len(everything) > MOST_ASKED:
        yield el("p", f"and {len(everything) - MOST_ASKED} more in the capture", class_="dim")
    if not everything:
        yield el("p", "the frames have expired", class_="dim")


_PLURAL = {"list": "directory listing", "link": "link", "answer": "answer"}
_ASKED = ("what", "first", "answers kept", "max ms", "bytes", "outcome")


def _asked(each: EvidenceEntry) -> Iterable[Markup | str]:
    outcome = each.worst or (f"exit {each.exit}" if each.exit else "ok")
    return (
        code(each.name),
        utc(each.first) if each.first is not None else NONE,
        str(each.times),
        wait(each.longest),
        bytes_(each.size),
        outcome,
    )


def sources(session: Session, look: Look) -> Markup:
    """Return a table with the outcome of each source."""
    rows = []
    for collector in session.collectors:
        run = look.now.runs.get(collector.name)
        reason = NOT_YET if run is None else run.reason or collector.title
        if run is not None and run.outcome is Outcome.TIMEOUT:
            reason += f", since {utc(run.since)}"
        took = wait(run.duration) if run is not None else NONE
        rows.append((collector.name, run.word if run is not None else "waiting", took, reason))
    return table(("source", "outcome", "ms", "why"), rows, right=frozenset({2}))


def readings(session: Session, look: Look) -> Iterator[Markup]:
    """Yield a fold for every family with rows."""
    for family in families_of(session):
        rows = list(look.now.rows(family).values())
        if rows:
            yield _family(family, rows)


def _family(family: type[Reading], rows: Sequence[Reading]) -> Markup:
    declared, count = schema(family), len(rows)
    rows, idle = notable(declared, rows)
    cells = {
        column.name: [shown(column, getattr(row, column.name)) for row in rows[:MOST_ROWS]]
        for column in declared.columns
    }
    said = [column for column in declared.columns if any(text != NONE for text in cells[column.name])]
    silent = [column.title for column in declared.columns if column not in said]
    sides = frozenset(place for place, column in enumerate(said) if right_aligned(column))
    body = zip(*(cells[column.name] for column in said), strict=True)
    return fold(
        [f"{declared.title} ({count})"],
        table(map(heading, said), body, right=sides) if rows else None,
        el("p", f"No data: {', '.join(silent)}", class_="dim") if silent and rows else None,
        el("p", f"and {len(rows) - MOST_ROWS} more; --format json lists them all", class_="dim")
        if len(rows) > MOST_ROWS
        else None,
        el("p", f"{idle}; --format json lists them all", class_="dim") if idle else None,
    )
