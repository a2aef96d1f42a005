"""Layout: mapping between the evidence and the files of a frame, for reading and writing.

Names of files below the directory of a frame (`frames/0001`, or `static`):

    proc/diskstats                          a file at its own absolute path
    links.json                              {path: target} of symbolic links
    lists.json                              {directory: [names]} of listed directories
    commands/SLUG/stdout, stderr, exit      output and exit status of a command
    answers/SLUG.json                       answer of psutil or udev
    outcomes.json                           {key: {"outcome", "detail"}} of failed reads
    keyed/HEX                               a file whose path cannot be used as a name; the index has its key
    http/METHOD_SLUG, .status, .headers     a gateway's reply to METHOD PATH: body, status, type;
                                            METHOD_SLUG~HEX if the request had a body
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.capture.contents import LIMITS, fault_of_name, folded
from sdstop.core.checksum import sha256
from sdstop.core.evidence import Evidence, Outcome, http_slug, slug
from sdstop.core.format import safe

LONGEST_JSON = 16 << 20
"""Maximum size of a JSON document in bytes; a hostile one takes about twenty times this in memory."""

_FOLDERS = frozenset({"answers", "commands", "http", "keyed"})
DOCUMENTS = frozenset({"links.json", "lists.json", "outcomes.json"})
_LONGEST_KEY = 8192
"""Maximum characters of a key."""
_OUTCOMES = frozenset(Outcome) - {Outcome.UNREAD}
_LONGEST_NAME = 3000
"""Maximum bytes of a path in an archive."""


def parse_json(data: bytes) -> Any:
    """Parse an untrusted JSON document. Raises ValueError if it is malformed, too large or nested too deeply."""
    if len(data) > LONGEST_JSON:
        raise ValueError(f"more than {LONGEST_JSON >> 20} MiB")
    try:
        if data.startswith(b'{"'):  # UTF-8: a line of an index, of which there are thousands
            return _DECODER.decode(data.decode("utf-8", "surrogatepass"))
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def usable_key(key: object) -> bool:
    """Return whether a value in a capture's JSON is usable as a key of evidence."""
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        return False
    return key.isascii() or _bytes(key) is not None


def as_outcome(word: object) -> Outcome | None:
    """Return the outcome of a read with this name, None if there is none."""
    return Outcome(word) if isinstance(word, str) and word in _OUTCOMES else None


def _bytes(text: str) -> bytes | None:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def layout_key(name: str) -> str | None:
    """Return the key for the name of a frame's file, None if the name does not determine it."""
    first, _, rest = name.partition("/")
    if first == "commands":
        return f"slug:{rest.partition('/')[0]}"
    if first == "answers":
        return f"answer:{rest.removesuffix('.json')}"
    if first == "http":
        return f"http-slug:{_http_name(rest)}"
    return None if first in {"keyed", *DOCUMENTS} else f"/{name}"


def _http_name(name: str) -> str:
    return next((name.removesuffix(end) for end in (".status", ".headers") if name.endswith(end)), name)


def read_layer(files: Mapping[str, bytes], faults: list[str]) -> dict[str, Evidence]:
    """Return the evidence of one frame by key, from its files by name within the frame.

    A command with unknown arguments has the key `slug:SLUG`. Malformed entries are omitted and added to `faults`.
    """
    found: dict[str, Evidence] = {}
    for name in sorted(files):
        key = layout_key(name)
        if key is None:
            continue
        if key.startswith("http-slug:"):
            item = _http(found.get(key, Evidence(key)), name, files[name])
        elif key.startswith("slug:"):
            item = _command(found.get(key, Evidence(key)), name, files[name])
        else:
            item = Evidence(key, data=files[name])
        if item is None or not usable_key(key):
            faults.append(f"{safe(name)} is not recognized")
        else:
            found[key] = item
    for path, target in _entries(files, "links.json", faults):
        data_or_none = _bytes(target) if isinstance(target, str) else None
        _put(found, f"link:{path}", data_or_none, "links.json", faults)
    for path, names in _entries(files, "lists.json", faults):
        listed = isinstance(names, list) and all(isinstance(n, str) for n in names)
        _put(found, f"list:{path}", _bytes("\n".join(names)) if listed else None, "lists.json", faults)
    for key, said in _entries(files, "outcomes.json", faults):
        _judge(found, key, said, faults)
    return found


def _command(known: Evidence, name: str, data: bytes) -> Evidence | None:
    match name.split("/"):
        case [_, _, "stdout"]:
            return replace(known, data=data)
        case [_, _, "stderr"]:
            return replace(known, stderr=data)
        case [_, _, "exit"] if (status := as_exit(data)) is not None:
            return replace(known, exit=status)
    return None


def _http(known: Evidence, name: str, data: bytes) -> Evidence | None:
    if name.count("/") > 1:
        return None
    if name.endswith(".headers"):
        return replace(known, stderr=data)
    if not name.endswith(".status"):
        return replace(known, data=data)
    status = as_exit(data)
    return None if status is None else replace(known, exit=status)


def as_exit(data: bytes) -> int | None:
    """Return the exit status in a file, None if it is not a number."""
    word = data.strip()
    return int(word) if word.removeprefix(b"-").isdigit() and len(word) <= 11 else None


def _entries(files: Mapping[str, bytes], name: str, faults: list[str]) -> Iterable[tuple[str, Any]]:
    if name not in files:
        return ()
    try:
        table = parse_json(files[name])
    except ValueError as error:
        faults.append(f"{name} is damaged: {safe(error)}")
        return ()
    if not isinstance(table, dict):
        faults.append(f"{name} is not a table")
        return ()
    return table.items()


