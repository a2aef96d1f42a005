"""Options of each command. They are accepted before and after the command; errors are one line with a hint."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import sdstop
from sdstop.cli.agreement import agree
from sdstop.cli.option_values import address, duration, endpoint, interval, labels, refresh, size, watching
from sdstop.cli.usage import (
    ALIASES,
    COMMANDS,
    DASHBOARD,
    PROFILES,
    TIMED,
    Parser,
    UsageError,
    unknown_command,
    unknown_option,
)
from sdstop.core.suggestion import quoted

if TYPE_CHECKING:
    from pathlib import Path

_WATCHING = (DASHBOARD, "report", "capture", "check", "export", "doctor")


def _path(text: str) -> Path:
    """Return a path; pathlib takes 3 ms to import."""
    from pathlib import Path

    return Path(text)


def _options(parser: Parser, command: str) -> None:
    """Declare the options of a command."""
    add = parser.add_argument
    if command in _WATCHING:
        _watching_options(parser)
    _recording_options(parser, command)
    _diff_options(parser, command)
    if command == "report":
        add(
            "--format",
            choices=("text", "json", "json1", "html", "markdown"),
            default="text",
            help="output format (default text; json1: JSON report version 1)",
        )
        add("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")
        add("--follow", action="store_true", help="write a JSON line for each change, until interrupted")
    if command == "backfill":
        add("--from", dest="source", action="append", required=True, metavar="PATH", help="open a capture")
        add("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")
        add("--job", default="sdstop", metavar="NAME", help="label job of each sample (default sdstop)")
        add("--instance", metavar="NAME", help="label instance of each sample (default: name of the node)")
    if command == "capture":
        add("-o", dest="output", metavar="PATH", required=True, help="new FILE.tar.gz or directory; never overwrites")
    if command in TIMED:
        _timed_options(parser)
    if command in {DASHBOARD, *TIMED}:
        add(
            "--io-sizes",
            action="store_true",
            default=None,
            help="count requests by size in the kernel (root)",
        )
    if command in {*TIMED, "export", "record"}:
        add("--interval", type=interval, metavar="TIME", help="sampling interval (default 1s)")
    _local_options(parser, command)
    if command == "export":
        _export_options(parser)
    if command == "fleet":
        _fleet_options(parser)
    if command in {DASHBOARD, "fleet", "diff"}:
        add("--ascii", action="store_true", default=None, help="use ASCII characters only")
        mouse = parser.add_mutually_exclusive_group()
        mouse.add_argument("--no-mouse", dest="mouse", action="store_false", default=None, help="disable the mouse")
        mouse.add_argument("--mouse", action="store_true", default=None, help=argparse.SUPPRESS)  # the default
        add(
            "--theme",
            choices=("auto", "dark", "light", "terminal"),
            help="color theme (default auto; terminal: its own 16 colors)",
        )
    if command not in {"fleet", "unpack", "diff"}:  # they read no node
        add("--root", metavar="DIR", help="use DIR as the root of the node's file system")
        add("--collectors", metavar="LIST", help="comma-separated list of sources to read")
    add("--config", type=_path, metavar="FILE", help="TOML file with thresholds and settings")
    add("--no-color", dest="no_color", action="store_true", help="disable colors (also: NO_COLOR)")
    add("-V", "--version", action="version", version=f"sdstop {sdstop.__version__}", help="print the version")
    add("-h", "--help", action="help", help="show this help")


def _local_options(parser: Parser, command: str) -> None:
    """Declare the options of the commands that meet at the exporter's local socket, and those of `check`."""
    add = parser.add_argument
    if command in {DASHBOARD, "check", "export"}:
        add("--socket", metavar="PATH", help="local socket of the exporter (default /run/sdstop/exporter.sock)")
    if command == "check":
        add("--rule", action="append", metavar="PATTERN", help="judge only by these rules; repeatable")
        add("--subject", action="append", metavar="PATTERN", help="judge only these subjects; repeatable")
        add("--strict", action="store_true", help="report UNKNOWN if any source is denied, fully or partly")
    if command == DASHBOARD:
        add("--attach", action="store_true", help="show the samples of the exporter that runs on this node")


