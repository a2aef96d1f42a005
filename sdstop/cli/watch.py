"""Watch: a session and the frames that feed it, live through the sampler's child process or out of a capture."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Self

from sdstop.cli.arguments import DASHBOARD
from sdstop.cli.config import Config, load
from sdstop.cli.problem import Problem
from sdstop.collectors import BUILTIN
from sdstop.collectors.block.io_sizes import IO_SIZES
from sdstop.collectors.fabric.sas import SAS, often, unasked
from sdstop.core.collector import Collector
from sdstop.core.config_error import ConfigError
from sdstop.core.evidence import Frame, Origin
from sdstop.core.format import safe
from sdstop.core.retention import Retention

if TYPE_CHECKING:
    from sdstop.core.diagnosis import Judgement
    from sdstop.core.finding import Rule
    from sdstop.core.history import Window
    from sdstop.core.session import Look, Session
    from sdstop.exporters.prometheus.choice import Choice
    from sdstop.node.gateway.client import GatewayClient
    from sdstop.node.live import LiveHost
    from sdstop.node.tracing import Counting
    from sdstop.redaction.redactor import Redactor
    from sdstop.sampler import Sampler

PATIENCE = 10.0
"""Seconds that are waited, at most, for the first answer of slow sources."""
HELD = 15.0
"""Seconds of frames that are held back where names are replaced: by then every source has said once what it names."""
_MARGIN = 60.0
"""Seconds that requests are counted, at most, beyond the end of the watching."""


class Watch:
    """The frames of one node. Ends the sampler when it is left."""

    def __init__(
        self, origin: Origin, collectors: Sequence[Collector], config: Config, interval: float,
        sampler: Sampler | None = None, recorded: Sequence[Frame] = (), counting: Counting | None = None,
    ) -> None:  # fmt: skip
        """Hold a sampler that was started, and what counts for it, or all frames of a capture."""
        self.origin = origin
        self.collectors = tuple(collectors)
        self.config = config
        self.interval = interval
        self.sampler = sampler
        self.redactor: Redactor | None = None
        self._recorded = recorded
        self._counting = counting
        self._held: list[Frame] = []
        self._streams = False

    def redact(self, redactor: Redactor) -> None:
        """Have names replaced in all that is told of the node from now on."""
        self.redactor = redactor
        redactor.learn_host(self.origin.name)
        for frame in self._recorded:
            redactor.learn(frame)
        self.origin = redactor.origin(self.origin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sampler, if there is one, then what it was counted for."""
        if self.sampler is not None:
            self.sampler.close()
        if self._counting is not None:
            self._counting.close()

    def session(self, remember: float | None = 0.0, rules: Sequence[Rule] | None = None) -> Session:
        """Return a session before its first frame, which remembers so many seconds of frames (None: all)."""
        from sdstop.core.session import Session
        from sdstop.rules import RULES  # after the sampler's process, which reads the node meanwhile

        judges = RULES if rules is None else rules
        return Session(self.origin, self.collectors, judges, self.config.thresholds, remember=remember)

    @property
    def frames_kept(self) -> float | None:
        """How many seconds of frames one remembers who quotes them afterwards (None: all, they are in memory)."""
        from sdstop.core.session import RING_SECONDS

        return None if self.sampler is None else RING_SECONDS

    def judge(self, window: Window) -> Judgement:
        """Return what the rules say of one window alone."""
        from sdstop.core.diagnosis import judge
        from sdstop.rules import RULES

        return judge(window, RULES, self.config.thresholds)

    def frames(self, seconds: float, enough: Callable[[], bool] = lambda: True) -> Iterator[Frame]:
        """Yield all frames of a capture; live those of so many seconds, and more until it is `enough`.

        Raises Problem if there is none.
        """
        if self.redactor is None:
            yield from self._plain(seconds, enough)
            return
        for frame in self._plain(seconds, enough):
            if self.sampler is not None:
                self.redactor.learn(frame)
            self._held.append(frame)
            if self.sampler is None or frame.monotonic - self._held[0].monotonic >= HELD or self._streams:
                self._streams = True
                yield from self.held_back()
        yield from self.held_back()

    def held_back(self) -> Iterator[Frame]:
        """Yield the frames that wait for names to be learnt, as they are told; none are left."""
        held, self._held = self._held, []
        for frame in held:
            yield self.redactor.frame(frame) if self.redactor is not None else frame

    def _plain(self, seconds: float, enough: Callable[[], bool]) -> Iterator[Frame]:
        if self.sampler is None:
            yield from self._recorded
            return
        start: float | None = None
        for frame in self.sampler.frames(max(seconds, PATIENCE)):
            start = frame.monotonic if start is None else start
            yield frame
            if frame.monotonic - start >= seconds - self.interval / 2 and enough():
                return
        if start is None:
            why = self.sampler.trouble or "the process that reads the node brought nothing"
            raise Problem(f"nothing was sampled: {safe(why, 500)}")


