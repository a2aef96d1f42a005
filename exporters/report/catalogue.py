"""Catalogue of evidence, rules and metrics, as terminal text and as the pages in docs/."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

from sdstop.core.collector import Collector, commands_of, texts_of
from sdstop.core.folding import LEAST
from sdstop.core.form import Form
from sdstop.core.format import duration, number
from sdstop.core.rule import NodeRule, Rule, Threshold
from sdstop.exporters.prometheus import metrics as prometheus
from sdstop.exporters.prometheus.families import families_of
from sdstop.exporters.prometheus.headings import details
from sdstop.exporters.prometheus.repeats import DISKS, OTHERS
from sdstop.exporters.report.table import listing, wrapped

_GENERATED = (
    "Written by `scripts/docs` from the declarations in the code; a test fails when this page is not up to date."
)

Configured = Mapping[str, Mapping[str, float]]


def rules_text(rules: Sequence[Rule | NodeRule], configured: Configured, width: int) -> str:
    """Return every rule with its thresholds; configured thresholds also show the default."""
    lines: list[str] = []
    for rule in rules:
        where = "" if isinstance(rule, Rule) else "between nodes, "
        lines += [f"{rule.id}  ({where}at worst {rule.worst})", *wrapped(_sentence(rule.says), width, "  ")]
        chosen = configured.get(rule.id, {})
        rows = [(t.name, _threshold(t, chosen.get(t.name)), t.help) for t in rule.thresholds]
        lines += [*listing(rows, width, indent="    "), ""]
    return "\n".join(lines)


def _threshold(threshold: Threshold, chosen: float | None) -> str:
    unit = f" {_unit(threshold.unit)}" if threshold.unit else ""
    if chosen is None:
        return f"{threshold.default:g}{unit}"
    return f"{chosen:g}{unit} (default {threshold.default:g})"


def _unit(unit: str) -> str:
    return {"seconds": "s", "bytes": "bytes", "bytes_per_second": "bytes/s", "per_second": "/s"}.get(unit, unit)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def metrics_text(collectors: Sequence[Collector], width: int) -> str:
    """Return every metric with name, type, unit, labels and help."""
    lines: list[str] = []
    for heading in prometheus.catalogue(collectors):
        labels = f"{{{', '.join(heading.labels)}}}" if heading.labels else ""
        unit = f", {heading.unit}" if heading.unit else ""
        source = f" Source: {heading.source}." if heading.source else ""
        lines += [f"{heading.name}{labels}  ({heading.type}{unit})", *wrapped(heading.help + source, width, "    ")]
    return "\n".join([*lines, ""])


def rules_page(rules: Sequence[Rule], between: Sequence[NodeRule] = ()) -> str:
    """Return docs/rules.md; `between` are the rules that compare nodes."""
    return "\n".join([*_rules(rules), *_between(between)]) + "\n"


def _rules(rules: Sequence[Rule]) -> Iterator[str]:
    yield from ("# Rules", "", _GENERATED, "")
    yield (
        "A threshold is set in the [configuration](configuration.md): `[rules.ID]`, then `name = value` in the unit "
        "below. [Runbooks](runbooks/) show an example of each rule."
    )
    yield ""
    yield (
        f"If at least {LEAST}, and at least half, of the things below one HBA, expander, enclosure, session or target "
        "have the same finding, it becomes one finding about that, which lists them as members. It stays one down to "
        "a third. The same holds for all disks of a node, and for all its network interfaces with one cause."
    )
    for rule in rules:
        families = ", ".join(f"`{family.family}`" for family in rule.needs)
        window = f" Needs {duration(rule.seconds)} of data." if rule.seconds else ""
        yield from ("", f"## {rule.id}", "", f"{_sentence(rule.says)} At worst {rule.worst}.", "")
        yield f"Uses {families}.{window}"
        if rule.thresholds:
            yield from _thresholds(rule.thresholds)


def _between(rules: Sequence[NodeRule]) -> Iterator[str]:
    if not rules:
        return
    yield from ("", "# Rules between nodes", "")
    yield (
        "`sdstop report` and `sdstop check` with several `--from` use them. Rules that name families join what nodes "
        "report of the same thing, in captures of the same time. The others compare properties of nodes, as `sdstop "
        "fleet` does with nodes of one job: a node is reported only if enough peers exist and nearly all of them "
        "agree; otherwise the difference alone is reported."
    )
    for rule in rules:
        yield from ("", f"## {rule.id} (between nodes)", "", f"{_sentence(rule.says)} At worst {rule.worst}.")
        if rule.needs:
            yield from ("", f"Uses {', '.join(f'`{family.family}`' for family in rule.needs)}.")
        if rule.thresholds:
            yield from _thresholds(rule.thresholds)


def advice_file(rules: Sequence[Rule]) -> str:
    """Return contrib/prometheus/sdstop-advice.yml: a recording rule with the advice of each rule as a label."""
    lines = list(_ADVICE_HEAD)
    for rule in rules:
        lines += ["      - record: sdstop:rule:advice", "        expr: vector(1)", "        labels:"]
        lines += [f"          rule: {rule.id}", f"          advice: {json.dumps(rule.advice)}"]
    return "\n".join([*lines, ""])


_ADVICE_HEAD = (
    "# The first thing to do about findings, by rule, for the descriptions of alerts in sdstop-alerts.yml, where",
    "# {subject} is replaced. Your copy may have the instructions of your own team.",
    "#",
    f"# {_GENERATED}",
    "groups:",
    "  - name: sdstop-advice",
    "    interval: 1m",
    "    rules:",
)


def _thresholds(thresholds: Sequence[Threshold]) -> Iterator[str]:
    yield ""
    rows = [(f"`{t.name}`", f"{t.default:g}", t.unit, t.help) for t in thresholds]
    yield from _markdown(("threshold", "default", "unit", "description"), rows)


def metrics_page(collectors: Sequence[Collector]) -> str:
    """Return docs/metrics.md."""
    full = {name for family in families_of(collectors) for name in details(family)}
    rows = [
        (
            f"`{h.name}`",
            h.type,
            h.unit,
            ", ".join(f"`{name}`" for name in h.labels),
            h.help + _repeated(h.name) + (_FULL if h.name in full else ""),
            h.source,
        )
        for h in prometheus.catalogue(collectors)
    ]
    head = ["# Metrics", "", _GENERATED, "", _TRUTH, ""]
    return "\n".join([*head, *_markdown(("metric", "type", "unit", "labels", "description", "source"), rows), ""])


def _repeated(name: str) -> str:
    """Return the note on a metric that node_exporter also provides, "" for others."""
    if name in DISKS:
        return f" By default of members only: node_exporter has {DISKS[name]}."
    return f" Not exported by default: node_exporter has {OTHERS[name]}." if name in OTHERS else ""


_FULL = " Exported if `profile` is `full`."


_TRUTH = (
    "Values are in base units. A series is absent if its value is unknown; it is never 0. The rows of a source that "
    "failed or hangs are withheld; `sdstop_collector_success` and related metrics give the reason. Metrics that "
    "node_exporter has, too, are exported only if `[export]` in the config file enables them (docs/monitoring.md)."
)


def evidence_page(collectors: Sequence[Collector]) -> str:
    """Return docs/evidence.md."""
    return "\n".join(_evidence(collectors)) + "\n"


def _evidence(collectors: Sequence[Collector]) -> Iterator[str]:
    yield from ("# Evidence", "", _GENERATED, "")
    yield "Everything that sdstop reads, how often, and why. It reads nothing else and changes nothing."
    for collector in collectors:
        yield from ("", f"## {collector.name}", "", f"{collector.title}. {_pace(collector)}", "")
        rows = [(f"`{need.what}`", need.why, need.privilege) for need in collector.needs]
        yield from _markdown(("what", "why", "privilege"), rows)
    yield from ("", "## Commands", "", "Only these commands are run, without a shell, and never with `--root`.", "")
    rows = [
        (
            f"`{' '.join(command.argv)}`",
            ", ".join(c.name for c in collectors if command.argv in _argvs(c)),
            command.privilege,
        )
        for command in commands_of(collectors)
    ]
    yield from _markdown(("command", "sources", "privilege"), rows)


_TEXTS = """Text copied from a terminal, a ticket or a mail is read by `sdstop report --from FILE`, or `--from -` for
standard input; the dashboard, `check` and `doctor` open a file in the same way. An output is recognized by the prompt
before it (its options do not matter), or by its form. A form is not tied to the listed versions; other versions are
read if they print the same.

