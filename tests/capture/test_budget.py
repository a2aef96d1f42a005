"""Opening has a budget: what a small archive can cost is bounded."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from sdstop.capture import frames
from sdstop.capture.reader import OpenError, open_capture
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.session import Session

LINKS = 20_000
"""A fifth of what 500 kB can name."""
SECONDS = 12.0
"""CPU time for a fifth of what took two minutes; a second on a quiet machine."""


def archive(folder: Path, links: Mapping[str, str]) -> Path:
    """Return a capture whose one frame names these links."""
    path = folder / "links.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in {"links.json": json.dumps(links), "proc/mdstat": "unused devices: <none>\n"}.items():
            member = tarfile.TarInfo(f"capture/frames/0001/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize(
    "links",
    [
        {f"/sys/block/md{n}/slaves/sd{n}": f"../../sd{n}" for n in range(LINKS)},
        {"/sys/block": "/sys/class/block", **{f"/sys/class/block/d{n}": f"d{n + 1}" for n in range(LINKS)}},
        {f"/sys/block/d{n}": f"./x/../d{n + 1}" for n in range(LINKS)},
        {f"/sys/block/d{n}": "x/../" * 500 + f"d{n + 1}" for n in range(LINKS // 10)},
    ],
    ids=["members", "chain", "winding chain", "long targets"],
)
def test_many_links_take_seconds(links: dict[str, str], tmp_path: Path) -> None:
    path = archive(tmp_path, links)
    assert path.stat().st_size < 500_000
    began = time.process_time()
    origin, recorded = open_capture(path)
    Session(origin, BUILTIN, ()).feed_all(recorded)
    assert time.process_time() - began <= SECONDS


def test_more_names_than_any_node_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_NAMED", 100)
    path = archive(tmp_path, {f"/sys/a{n}": "b" for n in range(110)})
    with pytest.raises(OpenError, match="names more than 100 links, listings and outcomes"):
        open_capture(path)
    assert open_capture(archive(tmp_path / ".", {f"/sys/a{n}": "b" for n in range(100)}))


def host(links: Mapping[str, str], files: Mapping[str, str]) -> EvidenceHost:
    return EvidenceHost([
        *(Evidence(f"link:{path}", data=target.encode()) for path, target in links.items()),
        *(Evidence(path, data=text.encode()) for path, text in files.items()),
    ])  # fmt: skip


def test_links_are_followed_as_the_kernel_does() -> None:
    links = {
        "/sys/block/sda": "../devices/pci/block/sda", "/sys/class/block": "../block", "/a": "/b", "/b": "a",
        "/sys/devices/pci/block/sda/device": "../../dev", **{f"/c{n}": f"c{n + 1}" for n in range(39)},
        **{f"/e{n}": f"e{n + 1}" for n in range(60)},
    }  # fmt: skip
    files = {
        "/sys/devices/pci/block/sda/size": "8",
        "/sys/devices/pci/dev/model": "X",
        "/c39/x": "deep",
        "/e60/x": "too",
    }
    node = host(links, files)
    assert node.read("/sys/block/sda/size") == b"8"
    assert node.read("/sys/class/block/sda/size") == b"8"
    assert node.read("/sys/class/block/sda/device/model") == b"X"
    assert node.read("/sys/block/sda/device/../dev/model") == b"X"
    assert node.read("/c0/x") == b"deep"
    assert node.names("/e0") == []  # more than 40 links
    assert node.names("/a") == []  # a circle
    node.apply([Evidence("link:/sys/block/sda", data=b"../devices/new")])
    assert node.names("/sys/block/sda") == []
    node.apply([Evidence("/sys/devices/new/size", data=b"9")])
    assert node.read("/sys/block/sda/size") == b"9"
