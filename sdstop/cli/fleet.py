"""`sdstop fleet`: all nodes, from the metrics on a Prometheus-compatible server."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING

from sdstop.cli import output
from sdstop.cli.problem import Problem

if TYPE_CHECKING:
    from sdstop.cli.settings import Config
    from sdstop.fleet.watcher import FleetWatcher


def run(options: argparse.Namespace) -> int:
    """Show the fleet until the user quits, or print it once. Raises Problem."""
    from sdstop.core.config_error import ConfigError
    from sdstop.fleet.client import PrometheusClient
    from sdstop.fleet.http_config import load
    from sdstop.fleet.promql import matchers
    from sdstop.fleet.silences import AlertmanagerClient
    from sdstop.fleet.url import parse_url
    from sdstop.fleet.watcher import FleetWatcher

    try:
        url = parse_url(options.prometheus)
        match, config = matchers(options.match), _configured(options)
        with ExitStack() as stack:
            client = stack.enter_context(PrometheusClient(url, load(options.http_config)))
            alerts = None
            if options.alertmanager is not None:
                theirs = AlertmanagerClient(parse_url(options.alertmanager), load(options.alertmanager_config))
                alerts = stack.enter_context(theirs).silenced
            groups = ("job", *options.peers)
            watcher = FleetWatcher(
                client, match, groups, configured=config.thresholds, alerts=alerts, policy=config.policy
            )
            return _shown(options, watcher, str(url))
    except ConfigError as error:
        raise Problem(str(error), 2) from error


def _configured(options: argparse.Namespace) -> Config:
    """Return the settings of the file of --config: those that are found are for this node. Raises ConfigError."""
    from sdstop.cli.config import load
    from sdstop.cli.settings import Config

    if options.config is None:
        return Config()
    from sdstop.rules import EVERY

    return load([options.config], EVERY)


def _shown(options: argparse.Namespace, watcher: FleetWatcher, url: str) -> int:
    from sdstop.tui.terminal import usable_terminal

    reason = None if options.once or options.format else usable_terminal()
    if options.once or options.format or reason is not None:
        if reason is not None:
            output.say(f"sdstop: {reason}; printing a text table")
        return _printed(watcher, url, options.format or "text")
    from sdstop.cli.config import appearance
    from sdstop.cli.dashboard import looks
    from sdstop.tui.fleet import run as show

    return show(watcher, url, options.interval, looks(options, appearance(options)))


def _printed(watcher: FleetWatcher, url: str, form: str) -> int:
    """Print the fleet once. Raises Problem (exit code 1) if the server did not answer."""
    from sdstop.fleet.text import fleet_json, fleet_text

    picture = watcher.refresh()
    output.write((fleet_json if form == "json" else fleet_text)(picture, url))
    if picture.failed:
        raise Problem(f"{url}: {picture.troubles[0]}")
    return 0
