"""Raw evidence as rows of a pane, with the part cited by a finding highlighted."""

from __future__ import annotations

import json
from contextlib import suppress

from rich.cells import chop_cells

from sdstop.core.evidence import Evidence, Outcome, readable, stored_keys
from sdstop.core.format import timestamp, wait
from sdstop.core.session import Session
from sdstop.tui.why import Quote
from sdstop.tui.widgets.palette import BANNER, FAINT, PLAIN, STRONG, Line, Palette, text
from sdstop.tui.widgets.pane import Row, words

LONGEST = 1 << 20
"""Maximum number of bytes shown for one piece of evidence."""


def stored_evidence(session: Session, quote: Quote) -> Evidence | None:
    """Return the evidence of the quoted frame, None if the frame was discarded or lacks it.

    If a capture does not record when the evidence was read, the time of the frame that brought it is used instead.
    """
    timeline = session.timeline
    index = timeline.place(quote.frame)
    if index >= len(timeline.frames) or timeline.frames[index].number != quote.frame:
        return None
    whole = timeline.recall(index, index + 1)[0]
    keys = stored_keys(quote.key)
    found = next((item for item in whole.evidence if item.key in keys), None)
    if found is not None and found.taken is None:
        return Evidence(
            found.key, found.outcome, found.data, found.detail, timeline.read_at(index, quote.key),
            found.monotonic, found.duration, found.stderr, found.exit,
        )  # fmt: skip
    return found


def raw_rows(quote: Quote, item: Evidence | None, palette: Palette, width: int) -> tuple[list[Row], int | None]:
    """Return the rows, and the index of the first highlighted row (None if there is none)."""
    rows: list[Row] = []
    content = quote.excerpt if item is None else _content(item, quote)
    first = None
    number = 0
    if not content:
        rows.append(words(text(("      (empty)", FAINT))))
    for number, foreign in enumerate(content.split("\n"), 1):
        marked = bool(quote.mark) and quote.mark in foreign
        if marked and first is None:
            first = len(rows)
        for part, line in enumerate(_lines(foreign, quote.mark if marked else "", palette, max(width - 8, 8))):
            lead = f"{number:>5} " if not part else "      "
            rows.append(words((*text((lead, FAINT)), *line), ("line", number, part)))
    return rows, first


def head_lines(quote: Quote, item: Evidence | None, palette: Palette) -> list[Line]:
    """Return the header lines: the evidence, when and how it was read, and the highlighted line."""
    kind, name = _kind(quote.key)
    lines = [text((f" {kind:<9}", FAINT), (palette.word(name, 1000), STRONG))]
    if item is None:
        said = f"frame {quote.frame} is no longer in memory; only the quoted line is shown"
        return [*lines, text((f" {'content':<9}", FAINT), (said, palette.severity(None)))]
    facts = [f"frame {quote.frame}"]
    if item.taken is not None:
        facts.append(timestamp(item.taken))
    if item.duration is not None:
        facts.append(f"read in {wait(item.duration)} ms")
    if item.exit is not None:
        facts.append(f"{'status' if item.key.startswith('http:') else 'exit'} {item.exit}")
    facts.append(f"{len(item.data)} bytes")
    lines.append(text((f" {'read':<9}", FAINT), f" {palette.dot} ".join(facts)))
    style = PLAIN if item.outcome is Outcome.OK else palette.severity(None)
    detail = f": {palette.word(item.detail, 500)}" if item.detail else ""
    lines.append(text((f" {'outcome':<9}", FAINT), (f"{item.outcome.value}{detail}", style)))
    if quote.mark:
        lines.append(text((f" {'marked':<9}", FAINT), palette.word(quote.mark.strip(), 200)))
    return lines


def _kind(key: str) -> tuple[str, str]:
    kinds = {
        "http": "gateway",
        "cmd": "command",
        "slug": "command",
        "answer": "answer",
        "link": "link",
        "list": "directory",
    }
    kind, colon, name = key.partition(":")
    if kind == "http":
        return "gateway", key
    return (kinds[kind], name) if colon and kind in kinds else ("file", key)


def _content(item: Evidence, quote: Quote) -> str:
    shown = readable(item.data[:LONGEST])
    if item.key.startswith("http"):
        return _json(item, quote)
    if item.key.startswith("answer:") and len(item.data) <= LONGEST:
        with suppress(ValueError, RecursionError):  # not JSON: shown as it is
            shown = json.dumps(json.loads(shown), indent=1, ensure_ascii=False)
    if len(item.data) > LONGEST:
        shown += f"\n... {len(item.data) - LONGEST} more bytes"
    if item.stderr:
        shown += "\n--- standard error ---\n" + item.stderr[:LONGEST].decode("utf-8", "surrogateescape")
    return shown.rstrip("\n")


def _json(item: Evidence, quote: Quote) -> str:
    """Return the quoted part of a gateway's response, then all of it, one field per line, unless it is too large."""
    if len(item.data) > LONGEST:
        return f"{quote.excerpt}\n--- of {len(item.data)} bytes ---"
    shown = readable(item.data)
    with suppress(ValueError, RecursionError):
        shown = json.dumps(json.loads(shown), indent=1, ensure_ascii=False)
    return f"{quote.excerpt}\n--- full content ---\n{shown}"


def _lines(foreign: str, mark: str, palette: Palette, width: int) -> list[Line]:
    """Wrap one line of evidence and highlight every occurrence of `mark`."""
    pieces: list[tuple[str, bool]] = []
    rest = foreign.expandtabs(8)
    mark = mark.expandtabs(8)
    while mark and (at := rest.find(mark)) >= 0:
        pieces += [(rest[:at], False), (mark, True)]
        rest = rest[at + len(mark) :]
    pieces.append((rest, False))
    lines: list[list[tuple[str, bool]]] = [[]]
    room = width
    for piece, lit in pieces:
        left = palette.word(piece, len(piece) * 10 + 10)
        while left:
            head = chop_cells(left, room)[0] if room > 0 else ""
            if head:
                lines[-1].append((head, lit))
                left = left[len(head) :]
            if left:
                lines.append([])
                room = width
            else:
                room -= len(head)
    return [text(*((shown, BANNER if lit else PLAIN) for shown, lit in line)) for line in lines]
