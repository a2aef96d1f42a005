"""Runbook: the page of one rule, with a finding of a story as its example.

It explains the rule, shows an example, and lists the commands and numbers that confirm it, the actions, the
circumstances of a false alarm, and the other forms that findings of the rule have in stories, each with its first step.
Everything is taken from the rule and its findings, so that a page and the screen agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from sdstop.core.advice import Advice, ShellCommand
from sdstop.core.finding import Damage, Finding
from sdstop.core.finding_text import against
from sdstop.core.format import quantity, safe, safe_block
from sdstop.core.rule import Rule

_EXCERPT = 4
"""Maximum lines of one citation."""
_CITED = 4
"""Maximum number of citations."""

_DAMAGES = {
    Damage.DATA: "data is lost, or readable by others",
    Damage.REDUNDANCY: "less redundancy",
    Damage.AVAILABILITY: "requests wait or fail",
    Damage.CAPACITY: "space runs out",
    Damage.SPEED: "less speed",
    Damage.HYGIENE: "none yet",
}


def runbook(rule: Rule, example: tuple[str, Finding, Sequence[str]] | None, forms: Sequence[str] = ()) -> str:
    """Return the page of a rule as Markdown.

    `example` is a story, its finding and the lines of its picture, `forms` the rows (`form_row`) of other findings.
    """
    shown = _example(*example) if example is not None else ()
    return "\n".join([*_about(rule), *shown, *_forms(forms), *_limits(rule)]) + "\n"


def form_row(story: str, finding: Finding) -> str:
    """Return the row of a finding in the table of the forms of its rule; the last cell is its story."""
    step = next(iter(finding.advice), "")
    first = f"`{step}`" if isinstance(step, ShellCommand) else safe(step, 400)
    title = f"{finding.severity.value.upper()} {finding.title}"
    return f"| {_cell(title)} | {_cell(finding.cause)} | {_cell(first)} | `{story}` |"


def _forms(rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield from ("", "## Other forms", "", "| finding | cause | first step | story |", "|---|---|---|---|", *rows)


def _about(rule: Rule) -> Iterator[str]:
    yield from (f"# {rule.id}", "", "Written by `scripts/runbooks`; a test fails when this page is not up to date.", "")
    yield f"{rule.says[:1].upper()}{rule.says[1:]}."
    yield ""
    kind = "a standing condition" if rule.standing else "an incident"
    yield f"At worst {rule.worst.value}, as {kind}. Damage: {_DAMAGES[rule.damage]}."


def _example(story: str, finding: Finding, picture: Sequence[str]) -> Iterator[str]:
    yield from ("", "## Example", "", f"In the story `{story}`:", "", "```")
    yield f"{finding.severity.value.upper()}  {safe(finding.title)}  {safe(finding.subject)}"
    yield f"  why   {safe(finding.cause, 400)}"
    if finding.impact:
        yield f"  hurt  {safe(finding.impact, 400)}"
    if picture:
        yield from ("", *picture)
    yield "```"
    yield from ("", "## Confirmation", "")
    yield f"`sdstop check --rule {finding.rule}` on the node reports it. To see it without sdstop:"
    yield from ("", "```sh", *_by_hand(finding), "```", "")
    numbers = [value for value in finding.values if value.value is not None]
    if numbers:
        yield from ("| value | here |", "|---|---|")
        for value in numbers:
            compared = against(value)
            yield f"| {_cell(value.title)} | {_cell(f'{quantity(value.value, value.unit)} {compared}'.strip())} |"
        yield ""
    yield "The evidence of the example:"
    yield ""
    yield "```"
    for cite in finding.evidence[:_CITED]:
        yield safe(cite.key, 200)
        yield from (f"  {line}".rstrip() for line in safe_block(cite.excerpt).splitlines()[:_EXCERPT])
    yield "```"
    if finding.advice:
        yield from ("", "## Actions", "", *_steps(finding.advice))
    if finding.refuted_by or finding.harmless_if:
        yield from (*([] if finding.advice else [""]), "## False alarms", "")
        if finding.refuted_by:
            yield f"- Disproved by: {safe(finding.refuted_by, 400)}."
        if finding.harmless_if:
            yield f"- Harmless if {safe(finding.harmless_if, 400)}."
        if finding.harmless_if or finding.standing:
            yield from (
                "- If it is intended, [accept](../configuration.md#accepted-findings) it on the node:",
                "",
            )
            yield from ("```toml", "[[accept]]", f'rule = "{finding.rule}"', f'subject = "{safe(finding.subject)}"')
            yield from ('reason = "why, and the ticket"', "```")


def _by_hand(finding: Finding) -> Iterator[str]:
    """Yield the commands that show the evidence of a finding."""
    keys = dict.fromkeys(cite.key for cite in finding.evidence)
    said = dict.fromkeys(_command(key) for key in keys)
    yield from [safe(command, 200) for command in said if command][:_CITED] or ["journalctl -k -n 100"]


def _command(key: str) -> str:
    """Return the command that shows a piece of evidence, "" if there is none."""
    kind, colon, rest = key.partition(":")
    if key.startswith("/sys/firmware/dmi/"):
        return "dmidecode"
    if key.startswith("/"):
        return f"cat {key}"
    return rest if colon and kind == "cmd" else {"link": f"readlink {rest}", "list": f"ls {rest}"}.get(kind, "")


def _cell(text: str) -> str:
    return safe(text, 400).replace("|", "\\|")


def _steps(advice: Sequence[Advice]) -> Iterator[str]:
    """Yield the steps: sentences as a list, commands as blocks below them."""
    for commands, steps in groupby(advice, lambda step: isinstance(step, ShellCommand)):
        if commands:
            yield from ("```sh", *map(str, steps), "```", "")
        else:
            yield from (*(f"- {safe(step, 400)}" for step in steps), "")


def _limits(rule: Rule) -> Iterator[str]:
    yield from ("", "## Thresholds", "")
    if not rule.thresholds:
        yield "None."
        return
    yield f"Set them in the configuration, below `[rules.{rule.id}]`:"
    yield from ("", "| threshold | default | unit | description |", "|---|---|---|---|")
    for threshold in rule.thresholds:
        yield f"| `{threshold.name}` | {threshold.default:g} | {threshold.unit} | {_cell(threshold.help)} |"
