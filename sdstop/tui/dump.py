"""Taking away what is seen: the remembered frames as a capture, a screen as text."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdstop.evidence import Origin
from sdstop.format import moment
from sdstop.session import Session, Timeline


def capture_name(session: Session) -> str:
    """Return a name for a capture of all that is remembered."""
    host = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in session.origin.name)[:60]
    return f"sdstop-{host}-{moment(session.timeline.frames[-1].taken):%Y%m%dT%H%M%SZ}.tar.gz"


@dataclass(frozen=True, slots=True)
class Dump:
    """All that is remembered of a session at a moment, and what was found until then."""

    origin: Origin
    timeline: Timeline
    findings: Any
    report: str


def dump(session: Session) -> Dump:
    """Return what is known now, apart from what comes while it is written. LookupError before the first frame."""
    from sdstop.exporters.capture import conclusions  # noqa: PLC0415  # seldom needed

    known = session.timeline
    timeline = Timeline(known.seconds, deque(known.frames), dict(known.base), dict(known.ran))
    return Dump(session.origin, timeline, *conclusions(session, len(timeline.frames)))


def write_capture(path: str, dumped: Dump) -> str:
    """Write it as a capture; return "" or, in one line, why it could not be."""
    from sdstop.exporters.capture import CaptureWriter, Unwritable  # noqa: PLC0415

    origin, frames = dumped.origin, dumped.timeline
    try:
        target = Path(path).expanduser()
        with CaptureWriter(
            target, origin.name, privileged=origin.privileged, facts=origin.facts, collectors=origin.collectors
        ) as writer:
            for frame in frames.recall(0, len(frames.frames)):
                writer.add(frame)
            writer.finish(dumped.findings, dumped.report)
    except (Unwritable, RuntimeError) as error:  # RuntimeError: a home that cannot be told
        return str(error)
    return ""


def save_text(path: str, text: str) -> str:
    """Write text to a file that is not there yet; return "" or, in one line, why it could not be."""
    try:
        with Path(path).expanduser().open("x", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        return error.strerror or str(error)
    except RuntimeError as error:
        return str(error)
    return ""
