"""Frame source of a session: live from the sampler's child process, or from a capture."""

from __future__ import annotations

import argparse
import math
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Self

from msgspec.structs import replace

from sdstop.cli.arguments import DASHBOARD
from sdstop.cli.config import FACT as POLICY
from sdstop.cli.config import Config, load, with_recorded
from sdstop.cli.problem import Problem
from sdstop.collectors import BUILTIN
from sdstop.collectors.block.io_sizes import IO_SIZES
from sdstop.collectors.fabric.sas import SAS, with_repeated_smp, without_smp
from sdstop.collectors.health.smart import SMART, without_smart
from sdstop.core.collector import RESTING, Collector, texts_of
from sdstop.core.config_error import ConfigError
from sdstop.core.evidence import Frame, Origin
from sdstop.core.format import safe
from sdstop.core.interval import unrolled
from sdstop.core.retention import Retention
from sdstop.core.suggestion import unknown_name
from sdstop.core.zone import FACT
from sdstop.tui.settings import found_files, unreadable_files

if TYPE_CHECKING:
    from sdstop.core.diagnosis import Judgement
    from sdstop.core.finding import Rule
    from sdstop.core.history import Window
    from sdstop.core.period import Period
    from sdstop.core.session import Look, Session
    from sdstop.core.timeline import Timeline
    from sdstop.exporters.local.attached import AttachedFrames
    from sdstop.exporters.prometheus.choice import Choice
    from sdstop.node.gateway.client import GatewayClient
    from sdstop.node.live import LiveHost
    from sdstop.node.tracing import SizeCounting
    from sdstop.redaction.redactor import Redactor
    from sdstop.sampler import Sampler

PATIENCE = 10.0
"""Maximum seconds to wait for the first answer of slow sources."""
PATIENT = frozenset({"tasks-stuck", "io-stalled", "device-hung", "volume-suspended"})
"""Rules about things that do not move and that wait longer than a live check lasts."""
HELD = 15.0
"""Seconds of frames held back for redaction; by then every source has reported its names once."""
_LISTENING = frozenset({DASHBOARD, "export", "record"})
"""Commands that run for long: their sampler listens to events of block devices, and reads quiet ones seldom."""
_MARGIN = 60.0
"""Maximum seconds that requests are counted beyond the end of the run."""


class Watch:
    """Frames of one node. Context manager that ends the sampler."""

    def __init__(
        self, origin: Origin, collectors: Sequence[Collector], config: Config, interval: float,
        sampler: Sampler | AttachedFrames | None = None, recorded: Timeline | None = None,
        counting: SizeCounting | None = None,
    ) -> None:  # fmt: skip
        """Use a started sampler and its kernel counting, or the frames of a capture or recording."""
        self.origin = origin
        self.collectors = tuple(collectors)
        self.config = config
        self.interval = interval
        self.sampler = sampler
        self.redactor: Redactor | None = None
        self.recorded = recorded
        self._counting = counting
        self._held: list[Frame] = []
        self._streams = False

    def redact(self, redactor: Redactor) -> None:
        """Replace names in the origin and in all following frames."""
        self.redactor = redactor
        redactor.learn_origin(self.origin)
        for frame in self._recorded_frames():
            redactor.learn(frame)
        self.origin = redactor.origin(self.origin)

    @property
    def live(self) -> Sampler:
        """The sampler of a live watch. Raises TypeError for a capture, and for the frames of an exporter."""
        from sdstop.sampler import Sampler

        if not isinstance(self.sampler, Sampler):
            raise TypeError("not a watch with a sampler of its own")
        return self.sampler

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sampler, then the kernel counting, if running."""
        if self.sampler is not None:
            self.sampler.close()
        if self._counting is not None:
            self._counting.close()
        if self.recorded is not None:
            self.recorded.close()

    def session(self, remember: float | None = 0.0, rules: Sequence[Rule] | None = None) -> Session:
        """Return a new session that keeps `remember` seconds of frames (None: all)."""
        from sdstop.core.session import Session
        from sdstop.rules import RULES  # imported after forking the sampler, which samples in parallel

        judges = RULES if rules is None else rules
        config = self.config
        whole = self.recorded if remember is None and self.redactor is None else None
        return Session(
            self.origin, self.collectors, judges, config.thresholds, remember=remember, policy=config.policy,
            timeline=whole,
        )  # fmt: skip

    @property
    def frames_kept(self) -> float | None:
        """Seconds of frames kept for reports that quote evidence (None: all, already in memory)."""
        from sdstop.core.timeline import RING_SECONDS

        return None if self.sampler is None else RING_SECONDS

    def judge(self, window: Window, watched: float = math.inf) -> Judgement:
        """Return the judgement of a single window; `watched` is the number of seconds that a live check lasts.

        Rules about things that do not move need no more than that, and state the time that they used.
        """
        from sdstop.core.diagnosis import judge
        from sdstop.rules import RULES

        configured = {rule: dict(limits) for rule, limits in self.config.thresholds.items()}
        for rule in RULES:
            if self.sampler is not None and rule.id in PATIENT:
                known = configured.setdefault(rule.id, {})
                known["seconds"] = min(rule.limits(known)["seconds"], watched)
        return judge(window, RULES, configured, policy=self.config.policy)

    def frames(self, seconds: float, enough: Callable[[], bool] = lambda: True) -> Iterator[Frame]:
        """Yield all frames of a capture, or live frames for `seconds` and further ones until `enough` returns true.

        Raises Problem without frames.
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

    def _recorded_frames(self) -> Iterator[Frame]:
        if self.recorded is not None:
            yield from map(self.recorded.frame, range(len(self.recorded.frames)))

    def held_back(self) -> Iterator[Frame]:
        """Yield and remove the frames held back for redaction, redacted."""
        held, self._held = self._held, []
        for frame in held:
            yield self.redactor.frame(frame) if self.redactor is not None else frame

    def _plain(self, seconds: float, enough: Callable[[], bool]) -> Iterator[Frame]:
        if self.sampler is None:
            yield from self._recorded_frames()
            return
        start: float | None = None
        for frame in self.sampler.frames(max(seconds, PATIENCE)):
            start = frame.monotonic if start is None else start
            yield frame
            if frame.monotonic - start >= seconds - self.interval / 2 and enough():
                return
        if start is None:
            why = self.sampler.trouble or "the sampler returned no data"
            raise Problem(f"no data sampled: {safe(why, 500)}")


