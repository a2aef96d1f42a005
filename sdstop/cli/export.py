"""`sdstop export`: Prometheus exporter as a service, as a single printed page, or as a textfile."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sdstop.cli import output
from sdstop.cli.arguments import ONCE_SECONDS
from sdstop.cli.problem import Problem
from sdstop.cli.watch import Watch, begin, configured, exported
from sdstop.collectors import BUILTIN
from sdstop.core.format import safe
from sdstop.core.history import KEEP
from sdstop.core.output_file import READABLE
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.web.played import PlayedFrames

if TYPE_CHECKING:
    from sdstop.exporters.local.service import LocalService

LISTEN = ("127.0.0.1", 10042)


def run(options: argparse.Namespace) -> int:
    """Serve, or print once. Raises Problem."""
    with begin(options) as watch:
        kept = KEEP if _has_socket(options, watch) else 0.0
        exposition = Exposition(watch.session(kept), BUILTIN, exported(options, watch.config), watch.interval)
        if options.once:
            return _once(options, watch, exposition)
        if options.play:
            with contextlib.closing(PlayedFrames(list(watch.frames(0.0)))) as played:
                return _serve(options, watch, exposition, played)
        if watch.sampler is None:
            for frame in watch.frames(0.0):
                exposition.feed(frame)
        else:
            exposition.session.budget = watch.interval
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
    return LocalService(exposition, Path(options.socket or SOCKET), wanted=options.socket is not None)


def _has_socket(options: argparse.Namespace, watch: Watch) -> bool:
    """Return whether there is a local socket; an exporter of a part of a node has none unless the path is given."""
    whole = not (options.root or options.collectors)
    return watch.sampler is not None and not options.once and (whole or options.socket is not None)


def _serve(
    options: argparse.Namespace, watch: Watch, exposition: Exposition, played: PlayedFrames | None = None
) -> int:
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

    def reload() -> None:
        """Apply the thresholds and the `[export]` settings; the sampler keeps its settings."""
        try:
            config = configured(options)
            chosen = exported(options, config)
        except Problem as problem:
            raise ConfigError(str(problem)) from problem
        if (options.interval or config.interval) != watch.interval:
            output.say("sdstop: sampler.interval takes effect after a restart")
        diagnosis = exposition.session.diagnosis
        diagnosis.configured, diagnosis.policy = dict(config.thresholds), config.policy
        exposition.choose(chosen)

    served = any(os.isatty(number) for number in range(3))  # on a terminal, SIGHUP ends the server
    try:
        local = _local(options, watch, exposition)
        server = Server(exposition, played or watch.sampler, output.say, web, None if served else reload, local)
        if played is not None:
            played.start()
        ended = server.run(address, textfile)
    except OSError as error:
        host, port = address or LISTEN
        raise Problem(f"cannot listen on {safe(host) or '*'}:{port}: {error.strerror or error}") from error
    if not ended and watch.sampler is not None:
        raise Problem(f"the sampler process died: {watch.sampler.trouble}")
    return ended_code(ended)
