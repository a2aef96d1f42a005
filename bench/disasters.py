"""What a disaster costs: CPU milliseconds of a frame in which everything of one kind has failed, as JSON.

    python bench/disasters.py --things 100,1000,5000 [--only hung,failed,phys,limits,dropping] [--frames 5] [--work N]

`hung`: every disk has requests in flight and completes none, in arrays of 24; `failed`: all members of all arrays;
`phys`: every phy counts errors; `limits`: every limit is reached; `dropping`: every interface drops frames. Of each:
`frame` from evidence to findings, `page` of the exporter, `view` what the overview and the findings' view work out,
`report` text and JSON once, and how many findings there are. Each is a median of at least --frames frames, and of
as many as judge --work things (10,000).

The session is a live one, without a time limit: that of a capture keeps tables of up to 512 rows unpacked, so that 100
things are judged by other means than 1000.

Growth is the factor of a cost per tenfold number of things, at most 12 (GROWTH), between each size and the next. From
1000 to 5000 that is 12 ** log10(5) = 5.67 times the cost for 5 times the things.

With --scrape N: the milliseconds that 99 of 100 scrapes take while N hung disks are judged once a second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from math import log10
from statistics import median

from sdstop.cli.command import SERVED, collect_seldom
from sdstop.collectors import BUILTIN
from sdstop.collectors.fabric.port_readings import PHYS, PORTS
from sdstop.collectors.limits.cgroups import QUESTION
from sdstop.collectors.network.readings import STATISTICS
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.session import Look, Session
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.report.document import document, to_json
from sdstop.exporters.report.text import text_report
from sdstop.exporters.web.server import Server
from sdstop.rules import RULES
from sdstop.tui.scene import Scene
from sdstop.tui.views.finding_rows import entry_rows
from sdstop.tui.widgets.palette import Palette

MEMBERS = 24
"""Members of an array."""
SETTLED = 75
"""Seconds before what is measured: the windows of rules fill."""
STEP = 1
"""Seconds between frames."""
WORK = 10_000
"""Minimum number of things that are judged after that: five frames of 100 take 50 ms, which is no time to measure."""
GROWTH = 12.0
"""Maximum growth of a frame's cost for ten times the things."""

Texts = Mapping[str, str]
Second = Callable[[int, int], Texts]
"""Function of the number of things and of the second, which returns the files that change then (at 0: all)."""


def disk_name(number: int) -> str:
    """Return the kernel's name of a disk."""
    letters, left = "", number + 1
    while left:
        left, digit = divmod(left - 1, 26)
        letters = "abcdefghijklmnopqrstuvwxyz"[digit] + letters
    return f"sd{letters}"


def _arrays(count: int) -> Iterator[tuple[str, list[str]]]:
    for number, start in enumerate(range(0, count, MEMBERS)):
        yield f"md{number}", [disk_name(disk) for disk in range(start, min(start + MEMBERS, count))]


def _blocks(count: int) -> dict[str, str]:
    """Return what sysfs shows of the disks and of the arrays that are built on them."""
    files = {}
    for number in range(count):
        base = f"/sys/block/{disk_name(number)}"
        files |= {f"{base}/size": "15628053168\n", f"{base}/queue/rotational": "1\n", f"{base}/dev": f"8:{number}\n"}
        files |= {f"{base}/queue/iostats": "1\n"}
    for array, members in _arrays(count):
        files |= {f"/sys/block/{array}/size": "999\n", f"/sys/block/{array}/md/level": "raid10\n"}
        files |= {f"link:/sys/block/{array}/slaves/{member}": f"../../{member}" for member in members}
    return files


def _mdstat(count: int, *, failed: bool) -> str:
    lines = ["Personalities : [raid10]"]
    for array, members in _arrays(count):
        size, mark = len(members), "(F)" if failed else ""
        listed = " ".join(f"{member}[{slot}]{mark}" for slot, member in enumerate(members))
        working, slots = (0, "_" * size) if failed else (size, "U" * size)
        lines.append(f"{array} : active raid10 {listed}")
        lines.append(f"      7814026 blocks super 1.2 512K chunks 2 near-copies [{size}/{working}] [{slots}]\n      ")
    return "\n".join([*lines, "unused devices: <none>\n"])


def _diskstats(count: int, second: int, *, hung: bool) -> str:
    done, waits = (1000, second * 1000) if hung else (1000 + second * 100, second * 300)
    rows = []
    for place, name in enumerate([*map(disk_name, range(count)), *(array for array, _ in _arrays(count))]):
        flight = 9 if hung else 0
        rows.append(
            f"{8:4} {place:7} {name} {done} 0 {done * 8} {done * 4} {done} 0 {done * 8} {done * 4} {flight} {waits} "
            f"{waits * 9} 0 0 0 0 0 0\n"
        )
    return "".join(rows)


