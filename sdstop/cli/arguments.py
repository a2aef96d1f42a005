"""Arguments: commands and their options, which may stand before and after the word, and what is said of wrong ones."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import sdstop

DASHBOARD = ""
"""The command without a word."""

COMMANDS: Mapping[str, str] = {
    DASHBOARD: "live dashboard of this node, or over a capture; the text report where there is no terminal",
    "report": "one-shot forensic report",
    "capture": "record raw evidence and findings, to be opened anywhere",
    "check": "one line and an exit code: 0 ok, 1 warning, 2 critical, 3 unknown",
    "export": "Prometheus exporter",
    "fleet": "dashboard of all nodes, asked of a Prometheus-compatible server",
    "doctor": "which sources work here, what is missing, how to enable it",
    "rules": "what is diagnosed, with thresholds",
    "metrics": "what is exported to Prometheus",
}
_WATCHING = (DASHBOARD, "report", "capture", "check", "export", "doctor")
_TIMED = ("report", "capture")
SECONDS = 10.0
"""How long is watched live where nothing else is said."""
PROFILES = {"quick": SECONDS, "standard": 60.0, "deep": 60.0}
"""How long each profile watches."""
ONCE_SECONDS = 2.0
"""How long `export --once` watches: rates need two frames; slow sources are waited for a little longer."""

MOST_COMPARED = 64
"""Captures that a report compares at most: all of them are in memory."""

_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Usage(Exception):  # noqa: N818
    """The command line cannot be understood. One line that says what to do."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are raised."""

    def error(self, message: str) -> NoReturn:
        """Raise Usage."""
        raise Usage(f"{message}; see {self.prog} --help")


def duration(text: str) -> float:
    """Return seconds: `10s`, `1m`, `1h`, `500ms`, or a plain number of seconds."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)?", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 10s, 1m, 1h or seconds")
    return float(found[1]) * _UNITS[found[2] or ""]


def watching(text: str) -> float:
    """Return the seconds to watch, at most a week."""
    seconds = duration(text)
    if seconds > 604_800:
        raise argparse.ArgumentTypeError(f"{text!r} is longer than a week")
    return seconds


def interval(text: str) -> float:
    """Return the seconds between samples, 0.1 to 3600."""
    seconds = duration(text)
    if not 0.1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no interval; it must be from 100ms to 1h")
    return seconds


def address(text: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:10042`, `[::1]:10042`, `:10042` (every address)."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\[\]:/\s]*)):(\d{1,5})", text)
    if found is None or int(found[3]) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no address; write ADDR:PORT, as 127.0.0.1:10042")
    return found[1] or found[2] or "", int(found[3])


def _options(parser: Parser, command: str) -> None:
    """Declare the options of a command."""
    add = parser.add_argument
    if command in _WATCHING:
        _watching_options(parser)
    if command == "report":
        add("--format", choices=("text", "json", "html", "markdown"), default="text", help="default text")
        add("-o", dest="output", metavar="FILE", help="write to FILE, not to standard output")
    if command == "capture":
        add("-o", dest="output", metavar="PATH", required=True, help="FILE.tar.gz or a folder; nothing is overwritten")
    if command in _TIMED:
        _timed_options(parser)
    if command in {DASHBOARD, *_TIMED}:
        add(
            "--io-sizes",
            action="store_true",
            default=None,
            help="have the kernel count requests by size, meanwhile; root",
        )
    if command in {*_TIMED, "export"}:
        add("--interval", type=interval, metavar="TIME", help="time between samples, default 1s")
    if command == "check":
        add("--strict", action="store_true", help="a source that is denied is unknown too")
    if command == "export":
        _export_options(parser)
    if command == "fleet":
        _fleet_options(parser)
    if command in {DASHBOARD, "fleet"}:
        add("--ascii", action="store_true", default=None, help="no character beyond ASCII")
        add("--mouse", action="store_true", help="use the mouse")
        add("--theme", default="", metavar="NAME", help="colour theme")
    if command != "fleet":  # which reads no node
        add("--root", metavar="DIR", help="read files below DIR, not below /")
        add("--collectors", metavar="LIST", help="only these sources, by name, with commas")
    add("--config", type=Path, metavar="FILE", help="TOML file with thresholds and settings")
    add("--no-color", dest="no_color", action="store_true", help="no colours (as does NO_COLOR)")
    add("--version", action="version", version=f"sdstop {sdstop.__version__}", help="print the version")
    add("-h", "--help", action="help", help="print this")


def _export_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--listen", type=address, metavar="ADDR:PORT", help="default 127.0.0.1:10042")
    add(
        "--web-config",
        type=Path,
        metavar="FILE",
        help="TLS, passwords and headers, as other exporters' web-config.yml",
    )
    add("--once", action="store_true", help="print the page once, after two seconds")
    add("--textfile", metavar="FILE", help="write FILE for node_exporter every 15 s, and open no port")


def _watching_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--from",
        dest="source",
        action="append",
        metavar="PATH",
        help="look at a capture or a sosreport, folder or archive; - is pasted text",
    )
    add("--no-smp", dest="no_smp", action="store_true", default=None, help="ask SAS expanders nothing, by no way")


def _timed_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--duration", type=watching, metavar="TIME", help="how long to watch live, default 10s")
    add(
        "--profile",
        choices=tuple(PROFILES),
        help="quick 10s, standard 60s, deep 60s with request sizes by the second (root) and phy errors (SMP) every 20s",
    )
    add(
        "--redact",
        nargs="?",
        const="",
        metavar="KEYFILE",
        help="tell hosts, addresses, serial numbers and volumes by other names, the same for the same key",
    )


def _fleet_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--prometheus", metavar="URL", required=True, help="Prometheus, Thanos, Mimir, VictoriaMetrics; with any prefix"
    )
    add("--http-config", type=Path, metavar="FILE", help="passwords, tokens, TLS, headers: promtool's http config")
    add("--match", default="", metavar="SELECTOR", help="only these series, as 'cluster=\"a\"'")
    add("--peers", type=_labels, default=(), metavar="LABELS", help="compare nodes only where these labels are equal")
    add("--interval", type=_refresh, default=30.0, metavar="TIME", help="time between refreshes, default 30s")
    add("--once", action="store_true", help="print once, and end")
    add("--format", choices=("text", "json"), help="print once, as text or JSON")


def _refresh(text: str) -> float:
    """Return the seconds between two refreshes of the fleet, 5 to 3600."""
    seconds = duration(text)
    if not 5 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no interval; it must be from 5s to 1h")
    return seconds


def _labels(text: str) -> tuple[str, ...]:
    """Return names of labels, written with commas."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names):
        raise argparse.ArgumentTypeError(f"{text!r} are no names of labels; write cluster,role")
    return names


