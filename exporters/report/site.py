"""Report of several nodes: findings on and between them, differences, and a summary of each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sdstop.analysis.comparison.peers import Difference, differences
from sdstop.core.account import account_rows
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import dated
from sdstop.core.finding import RuledOut, Severity, Unchecked
from sdstop.core.finding_order import by_cause
from sdstop.core.finding_text import accepted_text, against, subject_text
from sdstop.core.format import NOT_DATED, duration, lasting, listed, percent, plural, quantity, safe, timestamp
from sdstop.core.headline import OK, UNKNOWN, by_reason
from sdstop.core.placement import place_lines
from sdstop.core.site import SiteNode, apart
from sdstop.core.site_session import SiteMember, SiteSession
from sdstop.exporters.report import table
from sdstop.exporters.report.document import host_of, site_document, subject_of
from sdstop.exporters.report.html.document import document as html_document
from sdstop.exporters.report.html.markup import Markup, block, el, fold
from sdstop.exporters.report.html.markup import table as html_table
from sdstop.exporters.report.postmortem import code_lines, escaped
from sdstop.exporters.report.text import Paint, counted, finding_lines, outlook, plain

_MORE = "sdstop report --from CAPTURE"
_TEXT = ("LINES", "OUTPUT", "USE")


def differing(site: SiteSession) -> list[Difference]:
    """Return the properties in which nodes differ."""
    return differences([SiteNode(member.name, member.session.head().window) for member in site.members])


def to_data(site: SiteSession) -> dict[str, Any]:
    """Return the report as JSON data."""
    rows = [
        {"aspect": each.aspect.name, "item": each.item,
         "values": [{"value": value, "nodes": list(nodes)} for value, nodes in each.values]}
        for each in differing(site)
    ]  # fmt: skip
    return site_document(site, rows)


def title(site: SiteSession) -> str:
    """Return the summary: `2 nodes: 3 findings: 1 critical, 2 warning`; without findings, the headline."""
    nodes = plural(len(site.members), "node" if _is_site(site) else "capture")
    findings = [episode.finding for episode in site.episodes()]
    if findings:
        return f"{nodes}: {counted(findings)}"
    said = site.headline()
    return f"{nodes}: unknown: {said.text}" if said.code == UNKNOWN else f"{nodes}: {said.text}"


def _is_site(site: SiteSession) -> bool:
    """Return whether these are several nodes, not captures of one."""
    return any(not rule.timeless for rule in site.rules)


def spans(site: SiteSession) -> list[tuple[str, str]]:
    """Return each node with the time for which it was watched, and the gaps of its capture."""
    return [(member.name, "; ".join(_span(member))) for member in site.members]


def _span(member: SiteMember) -> Iterator[str]:
    session = member.session
    shot = session.head().now
    host = host_of(session, shot)
    frames = plural(session.frames_seen, "frame")
    if not dated(member.started):
        yield f"{frames}, {NOT_DATED}"
    elif session.frames_seen > 1:
        yield f"{frames}, {timestamp(member.started)} to {timestamp(shot.taken)}"
    else:
        yield f"{frames}, {timestamp(shot.taken)}"
    if host["kernel"]:
        yield f"kernel {host['kernel']}"
    if not session.is_complete:
        yield "not complete"
    if session.origin.privileged is False:
        yield "not root"
    if host["note"]:
        yield str(host["note"])


def clocks(site: SiteSession) -> str:
    """Return how the captures lie in time, by the clocks of their nodes."""
    if not _is_site(site):
        return "Captures of one node: properties are compared; sdstop diff A B compares all else."
    undated = [member.name for member in site.members if not dated(member.started)]
    if undated:
        return f"Time of the capture of {listed(undated, 4)} unknown: states of nodes are not joined with it."
    latest, earliest = max(m.started for m in site.members), min(m.at for m in site.members)
    if site.moments and latest <= earliest:
        return f"Aligned by the nodes' clocks; all cover {timestamp(latest)} to {timestamp(earliest)}."
    nodes = [SiteNode(member.name, member.session.head().window) for member in site.members]
    return f"Aligned by the nodes' clocks; not all overlap, and their last frames are {duration(apart(*nodes))} apart."


def text(site: SiteSession, width: int = 100, paint: Paint = plain) -> str:
    """Return the report as text."""
    width = max(width, 40)
    head = [title(site)]
    head += table.listing([(safe(name, 64), safe(said, 1000)) for name, said in spans(site)], width, indent="  ")
    head += table.wrapped(clocks(site), width)
    sections = [head]
    episodes = site.episodes()
    if episodes:
        lines = ["FINDINGS"]
        for led in by_cause([episode.finding for episode in episodes]):
            indent = "    " if led.follows else ""
            episode = episodes[led.place]
            shown = finding_lines(episode, when(episode, site), width - len(indent), paint)
            lines += [*(f"{indent}{line}" for line in shown), ""]
        sections.append(lines[:-1])
    rows = [(safe(each.what, 60), safe(value, 60), safe(", ".join(nodes), 400)) for each in differing(site)
            for value, nodes in each.values]  # fmt: skip
    if rows:
        sections.append(["DIFFERENCES", *table.listing(_once(rows), width, ("what", "value", "on"), "  ")])
    good = [(safe(v.rule), safe(subject_of(v)), safe(v.summary, 400)) for v in _good(site)]
    if good:
        sections.append(["PASSED, BETWEEN NODES", *table.listing(good, width, indent="  ")])
    helpless = [(safe(", ".join(rules)), safe(reason, 1000)) for reason, rules in by_reason(_unchecked(site)).items()]
    if helpless:
        sections.append(["NOT CHECKED, BETWEEN NODES", *table.listing(helpless, width, indent="  ")])
    for member in site.members:
        rows = account_rows(member.session.origin, member.session.head().now) if member.session.origin.blocks else []
        if rows:
            sections.append([f"TEXT OF {safe(member.name, 80)}", *table.listing(rows, width, _TEXT, indent="  ")])
    each = [(safe(name, 80), said) for name, said in _nodes(site)]
    sections.append(["EACH NODE", *table.listing(each, width, indent="  "), f"  All about one node: {_MORE}"])
    return "\n".join("\n".join([*lines, ""]) for lines in sections)


def when(episode: Episode, site: SiteSession) -> str:
    """Return since when a finding is active, or its span, and the nodes that it joins."""
    finding = episode.finding
    member = next((each for each in site.members if each.name == finding.host and not finding.between), None)
    sure = f", confidence {percent(finding.confidence)}%" if finding.confidence is not None else ""
    if member is not None:
        session = member.session
        lasted = episode.lasted(session.head().now.monotonic)
        return lasting(episode.since, episode.until, lasted, before=episode.began <= session.began) + sure
    joined = f"between {listed(finding.between, 4)}"
    now = max((each.at for each in site.members if each.name in finding.between), default=episode.since)
    if not site.moments or not dated(episode.since):
        return f"{joined}{sure}"
    return f"{joined}, {lasting(episode.since, episode.until, episode.lasted(now))}{sure}"


def _good(site: SiteSession) -> Sequence[RuledOut]:
    return site.judgement.ruled_out


def _unchecked(site: SiteSession) -> Sequence[Unchecked]:
    return site.judgement.unchecked


def _once(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Blank the first cell of a row if it repeats the row above."""
    return [(what if at == 0 or rows[at - 1][0] != what else "", *rest) for at, (what, *rest) in enumerate(rows)]  # type: ignore[misc]


