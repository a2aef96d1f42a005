"""Opening of the sources that options name: the node itself, a capture, a recording, pasted text, an exporter."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from sdstop.cli.choices import chosen, configured
from sdstop.cli.live_source import live_watch
from sdstop.cli.problem import Problem
from sdstop.cli.settings import FACT as POLICY
from sdstop.cli.settings import Config
from sdstop.cli.watch import Watch
from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector, texts_of
from sdstop.core.config_error import ConfigError
from sdstop.core.evidence import Origin
from sdstop.core.format import safe
from sdstop.core.interval import unrolled
from sdstop.core.retention import Retention

if TYPE_CHECKING:
    from sdstop.capture.reader import Opened
    from sdstop.core.period import Period


def opened(options: argparse.Namespace) -> list[Watch]:
    """Open each of several captures, with names replaced for `--redact` alike in all of them. Raises Problem."""
    begun = [_begin(argparse.Namespace(**{**vars(options), "source": source})) for source in options.sources]
    watches = [each for watch in begun for each in watch.nodes or (watch,)]
    keyfile = getattr(options, "redact", None)
    if keyfile is not None:
        from sdstop.cli.redacting import redactor

        known = redactor(keyfile, None)
        for watch in watches:
            watch.redact(known)
    return watches


def begin(options: argparse.Namespace, *, each: bool = False) -> Watch:
    """Open the source that the options name, with names replaced for `--redact`. Forks the sampler if live.

    Of a text of several nodes it is the node with the worst finding, unless the caller judges `each` of its nodes.
    Large modules must not be imported before. Raises Problem.
    """
    watch = _begin(options)
    keyfile = getattr(options, "redact", None)
    if keyfile is not None:
        from sdstop.cli.redacting import redactor

        try:
            known = redactor(keyfile, watch.origin.collectors)
            for node in (watch, *watch.nodes):
                node.redact(known)
        except BaseException:
            watch.close()
            raise
    if watch.nodes and not each:
        from sdstop.cli.nodes import worst

        return worst(watch)
    return watch


def attached(options: argparse.Namespace) -> Watch:
    """Connect to the exporter of this node. Its policy, and that of `--config`, hold. Raises Problem."""
    from sdstop.cli.config import load, with_recorded
    from sdstop.exporters.local.attached import AttachedFrames
    from sdstop.exporters.local.client import SOCKET, LocalError
    from sdstop.rules import EVERY

    path = options.socket or SOCKET
    try:
        frames = AttachedFrames(path)
    except LocalError as error:
        raise Problem(f"cannot attach to {safe(path)}: {safe(error, 200)}") from error
    sent = frames.header.origin
    names = frozenset(sent.collectors)
    origin = Origin(sent.name, live=True, privileged=sent.privileged, facts=sent.facts, collectors=names or None)
    try:
        config, _ = with_recorded(load([options.config] if options.config else [], EVERY), origin.facts, EVERY)
    except ConfigError as error:
        raise Problem(safe(error, 500), 2) from error
    collectors = tuple(collector for collector in BUILTIN if collector.name in names)
    return Watch(origin, collectors, config, frames.interval, frames)


def _begin(options: argparse.Namespace) -> Watch:
    """Open the source that the options name. Forks the sampler if live: do not import large modules before.

    Raises Problem.
    """
    config = configured(options)
    collectors = chosen(options.collectors)
    interval: float = getattr(options, "interval", None) or config.interval
    if getattr(options, "source", None) is not None:
        return _recorded(options, config, collectors, interval)
    return live_watch(options, config, collectors, interval)


def _recorded(options: argparse.Namespace, config: Config, collectors: Sequence[Collector], interval: float) -> Watch:
    """Open a capture, a recording or pasted text. Raises Problem."""
    from sdstop.capture.reader import OpenError, holds_recording, open_nodes, open_pasted
    from sdstop.core.opened_timeline import OpenedTimeline
    from sdstop.core.period import Period

    texts = texts_of(BUILTIN)
    period = Period(*(getattr(options, name, None) for name in ("since", "until", "at")))
    if getattr(options, "whole", False):
        period = replace(period, at=None)  # a moment within the period
    try:
        if options.source != "-" and holds_recording(options.source):
            return _recording(options, config, collectors, interval, period)
        if options.source == "-":
            found = _stdin(lambda stream: open_pasted(stream, texts))
        else:
            from sdstop.cli import output

            try:
                found = open_nodes(options.source, texts, period, output.opening(options.source))
            finally:
                output.clear_progress()
    except OpenError as error:
        raise Problem(str(error)) from error
    from sdstop.redaction import credentials

    watches = []
    for origin, frames in found:
        kept = credentials.frames(Retention(BUILTIN).frames(frames))  # captures may contain credentials
        clean = replace(origin, blocks=credentials.blocks(origin.blocks))
        whole, kept = unrolled(clean, kept, BUILTIN)
        whole, policy = _with_policy(whole, config)
        watches.append(Watch(whole, collectors, policy, interval, recorded=OpenedTimeline(kept)))
    watches[0].nodes = tuple(watches[1:])
    return watches[0]


def _with_policy(origin: Origin, config: Config) -> tuple[Origin, Config]:
    """Return the recorded policy, below that of `--config`; the origin's note has the reason if it cannot be used."""
    if POLICY not in origin.facts:
        return origin, config
    from sdstop.cli.config import with_recorded
    from sdstop.rules import EVERY

    config, fault = with_recorded(config, origin.facts, EVERY)
    return (replace(origin, note="; ".join(filter(None, (origin.note, fault)))) if fault else origin), config


def _recording(
    options: argparse.Namespace, config: Config, collectors: Sequence[Collector], interval: float, period: Period
) -> Watch:
    """Open a recording: all of it for the dashboard, of which `--at` is a moment. Raises OpenError."""
    from sdstop.capture.reader import open_recording
    from sdstop.core.period import USUAL
    from sdstop.redaction import credentials

    shown = getattr(options, "whole", False)
    origin, timeline = open_recording(options.source, period, math.inf if shown else USUAL)
    retention = Retention(BUILTIN)
    timeline.part = lambda frame: credentials.frames(retention.frames((frame,)))[0]
    origin, config = _with_policy(origin, config)
    return Watch(origin, collectors, config, interval, recorded=timeline)


def _stdin(read: Callable[[BinaryIO], Opened]) -> Opened:
    """Read standard input, after a prompt if it is a terminal. Raises Problem."""
    from sdstop.cli import output

    if sys.stdin is None:
        raise Problem("cannot read standard input: closed")
    if output.is_terminal(sys.stdin):
        output.say("sdstop: paste the text, then press Ctrl+D on an empty line")
    return read(sys.stdin.buffer)
