"""`--redact`: key file, redactor, private map of replacements, and leak check of the finished capture."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sdstop.cli.problem import Problem
from sdstop.collectors import BUILTIN
from sdstop.core.format import safe
from sdstop.core.output_file import OutputFile

if TYPE_CHECKING:
    from sdstop.redaction.redactor import Redactor

_SHORTEST_KEY = 16
"""Bytes."""


def redactor(keyfile: str, known: frozenset[str] | None) -> Redactor:
    """Return a redactor with the key in a file, created if missing; "" uses a random key for this run.

    `known` are the collectors that read the node.

    Raises Problem.
    """
    from sdstop.redaction.pseudonym import Pseudonyms
    from sdstop.redaction.redactor import Redactor

    return Redactor(Pseudonyms(_key(keyfile) if keyfile else os.urandom(32)), BUILTIN, known)


def _key(path: str) -> bytes:
    try:
        key = os.urandom(32).hex().encode()
        try:
            with OutputFile(path, replace=False) as file:
                file.write(key + b"\n")
        except FileExistsError:
            key = _read(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "invalid path"
        raise Problem(f"--redact {safe(path)}: {why}") from error
    return key


def _read(path: str) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not stat.S_ISREG(mode) or mode & 0o077:
            raise Problem(f"--redact: key file {safe(path)} is readable by others; run chmod 600 {safe(path)}")
        key = stream.read(4096).strip()
    if len(key) < _SHORTEST_KEY:
        raise Problem(
            f"--redact: key file {safe(path)} is too short (minimum {_SHORTEST_KEY} bytes); a missing file is created"
        )
    return key


def write_map(known: Redactor, output: str) -> str:
    """Write the map of replacements beside a capture, readable by the owner only; return its path. Raises Problem."""
    path = f"{output.rstrip('/')}.map.json"
    try:
        text = json.dumps(known.map(), indent=1) + "\n"
        with OutputFile(path, replace=False) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Problem(f"cannot write {safe(path)}: {error.strerror}") from error
    return path


def scan_for_leaks(known: Redactor, output: str) -> None:
    """Check a finished capture for remaining names; delete it if there are any. Raises Problem."""
    from sdstop.redaction.leak import leaks

    for name, kind in known.names.items():  # also names that were learnt but never replaced
        known.pseudonyms.of(kind, name)
    found = list(leaks(_files(output), known.pseudonyms))
    if found:
        path = Path(output)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        where = sorted({file for file, _ in found})
        raise Problem(
            f"removed {safe(output)}: {len(found)} names survived redaction in {len(where)} files, first in "
            f"{safe(where[0])}"
        )


def _files(output: str) -> Iterator[tuple[str, bytes]]:
    from sdstop.capture.archive import read_archive

    path = Path(output)
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file():
                yield str(file.relative_to(path)), file.read_bytes()
        return
    with path.open("rb", buffering=0) as stream:
        yield from read_archive(stream).files.items()
