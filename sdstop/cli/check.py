"""`sdstop check`: one line and an exit code, as expected from a monitoring plugin.

The exporter that runs on the same node is asked first, through its local socket. Without a recent answer, and with
options that it does not know, the check samples for itself. Details below the line say which:

    SDSTOP OK - no findings | critical=0;;0 warning=0;0 info=0 unchecked=0
    SAMPLED BY: exporter, 0.4 s ago
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sdstop.cli.problem import Problem
from sdstop.cli.stdout import write

if TYPE_CHECKING:
    from sdstop.cli.watch import Watch
    from sdstop.core.judgement import Judgement
    from sdstop.exporters.plugin import CheckLine

SECONDS = 8.0
"""Duration of a live check in seconds, so that it answers within 10: monitoring systems wait no longer by default."""

MARGIN = 2.0
"""Seconds of it that a source may start late: the span between its first and last sample is at least the rest."""
_SOURCE = "SAMPLED BY: "
_NEWEST = "NEWEST SAMPLE: "
"""Before the time of a recording's newest frame: its recorder may have died days ago."""


def run(options: argparse.Namespace) -> int:
    """Print the first line and the details. Raises Problem."""
    began = time.monotonic()
    lacking = ""
    if all(given is None for given in (options.source, options.root, options.config, options.collectors)):
        from sdstop.exporters.local.client import LocalError  # with sockets, 4 ms

        try:
            return _asked(options)
        except LocalError as error:
            lacking = str(error)
    return _judged(options, began, lacking)


def _asked(options: argparse.Namespace) -> int:
    """Print the answer of the exporter. Raises LocalError."""
    from sdstop.exporters.local.client import SOCKET
    from sdstop.exporters.local.client import check as asked_of

    asked = {"rule": options.rule, "subject": options.subject, "strict": options.strict}
    code, text, age = asked_of(options.socket or SOCKET, asked, config=own_policy())
    first, _, details = text.partition("\n")
    write(f"{first}\n{_SOURCE}exporter, {age:.1f} s ago\n{details}")
    return code


def own_policy() -> str:
    """Return the caller's own configuration file if it has a policy, which an exporter of another user does not know.

    One that cannot be read counts: the check itself reports the mistake.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME') or '/nonexistent'}/.config"
    path = f"{home}/sdstop/config.toml"
    if not os.path.exists(path):  # noqa: PTH110  # pathlib costs milliseconds
        return ""
    import tomllib

    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            table = tomllib.load(stream)
    except (OSError, ValueError, RecursionError):
        return path
    return path if table.keys() & {"rules", "accept"} else ""


def _judged(options: argparse.Namespace, began: float, lacking: str) -> int:
    """Sample, or read captures, judge and print. Raises Problem."""
    from sdstop.cli.opening import begin

    _check_rules(options.rule or ())
    if len(options.sources) > 1:
        return _several(options)
    with begin(options, each=True) as watch:
        if watch.nodes:
            return _several(options, watch.nodes)
        from sdstop.cli.report import seen, whole
        from sdstop.core.collector import providers_of
        from sdstop.core.format import timestamp
        from sdstop.core.memory import Presence
        from sdstop.core.policy import names_in
        from sdstop.exporters.plugin import narrowed, verdict
        from sdstop.recordings.schema import RECORDING
        from sdstop.rules import RULES  # imported after forking the sampler, which samples in parallel

        # Rules that remember what vanished judge every frame; the others only the last window. Where the last
        # frame may be an older one, all of them are judged.
        remembering = tuple(rule for rule in RULES if rule.remembers)
        seconds = SECONDS - (time.monotonic() - began if lacking else 0.0)
        live = watch.sampler is not None
        present = Presence(remembering, providers_of(watch.collectors))
        unordered = watch.recorded is not None and any(frame.unordered for frame in watch.recorded.frames)
        session = watch.session(whole(watch), rules=remembering if live else RULES if unordered else ())
        seen(watch, session, seconds, lambda look: present.note(look.now))
        if present.lost and not live and not unordered:  # a capture can be read again, and has something to remember
            session = seen(watch, watch.session(whole(watch), rules=remembering), seconds)
        head = session.head()
        judgement = head.judgement if unordered else watch.judge(head.window, seconds - MARGIN)
        judgement = narrowed(judgement, options.rule, options.subject, names_in(head.window.topology))
    answer = verdict(session, judgement, strict=options.strict)
    why = f" ({lacking})" if lacking else ""
    first = [f"{_SOURCE}check, for {seconds:.1f} s{why}"] if live else []
    if session.origin.made == RECORDING:
        first.append(f"{_NEWEST}{timestamp(session.head().now.taken)}")
    return _written(answer, judgement, first)


def _several(options: argparse.Namespace, watches: Sequence[Watch] = ()) -> int:
    """Judge several captures, or the nodes of a text, and print. Raises Problem."""
    from sdstop.cli.several import together
    from sdstop.exporters.plugin import narrowed, site_verdict

    site = together(options, watches)
    judgement = narrowed(site.whole(), options.rule, options.subject)
    return _written(site_verdict(site, judgement, strict=options.strict), judgement)


def _check_rules(patterns: Sequence[str]) -> None:
    """Raise Problem for a pattern that matches no rule."""
    if patterns:
        from fnmatch import fnmatchcase

        from sdstop.core.config_error import unknown
        from sdstop.core.format import safe
        from sdstop.rules import EVERY

        names = {rule.id for rule in EVERY}
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise Problem(f"--rule {safe(pattern)}: {unknown('rule', pattern, names, 'see `sdstop rules`')}", 2)


def _written(answer: CheckLine, judgement: Judgement, first: Sequence[str] = ()) -> int:
    from sdstop.exporters.plugin import below, line, numbers

    write(line(answer.code, answer.said, numbers(judgement)) + below((*first, *answer.details)))
    return answer.code