def begin(options: argparse.Namespace) -> Watch:
    """Open what the options name; with `--redact`, under other names. Live, this forks the sampler.

    Nothing heavy may be imported before. Raises Problem.
    """
    watch = _begin(options)
    keyfile = getattr(options, "redact", None)
    if keyfile is not None:
        from sdstop.cli.redacting import redactor

        try:
            watch.redact(redactor(keyfile, watch.origin.collectors))
        except BaseException:
            watch.close()
            raise
    return watch


def _begin(options: argparse.Namespace) -> Watch:
    """Open what the options name. Live, this forks the sampler: nothing heavy may be imported before.

    Raises Problem.
    """
    config = configured(options)
    collectors = chosen(options.collectors)
    interval: float = getattr(options, "interval", None) or config.interval
    if getattr(options, "source", None) is not None:
        from sdstop.capture.reader import Unopenable, open_capture, open_pasted

        try:
            origin, frames = _stdin(open_pasted) if options.source == "-" else open_capture(options.source)
        except Unopenable as error:
            raise Problem(str(error)) from error
        from sdstop.redaction import credentials

        frames = credentials.frames(Retention(BUILTIN).frames(frames))  # it may hold anything
        return Watch(origin, collectors, config, interval, recorded=frames)
    root = _root(options.root)
    deep = getattr(options, "profile", None) == "deep"
    collectors = quieted(collectors, smp=config.smp and not getattr(options, "no_smp", None), deep=deep)
    sized = deep and root == "/" and os.geteuid() == 0 and IO_SIZES in collectors
    if deep and not sized and not getattr(options, "io_sizes", None):
        _without_sizes(root, collectors)
    counting = _counting(options, collectors) if sized or getattr(options, "io_sizes", None) else None
    from sdstop.sampler import Sampler

    gateway = _gateway(config, options.command)
    sampler = Sampler(
        collectors,
        host=lambda: _live(root, collectors, gateway),
        interval=interval,
        hotplug=options.command == DASHBOARD,
    )
    name = os.uname().nodename if root == "/" else safe(root)
    names = frozenset(collector.name for collector in collectors)
    origin = Origin(name, live=True, privileged=os.geteuid() == 0, collectors=names)
    return Watch(origin, collectors, config, interval, sampler, counting=counting)


def _root(path: str | None) -> str:
    """Return the absolute path that `--root` names, "/" for the node itself. Raises Problem.

    The sampler's process works in another folder, where a relative path would lead elsewhere.
    """
    if path is None:
        return "/"
    try:
        root = os.path.abspath(path) if stat.S_ISDIR(os.stat(path).st_mode) else ""  # noqa: PTH100, PTH116  # bytes
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a path"
        raise Problem(f'--root "{safe(path)}": {why}', 2) from error
    if not root:
        raise Problem(f'--root "{safe(path)}": not a directory', 2)
    return "/" if os.path.realpath(root) == "/" else root


def _stdin(read: Callable[[BinaryIO], tuple[Origin, list[Frame]]]) -> tuple[Origin, list[Frame]]:
    """Read standard input, after a word to whoever is to paste into it. Raises Problem."""
    from sdstop.cli import output

    if sys.stdin is None:
        raise Problem("--from -: standard input is closed")
    if output.is_terminal(sys.stdin):
        output.say("sdstop: paste, then press Ctrl+D on a line of its own")
    return read(sys.stdin.buffer)


def _gateway(config: Config, command: str) -> Callable[[], GatewayClient] | None:
    """Return what makes the client of the cluster's gateway in the sampler's process, None if none is configured.

    A password that comes from the environment or a prompt is taken here, and reaches that process as it is forked: it
    is never in an argument, a file or the environment of another process. Raises Problem.
    """
    settings = config.powerflex
    if settings is None:
        return None
    from sdstop.node.gateway import secret

    try:
        given = secret.of_environment()
        find = secret.finder(settings.password_file, os.environ, given)
        if find is not None and given is None:
            find()  # what is wrong with the file is said here, where there is somebody to read it
    except secret.SecretError as error:
        raise Problem(f"[powerflex]: {safe(error, 500)}", 2) from error
    if find is None and command != "export" and sys.stdin.isatty() and sys.stderr.isatty():
        import getpass

        where = settings.gateways[0].shown
        find = secret.finder(None, {}, secret.Secret(getpass.getpass(f"Password of {settings.user} at {where}: ")))

    def client() -> GatewayClient:
        from sdstop.node.gateway.client import GatewayClient

        return GatewayClient(settings, find)

    return client