def opened(options: argparse.Namespace) -> list[Watch]:
    """Open each of several captures, with names replaced for `--redact` alike in all of them. Raises Problem."""
    watches = [_begin(argparse.Namespace(**{**vars(options), "source": source})) for source in options.sources]
    keyfile = getattr(options, "redact", None)
    if keyfile is not None:
        from sdstop.cli.redacting import redactor

        known = redactor(keyfile, None)
        for watch in watches:
            watch.redact(known)
    return watches


def begin(options: argparse.Namespace) -> Watch:
    """Open the source that the options name, with names replaced for `--redact`. Forks the sampler if live.

    Large modules must not be imported before. Raises Problem.
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


def attached(options: argparse.Namespace) -> Watch:
    """Connect to the exporter of this node. Its policy, and that of `--config`, hold. Raises Problem."""
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
        from sdstop.capture.reader import OpenError, holds_recording, open_capture, open_pasted
        from sdstop.core.period import Period
        from sdstop.core.timeline import OpenedTimeline

        texts = texts_of(BUILTIN)
        period = Period(*(getattr(options, name, None) for name in ("since", "until", "at")))
        if getattr(options, "whole", False):
            period = replace(period, at=None)  # a moment within the period
        try:
            if options.source != "-" and holds_recording(options.source):
                return _recording(options, config, collectors, interval, period)
            if options.source == "-":
                origin, frames = _stdin(lambda stream: open_pasted(stream, texts))
            else:
                from sdstop.cli import output

                try:
                    origin, frames = open_capture(options.source, texts, period, output.opening(options.source))
                finally:
                    output.clear_progress()
        except OpenError as error:
            raise Problem(str(error)) from error
        from sdstop.redaction import credentials

        frames = credentials.frames(Retention(BUILTIN).frames(frames))  # captures may contain credentials
        origin, frames = unrolled(origin, frames, BUILTIN)
        origin, config = _with_policy(origin, config)
        return Watch(origin, collectors, config, interval, recorded=OpenedTimeline(frames))
    root = _root(options.root)
    deep = getattr(options, "profile", None) == "deep"
    collectors = with_smp_policy(collectors, smp=config.smp and not getattr(options, "no_smp", None), deep=deep)
    if not config.smart or getattr(options, "no_smart", None):
        collectors = tuple(without_smart() if collector is SMART else collector for collector in collectors)
    sized = deep and root == "/" and os.geteuid() == 0 and IO_SIZES in collectors
    if deep and not sized and not getattr(options, "io_sizes", None):
        _without_sizes(root, collectors)
    counting = _counting(options, collectors) if sized or getattr(options, "io_sizes", None) else None
    from sdstop.node.zone import time_zone
    from sdstop.sampler import Sampler

    gateway = _gateway(config, options.command)
    sampler = Sampler(
        collectors,
        host=lambda: _live(root, collectors, gateway),
        interval=interval,
        hotplug=options.command in _LISTENING,
        rest=RESTING if options.command == "export" and not options.once else 0.0,
    )
    name = os.uname().nodename if root == "/" else safe(root)
    names = frozenset(collector.name for collector in collectors)
    rule = time_zone(root)
    facts = {**({FACT: rule} if rule is not None else {}), **config.recorded}
    origin = Origin(name, live=True, privileged=os.geteuid() == 0, facts=facts, collectors=names)
    return Watch(origin, collectors, config, interval, sampler, counting=counting)


def _with_policy(origin: Origin, config: Config) -> tuple[Origin, Config]:
    """Return the recorded policy, below that of `--config`; the origin's note has the reason if it cannot be used."""
    if POLICY not in origin.facts:
        return origin, config
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