def _nodes(site: SiteSession) -> Iterator[tuple[str, str]]:
    """Yield each node with the number of its findings, of which some may be accepted with their cause elsewhere."""
    findings = [episode.finding for episode in site.episodes()]
    for member in site.members:
        own = [finding for finding in findings if finding.host == member.name and not finding.between]
        yield member.name, counted(own) if own else outlook(member.session)


def markdown(site: SiteSession) -> str:
    """Return the report as Markdown."""
    lines = [f"# {escaped(title(site))}", "", "| node | recorded |", "|---|---|"]
    lines += [f"| {escaped(name)} | {escaped(said)} |" for name, said in spans(site)]
    lines += ["", escaped(clocks(site)), "", "## Findings", ""]
    lines += [line for episode in site.episodes() for line in _finding_lines(episode, site)] or ["None.", ""]
    lines += ["## Differences", "", "| what | value | on |", "|---|---|---|"]
    lines += [f"| {escaped(each.what)} | {escaped(value)} | {escaped(', '.join(nodes))} |" for each in differing(site)
              for value, nodes in each.values]  # fmt: skip
    lines += ["", "## Passed, between nodes", ""]
    lines += [f"- {v.rule} {escaped(subject_of(v))}: {escaped(v.summary)}" for v in _good(site)] or ["None."]
    lines += ["", "## Not checked, between nodes", ""]
    lines += [
        f"- {escaped(', '.join(rules))}: {escaped(reason)}" for reason, rules in by_reason(_unchecked(site)).items()
    ] or ["None."]
    lines += ["", "## Each node", "", "| node | findings |", "|---|---|"]
    lines += [f"| {escaped(name)} | {escaped(said)} |" for name, said in _nodes(site)]
    return "\n".join(lines) + "\n"


