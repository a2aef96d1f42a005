"""`sdstop capture` with more evidence: what a scenario wants recorded for collectors that are yet to be written.

It comes into the same frames by the same way: a collector that only reads. Arguments as of `sdstop capture`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from sdstop.cli.option_values import duration
from sdstop.collectors import BUILTIN
from sdstop.core.collector import LIVE, ONCE, Collector, Command, Need
from sdstop.core.evidence import Origin
from sdstop.core.host import Host, Unreadable
from sdstop.core.model import Reading
from sdstop.core.session import Session
from sdstop.exporters.capture import CaptureWriter, Conclusions
from sdstop.exporters.report.document import document, plain
from sdstop.rules import RULES
from sdstop.sampler import Sampler

RAW: list[str] = json.loads(Path("/vm/scenario.json").read_text(encoding="utf-8"))["raw"]


ONLY_ONCE = "once "


def read(host: Host) -> Iterable[Reading]:
    """Read what the scenario wants again and again."""
    return _read_all(host, [what for what in RAW if not what.startswith(ONLY_ONCE)])


def read_once(host: Host) -> Iterable[Reading]:
    """Read what the scenario wants once."""
    return _read_all(host, [what.removeprefix(ONLY_ONCE) for what in RAW if what.startswith(ONLY_ONCE)])


def _read_all(host: Host, wanted: list[str]) -> Iterable[Reading]:
    """Read `cmd:` and a command, or a pattern of files and links."""
    for what in wanted:
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


def _need(what: str) -> Need | Command:
    argv = tuple(what.removeprefix("cmd:").split())
    return Command(argv, "asked for") if what.startswith("cmd:") else Need(what, "asked for")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", dest="output")
    parser.add_argument("--duration", type=duration)
    parser.add_argument("--interval", type=duration)
    options = parser.parse_args()
    needs = tuple(_need(what.removeprefix(ONLY_ONCE)) for what in RAW)
    raw = (
        Collector("raw", "What is recorded for later", read, (), needs, LIVE, 20.0),
        Collector("raw-once", "What is recorded once", read_once, (), needs, ONCE, 60.0),
    )
    sampler = Sampler((*BUILTIN, *raw), interval=options.interval)
    origin = Origin("sdsvm", live=True, privileged=True)
    names = [collector.name for collector in (*BUILTIN, *raw)]
    session = Session(origin, BUILTIN, RULES, remember=0.0)
    with sampler, CaptureWriter(options.output, origin.name, privileged=True, collectors=names) as writer:
        first: float | None = None
        for frame in sampler.frames():  # the first one may take longer than all that follow
            writer.add(frame)
            session.feed(frame)
            first = frame.monotonic if first is None else first
            if frame.monotonic - first >= options.duration:
                break
        writer.finish(Conclusions(plain(document(session, readings=False))))


if __name__ == "__main__":
    main()
