"""`sdstop doctor`: working sources, missing ones, and how to enable them."""

from __future__ import annotations

import argparse

from sdstop.cli import output
from sdstop.cli.opening import begin
from sdstop.cli.report import whole
from sdstop.core.account import account_rows
from sdstop.core.collector import TEXTS_ONLY, Collector
from sdstop.core.evidence import Outcome
from sdstop.core.format import plural, safe, wait
from sdstop.core.headline import NOT_YET
from sdstop.core.session import Session
from sdstop.core.snapshot import Run
from sdstop.exporters.report.table import listing, wrapped
from sdstop.exporters.report.text import WIDTH


def run(options: argparse.Namespace) -> int:
    """Print the table. Raises Problem."""
    with begin(options) as watch:
        session = watch.session(whole(watch), rules=())
        for frame in watch.frames(0.0, lambda: len(session.head().now.runs) == len(watch.collectors)):
            session.feed(frame)
    output.write(examination(session, output.width(WIDTH)))
    return 0


def examination(session: Session, width: int) -> str:
    """Return a table with the outcome of each collector and possible remedies."""
    runs = session.head().now.runs
    origin = session.origin
    rows, texts_only = [], []
    for collector in session.collectors:
        run = runs.get(collector.name)
        if origin.live and not collector.is_live and (run is None or not run.ok):
            texts_only.append(collector.name)
            continue
        took = f"{wait(run.duration)} ms" if run is not None and run.duration is not None else ""
        outcome = run.word if run is not None else "waiting"
        rows.append((collector.name, outcome, took, _said(collector, run, root=origin.privileged)))
    kind = "live" if origin.live else "from a capture"
    root = (
        {True: ", as root", False: ", not as root"}.get(origin.privileged, "") if origin.privileged is not None else ""
    )
    head = f"{safe(origin.name)}, {kind}{root}: {_counted(session)}"
    lines = [head, "", *listing(rows, width, ("SOURCE", "STATUS", "TIME", "DESCRIPTION / ACTION"))]
    if texts_only:
        lines += ["", *wrapped(f"{TEXTS_ONLY}: {', '.join(texts_only)}", width)]
    texts = account_rows(origin, session.head().now)
    if origin.blocks:
        lines += ["", *listing(texts, width, ("LINES", "OUTPUT", "USE"))]
    elif texts:
        lines += ["", *listing([row[1:] for row in texts], width, ("OUTPUT", "USE"))]
    return "\n".join(lines) + "\n"


def _counted(session: Session) -> str:
    """Return the number of working, partial and absent sources."""
    asked = [each for each in session.collectors if each.is_live or not session.origin.live]
    now = session.head().now.runs
    runs = [now[each.name] for each in asked if each.name in now]
    partly = sum(run.partial for run in runs)
    absent = sum(run.outcome is Outcome.ABSENT for run in runs)
    said = f"{sum(run.ok for run in runs)} of {plural(len(asked), 'source')} ok"
    return said + (f", {partly} of them partial" if partly else "") + (f", {absent} absent" if absent else "")


def _said(collector: Collector, run: Run | None, *, root: bool | None) -> str:
    parts = [collector.title]
    if run is None:
        parts.append(f"{NOT_YET[0].upper()}{NOT_YET[1:]}")
    elif run.reason:
        parts.append(safe(run.reason, 500))
    if run is not None:
        parts += _remedy(collector, run, root=root)
    return ". ".join(parts)


def _remedy(collector: Collector, run: Run, *, root: bool | None) -> list[str]:
    match run.outcome:
        case Outcome.DENIED:
            return _needs(collector)
        case Outcome.TIMEOUT:
            return ["Hung: check dmesg and the device"]
        case Outcome.ABSENT if run.recorded and not collector.option:
            return ["Not present on this node"]
        case Outcome.OK if not root:
            return _needs(collector)
        case _:
            return []


def _needs(collector: Collector) -> list[str]:
    """Return the evidence of a source that needs a privilege, with its purpose."""
    needs = [f"{need.what} requires {need.privilege} ({need.why})" for need in collector.needs if need.privilege]
    return ["; ".join(needs)] if needs else []
