"""Commands and their options. Options are accepted before and after the command; errors are one line with a hint."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import sdstop
from sdstop.cli.option_values import address, duration, endpoint, interval, labels, refresh, size, watching
from sdstop.core.suggestion import nearest, quoted

if TYPE_CHECKING:
    from pathlib import Path

DASHBOARD = ""
"""The command without a name."""

COMMANDS: Mapping[str, str] = {
    DASHBOARD: "live dashboard of this node or of a capture; text report without a terminal",
    "report": "one-shot diagnostic report",
    "capture": "record raw evidence and findings to a file",
    "record": "record evidence for days, bounded in age and size",
    "unpack": "write a part of a recording as a capture",
    "diff": "show what changed from one capture or moment to another",
    "check": "monitoring check: one line; exit 0 ok, 1 warning, 2 critical, 3 unknown",
    "export": "Prometheus exporter",
    "backfill": "write a capture as OpenMetrics with timestamps, for promtool",
    "fleet": "dashboard of all nodes, from a Prometheus-compatible server",
    "doctor": "show which sources work and how to enable the others",
    "rules": "list rules and their thresholds",
    "config": "show the settings in effect, and the file that has each",
    "metrics": "list exported metrics",
}
_WATCHING = (DASHBOARD, "report", "capture", "check", "export", "doctor")
_TIMED = ("report", "capture")
SECONDS = 10.0
"""Default length of a live run."""
PROFILES = {"quick": SECONDS, "standard": 60.0, "deep": 60.0}
"""Length of a live run by profile."""
ONCE_SECONDS = 2.0
"""Length of the run of `export --once`: rates need two frames. Slow sources get a little longer."""

MOST_COMPARED = 64
"""Largest number of captures in one comparison; all of them are in memory."""


class UsageError(Exception):
    """Raised for a wrong command line; one line with the error and a hint."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are raised."""

    def error(self, message: str) -> NoReturn:
        """Raise Usage."""
        if found := re.fullmatch(r"unrecognized arguments: (\S+)(?: .*)?", message, re.DOTALL):
            word = found[1]
            known = self._option_string_actions
            message = _unknown_option(word, known) if word[0] == "-" else f"unexpected argument {quoted(word)}"
        elif found := re.fullmatch(r"(argument \S+: invalid choice: '(.*)') \(choose from (.*)\)", message, re.DOTALL):
            message = found[1] + (
                _suggestion(found[2], re.findall(r"[\w-]+", found[3])) or f" (choose from {found[3]})"
            )
        elif found := re.fullmatch(r"the following arguments are required: (.+)", message):
            message = f"missing {'option ' if found[1][0] == '-' else ''}{found[1].replace(', ', ' and ')}"
        raise UsageError(f"{message}; run '{self.prog} --help'")


def _suggestion(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known, 0.7)
    return f" (did you mean {quoted(near)}?)" if near else ""


def _unknown_command(word: str) -> str:
    known = [*filter(None, COMMANDS), *_ALIASES]
    if "/" in word or os.path.exists(word):  # noqa: PTH110  # pathlib takes 3 ms
        import shlex

        return f"unknown command {quoted(word)}; open a capture with --from {shlex.quote(word)}"
    return f"unknown command {quoted(word)}{_suggestion(word, known)}"


def _unknown_option(word: str, known: Iterable[str]) -> str:
    option = word.partition("=")[0]
    return f"unknown option {quoted(option)}{_suggestion(option, known)}"


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
    if command in _TIMED:
        _timed_options(parser)
    if command in {DASHBOARD, *_TIMED}:
        add(
            "--io-sizes",
            action="store_true",
            default=None,
            help="count requests by size in the kernel (root)",
        )
    if command in {*_TIMED, "export", "record"}:
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
    end.add_argument("--at", metavar="TIME", help="the node as it was at TIME (like --until)")


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
    add("after", metavar="B", help="the same, of a later time")
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
    add("--alertmanager-config", type=_path, metavar="FILE", help="its HTTP client settings, like --http-config")
    add("--match", default="", metavar="SELECTOR", help="label matchers, e.g. 'cluster=\"a\"'")
    add("--peers", type=labels, default=(), metavar="LABELS", help="compare nodes only within groups of these labels")
    add("--interval", type=refresh, default=30.0, metavar="TIME", help="refresh interval (default 30s)")
    add("--once", action="store_true", help="print once and exit")
    add("--format", choices=("text", "json"), help="print once, as text or JSON, and exit")


def _parser(command: str) -> Parser:
    parser = Parser(
        prog=f"sdstop {command}".strip(), description=f"sdstop {command}: {COMMANDS[command]}".replace(" :", ":"),
        add_help=False, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    if command == DASHBOARD:
        parser.usage = "sdstop [options]\n       sdstop COMMAND [options]"
        others = "".join(f"  {word:<9} {does}\n" for word, does in COMMANDS.items() if word)
        parser.epilog = f"commands:\n{others}\nRun 'sdstop COMMAND --help' for details."
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
                unknown = _unknown_option(word, known)
        elif word in COMMANDS and word:
            return word, [*argv[:place], *argv[place + 1 :]]
        elif word in _ALIASES and not unknown:
            return _aliased(word, argv[place + 1 :])
        else:
            raise UsageError(f"{unknown or _unknown_command(word)}; run 'sdstop --help'")
    return DASHBOARD, list(argv)


_ALIASES = ("help", "version")
"""Words that people type for an option of the same name."""


def _aliased(word: str, others: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command and the option for `help`, `help COMMAND` and `version`. Raises UsageError."""
    command, unused = (others[0], others[1:]) if word == "help" and others else (DASHBOARD, others)
    if command not in COMMANDS:
        raise UsageError(f"{_unknown_command(command)}; run 'sdstop --help'")
    if unused:
        raise UsageError(f"unexpected argument {quoted(unused[0])}; run 'sdstop --help'")
    return command, [f"--{word}"]


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """Return a command's options. Raises UsageError, and SystemExit after --help or --version."""
    options = _parser(command).parse_args(words)
    options.command = command
    _agree(options)
    return options


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


def _agree(options: argparse.Namespace) -> None:
    """Raise Usage for options that contradict each other or have no effect together."""
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
    if options.command in _TIMED and options.duration is None and not given.get("follow"):
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
