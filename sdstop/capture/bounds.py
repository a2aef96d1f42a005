"""Bounds: what is taken of an archive or a folder that may come from anybody, and what of it nobody honest makes."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass


class Refused(Exception):  # noqa: N818  # the archive is at fault, not we
    """It is no tar archive, or one that nobody honest makes. The text goes on from its name."""


class Ended(Exception):  # noqa: N818
    """The archive stops here, before its end; the text goes on from "the archive"."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read at most: bytes in all and of one member, members, and the shape of their names.

    More than `ratio` bytes out of one byte in, once `ratio_from` bytes have come out, is a bomb.
    """

    total: int = 1 << 30
    member: int = 64 << 20
    members: int = 200_000
    ratio: int = 200
    ratio_from: int = 16 << 20
    part: int = 200
    parts: int = 32


LIMITS = Limits()


def fault_of_name(name: str, limits: Limits = LIMITS) -> str:
    """Say what is wrong with a member's name, "" if nothing is."""
    parts = name.split("/")
    if name.startswith("/"):
        return "is an absolute path"
    if ".." in parts:
        return "leads out of the archive"
    if "" in parts or "." in parts:
        return "has an empty part"
    if len(parts) > limits.parts:
        return f"has more than {limits.parts} parts"
    if not name.isprintable():
        return "has characters that cannot be printed"
    if max(map(len, parts)) > limits.part:
        return f"has a part of more than {limits.part} characters"
    return ""


def folded(name: str) -> str:
    """Return what two names share if some file system takes them for one."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()
