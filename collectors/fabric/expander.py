"""Access to a SAS expander through smp_utils, sysfs counters, or recordings of either.

Each query is an SMP request sent by the HBA. If an expander does not respond, the HBA's driver waits, and mpt3sas
then resets the HBA. Queries are therefore rare and serial, and stop for a long time after the first missing response.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sdstop.collectors.fabric import smp
from sdstop.collectors.fabric.port_readings import PHY_COUNTERS, SasExpander, SasExpanderActivity
from sdstop.core.evidence import command_key, slug
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Failed, Host, Malformed, Output, TimedOut, Unreadable
from sdstop.core.text import whole

PROMPT = 5.0
"""Response timeout in seconds. An expander needs milliseconds; mpt3sas waits for 10 s."""
REST = 3600.0
"""Seconds without queries to an expander that did not respond."""

GENERAL = ("smp_rep_general", "*")
DISCOVER = ("smp_discover", "--multiple", "*")
ERRORS = ("smp_rep_phy_err_log", "-p", "*", "*")
"""Command templates; the last word is the expander's device in /dev/bsg, the one before it a phy number."""
_PROGRAMS = (GENERAL[0], DISCOVER[0], ERRORS[0])
_DEVICE = expression(r"expander-\d{1,4}:\d{1,4}(?!\d)")
UNNAMED = "expander"
"""Name of the expander of recorded output whose command line does not name it."""


class SmpSession:
    """One round of queries to an expander.

    `state` is the outcome: answers, no answer, refuses (an unusable response), not asked; None if no query was
    possible (no smp_utils, not root, not recorded). `reason` explains it. `changes` is the expander's change count.
    """

    def __init__(self, host: Host, name: str, phys: str, *, allowed: bool = True) -> None:
        """Run the one-time queries; `phys` is the sysfs directory of phys. No query is sent if `allowed` is False."""
        self._host = host
        self._phys = phys
        self._tool = self._sysfs = True
        self.name = name
        self.state: str | None = None if allowed else "not asked"
        self.reason = "" if allowed else "SMP is turned off"
        self.general: smp.ExpanderReport | None = None
        self.changes: int | None = None
        self.found: dict[int, smp.Phy] = {}
        self.vacant: set[int] = set()
        self.logs: dict[int, smp.PhyErrors] = {}
        self._keys: dict[int | None, str] = {}
        if allowed and host.rests(name):
            self._silent("left alone since it did not answer")
        self._greet()

    def command(self, argv: Sequence[str], *words: str) -> list[str]:
        """Return a command's argv for this expander; `words` replace its first asterisks."""
        values = iter((*words, f"/dev/bsg/{self.name}"))
        return [next(values) if word == "*" else word for word in argv]

    def key(self, argv: Sequence[str], *words: str) -> str:
        """Return the evidence key of a command."""
        return command_key(self.command(argv, *words))

    def error_log_key(self, number: int | None) -> str:
        """Return the evidence key of a phy's error log, None for the number: of the phys that are attached."""
        known = self._keys.get(number)
        return (
            known if known is not None else self.key(ERRORS, str(number)) if number is not None else self.key(DISCOVER)
        )

    def row(self, phys: int | None, links: int | None) -> SasExpander:
        """Return the final row; `phys` is the number of phys found, `links` the number with an attached device."""
        general = self.general
        first = min((number for number, log in self.logs.items() if log.changes is not None), default=None)
        return SasExpander(
            expander=self.name,
            state=self.state,
            reason=self.reason or None if self.state != "answers" else None,
            changes=self.changes,
            phys=general.phys if general is not None and general.phys is not None else phys,
            links=links,
            vacant=len(self.vacant) if self.found or self.logs else None,
            zoning=general.zoning if general is not None else None,
            told=self.key(GENERAL) if general is not None or first is None else self.error_log_key(first),
        )

    def counters(self, phy: str, number: int | None) -> dict[str, int | None]:
        """Return a phy's error counters from sysfs, else from smp_utils; empty if neither has them."""
        found: dict[str, int | None] = {}
        for field, file in PHY_COUNTERS.items() if self._sysfs else ():
            if not self._willing:
                return {}
            try:
                word = self._host.promptly(f"{self._phys}/{phy}/{file}", PROMPT).strip()
            except TimedOut as error:
                self._silent(error.detail)
                return {}
            except Absent:
                break
            except Unreadable as error:
                self._sysfs = False  # no counters in the driver, or refused by the expander: the other phys fail too
                self.reason = self.reason or error.detail
                break
            found[field] = whole(word, 10)
        if found:
            self.state = "answers"
            return found
        log = self.log(number) if number is not None else None
        return {} if log is None else {field: getattr(log, field) for field in PHY_COUNTERS}

    def log(self, number: int) -> smp.PhyErrors | None:
        """Return a phy's error log from smp_utils."""
        if number not in self.logs and number not in self.vacant:
            output = self._run(ERRORS, str(number))
            if output is not None:
                self.take(output, number)
        return self.logs.get(number)

    def take(self, output: Output, number: int | None, key: str = "") -> None:
        """Store the output of smp_rep_phy_err_log; a refusal applies to phy `number`. `key`: its evidence, if other."""
        text = output.text
        for log in smp.parse_errors(text):
            self.logs[log.phy] = log
            if key:
                self._keys[log.phy] = key
            self.changes = log.changes if log.changes is not None else self.changes
            self.state = "answers"
        # Recordings often merge stdout and stderr.
        why = smp.refusal(output.stderr.decode("utf-8", "replace")) or smp.refusal(text)
        if why == "Phy vacant" and number is not None and number not in self.logs:
            self.vacant.add(number)
        if why is not None:
            self.state = "answers"

    def take_phys(self, text: str, key: str) -> None:
        """Store the output of smp_discover, in any form."""
        for phy in smp.parse_phys(text):
            self.found.setdefault(phy.number, phy)
            self.state, self._keys[None] = "answers", key
        self.vacant |= {phy.number for phy in self.found.values() if phy.state == smp.VACANT}

    def take_general(self, text: str) -> None:
        """Store the output of smp_rep_general. Raises Malformed."""
        self.general = smp.parse_general(text)
        self.state, self.changes = "answers", self.general.changes

    @property
    def _willing(self) -> bool:
        return self.state not in {"no answer", "not asked"}

    def _greet(self) -> None:
        output = self._run(GENERAL)
        if output is not None:
            try:
                self.general = smp.parse_general(output.text)
                self.state, self.changes = "answers", self.general.changes
            except Malformed:
                said = output.stderr.decode("utf-8", "replace").strip().splitlines()
                self.state, self.reason = "refuses", said[0][:120] if said else f"exit status {output.exit}"
                return
        output = self._run(DISCOVER)
        if output is not None:
            self.found = {phy.number: phy for phy in smp.parse_discover(output.text)}
            self.vacant |= {phy.number for phy in self.found.values() if phy.state == smp.VACANT}
            if self.found:
                self.state = "answers"

    def _run(self, argv: Sequence[str], *words: str) -> Output | None:
        if not self._willing or not self._tool:
            return None
        try:
            return self._host.run(self.command(argv, *words), PROMPT)
        except TimedOut as error:  # of this expander, not of all
            self._silent(error.detail)
        except Absent as error:
            self._tool = not error.recorded  # in a capture each command can be missing on its own
            self.reason = self.reason or error.detail
        except Unreadable as error:
            self._tool = isinstance(error, Failed)
            self.reason = self.reason or error.detail
        return None

    def _silent(self, why: str) -> None:
        self.state, self.reason = "no answer", why
        self._host.rest(self.name, REST)