def _parser(command: str) -> Parser:
    parser = Parser(
        prog=f"sdstop {command}".strip(), description=f"sdstop {command}: {COMMANDS[command]}".replace(" :", ":"),
        add_help=False, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    if command == DASHBOARD:
        parser.usage = "sdstop [options]\n       sdstop COMMAND [options]"
        others = "".join(f"  {word:<9} {does}\n" for word, does in COMMANDS.items() if word)
        parser.epilog = f"commands:\n{others}\nsdstop COMMAND --help says more."
    _options(parser, command)
    return parser


def _valued() -> frozenset[str]:
    """Return the options, of any command, that take a value."""
    parsers = [_parser(command) for command in COMMANDS]
    actions = (action for parser in parsers for action in parser._actions)  # noqa: SLF001  # argparse tells nobody
    return frozenset(word for action in actions if action.nargs is None for word in action.option_strings)


def split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command and all other arguments. Raises Usage if the word is none."""
    valued: frozenset[str] | None = None
    skip = False
    for place, word in enumerate(argv):
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            if valued is None:
                valued = _valued()
            skip = word in valued
        elif word in COMMANDS and word:
            return word, [*argv[:place], *argv[place + 1 :]]
        else:
            known = ", ".join(command for command in COMMANDS if command)
            raise Usage(f"there is no command {word!r}; there are {known}; a capture is opened by --from PATH")
    return DASHBOARD, list(argv)


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """Return a command's options. Raises Usage; prints the help and raises SystemExit if that is asked for."""
    options = _parser(command).parse_args(words)
    options.command = command
    _agree(options)
    return options


def _sources(options: argparse.Namespace, sources: list[str]) -> None:
    """Take over what `--from` names. Raises Usage."""
    if len(sources) > 1 and options.command != "report":
        raise Usage("--from was given twice; several captures are compared by report alone")
    if len(sources) > MOST_COMPARED or (len(sources) > 1 and "-" in sources):
        raise Usage(
            f"--from was given {len(sources)} times; up to {MOST_COMPARED} captures can be compared, none pasted"
        )
    options.source = sources[0] if sources else None
    options.sources = sources
    if options.source == "-" and options.command in {DASHBOARD, "capture"}:
        raise Usage(f"--from - is text of one moment, for report and check; {_KEYS[options.command]}")


def _agree(options: argparse.Namespace) -> None:
    """Raise Usage for options that contradict each other, or of which one would do nothing beside the other."""
    given: Any = vars(options)
    if options.command == "fleet":
        return
    _sources(options, given.get("source") or [])
    if options.source is not None:
        for name, why in _LIVE.items():
            if given.get(name) is not None:
                raise Usage(f"--from and --{name.replace('_', '-')} exclude each other: {why}")
        if options.command == "capture" and options.collectors is not None:
            raise Usage("--from and --collectors exclude each other: all evidence of a capture is copied")
    if given.get("io_sizes") and given.get("root") is not None:
        raise Usage("--root and --io-sizes exclude each other: this machine's kernel counts, not that of a folder")
    for name in ("listen", "web_config"):
        if given.get("once") and given.get(name):
            raise Usage(f"--once and --{name.replace('_', '-')} exclude each other: print the page, or serve it")
    if options.command in _TIMED and options.duration is None:
        options.duration = PROFILES[options.profile or "quick"]
    seconds = ONCE_SECONDS if given.get("once") else given.get("duration")
    if seconds is not None and (given.get("interval") or 0.0) > seconds:
        raise Usage(f"--interval is longer than the {seconds:g} s of watching: there would be one sample, and no rate")


_KEYS = {DASHBOARD: "the dashboard needs standard input for its keys", "capture": "there is nothing to copy"}
_LIVE = {
    "root": "choose the capture or the folder",
    "duration": "a capture is looked at as a whole",
    "profile": "a capture is looked at as a whole",
    "interval": "a capture has the interval it was recorded with",
    "no_smp": "a capture asks nobody",
    "io_sizes": "a capture has the request sizes that were counted then",
}
"""Options of watching a live node, and why they mean nothing for a capture."""