def _export_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--listen", type=address, metavar="ADDR:PORT", help="address to listen on (default 127.0.0.1:10042)")
    add(
        "--web-config",
        type=_path,
        metavar="FILE",
        help="TLS and authentication file (Prometheus web-config format)",
    )
    add("--otlp", type=endpoint, metavar="URL", help="also push the metrics to this OTLP/HTTP endpoint, every minute")
    add("--play", action="store_true", help="serve the frames of --from at the pace at which they were recorded, once")
    add("--once", action="store_true", help="print the metrics once, after 2 s, and exit")
    add(
        "--textfile", metavar="FILE", help="write FILE every 15 s for node_exporter's textfile collector; do not listen"
    )


def _watching_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--from",
        dest="source",
        action="append",
        metavar="PATH",
        help="open a capture or sosreport (file or directory); - reads pasted text from stdin; "
        "report and check open several nodes together",
    )
    add("--no-smp", dest="no_smp", action="store_true", default=None, help="never query SAS expanders (SMP)")
    add("--no-smart", dest="no_smart", action="store_true", default=None, help="never query disks (SMART, NVMe log)")


def _period_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--since",
        metavar="TIME",
        help="begin at TIME of a recording or capture: 03:10, 2026-11-21 03:10, or 2h before the end",
    )
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--until", metavar="TIME", help="end at TIME")
    end.add_argument("--at", metavar="TIME", help="show the node as it was at TIME (same as --until)")


def _recording_options(parser: Parser, command: str) -> None:
    add = parser.add_argument
    if command in {DASHBOARD, "report", "check", "capture", "unpack", "export"}:
        _period_options(parser)
    if command == "unpack":
        add("source", metavar="RECORDING", help="recording, or a capture")
        add("output", metavar="PATH", help="new directory or FILE.tar.gz; never overwrites")
    if command != "record":
        return
    add("-o", dest="output", metavar="FILE", required=True, help="recording; an existing one is continued")
    add("--keep", type=duration, default=7 * 86400.0, metavar="TIME", help="age of the oldest frames (default 7d)")
    add("--max-size", type=size, default=1 << 30, metavar="SIZE", help="largest size of FILE (default 1GiB)")
    add("--no-smp", dest="no_smp", action="store_true", default=None, help="never query SAS expanders (SMP)")
    add("--no-smart", dest="no_smart", action="store_true", default=None, help="never query disks (SMART, NVMe log)")


def _diff_options(parser: Parser, command: str) -> None:
    if command != "diff":
        return
    add = parser.add_argument
    forms = "capture, recording, sosreport or text (- for stdin); FILE@TIME for one moment: night.sdstop@03:10"
    add("before", metavar="A", help=forms)
    add("after", metavar="B", help="like A, later")
    add("--format", choices=("text", "json", "html"), default="text", help="output format (default text)")
    add("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")
    add("--screen", action="store_true", help="show the changes above the dashboard of B")
    add("--exit-code", action="store_true", help="exit 3 if anything changed, 4 if a finding is new or worse")


def _timed_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--duration", type=watching, metavar="TIME", help="duration of the live run (default 10s)")
    add(
        "--profile",
        choices=tuple(PROFILES),
        help="quick: 10s; standard: 60s; deep: 60s plus request sizes (root) and SAS phy errors every 20s",
    )
    add(
        "--redact",
        nargs="?",
        const="",
        metavar="KEYFILE",
        help="replace host names, addresses, serial numbers and volume names with pseudonyms (stable per key file)",
    )