def _live(root: str, collectors: Sequence[Collector], gateway: Callable[[], GatewayClient] | None = None) -> LiveHost:
    """Return the host in the sampler's process, after what an earlier sdstop could not take back on the node."""
    from sdstop.node.live import LiveHost

    if root == "/" and os.geteuid() == 0:
        from sdstop.node.tracing import sweep

        sweep()
    return LiveHost(root, collectors, gateway=gateway)


def _without_sizes(root: str, collectors: Sequence[Collector]) -> None:
    """Say why a deep look has no request sizes."""
    from sdstop.cli import output

    why = "below --root nobody can be had to count" if root != "/" else "that needs root, who may have the kernel count"
    if IO_SIZES not in collectors:
        why = f"--collectors leaves out the source {IO_SIZES.name}"
    output.say(f"sdstop: --profile deep: without request sizes: {why}")


def _counting(options: argparse.Namespace, collectors: Sequence[Collector]) -> Counting:
    """Have the kernel count requests by size. Raises Problem where that is known to be in vain."""
    from sdstop.cli import output
    from sdstop.node.tracing import LONGEST, Counting

    if os.geteuid() != 0:
        raise Problem("--io-sizes needs root, who alone may have the kernel count: start sdstop with sudo")
    if IO_SIZES not in collectors:
        raise Problem(f"--io-sizes needs the source {IO_SIZES.name}, which --collectors leaves out", 2)
    seconds: float | None = getattr(options, "duration", None)
    counting = Counting(LONGEST if seconds is None else seconds + _MARGIN)
    if counting.said:
        asked = "--io-sizes" if getattr(options, "io_sizes", None) else "--profile deep: request sizes"
        output.say(f"sdstop: {asked}: not available: {safe(counting.said, 500)}")
    return counting


def chosen(names: str | None) -> tuple[Collector, ...]:
    """Return the collectors that a list names, all for None. Raises Problem."""
    if names is None:
        return BUILTIN
    wanted = {name.strip() for name in names.split(",")} - {""}
    known = {collector.name for collector in BUILTIN}
    for name in sorted(wanted - known):
        raise Problem(f"--collectors: there is no {safe(name)!r}; there are {', '.join(sorted(known))}", 2)
    if not wanted:
        raise Problem(f"--collectors: the list is empty; there are {', '.join(sorted(known))}", 2)
    return tuple(collector for collector in BUILTIN if collector.name in wanted)


def quieted(collectors: Sequence[Collector], *, smp: bool, deep: bool = False) -> tuple[Collector, ...]:
    """Return the collectors; without `smp` none of them asks a SAS expander anything, a `deep` look does so often."""
    links = unasked() if not smp else often() if deep else SAS
    return tuple(links if collector is SAS else collector for collector in collectors)


def configured(options: argparse.Namespace) -> Config:
    """Return what the config file says. Raises Problem: what it says wrongly is a usage error."""
    if options.config is None:
        return Config()
    from sdstop.rules import EVERY

    try:
        config = load(options.config, EVERY)
    except ConfigError as error:
        raise Problem(safe(error, 500), 2) from error
    if config.export:
        exported(options, config)
    return config


def exported(options: argparse.Namespace, config: Config) -> Choice:
    """Return what the config file says of the exporter. Raises Problem."""
    from sdstop.exporters.prometheus.choice import choice
    from sdstop.exporters.prometheus.metrics import families_of

    try:
        return choice(config.export, {family.family for family in families_of(BUILTIN)})
    except ConfigError as error:
        raise Problem(f"{safe(options.config)}: {safe(error, 500)}", 2) from error


def watched(
    watch: Watch,
    session: Session,
    seconds: float,
    told: Callable[[float], None] = lambda _: None,
    noted: Callable[[Look], None] = lambda _: None,
) -> None:
    """Feed a session for so many seconds; `told` hears how many have passed, `noted` what each frame showed."""
    start: float | None = None
    for frame in watch.frames(seconds):
        start = frame.monotonic if start is None else start
        told(frame.monotonic - start)
        noted(session.feed(frame))
