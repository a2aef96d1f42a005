"""`sdstop capture` with more evidence: what a scenario wants recorded for collectors that are yet to be written.

It comes into the same frames by the same way: a collector that only reads. Arguments as of `sdstop capture`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from sdstop.cli.arguments import duration
from sdstop.collector import LIVE, Collector, Need
from sdstop.collectors import BUILTIN
from sdstop.commands import COMMANDS, Command, CommandRunner
from sdstop.evidence import Origin
from sdstop.exporters.capture import CaptureWriter
from sdstop.exporters.report import document, plain
from sdstop.host import Host, Unreadable
from sdstop.live import LiveHost
from sdstop.model import Reading
from sdstop.rules import RULES
from sdstop.sampler import Sampler
from sdstop.session import Session

RAW: list[str] = json.loads(Path("/vm/scenario.json").read_text(encoding="utf-8"))["raw"]


def read(host: Host) -> Iterable[Reading]:
    """Read everything that the scenario names: `cmd:` and a command, or a pattern of files and links."""
    for what in RAW:
        try:
            if what.startswith("cmd:"):
                host.run(what.removeprefix("cmd:").split(), 8.0)
                continue
            for path in host.glob(what):
                _read(host, path)
        except Unreadable:
            continue
    return ()


def _read(host: Host, path: str) -> None:
    try:
        host.link(path)
    except Unreadable:
        try:
            host.read(path)
        except Unreadable:
            return


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", dest="output")
    parser.add_argument("--duration", type=duration)
    parser.add_argument("--interval", type=duration)
    options = parser.parse_args()
    raw = Collector("raw", "What is recorded for later", read, (), tuple(Need(w, "asked for") for w in RAW), LIVE, 20.0)
    allowed = [*COMMANDS, *(Command(tuple(w[4:].split()), "asked for") for w in RAW if w.startswith("cmd:"))]
    sampler = Sampler((*BUILTIN, raw), host=lambda: LiveHost(runner=CommandRunner(allowed)), interval=options.interval)
    origin = Origin("sdsvm", live=True, privileged=True)
    session = Session(origin, BUILTIN, RULES, remember=0.0)
    with sampler, CaptureWriter(options.output, origin.name, privileged=True) as writer:
        for frame in sampler.frames(options.duration):
            writer.add(frame)
            session.feed(frame)
        writer.finish(plain(document(session, readings=False)), "")


if __name__ == "__main__":
    main()
