"""Parsers for the answers of the `gluster` command: XML (`--xml`), and text where it has no XML.

Formats: cli/src/cli-xml-output.c and heal/src/glfs-heal.c of GlusterFS 3.12 and later.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import whole

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

MOST_ENTRIES = 20
"""Entries in split brain that are named for each volume; all are counted."""


class Refused(Exception):  # noqa: N818
    """Raised if gluster answers that it did not do it; holds its message."""


class Brick(Struct, frozen=True):
    """A brick as configured: `name` is HOST:PATH; `arbiter` bricks hold names and no data."""

    name: str
    peer: str
    arbiter: bool


class VolumeInfo(Struct, frozen=True, kw_only=True):
    """A volume as configured; `copies` bricks in a row hold the same data, or `dispersed` bricks parts and parity."""

    name: str
    state: str
    type: str
    copies: int
    arbiters: int
    dispersed: int
    redundancy: int
    bricks: tuple[Brick, ...]
    options: dict[str, str]

    @property
    def together(self) -> int:
        """Number of bricks in a row that hold the same data, at least 1."""
        return max(self.dispersed or self.copies, 1)


class Process(Struct, frozen=True):
    """A process of a volume: a brick (`name` HOST:PATH), or a self-heal daemon (`name` "")."""

    name: str
    peer: str
    online: bool


class Peer(Struct, frozen=True):
    """Another server of the trusted pool."""

    name: str
    uuid: str
    connected: bool
    state: str


class Entry(Struct, frozen=True):
    """A file or directory in split brain: its path in the volume, or gfid:UUID where no brick knows the path."""

    name: str
    gfid: str
    bricks: tuple[str, ...]


class SplitBrain(Struct, frozen=True):
    """Entries in split brain, and the bricks that could not be asked; `count` is of all, `entries` the first."""

    count: int
    entries: tuple[Entry, ...]
    silent: tuple[str, ...]


def _root(text: str) -> ET.Element:
    """Return the root of an answer. Raises Malformed for anything else, and Refused for an error that it reports."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # gluster never prints them; entities could expand without bound
        raise Malformed("gluster: a document type")
    import xml.etree.ElementTree as ET  # noqa: PLC0415  # few nodes have any, and it takes time to import

    try:
        root = ET.fromstring(text)  # noqa: S314  # without entities it can only be as large as it is
    except (ET.ParseError, ValueError) as error:
        raise Malformed(f"gluster: {error}") from error
    if root.tag != "cliOutput":
        raise Malformed(f"gluster: begins with {root.tag[:40]!r}")
    if root.findtext("opRet", "0").strip() not in {"0", ""}:
        raise Refused((root.findtext("opErrstr") or "refused").strip()[:200])
    return root


def _text(item: ET.Element, name: str) -> str:
    return (item.findtext(name) or "").strip()


def _count(item: ET.Element, name: str) -> int:
    return whole(_text(item, name)) or 0


def parse_volumes(text: str) -> list[VolumeInfo]:
    """Return the volumes of `gluster --xml volume info`. Raises Malformed or Refused.

    <volume><name>v0</name><statusStr>Started</statusStr><replicaCount>2</replicaCount><typeStr>Replicate</typeStr>
      <bricks><brick uuid="68b0">a:/b<name>a:/b</name><hostUuid>68b0</hostUuid><isArbiter>0</isArbiter></brick>
      </bricks><options><option><name>nfs.disable</name><value>on</value></option></options></volume>
    """
    return [
        VolumeInfo(
            name=name,
            state=_text(item, "statusStr") or "unknown",
            type=_text(item, "typeStr") or "unknown",
            copies=_count(item, "replicaCount"),
            arbiters=_count(item, "arbiterCount"),
            dispersed=_count(item, "disperseCount"),
            redundancy=_count(item, "redundancyCount"),
            bricks=tuple(
                Brick(_text(brick, "name"), _text(brick, "hostUuid"), _text(brick, "isArbiter") == "1")
                for brick in item.findall("bricks/brick") if _text(brick, "name")
            ),
            options={_text(each, "name"): _text(each, "value") for each in item.findall("options/option")},
        )
        for item in _root(text).findall("volInfo/volumes/volume") if (name := _text(item, "name"))
    ]  # fmt: skip


def parse_processes(text: str) -> dict[str, list[Process]]:
    """Return the processes by volume of `gluster --xml volume status all`. Raises Malformed or Refused.

    Bricks of servers that are not connected are left out by gluster.

        <volume><volName>v0</volName><node><hostname>a</hostname><path>/b</path><peerid>68b0</peerid>
          <status>1</status></node><node><hostname>Self-heal Daemon</hostname><path>localhost</path>...</node></volume>
    """
    found: dict[str, list[Process]] = {}
    for item in _root(text).findall("volStatus/volumes/volume"):
        rows = found.setdefault(_text(item, "volName"), [])
        for node in item.findall("node"):
            host, path, peer = _text(node, "hostname"), _text(node, "path"), _text(node, "peerid")
            online = _text(node, "status") == "1"
            if path.startswith("/"):
                rows.append(Process(f"{host}:{path}", peer, online))
            elif host.startswith("Self-heal"):
                rows.append(Process("", peer, online))
    return found


