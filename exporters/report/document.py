"""Report as data (`sdstop.report/2`); identical frames produce identical bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sdstop.collectors.system.readings import Node
from sdstop.core.account import Account, accounts
from sdstop.core.advice import Advice
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import dated
from sdstop.core.finding import Finding, RuledOut, Unchecked, Value
from sdstop.core.format import duration, first_of
from sdstop.core.headline import NOT_YET, named, reason_of
from sdstop.core.model import Reading, schema
from sdstop.core.session import Session
from sdstop.core.site_session import SiteSession
from sdstop.core.snapshot import Snapshot
from sdstop.exporters.prometheus.exposition import number

SCHEMA = "sdstop.report/2"
FIRST = "sdstop.report/1"


def document(session: Session, *, readings: bool = True, note: str = "") -> dict[str, Any]:
    """Return the report of a session, with the last frame's `readings`. Raises LookupError before the first frame.

    Numbers are in base units, times in Unix seconds, unknown values None. `note` is an additional remark.
    """
    look = session.head()
    judgement, said = look.judgement, session.headline()
    host = host_of(session, look.now, note)
    return {
        "schema": SCHEMA,
        "headline": {"code": said.code, "result": said.word.lower(), "text": said.text},
        "hosts": [host | _span(session, look.now)],
        "started": unix(session.started),
        "ended": unix(look.now.taken),
        "frames": session.frames_seen,
        "findings": [finding_of(episode, host["name"]) for episode in session.episodes()],
        "ruled_out": [good_of(verdict, host["name"]) for verdict in judgement.ruled_out],
        "unchecked": [unchecked_of(verdict, host["name"]) for verdict in judgement.unchecked],
        "collectors": list(_collectors(session, look.now, host["name"])),
        **({"readings": dict(tables_of(session, look.now))} if readings else {}),
    }


def site_document(site: SiteSession, differences: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the report of several nodes: all hosts, with their readings, and every finding on and between them.

    `differences` are properties in which nodes differ: `{"aspect", "item", "values": [{"value", "nodes"}]}`.
    """
    judgement = site.whole()
    said = site.headline(judgement)
    hosts: list[dict[str, Any]] = []
    collectors: list[dict[str, Any]] = []
    for member in site.members:
        shot = member.session.head().now
        host = host_of(member.session, shot) | {"name": member.name} | _span(member.session, shot)
        hosts.append(host | {"readings": dict(tables_of(member.session, shot))})
        collectors += _collectors(member.session, shot, member.name)
    times = [(host["started"], host["ended"]) for host in hosts if host["started"] is not None]
    return {
        "schema": SCHEMA,
        "headline": {"code": said.code, "result": said.word.lower(), "text": said.text},
        "hosts": hosts,
        "started": min((start for start, _ in times), default=None),
        "ended": max((end for _, end in times), default=None),
        "frames": sum(host["frames"] for host in hosts),
        "findings": [finding_of(episode) for episode in site.episodes()],
        "ruled_out": [good_of(verdict) for verdict in judgement.ruled_out],
        "unchecked": [unchecked_of(verdict) for verdict in judgement.unchecked],
        "collectors": collectors,
        "differences": list(differences),
    }


def _span(session: Session, shot: Snapshot) -> dict[str, Any]:
    return {"started": unix(session.started), "ended": unix(shot.taken), "frames": session.frames_seen}


