"""A real browser without a window, spoken to over two pipes (Chrome DevTools Protocol, messages ended by NUL)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PATIENCE = 240.0


class Browser:
    """One page. What it complained of and asked the network for is kept."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result

    def open(self, path: Path) -> None:
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def value(self, script: str) -> Any:
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
        if key == "Enter":
            self.ask("Input.dispatchKeyEvent", type="char", key=key, text="\r")

    def said(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event["method"] == method]

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            assert select.select([self._back], [], [], max(deadline - time.monotonic(), 0.0))[0], (
                "the browser is silent"
            )
            part = os.read(self._back, 1 << 20)
            assert part, "the browser is gone"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        if "method" in said:
            self.events.append(said)
        return said


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser whose files are below `folder`, without a network beyond loopback, and end it."""
    there, to = os.pipe()
    back, here = os.pipe()
    command = [
        "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}",
        "--window-size=1200,900",
    ]  # fmt: skip
    # The protocol's pipes are descriptors 3 and 4 of the browser.
    script = f'exec 3<&{there} 4>&{here}; exec "$@"'
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, "bash", *command], pass_fds=(there, here), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder)}, start_new_session=True,
    )  # fmt: skip
    os.close(there)
    os.close(here)
    try:
        yield Browser(to, back)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(to)
        os.close(back)
