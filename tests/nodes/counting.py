"""A host that counts what is read of it."""

from __future__ import annotations

from typing import Any

from sdstop.core.host import Denied, Host


class Counting(Host):
    """Delegates to a host and counts reads by path."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.reads: list[str] = []
        self.denied = ""

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        return self.host.read(path)

    def entries(self, path: str) -> list[str]:
        self.reads.append(f"list:{path}")
        if path == self.denied:
            raise Denied(path, "needs root")
        return self.host.entries(path)

    def link(self, path: str) -> str:
        return self.host.link(path)

    def run(self, argv: Any, deadline: float = 10.0) -> Any:
        raise AssertionError(argv, deadline)

    def answer(self, question: str) -> Any:
        raise AssertionError(question)
