"""Export of the dashboard: retained frames as a capture, a screen as text."""

from __future__ import annotations

from pathlib import Path

from sdstop.core.evidence import dated
from sdstop.core.format import moment
from sdstop.core.output_file import OutputFile
from sdstop.core.session import Session


def capture_name(session: Session) -> str:
    """Return the default file name for a capture of all retained frames."""
    host = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in session.origin.name)[:60]
    taken = session.timeline.frames[-1].taken
    return f"sdstop-{host}-{moment(taken):%Y%m%dT%H%M%SZ}.tar.gz" if dated(taken) else f"sdstop-{host}.tar.gz"


def write_capture(path: str, session: Session) -> str:
    """Write all retained frames of a stopped session; return "" or a one-line error message."""
    from sdstop.exporters.capture import CaptureWriter, Unwritable, conclusions  # noqa: PLC0415  # rarely needed

    origin, kept = session.origin, session.timeline
    try:
        target = Path(path).expanduser()
        with CaptureWriter(
            target, origin.name, privileged=origin.privileged, facts=origin.facts, collectors=origin.collectors
        ) as writer:
            for frame in kept.recall(0, len(kept.frames)):
                writer.add(frame)
            writer.finish(conclusions(session, kept=len(kept.frames)))
    except (Unwritable, RuntimeError) as error:  # RuntimeError: unknown home directory
        return str(error)
    return ""


def save_text(path: str, text: str) -> str:
    """Write text to a new file; return "" or a one-line error message."""
    try:
        with OutputFile(Path(path).expanduser(), replace=False) as file:
            file.write(f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        return error.strerror or str(error)
    except RuntimeError as error:
        return str(error)
    return ""