def _root(path: str | None) -> str:
    """Return the absolute path of `--root`, "/" for the node itself. Raises Problem.

    Relative paths would be wrong in the sampler's process, which has a different working directory.
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
    """Read standard input, after a prompt if it is a terminal. Raises Problem."""
    from sdstop.cli import output

    if sys.stdin is None:
        raise Problem("cannot read standard input: closed")
    if output.is_terminal(sys.stdin):
        output.say("sdstop: paste the text, then press Ctrl+D on an empty line")
    return read(sys.stdin.buffer)


def _gateway(config: Config, command: str) -> Callable[[], GatewayClient] | None:
    """Return a factory of the gateway client for the sampler's process, None if no gateway is configured.

    A password from the environment or a prompt is read here and inherited by that process through the fork: it is
    never in an argument, a file or the environment of another process. Raises Problem.
    """
    settings = config.powerflex
    if settings is None:
        return None
    from sdstop.node.gateway import secret

    try:
        given = secret.of_environment()
        find = secret.finder(settings.password_file, os.environ, given)
        if find is not None and given is None:
            find()  # report file errors here, where the user sees them
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
    """Return the host in the sampler's process, after removing leftovers of an earlier sdstop from tracefs."""
    from sdstop.node.live import LiveHost

    if root == "/" and os.geteuid() == 0:
        from sdstop.node.tracing import remove_leftovers

        remove_leftovers()
    return LiveHost(root, collectors, gateway=gateway)


def _without_sizes(root: str, collectors: Sequence[Collector]) -> None:
    """Report why the deep profile has no request sizes."""
    from sdstop.cli import output

    why = "not possible with --root" if root != "/" else "counting requires root"
    if IO_SIZES not in collectors:
        why = f"excluded by --collectors (source {IO_SIZES.name})"
    output.say(f"sdstop: --profile deep: request sizes unavailable: {why}")


def _counting(options: argparse.Namespace, collectors: Sequence[Collector]) -> SizeCounting:
    """Make the kernel count requests by size. Raises Problem if that cannot work."""
    from sdstop.cli import output
    from sdstop.node.tracing import LONGEST, SizeCounting

    if os.geteuid() != 0:
        raise Problem("--io-sizes requires root; run with sudo")
    if IO_SIZES not in collectors:
        raise Problem(f"cannot use --io-sizes: --collectors excludes the source {IO_SIZES.name}", 2)
    seconds: float | None = getattr(options, "duration", None)
    counting = SizeCounting(LONGEST if seconds is None else seconds + _MARGIN)
    if counting.failure:
        asked = "--io-sizes" if getattr(options, "io_sizes", None) else "--profile deep: request sizes"
        output.say(f"sdstop: {asked}: unavailable: {safe(counting.failure, 500)}")
    return counting


def chosen(names: str | None) -> tuple[Collector, ...]:
    """Return the collectors named in a comma-separated list, all for None. Raises Problem."""
    if names is None:
        return BUILTIN
    wanted = {name.strip() for name in names.split(",")} - {""}
    known = {collector.name for collector in BUILTIN}
    for name in sorted(wanted - known):
        raise Problem(unknown_name("collector", name, known), 2)
    if not wanted:
        raise Problem(f"--collectors: empty list; valid: {', '.join(sorted(known))}", 2)
    return tuple(collector for collector in BUILTIN if collector.name in wanted)


def with_smp_policy(collectors: Sequence[Collector], *, smp: bool, deep: bool = False) -> tuple[Collector, ...]:
    """Return the collectors; without `smp`, SAS expanders are not queried; with `deep`, they are queried often."""
    links = without_smp() if not smp else with_repeated_smp() if deep else SAS
    return tuple(links if collector is SAS else collector for collector in collectors)


def configured(options: argparse.Namespace) -> Config:
    """Read the config files. Raises Problem; errors in a file are usage errors (exit code 2).

    Those that are found without being named are for live nodes and for lists.
    """
    recorded = getattr(options, "source", None) is not None or getattr(options, "sources", None)
    given = [options.config] if options.config is not None else []
    paths = [*([] if recorded else found_files()), *given]
    for path in [] if recorded else unreadable_files():
        from sdstop.cli import output

        output.say(f"sdstop: {safe(path)}: permission denied; its settings are not in effect")
    if not paths:
        return Config()
    from sdstop.rules import EVERY

    try:
        config = load(paths, EVERY)
    except ConfigError as error:
        raise Problem(safe(error, 500), 2) from error
    if config.export:
        exported(options, config)
    return config


def exported(options: argparse.Namespace, config: Config) -> Choice:
    """Return the `[export]` settings of the config file. Raises Problem."""
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
    progress: Callable[[float], None] = lambda _: None,
    noted: Callable[[Look], None] = lambda _: None,
) -> None:
    """Feed a session for `seconds`; `progress` gets the elapsed seconds, `noted` the result of each frame."""
    start: float | None = None
    for frame in watch.frames(seconds):
        start = frame.monotonic if start is None else start
        progress(frame.monotonic - start)
        noted(session.feed(frame))
