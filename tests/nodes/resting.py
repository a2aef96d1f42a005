"""A host that remembers what is not to be asked for now, as a live node does."""

from __future__ import annotations

from collections.abc import Hashable

from sdstop.core.evidence_host import EvidenceHost


class RestingHost(EvidenceHost):
    """Recorded evidence; `rested` has the seconds of each rest. Rests end when it is emptied."""

    def __init__(self) -> None:
        super().__init__()
        self.rested: dict[str, float] = {}
        self._of: dict[str, Hashable] = {}

    def rest(self, what: str, seconds: float, of: Hashable = None) -> None:
        if not self.rests(what, of):
            self.rested.pop(what, None)
            self._of[what] = of
            if seconds:
                self.rested[what] = seconds

    def rests(self, what: str, of: Hashable = None) -> bool:
        return what in self.rested and self._of[what] == of