def first_version(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report in version 1, which has one host, findings without title, and advice as text."""
    return {
        "schema": FIRST,
        "headline": report["headline"],
        "host": _without(report["hosts"][0], ("started", "ended", "frames", "texts")),
        **{key: report[key] for key in ("started", "ended", "frames")},
        "findings": [{key: _first_part(key, finding[key]) for key in _FIRST_KEYS} for finding in report["findings"]],
        **{key: [_without(each) for each in report[key]] for key in ("ruled_out", "unchecked", "collectors")},
        **({"readings": report["readings"]} if "readings" in report else {}),
    }


_FIRST_KEYS = (
    "rule", "severity", "subject", "summary", "values", "evidence", "advice", "since", "until", "confidence",
    "explains", "part_of", "affected", "affected_count", "members",
)  # fmt: skip


def _without(each: Mapping[str, Any], keys: Sequence[str] = ("host",)) -> dict[str, Any]:
    return {key: value for key, value in each.items() if key not in keys}


def _first_part(key: str, value: Any) -> Any:
    """Return a part of a finding in version 1."""
    if key == "evidence":
        return [_without(cite) for cite in value]
    return _first_advice(value) if key == "advice" else value


def _first_advice(advice: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        each["text"] or (f"{each['command']}   # {each['note']}" if each["note"] else each["command"])
        for each in advice
    ]


def unix(taken: float | None) -> float | None:
    """Return Unix seconds, None if undated."""
    return taken if taken is not None and dated(taken) else None


def subject_of(verdict: RuledOut) -> str:
    """Return the subjects of a ruled-out verdict as text: the first few, and how many more."""
    return named(verdict.subjects)


def good_of(verdict: RuledOut, host: str = "") -> dict[str, Any]:
    """Return a ruled-out verdict as data; `subject` is the first of its `count` subjects, `host` is its node."""
    subjects = list(verdict.subjects)
    return {"rule": verdict.rule, "host": verdict.host or host, "subject": verdict.subject, "summary": verdict.summary,
            "subjects": subjects, "count": len(subjects), "despite": list(verdict.despite)}  # fmt: skip


def unchecked_of(verdict: Unchecked, host: str = "") -> dict[str, Any]:
    """Return an unchecked verdict as data; it has no subjects if it holds for the whole node, which is `host`."""
    subjects = list(verdict.subjects)
    return {"rule": verdict.rule, "host": verdict.host or host, "reason": reason_of(verdict),
            "subjects": subjects, "count": len(subjects), "gap": verdict.gap.value}  # fmt: skip


def host_of(session: Session, shot: Snapshot, note: str = "") -> dict[str, Any]:
    """Return the node's identity, and the completeness and privileges of its data."""
    origin, faults = session.origin, session.timeline.faults
    node = shot.get(Node, ())
    return {
        "name": (node.hostname if node is not None else None) or origin.name,
        "kernel": node.kernel if node is not None else None,
        "live": origin.live,
        "complete": session.is_complete,
        "note": "; ".join(filter(None, (origin.note, first_of(faults), *_times(session), note))),
        "privileged": origin.privileged,
        "facts": dict(origin.facts),
        "texts": [_text_block(each) for each in accounts(origin, shot)],
    }


def _text_block(account: Account) -> dict[str, Any]:
    """Return the use of a block of text as data; line 0 if its place is unknown."""
    block = account.block
    return {
        "key": block.key, "line": block.line, "lines": block.lines, "first": block.first, "use": account.use.value,
        "sources": list(account.sources), "reason": account.reason,
    }  # fmt: skip


def _times(session: Session) -> tuple[str, str]:
    """Return notes about pauses between samples and about the wall clock, "" without any."""
    return session.pauses.said, _clock_note(session)


def _clock_note(session: Session) -> str:
    """Return a note if the wall clock was set back, because differences of Unix times are then wrong."""
    if session.ran_back < _NOTABLE:
        return ""
    back = duration(session.ran_back)
    return f"the wall clock was set back by {back}; times are as it showed them, durations use the monotonic clock"


_NOTABLE = 0.05
"""Seconds; smaller clock steps are not reported."""


def _accepted(finding: Finding) -> dict[str, Any] | None:
    """Return why a finding is accepted, until when, and its severity without that; None if it is not."""
    by = finding.accepted
    return None if by is None else {"reason": by.reason, "until": by.until, "severity": by.severity.value}


def finding_of(episode: Episode, host: str = "") -> dict[str, Any]:
    """Return a finding as report data; `host` is the name of its node unless it states that itself."""
    finding = episode.finding
    host = finding.host or host
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "host": host,
        "between": list(finding.between),
        "subject": finding.subject,
        "title": finding.title,
        "cause": finding.cause,
        "impact": finding.impact,
        "summary": finding.summary,
        "damage": finding.damage.value if finding.damage is not None else None,
        "standing": bool(finding.standing),
        "values": {value.name: value.value for value in finding.values},
        "against": {value.name: _against(value) for value in finding.values if value.compared is not None},
        "evidence": [
            {"key": c.key, "host": c.host or host, "frame": c.frame, "excerpt": c.excerpt} for c in finding.evidence
        ],
        "advice": [_advised(advice) for advice in finding.advice],
        "refuted_by": finding.refuted_by,
        "harmless_if": finding.harmless_if,
        "view": {"id": finding.view, "subject": finding.view_subject or finding.subject},
        "waiting_requests": finding.cost,
        "since": unix(episode.since),
        "until": unix(episode.until),
        "confidence": finding.confidence,
        "accepted": _accepted(finding),
        "explains": list(finding.explains),
        "part_of": list(finding.part_of),
        "affected": list(finding.affected),
        "affected_count": finding.affected_count,
        "members": [
            {"subject": each.subject, "severity": each.severity.value, "summary": each.summary}
            for each in finding.members
        ],
    }


