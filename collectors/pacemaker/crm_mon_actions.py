"""Lines of failures, fail counts, fencing, bans and tickets in the text of `crm_mon -1`, `crm status` and `pcs status`.

Formats: lib/pengine/pe_output.c and lib/pacemaker/pcmk_output.c of Pacemaker; of 1.1 tools/crm_mon.c.
"""

from __future__ import annotations

import re

from sdstop.collectors.pacemaker.status import BY_HAND, Ban, FailCount, Failure, Fencing, Ticket, moment
from sdstop.core.expression import expression

_FRIENDLY = expression(
    r"(?P<resource>[^\s:]+)(?::\d+)? (?:\S+-interval )?(?P<task>[a-z_-]+) on (?P<node>\S+) "
    r"(?P<rest>(?:returned|could not|is|was|did) .*|'.*|\(.*)"
)
_TECHNICAL = expression(
    r"(?P<key>\S+)_(?P<task>[a-z-]+)_\d{1,12} on (?P<node>\S+) '(?P<status>[^']*)' \(-?\d{1,9}\): (?P<rest>.*)"
)
_ISO = r"\d{4}-\d\d-\d\d[ T][\d:]{8}(?:\.\d+)?(?: ?[+-]\d\d:?\d\d|Z)?"
_WHEN = expression(rf"\bat ([A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}} \d{{4}}|{_ISO})")
_FENCING = expression(
    r"(?P<action>[\w-]+) of (?P<target>\S+?) (?P<state>failed|successful|pending)(?: \([^)]*\))?(?:: (?P<rest>.*))?"
)
_COMPLETED = expression(r"(?:completed|last-failed|last-successful)='([^']*)'")
_BAN = expression(r"(\S+)\s+prevents (\S+) from (?:running|becoming promoted|being promoted) on (\S+)")
_TICKET = expression(r"([^\s:]+):?\s+(granted|revoked)(?:\s+(\[?standby\]?))?.*")
_OUTCOMES = {"successful": "success"}


def failed_action(words: str) -> Failure | None:
    """Return the failed action of a line, None for a line that is not understood.

    vip 10s-interval monitor on san1 returned 'not running' (no address) at Sun Nov 22 11:07:40 2026
    """
    old = _TECHNICAL.fullmatch(words)
    if old is not None:
        reason = re.search(r"exitreason='(.*?)'(?:, *last-rc-change=|,?$)", old["rest"])
        when = re.search(r"last-rc-change='([^']*)'", old["rest"])
        exit_reason, moment_text = reason[1] if reason else "", when[1] if when else ""
        return Failure(old["key"], old["task"], old["node"], old["status"], exit_reason, moment_text)
    one = _FRIENDLY.fullmatch(words)
    if one is None:
        return None
    rest = one["rest"]
    when = _WHEN.search(rest)
    told = rest[: when.start()] if when is not None else rest
    status = re.search(r"returned '([^']*)'", told) or re.search(r"could not be executed \(([^)]*)\)", told)
    after = told[status.end() :] if status is not None else told
    reason = re.search(r"because '(.*)'", after) or re.search(r"\((.*)\)", after)
    return Failure(
        one["resource"], one["task"], one["node"], status[1] if status else "", reason[1] if reason else "",
        when[1] if when is not None else "",
    )  # fmt: skip


def fencing_action(words: str) -> Fencing | None:
    """Return the fencing action of a line, None for a line that is not understood.

    reboot of san3 successful: delegate=san1, client=pacemaker-controld.1185, origin=san1, completed='...'
    """
    one = _FENCING.match(words)
    if one is None:
        return None
    when = _COMPLETED.search(one["rest"] or "")
    state = _OUTCOMES.get(one["state"], one["state"])
    return Fencing(one["target"], one["action"], state, moment(when[1]) if when else 0.0)


def ban(words: str) -> Ban | None:
    """Return the constraint of a line that begins with its id, None for another line."""
    found = _BAN.match(words)
    return Ban(found[1], found[2], found[3], found[1].startswith(BY_HAND)) if found is not None else None


def ticket(words: str) -> Ticket | None:
    """Return the ticket of a line, `ticketA granted [standby]`, None for another line."""
    found = _TICKET.match(words)
    return Ticket(found[1], "standby" if found[3] else found[2]) if found is not None else None


_FAILURES = expression(r"([^\s:]+)(?::\d+)?: migration-threshold=\S+ fail-count=(\d+)\b(?: last-failure='([^']*)')?.*")
_INFINITY, _DIGITS = 1_000_000, 7
"""Fail count of a resource that may not run on a node any more, however often it failed there; its digits."""


def add_failures(counts: dict[str, FailCount], resource: str, count: str, when: str) -> None:
    """Add the failures of a resource on a node to those of the others, unless it may never run there again."""
    if count.isdecimal() and len(count) <= _DIGITS and int(count) < _INFINITY:
        name = resource.partition(":")[0]
        known = counts.get(name, FailCount(0, 0.0))
        counts[name] = FailCount(known.failures + int(count), max(known.last, moment(when)))


def count_failures(counts: dict[str, FailCount], words: str) -> None:
    """Add the failures in a line of the migration summary, which `crm_mon -f` prints.

    * vip: migration-threshold=1000000 fail-count=4 last-failure='Sun Nov 22 11:07:40 2026'
    """
    known = _FAILURES.fullmatch(words)
    if known is not None:
        add_failures(counts, known[1], known[2], known[3] or "")


_UPDATED = expression(r"Last updated: ([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}).*")


def updated(words: str) -> float:
    """Return the time in a line `Last updated: Sun Nov 22 11:07:48 2026`, 0 if it is in another form."""
    known = _UPDATED.fullmatch(words)
    return moment(known[1]) if known is not None else 0.0
