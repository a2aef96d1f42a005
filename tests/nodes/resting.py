"""A host that remembers what is not to be asked for now, as a live node does."""

from __future__ import annotations

from sdstop.core.evidence_host import EvidenceHost


class RestingHost(EvidenceHost):
    """Recorded evidence; `rested` has the seconds of each rest. Rests end when it is emptied."""

    def __init__(self) -> None:
        super().__init__()
        self.rested: dict[str, float] = {}

    def rest(self, what: str, seconds: float) -> None:
        self.rested.setdefault(what, seconds)

    def rests(self, what: str) -> bool:
        return what in self.rested
