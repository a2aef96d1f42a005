"""`sdstop export`: Prometheus exporter as a service, as a single printed page, or as a textfile."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sdstop.cli import output
from sdstop.cli.choices import configured, exported, stamps
from sdstop.cli.config import renewed
from sdstop.cli.opening import begin
from sdstop.cli.problem import Problem
from sdstop.cli.spared import import_without
from sdstop.cli.usage import ONCE_SECONDS
from sdstop.cli.watch import Watch
from sdstop.collectors import BUILTIN
from sdstop.core.format import safe
from sdstop.core.heap import return_large_blocks
from sdstop.core.history import KEEP
from sdstop.core.output_file import READABLE
from sdstop.tui.settings import unreadable_files

if TYPE_CHECKING:
    from sdstop.exporters.local.service import LocalService
    from sdstop.exporters.otlp.pusher import Pusher
    from sdstop.exporters.prometheus.metrics import Exposition
    from sdstop.exporters.recorder import Recorder
    from sdstop.exporters.web.played import PlayedFrames
    from sdstop.exporters.web.server import FrameFeed

LISTEN = ("127.0.0.1", 10042)
JUDGED = 4.0
"""Seconds between two judgements. Scrapes are further apart; a finding that lacks in one is not a new one (BRIDGE)."""


OTLP_INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
"""Variable of the OpenTelemetry SDK: milliseconds between two pushes."""


def run(options: argparse.Namespace) -> int:
    """Serve, or print once. Raises Problem."""
    if options.once and options.otlp is not None:
        raise Problem("cannot use --otlp with --once", 2)
    with begin(options) as watch:
        from sdstop.exporters.prometheus.metrics import Exposition  # after forking the sampler, which needs none of it

        kept = KEEP if _has_socket(options, watch) else 0.0
        exposition = Exposition(watch.session(kept), BUILTIN, exported(watch.config), watch.interval)
        if options.once:
            return _once(options, watch, exposition)
        if watch.sampler is not None:
            return_large_blocks()
            exposition.session.budget = watch.interval
            exposition.session.judge_every(JUDGED)
            with contextlib.ExitStack() as stack:
                recorder = _recorder(watch, exposition)
                if recorder is not None:
                    stack.callback(recorder.close)
                return _serve(options, watch, exposition, recorder=recorder)
        if options.play:
            from sdstop.exporters.web.played import PlayedFrames

            with contextlib.closing(PlayedFrames(list(watch.frames(0.0)))) as played:
                exposition.clock, exposition.interval = played.now, max(exposition.interval, played.interval)
                return _serve(options, watch, exposition, played)
        for frame in watch.frames(0.0):
            exposition.feed(frame)
        return _serve(options, watch, exposition)


def _once(options: argparse.Namespace, watch: Watch, exposition: Exposition) -> int:
    def enough() -> bool:
        return len(exposition.session.head().now.runs) == len(watch.collectors)

    with _target(options.textfile) as target:
        for frame in watch.frames(ONCE_SECONDS, enough):
            exposition.feed(frame)
        target.write_bytes(exposition.page(process=False))
    return 0


def _target(textfile: str | None) -> output.Target:
    return output.Target(textfile, mode=READABLE, streams=textfile is None)


def _local(options: argparse.Namespace, watch: Watch, exposition: Exposition) -> LocalService | None:
    """Return the local socket, None without one."""
    from sdstop.exporters.local.client import SOCKET
    from sdstop.exporters.local.service import LocalService

    if not _has_socket(options, watch):
        return None
    let_rest = getattr(watch.sampler, "let_rest", None)
    path = Path(options.socket or SOCKET)
    return LocalService(exposition, path, wanted=options.socket is not None, let_rest=let_rest)


def _has_socket(options: argparse.Namespace, watch: Watch) -> bool:
    """Return whether there is a local socket; an exporter of a part of a node has none unless the path is given."""
    whole = not (options.root or options.collectors)
    return watch.sampler is not None and not options.once and (whole or options.socket is not None)


def _recorder(watch: Watch, exposition: Exposition) -> Recorder | None:
    """Return the recorder that `[record]` describes, None without one. Failures of its files are metrics."""
    settings = watch.config.record
    if settings.file is None and settings.on_critical is None:
        return None
    from sdstop.exporters.critical import CriticalCaptures, CriticalLimits
    from sdstop.exporters.recorder import Recorder
    from sdstop.exporters.recording import RecordingLimits

    (keep, before, after), (most, captures) = settings.seconds(), settings.bytes()
    session = exposition.session
    critical = None
    if settings.on_critical is not None:
        limits = CriticalLimits(before, after, settings.captures, captures)
        critical = CriticalCaptures(Path(settings.on_critical), watch.origin, limits)
        session.listeners.append(critical.look)
    path = None if settings.file is None else Path(settings.file)
    recorder = Recorder(watch.origin, session.guard, output.say, path, RecordingLimits(keep, most), critical)
    exposition.recorder = lambda: recorder.state
    return recorder


def _pusher(options: argparse.Namespace, watch: Watch, exposition: Exposition) -> Pusher | None:
    """Return the thread that pushes to `--otlp`, None without it. Raises Problem."""
    if options.otlp is None:
        return None
    try:
        from sdstop.exporters.otlp.pusher import Pusher
    except ImportError as error:
        text = f"--otlp needs the OpenTelemetry SDK: pip install 'sdstop[otlp]' ({safe(error)})"
        raise Problem(text, 2) from error
    text = os.environ.get(OTLP_INTERVAL) or "60000"
    if not text.isdecimal() or not 1000 <= int(text) <= 3_600_000:
        raise Problem(f"invalid {OTLP_INTERVAL}; use milliseconds from 1000 to 3600000", 2)
    guard = exposition.session.guard
    try:
        pusher = Pusher(options.otlp, watch.origin.name, int(text) / 1000, exposition.sampled, guard, output.say)
    except (ValueError, OSError) as error:
        raise Problem("--otlp: a variable OTEL_EXPORTER_OTLP_... has an unusable value", 2) from error
    exposition.otlp = lambda: pusher.state
    return pusher


def reloading(
    options: argparse.Namespace,
    watch: Watch,
    exposition: Exposition,
    recorder: Recorder | None,
    local: LocalService | None,
) -> Callable[[], None]:
    """Return what reads the configuration again. It raises ConfigError, and changes nothing then."""
    from sdstop.core.config_error import ConfigError

    seen = stamps(options)
    if local is not None:
        local.config = [path for path, _ in watch.config.tables]
        local.changed = lambda: [path for path, stamp in stamps(options).items() if seen[path] != stamp]

    def reload() -> None:
        """Apply the thresholds and the `[export]` settings; the sampler keeps its settings. Raises ConfigError."""
        now = stamps(options)
        if unreadable := unreadable_files():  # without its acceptances, everything that is accepted would be an alarm
            raise ConfigError(f"{safe(unreadable[0])}: permission denied")
        try:
            config = configured(options)
            chosen = exported(config)
        except Problem as problem:
            raise ConfigError(str(problem)) from problem
        if (options.interval or config.interval) != watch.interval:
            output.say("sdstop: sampler.interval takes effect after a restart")
        if config.record != watch.config.record:
            output.say("sdstop: [record] takes effect after a restart")
        session = exposition.session
        session.diagnosis.configured, session.diagnosis.policy = dict(config.thresholds), config.policy
        session.origin = renewed(session.origin, config)  # for dashboards that attach later
        if recorder is not None:
            recorder.renew(session.origin)
        if local is not None:
            local.config = [path for path, _ in config.tables]
        seen.update(now)
        exposition.choose(chosen)

    return reload


def _serve(
    options: argparse.Namespace,
    watch: Watch,
    exposition: Exposition,
    played: PlayedFrames | None = None,
    recorder: Recorder | None = None,
) -> int:
    import_without("asyncio", "ssl")  # 4 MB: TLS of the exporter's connections is not that of asyncio
    from sdstop.core.config_error import ConfigError
    from sdstop.exporters.web.guard import RequestGuard
    from sdstop.exporters.web.server import Server, ended_code

    textfile = None if options.textfile is None else Path(options.textfile)
    address = options.listen or (LISTEN if textfile is None else None)
    if address is None and options.web_config is not None:
        raise Problem("cannot use --web-config with --textfile unless --listen is given (no port is opened)", 2)
    with _target(options.textfile):  # fail early if the file cannot be written
        pass
    try:
        web = RequestGuard(options.web_config, output.say, time.monotonic)
    except ConfigError as error:
        raise Problem(str(error), 2) from error

    local = _local(options, watch, exposition)
    reload = reloading(options, watch, exposition, recorder, local)
    served = any(os.isatty(number) for number in range(3))  # on a terminal, SIGHUP ends the server
    try:
        feed: FrameFeed | None = played or watch.sampler
        if recorder is not None and watch.sampler is not None:
            from sdstop.exporters.recorder import RecordedFrames

            feed = RecordedFrames(watch.sampler, recorder)
        good = not unreadable_files()
        server = Server(exposition, feed, output.say, web, None if served else reload, local, good=good)
        pusher = _pusher(options, watch, exposition)
        if played is not None:
            played.start()
        ended = server.run(address, textfile)
        if pusher is not None:
            pusher.close()
    except OSError as error:
        host, port = address or LISTEN
        raise Problem(f"cannot listen on {safe(host) or '*'}:{port}: {error.strerror or error}") from error
    if not ended and watch.sampler is not None:
        raise Problem(f"the sampler process died: {watch.sampler.trouble}")
    return ended_code(ended)