def _finding_lines(episode: Episode, site: SiteSession) -> Iterator[str]:
    finding = episode.finding
    yield f"### {finding.severity.value}: {escaped(subject_text(finding))} {escaped(finding.title)}".rstrip()
    if finding.accepted is not None:
        yield from ("", f"This is {escaped(accepted_text(finding))}")
    yield from ("", f"{escaped(finding.summary, 2000)} ({finding.rule}, {escaped(when(episode, site))})", "")
    yield from (f"- {escaped(value.title)}: {escaped(_value(value))}" for value in finding.shown)
    yield ""
    for cite in finding.evidence:
        yield from (f"Evidence {escaped(cite.key)}, frame {cite.frame} of {escaped(cite.host or finding.host)}:", "")
        yield from code_lines(cite.excerpt)
    yield from (f"{number}. {escaped(str(advice))}" for number, advice in enumerate(finding.advice, 1))
    yield ""


def _value(value: Any) -> str:
    return f"{quantity(value.value, value.unit)} {against(value)}".rstrip()


def page(site: SiteSession) -> str:
    """Return the report as one HTML page."""
    rows = [(each.what, value, ", ".join(nodes)) for each in differing(site) for value, nodes in each.values]
    good = [(verdict.rule, subject_of(verdict), verdict.summary) for verdict in _good(site)]
    helpless = [(", ".join(rules), reason) for reason, rules in by_reason(_unchecked(site)).items()]
    episodes = site.episodes()
    said = site.headline()
    articles = [_article(episodes[led.place], site) for led in by_cause([each.finding for each in episodes])]
    if not articles:
        articles = [
            el("p", el("span", "\u2713 OK" if said.code == OK else "? unknown", class_="sev"), f" {said.text}.")
        ]
    parts: list[Markup] = [
        el("h1", title(site)),
        html_table(("node", "recorded"), spans(site)),
        el("p", clocks(site)),
        el("section", el("h2", "Findings"), *articles),
        el("section", el("h2", "Differences"), html_table(("what", "value", "on"), _once(rows))),
        el("section", el("h2", "Passed, between nodes"), html_table(("rule", "what", "value"), good)),
        el("section", el("h2", "Not checked, between nodes"), html_table(("rules", "reason"), helpless)),
        el("section", el("h2", "Each node"), html_table(("node", "findings"), _nodes(site))),
    ]
    return html_document(title(site), el("main", *parts))


_SHAPE = {Severity.CRITICAL: "\u25b2", Severity.WARNING: "\u25c6", Severity.INFO: "\u25cf"}


def _article(episode: Episode, site: SiteSession) -> Markup:
    finding = episode.finding
    word = finding.severity
    return el(
        "article",
        el("h3", el("span", f"{_SHAPE[word]} {word.value}", class_=f"sev {word.value}"),
           f" {subject_text(finding)}  {finding.title}"),
        el("p", f"{finding.rule}, {when(episode, site)}", class_="dim"),
        el("p", accepted_text(finding), class_="dim") if finding.accepted is not None else None,
        el("p", finding.summary),
        *(el("p", f"{heading}: {names}") for heading, names in place_lines(finding)),
        html_table(("compared", "value"), [(value.title, _value(value)) for value in finding.shown]),
        *(fold([f"Evidence: {cite.key}, frame {cite.frame} of {cite.host or finding.host}"],
               el("pre", block(cite.excerpt), class_="one")) for cite in finding.evidence),
        el("ol", *(el("li", el("code", str(advice))) for advice in finding.advice), class_="do"),
        class_=f"finding {word.value}",
    )  # fmt: skip
