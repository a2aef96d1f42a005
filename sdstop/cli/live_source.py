"""Live source: the sampler's child process, set up by options and configuration."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sdstop.cli.problem import Problem
from sdstop.cli.settings import Config
from sdstop.cli.usage import DASHBOARD
from sdstop.cli.watch import Watch
from sdstop.core.absence import import_common
from sdstop.core.collector import RESTING, Collector
from sdstop.core.evidence import Origin
from sdstop.core.format import safe
from sdstop.core.zone import FACT

if TYPE_CHECKING:
    from sdstop.node.gateway.client import GatewayClient
    from sdstop.node.live import LiveHost
    from sdstop.node.tracing import SizeCounting

_LISTENING = frozenset({DASHBOARD, "export", "record"})
"""Commands that run for long: their sampler listens to events of block devices, and reads quiet ones seldom."""
_IO_SIZES = "io-sizes"
"""Source that counts requests by size."""
_MARGIN = 60.0
"""Maximum seconds that requests are counted beyond the end of the run."""


def live_watch(options: argparse.Namespace, config: Config, collectors: Sequence[Collector], interval: float) -> Watch:
    """Fork the sampler of this node, or of the tree below `--root`. Large modules must not be imported before.

    Raises Problem.
    """
    root = _root(options.root)
    deep = getattr(options, "profile", None) == "deep"
    collectors = with_smp_policy(collectors, smp=config.smp and not getattr(options, "no_smp", None), deep=deep)
    if not config.smart or getattr(options, "no_smart", None):
        from sdstop.collectors.health.smart import without_smart

        collectors = _replaced(collectors, without_smart())
    sized = deep and root == "/" and os.geteuid() == 0 and _counts_sizes(collectors)
    if deep and not sized and not getattr(options, "io_sizes", None):
        _without_sizes(root, collectors)
    counting = _counting(options, collectors) if sized or getattr(options, "io_sizes", None) else None
    from sdstop.node.zone import time_zone
    from sdstop.sampler import Sampler

    gateway = _gateway(config, options.command)
    import_common(collector.read for collector in collectors)
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


def with_smp_policy(collectors: Sequence[Collector], *, smp: bool, deep: bool = False) -> tuple[Collector, ...]:
    """Return the collectors; without `smp`, SAS expanders are not queried; with `deep`, they are queried often."""
    if smp and not deep:
        return tuple(collectors)
    from sdstop.collectors.fabric.sas import with_repeated_smp, without_smp

    return _replaced(collectors, with_repeated_smp() if smp else without_smp())


def _replaced(collectors: Sequence[Collector], other: Collector) -> tuple[Collector, ...]:
    """Return the collectors with another one instead of that of its name."""
    return tuple(other if collector.name == other.name else collector for collector in collectors)


def _counts_sizes(collectors: Sequence[Collector]) -> bool:
    return any(collector.name == _IO_SIZES for collector in collectors)


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
    if not _counts_sizes(collectors):
        why = f"excluded by --collectors (source {_IO_SIZES})"
    output.say(f"sdstop: --profile deep: request sizes unavailable: {why}")


def _counting(options: argparse.Namespace, collectors: Sequence[Collector]) -> SizeCounting:
    """Make the kernel count requests by size. Raises Problem if that cannot work."""
    from sdstop.cli import output
    from sdstop.node.tracing import LONGEST, SizeCounting

    if os.geteuid() != 0:
        raise Problem("--io-sizes requires root; run with sudo")
    if not _counts_sizes(collectors):
        raise Problem(f"cannot use --io-sizes: --collectors excludes the source {_IO_SIZES}", 2)
    seconds: float | None = getattr(options, "duration", None)
    counting = SizeCounting(LONGEST if seconds is None else seconds + _MARGIN)
    if counting.failure:
        asked = "--io-sizes" if getattr(options, "io_sizes", None) else "--profile deep: request sizes"
        output.say(f"sdstop: {asked}: unavailable: {safe(counting.failure, 500)}")
    return counting