def _put(found: dict[str, Evidence], key: str, data: bytes | None, name: str, faults: list[str]) -> None:
    if data is None or not usable_key(key):
        faults.append(f"{name} has an unrecognized entry: {safe(key)}")
    else:
        found[key] = Evidence(key, data=data)


def _judge(found: dict[str, Evidence], key: str, said: Any, faults: list[str]) -> None:
    word = said.get("outcome") if isinstance(said, dict) else None
    detail = said.get("detail", "") if isinstance(said, dict) else None
    outcome = as_outcome(word)
    if outcome is None or not isinstance(detail, str) or not usable_key(key):
        faults.append(f"outcomes.json has an unrecognized entry: {safe(key)}")
        return
    known = found.get(key, Evidence(key))
    if key.startswith("http:"):
        known = replace(found.pop(f"http-slug:{http_slug(key)}", known), key=key)
    if key.startswith("cmd:"):  # its output before the failure is stored under its slug
        known = replace(found.pop(f"slug:{slug(key[4:])}", known), key=key)
    found[key] = replace(known, outcome=outcome, detail=detail)


class MemberNames(Struct, frozen=True):
    """Names of the files of a piece of evidence within a frame; None for a missing part."""

    data: str | None
    stderr: str | None = None
    exit: str | None = None


class SlugTable(Struct):
    """Names of commands and answers in one capture; each keeps its name from frame to frame."""

    _names: dict[str, str] = field(default_factory=dict)
    _taken: set[tuple[str, str]] = field(default_factory=set)

    def name(self, folder: str, key: str) -> str | None:
        """Return the name of a command or an answer, None if no safe name is free."""
        known = self._names.get(key)
        if known is not None or not usable_key(key):
            return known
        text = key.partition(":")[2]
        plain = slug(text)
        names: tuple[str, ...] = (plain, slug(text, {plain: ""}))
        if folder == "http":
            names = (http_slug(key),)
        for name in names:
            if not fault_of_name(name) and (folder, folded(name)) not in self._taken:
                self._taken.add((folder, folded(name)))
                self._names[key] = name
                return name
        return None


def lay_out(evidence: Iterable[Evidence], slugs: SlugTable) -> tuple[dict[str, bytes], dict[str, MemberNames]]:
    """Return the files of one frame by name, and the names of each key's files. Keys are unique.

    Only commands have a stderr.
    """
    items = sorted(evidence, key=lambda item: item.key)
    files: dict[str, bytes] = {}
    places: dict[str, MemberNames] = {}
    tables: dict[str, dict[str, Any]] = {}
    standing = _standing(item.key for item in items)
    for item in items:
        if item.outcome is not Outcome.OK:
            tables.setdefault("outcomes.json", {})[item.key] = {
                "outcome": item.outcome,
                "detail": item.detail,
            }
        place = MemberNames(item.key[1:]) if item.key in standing else _place(item.key, slugs)
        said = item.outcome is Outcome.OK or item.data or item.stderr or item.exit is not None
        place = MemberNames(
            place.data if said else None,
            place.stderr if item.stderr else None,
            place.exit if item.exit is not None else None,
        )
        places[item.key] = place
        if place.data in DOCUMENTS:
            kind, _, path = item.key.partition(":")
            text = item.data.decode("utf-8", "surrogateescape")
            entry = text if kind == "link" else text.split("\n") if text else []
            tables.setdefault(place.data, {})[path] = entry
        elif place.data is not None:
            files[place.data] = item.data
        if place.stderr is not None:
            files[place.stderr] = item.stderr
        if place.exit is not None:
            files[place.exit] = f"{item.exit}\n".encode("ascii")
    for name, table in tables.items():
        files[name] = json.dumps(table, indent=1, sort_keys=True).encode("ascii") + b"\n"
    return files, places


def _standing(keys: Iterable[str]) -> set[str]:
    """Return the keys of files that can be stored at their own path."""
    standing: dict[str, str] = {}
    for key in keys:
        if key.startswith("/") and _can_stand(key[1:]):
            standing.setdefault(folded(key), key)
    folders: set[str] = set()
    for key in standing.values():
        parent = key.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    return set(standing.values()) - folders  # a path cannot be both file and directory


def _can_stand(name: str) -> bool:
    if fault_of_name(f"capture/frames/0001/{name}"):
        return False
    encoded = name.encode()
    return (
        len(encoded) <= _LONGEST_NAME
        and (len(encoded) == len(name) or max(map(len, encoded.split(b"/"))) <= LIMITS.part)
        and folded(name.partition("/")[0]) not in _FOLDERS | DOCUMENTS
    )


def _place(key: str, slugs: SlugTable) -> MemberNames:
    kind = key.partition(":")[0]
    if kind == "link":
        return MemberNames("links.json")
    if kind == "list":
        return MemberNames("lists.json")
    if kind in {"cmd", "slug"} and (name := slugs.name("commands", key)):
        return MemberNames(f"commands/{name}/stdout", f"commands/{name}/stderr", f"commands/{name}/exit")
    if kind in {"http", "http-slug"} and (name := slugs.name("http", key)):
        return MemberNames(f"http/{name}", f"http/{name}.headers", f"http/{name}.status")
    if kind == "answer" and (name := slugs.name("answers", key)):
        return MemberNames(f"answers/{name}.json")
    hexed = f"keyed/{sha256(key.encode('utf-8', 'surrogatepass'))[:32]}"
    return MemberNames(hexed, f"{hexed}.stderr")
