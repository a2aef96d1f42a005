"""Values of options: how durations, sizes, addresses and lists are typed.

Each function returns the value, and raises ArgumentTypeError with a line that shows an accepted form.
"""

from __future__ import annotations

import argparse
import re

from sdstop.core.duration import seconds_of
from sdstop.core.suggestion import quoted


def duration(text: str) -> float:
    """Return seconds: `10s`, `1m`, `1h30m`, `500ms`, or a plain number of seconds."""
    seconds = seconds_of(text.strip())
    if seconds is None:
        raise argparse.ArgumentTypeError(f"invalid duration {quoted(text)}; use 10s, 1m, 1h or seconds")
    return seconds


def watching(text: str) -> float:
    """Return the seconds to watch, at most a week."""
    seconds = duration(text)
    if seconds > 604_800:
        raise argparse.ArgumentTypeError(f"duration {quoted(text)} exceeds one week")
    return seconds


def interval(text: str) -> float:
    """Return the seconds between samples, 0.1 to 3600."""
    seconds = duration(text)
    if not 0.1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"invalid interval {quoted(text)}; valid range 100ms to 1h")
    return seconds


def address(text: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:10042`, `[::1]:10042`, `:10042` (every address)."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\[\]:/\s]*)):(\d{1,5})", text)
    if found is None or int(found[3]) > 65535:
        raise argparse.ArgumentTypeError(f"invalid address {quoted(text)}; use ADDR:PORT, e.g. 127.0.0.1:10042")
    return found[1] or found[2] or "", int(found[3])


def endpoint(text: str) -> str:
    """Return the URL of an OTLP endpoint: `http://collector:4318`, or with a path; it has no credentials."""
    if re.match(r"[^/?#]*//[^/?#]*@", text):
        raise argparse.ArgumentTypeError("credentials in a URL are visible; use OTEL_EXPORTER_OTLP_HEADERS")
    if not re.fullmatch(r"https?://[\w.%:\[\]-]+(?:/[\x21-\x7e]*)?", text, re.ASCII) or re.search(r"[?#]", text):
        raise argparse.ArgumentTypeError(f"invalid URL {quoted(text)}; use http://HOST:4318 or https://HOST/PATH")
    return text


def size(text: str) -> int:
    """Return bytes: `1GiB`, `500MB`, or a plain number of bytes; at least 1 MiB."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,3})?) ?(?:([kMGT])(i?)B?|B)?", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"invalid size {quoted(text)}; use 1GiB, 500MiB or bytes")
    power = " kMGT".index(found[2] or " ")
    count = int(float(found[1]) * (1024 if found[3] else 1000) ** power)
    if count < 1 << 20:
        raise argparse.ArgumentTypeError(f"size {quoted(text)} is below 1MiB")
    return count


def refresh(text: str) -> float:
    """Return the seconds between two refreshes of the fleet, 5 to 3600."""
    seconds = duration(text)
    if not 5 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"invalid interval {quoted(text)}; valid range 5s to 1h")
    return seconds


def labels(text: str) -> tuple[str, ...]:
    """Return label names from a comma-separated list."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names):
        raise argparse.ArgumentTypeError(f"invalid label list {quoted(text)}; use cluster,role")
    return names
