"""Agreement of options: which of them contradict each other or have no effect together, and why."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from sdstop.cli.usage import DASHBOARD, MOST_COMPARED, ONCE_SECONDS, PROFILES, TIMED, UsageError


def agree(options: argparse.Namespace) -> None:
    """Raise UsageError for options that contradict each other or have no effect together."""
    given: Any = vars(options)
    if options.command == "fleet":
        if options.alertmanager_config is not None and options.alertmanager is None:
            raise UsageError("--alertmanager-config requires --alertmanager")
        return
    if options.command in {"record", "unpack", "diff"}:
        return
    _sources(options, given.get("source") or [])
    if options.source is None and any(given.get(name) for name in ("since", "until", "at")):
        raise UsageError("--since, --until and --at require --from (they choose a part of a recording or capture)")
    _agree_on_source(options)
    _agree_on_time(options)


def _sources(options: argparse.Namespace, sources: list[str]) -> None:
    """Set the sources that `--from` names. Raises UsageError."""
    if len(sources) > 1 and options.command not in _SEVERAL:
        raise UsageError(f"cannot use several --from here ({_ALONE[options.command]}); report and check accept them")
    if len(sources) > 1 and getattr(options, "format", "") == "json1":
        raise UsageError("cannot use --format json1 with several --from (it has one host; use json)")
    if len(sources) > MOST_COMPARED or (len(sources) > 1 and "-" in sources):
        raise UsageError(f'too many --from ({len(sources)}); at most {MOST_COMPARED} captures, and "-" not among them')
    options.source = sources[0] if sources else None
    options.sources = sources
    if options.source == "-" and options.command in {DASHBOARD, "capture"}:
        raise UsageError(f"--from - works with report and check only ({_KEYS[options.command]})")


def _agree_on_source(options: argparse.Namespace) -> None:
    given: Any = vars(options)
    if options.source is not None:
        for name, why in _LIVE.items():
            if given.get(name) is not None:
                raise UsageError(f"cannot use --{name.replace('_', '-')} with --from ({why})")
        if options.command == "capture" and options.collectors is not None:
            raise UsageError("cannot use --collectors with --from when copying a capture")
    _check_special(options, given)
    if given.get("io_sizes") and given.get("root") is not None:
        raise UsageError("cannot use --io-sizes with --root (it counts on this machine)")


def _agree_on_time(options: argparse.Namespace) -> None:
    given: Any = vars(options)
    if given.get("play") and (options.source is None or given.get("once")):
        raise UsageError("cannot use --play " + ("with --once" if options.source else "without --from"))
    for name in ("listen", "web_config"):
        if given.get("once") and given.get(name):
            raise UsageError(f"cannot use --{name.replace('_', '-')} with --once")
    if options.command in TIMED and options.duration is None and not given.get("follow"):
        options.duration = PROFILES[options.profile or "quick"]
    seconds = ONCE_SECONDS if given.get("once") else given.get("duration")
    if seconds is not None and (given.get("interval") or 0.0) > seconds:
        raise UsageError(f"--interval exceeds the duration ({seconds:g}s); rates need two samples")


def _check_special(options: argparse.Namespace, given: Mapping[str, Any]) -> None:
    """Raise UsageError for options that --follow or --attach rules out."""
    if given.get("follow"):
        _check_followed(options)
    if given.get("attach"):
        _check_attached(given)


def _check_followed(options: argparse.Namespace) -> None:
    """Raise UsageError for options that a stream of lines cannot have; without --duration it has no end."""
    if options.format != "text" or options.output is not None or options.redact is not None:
        raise UsageError("cannot use --follow with --format, -o or --redact (it writes JSON lines to standard output)")
    if len(options.sources) > 1:
        raise UsageError("cannot use several --from with --follow (it follows one node)")


def _check_attached(given: Mapping[str, Any]) -> None:
    """Raise UsageError for options that have no effect on another process's samples."""
    for name in ("source", "root", "collectors", "io_sizes", "no_smp", "no_smart"):
        if given.get(name):
            raise UsageError(f"cannot use --{_WORDS.get(name, name).replace('_', '-')} with --attach")


_WORDS = {"source": "from"}
"""Options whose name in the program is another one."""
_SEVERAL = frozenset({"report", "check"})
_ALONE = {
    DASHBOARD: "the dashboard shows one node",
    "capture": "a capture holds one node",
    "export": "an exporter has one node",
    "doctor": "doctor checks one node",
    "backfill": "an instance is one node",
}
"""Commands that read one node."""
_KEYS = {DASHBOARD: "the dashboard needs stdin", "capture": "a capture already holds its evidence"}
_LIVE = {
    "root": "choose the capture or the directory",
    "duration": "a capture is always read in full",
    "profile": "a capture is always read in full",
    "interval": "a capture keeps its recorded interval",
    "no_smp": "a capture queries no hardware",
    "no_smart": "a capture queries no hardware",
    "io_sizes": "captures contain recorded sizes only",
}
"""Options of a live run, and why a capture cannot take them."""
