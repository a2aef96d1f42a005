"""Report as a stream of JSON lines (`sdstop.follow/1`): one line for each change.

    {"schema": "sdstop.follow/1", "event": "started", "at": 1767225600.0, "host": {"name": "node1", ...}}
    {"event": "state", "at": 1767225601.0, "code": 2, "result": "critical", "text": "1 finding: ..."}
    {"event": "found", "at": 1767225601.0, "finding": {"rule": "device-hung", "subject": "sdc", ...}}
    {"event": "changed", ...}
    {"event": "ended", ...}

`at` is the time of the sample in Unix seconds, null in an undated capture. `finding` is as in `sdstop.report/2`; of one
that has ended, its name and title. A finding has changed if its severity has, or its acceptance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from sdstop.core.diagnosis import Episode
from sdstop.core.finding import Finding
from sdstop.core.session import Look, Session
from sdstop.exporters.report.document import finding_of, host_of, unix

SCHEMA = "sdstop.follow/1"


class Follower:
    """Changes of a session, sample by sample."""

    def __init__(self, session: Session) -> None:
        """Start before the first sample."""
        self._session = session
        self._host = ""
        self._code: int | None = None
        self._known: dict[str, Finding] = {}

    def events(self, look: Look) -> Iterator[dict[str, Any]]:
        """Yield what has changed with the newest sample."""
        at = unix(look.now.taken)
        if self._code is None:
            host = host_of(self._session, look.now)
            self._host = host["name"]
            yield {"schema": SCHEMA, "event": "started", "at": at, "host": host}
        said = self._session.headline()
        if said.code != self._code:
            self._code = said.code
            yield {"event": "state", "at": at, "code": said.code, "result": said.word.lower(), "text": said.text}
        active = {finding.id: finding for finding in look.judgement.findings}
        episodes = self._session.diagnosis.episodes
        for key, finding in active.items():
            known = self._known.get(key)
            if known is None or _state(known) != _state(finding):
                yield self._event("found" if known is None else "changed", at, finding, episodes)
        for key, finding in self._known.items():
            if key not in active:
                yield self._event("ended", at, finding, {})
        self._known = active

    def _event(self, event: str, at: float | None, finding: Finding, episodes: Mapping[str, Episode]) -> dict[str, Any]:
        episode = episodes.get(finding.id)
        ended = event == "ended"
        since = -1.0 if at is None else at
        shown = Episode(finding, since) if episode is None else replace(episode, finding=finding)
        told = finding_of(shown, self._host)
        if ended:
            told = {key: told[key] for key in ("rule", "severity", "host", "subject", "title")}
        return {"event": event, "at": at, "finding": told}


def _state(finding: Finding) -> tuple[object, ...]:
    return finding.severity, finding.accepted


def line(event: Mapping[str, Any]) -> str:
    """Return an event as a line of ASCII JSON."""
    return json.dumps(event, allow_nan=False) + "\n"
