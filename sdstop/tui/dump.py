"""Taking away what is seen: the remembered frames as a capture, a screen as text."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from sdstop.diagnosis import Episode
from sdstop.format import moment, safe
from sdstop.session import Session, Timeline


def capture_name(session: Session) -> str:
    """Return a name for a capture of all that is remembered."""
    host = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in session.origin.name)[:60]
    return f"sdstop-{host}-{moment(session.timeline.frames[-1].taken):%Y%m%dT%H%M%SZ}.tar.gz"


def kept(session: Session) -> Timeline:
    """Return what is remembered now, apart from what comes while it is written."""
    known = session.timeline
    return Timeline(known.seconds, deque(known.frames), dict(known.base), dict(known.ran))


def write_capture(path: str, host: str, timeline: Timeline, found: Sequence[Episode]) -> str:
    """Write frames as a capture; return "" or, in one line, why it could not be."""
    from sdstop.exporters.capture import CaptureWriter, Unwritable  # noqa: PLC0415  # seldom needed

    findings = [
        {"rule": e.finding.rule, "severity": e.finding.severity.value, "subject": e.finding.subject,
         "summary": e.finding.summary, "since": e.since, "until": e.until}
        for e in found
    ]  # fmt: skip
    report = "".join(f"- {safe(e.finding.subject)}: {safe(e.finding.summary, 2000)}\n" for e in found)
    try:
        with CaptureWriter(Path(path).expanduser(), host) as writer:
            for frame in timeline.recall(0, len(timeline.frames)):
                writer.add(frame)
            writer.finish(findings, f"# {safe(host)}\n\n{report or 'Nothing was found.'}\n")
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