def _fleet_options(parser: Parser) -> None:
    add = parser.add_argument
    servers = "Prometheus, Thanos, Mimir, VictoriaMetrics"
    add("--prometheus", metavar="URL", required=True, help=f"server URL ({servers}), with its path prefix")
    add("--http-config", type=_path, metavar="FILE", help="HTTP client settings (promtool --http.config.file format)")
    add("--alertmanager", metavar="URL", help="Alertmanager whose silences are shown")
    add("--alertmanager-config", type=_path, metavar="FILE", help="HTTP client settings for the Alertmanager")
    add("--match", default="", metavar="SELECTOR", help="label matchers, e.g. 'cluster=\"a\"'")
    add("--peers", type=labels, default=(), metavar="LABELS", help="compare nodes only within groups of these labels")
    add("--interval", type=refresh, default=30.0, metavar="TIME", help="refresh interval (default 30s)")
    add("--once", action="store_true", help="print once and exit")
    add("--format", choices=("text", "json"), help="print once, as text or JSON, and exit")


_EXAMPLES = (
    ("sudo sdstop", "watch this node"),
    ("sdstop report", "watch it for 10 s, then print the diagnosis"),
    ("sudo sdstop capture -o node.tar.gz", "record it, to be opened anywhere"),
    ("sdstop --from node.tar.gz", "open a capture"),
    ("sdstop record -o night.sdstop", "record until interrupted"),
    ("sdstop --from night.sdstop --at 03:10", "go to ten past three"),
    ("sdstop check", "one line and an exit code, for monitoring"),
)
"""Commands to begin with, and what each does."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal; argparse asks shutil for the width, at every option, which takes 2 ms to import."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """Return the number of columns of the terminal, as shutil.get_terminal_size does."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 80


def _parser(command: str) -> Parser:
    parser = Parser(
        prog=f"sdstop {command}".strip(), description=f"sdstop {command}: {COMMANDS[command]}".replace(" :", ":"),
        add_help=False, allow_abbrev=False, formatter_class=_Help,
    )  # fmt: skip
    if command == DASHBOARD:
        parser.usage = "sdstop [options]\n       sdstop COMMAND [options]"
        others = "".join(f"  {word:<9} {does}\n" for word, does in COMMANDS.items() if word)
        shown = "".join(f"  {line:<38} {does}\n" for line, does in _EXAMPLES)
        parser.epilog = f"commands:\n{others}\nexamples:\n{shown}\nRun 'sdstop COMMAND --help' for details."
    _options(parser, command)
    return parser


def _option_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the options of all commands: those that take a value, and all of them."""
    parsers = [_parser(command) for command in COMMANDS]
    actions = [action for parser in parsers for action in parser._actions]  # noqa: SLF001  # argparse offers no list
    valued = (word for action in actions if action.nargs is None for word in action.option_strings)
    return frozenset(valued), frozenset(word for action in actions for word in action.option_strings)


def split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command and the other arguments. Raises UsageError for an unknown command."""
    valued: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    skip = False
    unknown = ""
    for place, word in enumerate(argv):
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            if not known:
                valued, known = _option_words()
            skip = word in valued
            if not unknown and word.partition("=")[0] not in known:
                unknown = unknown_option(word, known)
        elif word in COMMANDS and word:
            return word, [*argv[:place], *argv[place + 1 :]]
        elif word in ALIASES and not unknown:
            return _aliased(word, argv[place + 1 :])
        else:
            raise UsageError(f"{unknown or unknown_command(word)}; run 'sdstop --help'")
    return DASHBOARD, list(argv)


def _aliased(word: str, others: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command and the option for `help`, `help COMMAND` and `version`. Raises UsageError."""
    command, unused = (others[0], others[1:]) if word == "help" and others else (DASHBOARD, others)
    if command not in COMMANDS:
        raise UsageError(f"{unknown_command(command)}; run 'sdstop --help'")
    if unused:
        raise UsageError(f"unexpected argument {quoted(unused[0])}; run 'sdstop --help'")
    return command, [f"--{word}"]


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """Return a command's options. Raises UsageError, and SystemExit after --help or --version."""
    options = _parser(command).parse_args(words)
    options.command = command
    agree(options)
    return options
