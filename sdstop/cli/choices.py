"""Choices of options and configuration files: the sources that are read, the settings, the families exported."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sdstop.cli.problem import Problem
from sdstop.cli.settings import Config
from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector
from sdstop.core.config_error import ConfigError
from sdstop.core.format import safe
from sdstop.core.suggestion import unknown_name

if TYPE_CHECKING:
    from sdstop.exporters.prometheus.choice import Choice


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


def configured(options: argparse.Namespace) -> Config:
    """Read the config files. Raises Problem; errors in a file are usage errors (exit code 2).

    Those that are found without being named are for live nodes and for lists.
    """
    recorded = getattr(options, "source", None) is not None or getattr(options, "sources", None)
    given = [options.config] if options.config is not None else []
    if recorded and not given:
        return Config()
    from sdstop.cli.config import load
    from sdstop.tui.settings import found_files, unreadable_files

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
        exported(config)
    return config


def stamps(options: argparse.Namespace) -> dict[str, tuple[int, int] | None]:
    """Return the time (ns) and size of each file that has settings of a live node if it exists, None otherwise."""
    from sdstop.tui.settings import config_places

    given = [options.config] if options.config is not None else []
    found: dict[str, tuple[int, int] | None] = {}
    for path in (*config_places(), *given):
        try:
            stat = path.stat()
        except OSError:
            found[str(path)] = None
        else:
            found[str(path)] = stat.st_mtime_ns, stat.st_size
    return found


def exported(config: Config) -> Choice:
    """Return the `[export]` settings of the config file. Raises Problem."""
    from sdstop.exporters.prometheus.choice import choice
    from sdstop.exporters.prometheus.families import families_of

    known = {family.family for family in families_of(BUILTIN)}
    for path, table in config.tables:
        try:
            choice(table.get("export", {}), known)
        except ConfigError as error:
            raise Problem(f"{safe(path)}: {safe(error, 500)}", 2) from error
    return choice(config.export, known)