Traces of terminals, mailers and ticket systems are removed first: byte order marks, CR, non-breaking spaces, `> `
quotation, indentation, code fences, color codes, double spacing, HTML, links, remarks such as `<-- here` and lines
wrapped at the width of a terminal. So are columns that tools add, where more of the text is understood without them:
line numbers, times, names of files or hosts, borders, quotes. Two terminals side by side are two texts.

Several outputs can follow each other with prose between them. Later outputs of one command are later frames; rates
need two of them with a time (`date`, `watch`).

Several nodes are recognized by their prompts, by what Ansible, pdsh, clush, dshbak and salt print, and by headings with
names that differ only in numbers (`## san1:`). `report` and `check` judge each of them and compare them; the dashboard,
`doctor`, `diff` and `capture` open the one with the worst finding, and name the others.

A later output ends a finding only if the text shows that it is newer: a time, or the same prompt in one terminal. Below
the header of a mail, after `ssh`, or without prompts it may be older, or of another node; then the findings of both
stay, and nothing that rests on it counts as good. Where two commands show one thing differently, the fault counts.

Every block of a text is listed with its use: read, and by which source; recorded and not understood, with the reason;
or unknown, with its plain words. A typed command that no source reads makes a check UNKNOWN. Nothing that rests on an
output of which the end is not shown counts as good; end a copy with the next prompt. Outputs marked `whole` below are
not used at all then, because a part of them misleads. Omitted lines (`[...]`, `--More--`) and lines cut at the width of
the terminal have the same effect."""


def texts_page(collectors: Sequence[Collector]) -> str:
    """Return docs/texts.md."""
    lines = ["# Texts", "", _GENERATED, "", *_TEXTS.split("\n"), ""]
    rows = [
        (
            f"`{form.key.removeprefix('cmd:')}`",
            form.reads,
            form.versions,
            _end(form),
            "whole" if form.whole else "",
            ", ".join(collector.name for collector in collectors if form in collector.forms),
        )
        for form in sorted(texts_of(collectors).forms, key=lambda form: form.key.removeprefix("cmd:"))
    ]
    lines += _markdown(("output", "read from it", "versions", "end", "use", "sources"), rows)
    return "\n".join(lines) + "\n"


def _end(form: Form) -> str:
    """Return the sign by which a complete output is known."""
    if form.first.startswith(r"\{"):
        return "closed brackets"
    return "proved by the text" if form.fault is not None else "its last line" if form.last else "a prompt"


def _argvs(collector: Collector) -> set[tuple[str, ...]]:
    return {command.argv for command in commands_of([collector])}


def _pace(collector: Collector) -> str:
    again = ", and immediately on change" if collector.fingerprint is not None else ""
    pace = "Once" if math.isinf(collector.pace) else f"Every {number(collector.pace)} s"
    quiet = f" ({number(collector.quiet)} s while no block device reports events)" if collector.quiet else ""
    return f"{pace}{quiet}{again}; timeout {number(collector.deadline)} s."


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        cells = (text.replace("|", r"\|") for text in row)
        yield "".join(f"| {text} " if text else "| " for text in cells) + "|"