def hung(count: int, second: int) -> Texts:
    """Return a second in which no disk completes anything."""
    first = {**_blocks(count), "/proc/mdstat": _mdstat(count, failed=False)} if not second else {}
    stat = f"cpu  1 2 3 4 5 6 7 8 9 10\nctxt {second}\nbtime 1700000000\nprocesses 9\nprocs_blocked 90\n"
    return {**first, "/proc/diskstats": _diskstats(count, second, hung=True), "/proc/stat": stat}


def failed(count: int, second: int) -> Texts:
    """Return a second in which every member of every array has failed."""
    first = {**_blocks(count), "/proc/mdstat": _mdstat(count, failed=True)} if not second else {}
    return {**first, "/proc/diskstats": _diskstats(count, second, hung=False)}


def phys(count: int, second: int) -> Texts:
    """Return a second in which every phy has counted errors."""
    files: dict[str, str] = {}
    for number in range(count):
        phy = f"{PHYS}/phy-{number // 128}:0:{number % 128}"
        if not second:
            port = f"port-{number // 128}:0:{number % 128}"
            files |= {f"{phy}/negotiated_linkrate": "12.0 Gbit\n", f"{phy}/maximum_linkrate_hw": "12.0 Gbit\n",
                      f"{phy}/phy_identifier": f"{number % 128}\n", f"{phy}/sas_address": "0x5\n",
                      f"link:{phy}/device/port": f"../../{port}", f"{PORTS}/{port}/num_phys": "1\n"}  # fmt: skip
        for name in ("invalid_dword_count", "running_disparity_error_count"):
            files[f"{phy}/{name}"] = f"{2_000_000 + second * 50_000}\n"
        for name in ("loss_of_dword_sync_count", "phy_reset_problem_count"):
            files[f"{phy}/{name}"] = f"{second * 100}\n"
    return files


def limits(count: int, second: int) -> Texts:
    """Return a second in which every control group is at its limit."""
    paths = [f"/machine.slice/vm-{number}.scope" for number in range(count)]
    files = {}
    if not second:
        files[f"answer:{QUESTION}"] = json.dumps({"v1": [], "v2": paths, "groups": count})
    done, waited = second * 100, second * 900_000
    for path in paths:
        base = f"/sys/fs/cgroup{path}"
        if not second:
            files[f"{base}/io.max"] = "254:0 rbps=max wbps=max riops=max wiops=100\n"
        files[f"{base}/io.stat"] = f"254:0 rbytes=0 wbytes={done * 8192} rios=0 wios={done} dbytes=0 dios=0\n"
        files[f"{base}/io.pressure"] = (
            f"some avg10=90.00 avg60=90.00 avg300=90.00 total={waited}\n"
            f"full avg10=90.00 avg60=90.00 avg300=90.00 total={waited}\n"
        )
    return files


def dropping(count: int, second: int) -> Texts:
    """Return a second in which every interface drops frames."""
    passed, lost = second * 100_000, second * 5000
    row = f"{passed * 900} {passed} {lost} {lost} 0 0 0 0 {passed * 900} {passed} {lost} {lost} 0 0 0 0\n"
    heads = (
        "Inter-| Receive | Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs"
    )
    files = {"/proc/net/dev": heads + " errs drop fifo colls carrier compressed\n"}
    files["/proc/net/dev"] += "".join(f"eth{number}: {row}" for number in range(count))
    for number in range(count):
        base = f"/sys/class/net/eth{number}"
        if not second:
            files |= {f"{base}/{name}": f"{value}\n" for name, value in {
                "ifindex": number, "iflink": number, "mtu": 1500, "flags": "0x1003", "operstate": "up", "carrier": 1,
                "type": 1, "speed": 10000, "duplex": "full", "uevent": f"INTERFACE=eth{number}",
                "device/vendor": "0x8086"}.items()}  # fmt: skip
        for name in STATISTICS.values():
            files[f"{base}/statistics/{name}"] = f"{lost if 'dropped' in name or 'errors' in name else 0}\n"
    return files


DISASTERS: Mapping[str, Second] = {
    "hung": hung, "failed": failed, "phys": phys, "limits": limits, "dropping": dropping,
}  # fmt: skip


def frame(number: int, second: int, texts: Texts) -> Frame:
    """Return the frame of a second."""
    evidence = tuple(Evidence(key, data=text.encode()) for key, text in texts.items())
    return Frame(number, 1.7e9 + second, float(second), evidence)


def views(look: Look, session: Session) -> None:
    """Work out what the dashboard shows of all devices and findings."""
    scene = Scene(look, session, Palette())
    scene.drives()
    scene.counts()
    entry_rows([*scene.findings(), *scene.unknown(), *scene.ended()], scene)
    scene.worst()


