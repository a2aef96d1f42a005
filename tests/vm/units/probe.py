"""Start each of the exporter's units inside the guest and write down what becomes of it; only the standard library."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

VM = Path("/vm")
ARRAY = """
modprobe raid1; truncate -s 64M /run/a /run/b
mdadm --create /dev/md0 --run --assume-clean --level=1 --raid-devices=2 $(losetup -f --show /run/a) \\
    $(losetup -f --show /run/b)
"""
PAGE = "http://127.0.0.1:10042/metrics"


def main() -> None:
    found: dict[str, dict[str, object]] = {}
    subprocess.run(["sh", "-c", ARRAY], check=False)
    Path("/etc/sdstop").mkdir(exist_ok=True)
    Path("/etc/sdstop/config.toml").write_text('[export]\nprofile = "full"\n')  # found without being named
    Path("/run/systemd/system/tgt.service").write_text("[Service]\nType=oneshot\nExecStart=/bin/false\n")
    run("systemctl", "daemon-reload")
    found["none"] = {"units": run("systemctl", "--failed", "--full", "--plain", "--no-pager")}
    run("systemctl", "start", "tgt.service")
    found["failed"] = {"units": run("systemctl", "--failed", "--full", "--plain", "--no-pager")}
    for unit in ("sdstop-exporter", "sdstop-exporter-root"):
        found[unit] = look_at(f"{unit}.service")
    (VM / "result.new").write_text(json.dumps(found))
    (VM / "result.new").rename(VM / "result.json")


def look_at(unit: str) -> dict[str, object]:
    said: dict[str, object] = {"start": run("systemctl", "start", unit)}
    if said["start"] != "0":
        return said | {"journal": run("journalctl", "-b", "--no-pager", "-u", unit)}
    said["started"] = shown(unit)
    said["page"] = page()
    said["reload"] = run("systemctl", "reload", unit)
    said["reloaded"] = settled(unit)
    # Stuck, it is started again by the watchdog, which need not wait for as long here.
    Path(f"/run/systemd/system/{unit}.d").mkdir(parents=True)
    Path(f"/run/systemd/system/{unit}.d/watchdog.conf").write_text("[Service]\nWatchdogSec=10\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", unit)
    before = shown(unit)
    os.kill(int(before["MainPID"]), signal.SIGSTOP)
    said["restarted"] = settled(unit, before["MainPID"])
    said["stop"] = run("systemctl", "stop", unit)
    said["journal"] = run("journalctl", "-b", "--no-pager", "-u", unit)
    return said


def settled(unit: str, old: str = "0") -> dict[str, str]:
    """Return what a unit shows once it runs, as another process than `old`."""
    end = time.monotonic() + 180
    while True:
        now = shown(unit)
        if (now["SubState"] == "running" and now["MainPID"] not in {old, "0"}) or time.monotonic() > end:
            return now
        time.sleep(0.5)


def shown(unit: str) -> dict[str, str]:
    names = ("ActiveState", "SubState", "StatusText", "MainPID", "NRestarts", "Result", "User")
    text = subprocess.run(["systemctl", "show", unit, *(f"-p{name}" for name in names)], capture_output=True, text=True,
                          check=False).stdout  # fmt: skip
    return dict(line.split("=", 1) for line in text.splitlines())


def page() -> str:
    """Return the page once every source has answered."""
    text, end = "", time.monotonic() + 90
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(PAGE, timeout=10) as answer:
                text = answer.read().decode()
        except urllib.error.URLError as error:
            text = repr(error)
        if text.count("\nsdstop_collector_success{") == text.count("\nsdstop_collector_enabled{") > 0:
            break
        time.sleep(1)
    return text


def run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=180)
    said = f"{done.returncode} {done.stdout}{done.stderr}".strip()
    with (VM / "out" / "shell.txt").open("a") as log:  # in case there is no end
        log.write(f"{time.monotonic():.0f} s: {' '.join(argv)}: {said}\n")
    return said


main()
