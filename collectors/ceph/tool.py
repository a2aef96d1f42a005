"""Access to Ceph's command line tool: conditions for running it, recorded output and errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sdstop.collectors.ceph import answers as ceph
from sdstop.collectors.ceph import health_text, osd_tables, status_text
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.form import outputs
from sdstop.core.host import Absent, Denied, Failed, Host, Output, TimedOut, Unreadable

CONFIG = "/etc/ceph"
CONFIG_FILE = f"{CONFIG}/ceph.conf"
KEYRING = "ceph.client.admin.keyring"
LOCAL = "/var/lib/ceph"
DEADLINE = 12.0
"""Command timeout in seconds; the command itself stops searching for monitors after five."""

_REJECTED = "handle_auth_bad_method"
"""In messages about a key that the monitors do not accept: changed, of another cluster, or with clocks far apart."""

T = TypeVar("T")
_IDENTITY = expression(rb"^\s*(?:fsid|mon[ _]host|mon[ _]initial[ _]members)\s*=.*$", re.MULTILINE)
_ADDRESS = expression(r"\[[^\]]*v[12]:[^\]]*\](?!:)|[^\s,;]+")
_FORMS = {
    "status": (status_text.STATUS_JSON, status_text.STATUS),
    "health": (health_text.HEALTH_JSON, health_text.HEALTH),
    "tree": (osd_tables.TREE_JSON, osd_tables.TREE),
    "fill": (osd_tables.FILL,),
    "places": (osd_tables.PLACES_JSON, osd_tables.PLACES),
}
"""Forms of the printed answers by query (see collectors/ceph/answers.py)."""


class MonitorsUnreachable(Failed):
    """The monitors did not answer in time: no quorum, or no way to them."""


def only_identity(data: bytes) -> bytes:
    """Return the lines of ceph.conf with the cluster's id and its monitors: others may contain keys."""
    return b"".join(line.strip() + b"\n" for line in _IDENTITY.findall(data))


def configured(host: Host) -> tuple[str | None, int | None]:
    """Return the cluster's id and the number of its monitors according to ceph.conf; None if unknown."""
    said = {
        re.sub(r"[ _]+", " ", name.strip()): value.strip()
        for name, equals, value in (line.partition("=") for line in (host.maybe(CONFIG_FILE) or "").splitlines())
        if equals
    }
    monitors = (
        _ADDRESS.findall(said.get("mon host", "")) or said.get("mon initial members", "").replace(",", " ").split()
    )
    return said.get("fsid") or None, len(monitors) or None


def answers_of(host: Host) -> dict[str, str]:
    """Return the recorded commands by query; of duplicates, the one with the options used here."""
    found: dict[str, str] = {}
    for program in ("ceph", "ceph-volume"):
        for name in host.recorded(program):
            asked = ceph.question(name)
            if asked is not None and (asked not in found or _preferred(name) >= _preferred(found[asked])):
                found[asked] = name
    for asked, forms in _FORMS.items():
        if asked not in found:  # run in a container, or with further options
            for output in (output for form in forms for output in outputs(host, form)):
                found[asked] = output.key.partition(":")[2]
    return found


def _preferred(name: str) -> int:
    """Return a rank of a recorded command: JSON before text, details before none, the options used here first."""
    exact = 8 * ("json" in name) + 4 * ("detail" in name)
    return exact + ("--connect-timeout" in name) + ("--rados-mon-op-timeout" in name)


def reachable(host: Host) -> None:
    """Raise Absent unless this node administers a cluster, so that other nodes never contact the monitors."""
    try:
        names = host.entries(CONFIG)
    except TimedOut:
        raise
    except Absent as error:
        why = "no Ceph here" if error.recorded else "not recorded"
        raise Absent(CONFIG, why, recorded=error.recorded) from error
    if "ceph.conf" not in names or KEYRING not in names:
        raise Absent(f"{CONFIG}/{KEYRING}", "no cluster is administered from here (ceph.conf and admin keyring)")


def text_of(key: str, output: Output) -> str:
    """Return the tool's output; if it failed, raise Denied, MonitorsUnreachable or Failed by its error message.

    A rejected key is a failure: more privileges do not help.
    """
    if output.exit == 0:
        return output.text
    every = output.stderr.decode("utf-8", "replace").strip()
    said = every.rpartition("\n")[2]
    if _REJECTED in every:  # "permission denied" follows, as for a keyring that may not be read
        raise Failed(key, "the monitors reject the key of this node's keyring")
    if "ermission denied" in said or "EACCES" in said:
        raise Denied(key, "the keyring may not be read: start sdstop with sudo")
    if "timed out" in said or "TimedOut" in said or "ETIMEDOUT" in said:
        if "-mon-op-timeout" in key:
            raise MonitorsUnreachable(key, "the manager does not answer")
        raise MonitorsUnreachable(key, "the monitors do not answer: there may be no quorum")
    raise Failed(key, f"exit {output.exit}: {said[:200]}")


def query_monitors(host: Host, argv: Sequence[str], recorded: str | None) -> tuple[str, str]:
    """Return evidence key and text of an answer, recorded or queried from the monitors."""
    key = key_of(argv, recorded)
    if recorded is not None and recorded != " ".join(argv):
        return key, _watched(host, key, text_of(key, host.recorded_output(recorded)))
    return key, text_of(key, host.run(argv, DEADLINE))


_WATCHES = expression(r"(?:cmd:|slug:)ceph[ _](?:.{0,80}[ _])?(?:-w|--watch(?:-\w+)?)")


def _watched(host: Host, key: str, text: str) -> str:
    """Return a text; what `ceph -w` prints first is only the status before all events."""
    if _WATCHES.fullmatch(key):
        host.defect(key, "status before the events that it watches")
    return text


def key_of(argv: Sequence[str], recorded: str | None) -> str:
    """Return the evidence key of an answer."""
    if recorded is None or recorded == " ".join(argv):
        return command_key(argv)
    return f"cmd:{recorded}" if " " in recorded else f"slug:{recorded}"


def recorded_text(host: Host, name: str) -> str:
    """Return the text of a recorded answer; nothing is run for it."""
    key = f"cmd:{name}" if " " in name else f"slug:{name}"
    return _watched(host, key, text_of(key, host.recorded_output(name)))


def parsed_or(
    host: Host, argv: Sequence[str], answers: Mapping[str, str], what: str, parse: Callable[[str], T], otherwise: T
) -> T:
    """Return an optional answer, or `otherwise` if unavailable; from captures, only recorded answers."""
    if answers and what not in answers:
        return otherwise
    try:
        return parse(query_monitors(host, argv, answers.get(what))[1])
    except TimedOut:
        raise
    except Unreadable:
        return otherwise


def name_of(fsid: str) -> str:
    """Return sdstop's name for a cluster: `ceph-eccf3d48`."""
    return f"ceph-{fsid[:8]}"
