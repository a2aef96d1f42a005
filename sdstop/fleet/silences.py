"""Silences of an Alertmanager: the alerts that they hold back, with end, author and reason.

    GET /api/v2/alerts      [{"labels": {"alertname": "SdstopFindingCritical", "instance": "n1:10042", "job": "sdstop",
                              "rule": "array-degraded", "subject": "md0"},
                              "status": {"state": "suppressed", "silencedBy": ["7d8e..."], "inhibitedBy": []}}]
    GET /api/v2/silences    [{"id": "7d8e...", "comment": "disk ordered", "createdBy": "ops",
                              "endsAt": "2026-11-24T08:00:00.000Z", "status": {"state": "active"}}]

Source of the format: api/v2/openapi.yaml of Alertmanager 0.16 to 0.28.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from sdstop.core.format import safe
from sdstop.fleet.client import ServerClient, judged
from sdstop.fleet.problem import ServerError

_ALERTS, _SILENCES = "/api/v2/alerts", "/api/v2/silences"
_SILENCED = (("active", "false"), ("silenced", "true"), ("inhibited", "false"), ("unprocessed", "false"))
MOST_SILENCED = 1_000
"""Maximum silenced alerts that are listed."""


class SilencedAlert(msgspec.Struct, frozen=True):
    """An alert that a silence holds back; `until` is the end of its last silence, in Unix seconds.

    `rule` and `subject` are those of its finding, "" for an alert that is not about one.
    """

    node: tuple[str, str]
    alert: str
    rule: str
    subject: str
    until: float | None
    by: str = ""
    comment: str = ""


class _AlertStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The silences that hold an alert back."""

    silenced_by: tuple[str, ...] = ()


class _Alert(msgspec.Struct, frozen=True):
    """An alert of /api/v2/alerts."""

    labels: Mapping[str, str]
    status: _AlertStatus


class _Silence(msgspec.Struct, frozen=True, rename="camel"):
    """A silence of /api/v2/silences."""

    id: str
    ends_at: dt.datetime
    created_by: str = ""
    comment: str = ""


_T = TypeVar("_T")
_ALERT_LIST = msgspec.json.Decoder(tuple[_Alert, ...])
_SILENCE_LIST = msgspec.json.Decoder(tuple[_Silence, ...])


class AlertmanagerClient(ServerClient):
    """Client of one Alertmanager; not thread-safe. Context manager."""

    reads = frozenset({_ALERTS, _SILENCES})

    def silenced(self) -> tuple[SilencedAlert, ...]:
        """Return the silenced alerts. Raises ServerError, ConfigError."""
        end = time.monotonic() + self.seconds
        alerts = self._listed(_ALERTS, _SILENCED, _ALERT_LIST, end)
        held = [alert for alert in alerts if alert.status.silenced_by][:MOST_SILENCED]
        silences = self._listed(_SILENCES, (), _SILENCE_LIST, end) if held else ()
        known = {silence.id: silence for silence in silences}
        return tuple(sorted(_silenced(held, known), key=lambda each: (each.node, each.alert, each.rule, each.subject)))

    def _listed(
        self, path: str, fields: Iterable[tuple[str, str]], decoder: msgspec.json.Decoder[_T], end: float
    ) -> _T:
        body = judged(self._sent("GET", path, tuple(fields), end))
        try:
            return decoder.decode(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            why = safe(error, 160)
        raise ServerError(f"unexpected response ({why}); is this an Alertmanager?")


def _silenced(alerts: Iterable[_Alert], known: Mapping[str, _Silence]) -> Iterable[SilencedAlert]:
    for alert in alerts:
        held = [known[name] for name in alert.status.silenced_by if name in known]
        last = max(held, key=lambda silence: silence.ends_at, default=None)
        labels = alert.labels
        yield SilencedAlert(
            (labels.get("job", ""), labels.get("instance", "")),
            labels.get("alertname", ""),
            labels.get("rule", ""),
            labels.get("subject", ""),
            None if last is None else last.ends_at.timestamp(),
            "" if last is None else last.created_by,
            "" if last is None else last.comment,
        )
