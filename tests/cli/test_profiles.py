"""How long is watched, and where a capture is written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sdstop.cli.arguments import parse
from sdstop.cli.capture import _stands_on
from sdstop.cli.usage import UsageError
from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.session import Session


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ([], 10.0),
        (["--profile", "quick"], 10.0),
        (["--profile", "standard"], 60.0),
        (["--profile", "deep"], 60.0),
        (["--profile", "deep", "--duration", "5s"], 5.0),
    ],
)
def test_a_profile_says_how_long(words: list[str], seconds: float) -> None:
    assert parse("report", words).duration == seconds


def test_a_capture_has_its_own_length() -> None:
    with pytest.raises(UsageError, match="cannot use --profile with --from"):
        parse("report", ["--from", "x", "--profile", "deep"])


def node(path: Path, name: str) -> Session:
    """A node whose device `name` has the file system of a path; a partition of it, if it is an array, too."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}\n".encode()
    texts = {f"/sys/block/{name}/dev": number, f"/sys/block/{name}/size": b"8\n", "/sys/block/sdq/dev": b"65:0\n",
             "/sys/block/sdq/size": b"8\n"}  # fmt: skip
    items = [Evidence(key, data=data) for key, data in texts.items()]
    items.append(Evidence(f"link:/sys/block/{name}/slaves/sdq", data=b"../../sdq"))
    if name.startswith("md"):
        items.append(Evidence(f"/sys/block/{name}/md/level", data=b"raid1\n"))
    session = Session(Origin("n"), [BLOCKDEV], ())
    session.feed(Frame(1, 1.0, 1.0, tuple(items)))
    return session


def test_a_capture_on_what_it_is_about_is_warned_of(tmp_path: Path) -> None:
    target = tmp_path / "out.tar.gz"
    assert _stands_on(node(tmp_path, "md7"), target) == f"warning: {target} is on md7, which is being measured"
    assert _stands_on(node(tmp_path, "sda"), target) == ""
    assert _stands_on(node(tmp_path, "md7"), tmp_path / "none" / "out") == ""