def cost(second: Second, count: int, frames: int) -> dict[str, float]:
    """Return the medians of one disaster."""
    session = Session(Origin("bench", live=True), BUILTIN, RULES, remember=0.0)
    page = Exposition(session)
    times: dict[str, list[float]] = {"frame": [], "page": [], "view": []}

    def timed(what: str, work: Callable[[], object]) -> None:
        began = time.process_time()
        work()
        times.setdefault(what, []).append((time.process_time() - began) * 1000)

    steps = SETTLED // STEP + frames
    for number in range(1, steps + 1):
        at = (number - 1) * STEP
        given = frame(number, at, second(count, at))
        timed("frame", lambda given=given: page.feed(given))  # type: ignore[misc]
        timed("page", page.page)
        if number > steps - frames:
            timed("view", lambda: views(session.head(), session))
    timed("report", lambda: (text_report(session), to_json(document(session))))
    assert not session.guard.counts, session.guard.counts
    found = {what: median(values[-frames:]) for what, values in times.items()}
    return found | {"findings": float(len(session.head().judgement.findings))}


def growth(few: tuple[int, float], many: tuple[int, float]) -> float:
    """Return by how much a cost grows for ten times the things."""
    return float((many[1] / max(few[1], 1e-3)) ** (1 / log10(many[0] / few[0])))


class Feed:
    """A frame of hung disks each second."""

    alive = True

    def __init__(self, count: int) -> None:
        """Start the clock."""
        self._count = count
        self._number = 0
        self._sign = os.eventfd(0, os.EFD_NONBLOCK)
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while True:
            os.eventfd_write(self._sign, 1)
            time.sleep(1.0)

    def fileno(self) -> int:
        """Return what is readable when a frame is due."""
        return self._sign

    def receive(self) -> list[Frame]:
        """Return the frame that is due."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._sign)
        self._number += 1
        texts = hung(self._count, self._number - 1)
        evidence = tuple(Evidence(key, data=text.encode()) for key, text in texts.items())
        return [Frame(self._number, time.time(), time.monotonic(), evidence)]


def serve(count: int) -> None:
    """Serve the page of hung disks until a signal arrives."""
    collect_seldom(SERVED)
    session = Session(Origin("bench", live=True), BUILTIN, RULES, remember=0.0)
    session.budget = 1.0
    server = Server(Exposition(session), Feed(count), lambda line: print(line, file=sys.stderr, flush=True))
    server.run(("127.0.0.1", 0))


def scrapes(count: int, seconds: int = 30) -> dict[str, float]:
    """Return the milliseconds of scrapes while hung disks are judged, and the seconds that a frame takes then."""
    argv = [sys.executable, __file__, "--serve", str(count)]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    url = process.stderr.readline().split()[-1]
    times, page = [], ""
    try:
        time.sleep(15)  # until they count as hung
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            with urllib.request.urlopen(url) as answer:
                page = answer.read().decode()
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.05)
    finally:
        process.terminate()
        process.communicate(timeout=10)
    took = next(line.split()[1] for line in page.splitlines() if line.startswith("sdstop_frame_seconds "))
    times.sort()
    return {"p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "frame": float(took) * 1000}


def main() -> None:
    """Print the costs."""
    parser = argparse.ArgumentParser(description="What a disaster costs.")
    parser.add_argument("--things", default="100,1000,5000")
    parser.add_argument("--only", default=",".join(DISASTERS))
    parser.add_argument("--frames", type=int, default=5)
    parser.add_argument("--work", type=int, default=WORK)
    parser.add_argument("--scrape", type=int)
    parser.add_argument("--serve", type=int)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.scrape:
        print(json.dumps(scrapes(options.scrape)))
        return
    collect_seldom(SERVED)
    sizes = sorted(map(int, options.things.split(",")))
    found = {}
    for name in options.only.split(","):
        costs = {count: cost(DISASTERS[name], count, max(options.frames, options.work // count)) for count in sizes}
        grows = {
            f"{few} to {many}": {
                what: growth((few, costs[few][what]), (many, costs[many][what])) for what in costs[many]
            }
            for few, many in pairwise(sizes)
        }
        found[name] = {"costs": costs, "growth": grows}
        print(name, json.dumps(found[name]), file=sys.stderr, flush=True)
    print(json.dumps(found))
    steep = [
        f"{name}, {step}: {factors['frame']:.1f}"
        for name, each in found.items()
        for step, factors in each["growth"].items()
        if factors["frame"] > GROWTH
    ]
    if steep:
        sys.exit(f"a frame costs more than {GROWTH:g} times for ten times the things: {'; '.join(steep)}")


if __name__ == "__main__":
    main()