def parse_peers(text: str) -> list[Peer]:
    """Return the other servers of `gluster --xml peer status`. Raises Malformed or Refused.

    <peer><uuid>c0ed</uuid><hostname>10.76.0.2</hostname><connected>1</connected>
      <stateStr>Peer in Cluster</stateStr></peer>
    """
    return [
        Peer(name, _text(item, "uuid"), _text(item, "connected") == "1", _text(item, "stateStr"))
        for item in _root(text).findall("peerStatus/peer") if (name := _text(item, "hostname"))
    ]  # fmt: skip


_BRICK = expression(r"^Brick (.+?)\s*$", re.MULTILINE)
_ENTRIES = expression(r"^Number of entries: (\d{1,18})\s*$", re.MULTILINE)


def parse_counts(text: str) -> dict[str, int | None]:
    """Return the entries to heal by brick of `gluster volume heal VOLUME statistics heal-count`; None if unknown.

    Raises Refused if gluster counted none, for example because the self-heal daemon is disabled.

        Gathering count of entries to be healed on volume v0 has been successful

        Brick 10.76.0.1:/srv/b
        Number of entries: 7

        Brick 10.76.0.2:/srv/b
        Status: Brick is not connected
    """
    parts = _BRICK.split(text)
    if "has been successful" not in parts[0]:
        raise Refused(" ".join(parts[0].split())[:200] or "nothing counted")
    return {
        name: int(found[1]) if (found := _ENTRIES.search(body)) else None
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def parse_split_brain(text: str) -> SplitBrain:
    """Return the entries of `gluster --xml volume heal VOLUME info split-brain`. Raises Malformed or Refused.

    An entry is listed for each brick; one without a path is `<gfid:UUID>`.

        <brick hostUuid="68b0"><name>a:/b</name><file gfid="fc41">/x</file><status>Connected</status>
          <numberOfEntries>1</numberOfEntries></brick>
        <brick hostUuid="-"><name>c:/b</name><status>Transport endpoint is not connected</status></brick>
    """
    by_gfid: dict[str, tuple[str, list[str]]] = {}
    silent = []
    for item in _root(text).findall("healInfo/bricks/brick"):
        brick = _text(item, "name")
        if _text(item, "status") != "Connected":
            silent.append(brick)
        for file in item.findall("file"):
            path = (file.text or "").strip()
            gfid = file.get("gfid") or path
            name, bricks = by_gfid.get(gfid, ("", []))
            by_gfid[gfid] = (name if name.startswith("/") else path.strip("<>"), [*bricks, brick])
    entries = [Entry(name, gfid, tuple(bricks)) for gfid, (name, bricks) in by_gfid.items()]
    entries.sort(key=lambda entry: (not entry.name.startswith("/"), entry.name))
    return SplitBrain(len(entries), tuple(entries[:MOST_ENTRIES]), tuple(silent))


_KEPT_OPTIONS = frozenset({"cluster.quorum-count", "cluster.quorum-type", "cluster.self-heal-daemon"})


_COUNTED = expression(
    rb"^(?:Brick |Status|Number of|Total Number|Gluster process|-{20}|Self-heal|NFS|Quota|Task|There are).*$|^.* [YN] +"
    rb"(?:\d+|N/A) *$",
    re.MULTILINE,
)


def without_names(data: bytes) -> bytes:
    """Return an answer without options that are not read and paths of entries that are not named; b"" if malformed.

    Options hold addresses and hosts (auth.allow); entries beyond those named are `<gfid:UUID>`. Of text, lines with
    counts, bricks and states are kept.
    """
    text = data.decode("utf-8", "surrogateescape")
    if text.startswith("Gathering count"):
        return data
    if text.startswith(("Status of volume", "Brick ")):
        return b"\n".join(each[0] for each in _COUNTED.finditer(data)) + b"\n"
    try:
        root = _root(text)
        named = {entry.name for entry in parse_split_brain(text).entries}
    except Refused:
        return data
    except Malformed:
        return b""
    for options in root.iter("options"):
        for each in [each for each in options if _text(each, "name") not in _KEPT_OPTIONS]:
            options.remove(each)
    for file in root.iter("file"):
        if (file.text or "").strip().strip("<>") not in named:
            file.text = f"<gfid:{file.get('gfid', '-')}>"
    import xml.etree.ElementTree as ET  # noqa: PLC0415

    kept: bytes = ET.tostring(root, encoding="utf-8")
    return kept