def recorded(host: Host) -> dict[str, list[tuple[str, str, int | None]]]:
    """Return the recorded smp_utils output by expander: program, command name and phy number.

    Pasted output without its command line names no expander; it counts as that of one expander (UNNAMED).
    """
    found: dict[str, list[tuple[str, str, int | None]]] = {}
    for program in _PROGRAMS:
        for name in host.recorded(program):
            device = _DEVICE.search(name)
            phy = re.search(r"(?:-p|--phy)[= _]?(\d{1,3})(?![\d:])", name)
            if device is not None or name == program:
                found.setdefault(device[0] if device is not None else UNNAMED, []).append(
                    (program, name, int(phy[1]) if phy else None)
                )
    return found


def take_recorded(host: Host, talk: SmpSession, commands: Sequence[tuple[str, str, int | None]]) -> None:
    """Store recorded output in `talk`, whatever options it was recorded with."""
    for program, name, number in commands:
        key = f"cmd:{name}" if " " in name or name == program else f"slug:{name}"
        try:
            if program == ERRORS[0] and number not in talk.logs:
                output = host.recorded_output(name)
                exact = " ".join(talk.command(ERRORS, str(number)))
                talk.take(output, number, "" if name in {exact, slug(exact)} else key)
                if lost := smp.cut_logs(output.text):
                    host.defect(key, f"{lost} of the error logs incomplete", talk.name)
            elif talk.state not in {None, "answers"}:
                continue
            elif program == DISCOVER[0] and not talk.found:
                talk.take_phys(host.recorded_output(name).text, key)
            elif program == GENERAL[0] and talk.general is None:
                talk.take_general(host.recorded_output(name).text)
        except (Unreadable, Malformed):
            continue


def changes(before: SasExpander, after: SasExpander, seconds: float) -> SasExpanderActivity | None:
    """Return the link changes between two samples; None if they are not counted or the counter was reset."""
    if seconds <= 0 or before.changes is None or after.changes is None:
        return None
    step = after.changes - before.changes
    if step < 0 and before.changes > 0xFF00:  # it wraps at 16 bits
        step += 1 << 16
    return None if step < 0 else SasExpanderActivity(after.expander, seconds, step, before.links)