def _against(value: Value) -> dict[str, float]:
    """Return the total (`of`) or threshold (`above`, `below`) that a value was compared with."""
    known = {"of": value.of, "above": value.above, "below": value.below}
    return {name: number for name, number in known.items() if number is not None}


def _advised(advice: Advice) -> dict[str, Any]:
    if isinstance(advice, str):
        return {"text": advice, "command": "", "argv": [], "note": ""}
    return {"text": "", "command": advice.shell, "argv": [list(argv) for argv in advice.pipeline], "note": advice.note}


def _collectors(session: Session, shot: Snapshot, host: str) -> Iterator[dict[str, Any]]:
    for collector in session.collectors:
        run = shot.runs.get(collector.name)
        yield {
            "name": collector.name,
            "host": host,
            "outcome": run.outcome.value if run is not None else None,
            "reason": run.reason if run is not None else NOT_YET,
            "duration_seconds": run.duration if run is not None else None,
        }


def families_of(session: Session) -> list[type[Reading]]:
    """Return every family that the session's collectors provide, without duplicates, in order."""
    found = (
        family
        for collector in session.collectors
        for family in (*collector.families, *(derivation.target for derivation in collector.derives))
    )
    return list(dict.fromkeys(found))


def tables_of(session: Session, shot: Snapshot) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each collected family with its rows in base units."""
    for family in families_of(session):
        if shot.run_of(family) is not None:
            declared = schema(family)
            yield declared.family, [declared.row(row) for row in shot.rows(family).values()]


def to_json(report: Mapping[str, Any]) -> str:
    """Return a report as ASCII JSON, one list element per line. Ends with a line feed."""
    parts = [f"{json.dumps(key)}: {_value(value)}" for key, value in report.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _value(value: Any, indent: str = " ") -> str:
    if isinstance(value, Mapping) and any(isinstance(inner, list) for inner in value.values()):
        inner = f",\n{indent}".join(f"{json.dumps(key)}: {_value(each, indent + ' ')}" for key, each in value.items())
        return f"{{\n{indent}{inner}\n{indent[1:]}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{indent}{_line(each)}" for each in value) + f"\n{indent[1:]}]"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(plain(value), separators=(", ", ": "), allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value that JSON can represent: infinity and NaN as None, invalid UTF-8 escaped, keys as text."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {_key(k): plain(v) for k, v in value.items()}
        case Sequence():
            return [plain(each) for each in value]
        case _:
            return value


def _key(key: Any) -> str:
    """Return a key as text; integer bounds without a decimal point."""
    if isinstance(key, str):
        return str(plain(key))
    return str(key) if isinstance(key, int) else number(key)
