"""Metrics about the exporter itself and its sources, and counters of the rules, over all frames."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import time
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

import sdstop
from sdstop.core.collector import Collector
from sdstop.core.diagnosis import Episode
from sdstop.core.evidence import Outcome, dated
from sdstop.core.finding import Severity
from sdstop.core.judgement import Judgement
from sdstop.core.session import Look
from sdstop.core.snapshot import Run, Snapshot
from sdstop.exporters.prometheus.exposition import Heading, Told, label

if TYPE_CHECKING:
    from sdstop.exporters.otlp.pusher import OtlpState
    from sdstop.exporters.recorder import RecorderState

REASONS = {
    Outcome.TIMEOUT: "timeout", Outcome.DENIED: "permission", Outcome.FAILED: "failed", Outcome.UNREAD: "unread",
}  # fmt: skip

MOST_LASTED = 500
"""Maximum findings whose time is counted; the longest ended is forgotten first."""
_BY = ("collector",)
BUILD = Heading("sdstop_build_info", "info", "Build information; the value is always 1.", ("python", "version"))
FRAME = Heading("sdstop_frame_timestamp_seconds", "gauge", "Unix timestamp of the exposed sample.")
LATE = Heading("sdstop_frames_late_total", "counter", "Samples that were not judged because a newer one was waiting.")
TOOK = Heading("sdstop_frame_seconds", "gauge", "Time from the exposed sample to its findings.", (), "seconds")
ERRED = Heading(
    "sdstop_internal_errors_total",
    "counter",
    "Internal errors, each of which cost one part of a sample.",
    ("name", "part"),
)
OUTCOME = Heading(
    "sdstop_collector_outcome", "gauge",
    "Outcome of the collector: ok, partial, stale, denied, failed, timeout, unread; the value is always 1.",
    ("collector", "outcome"),
)  # fmt: skip
ENABLED = Heading("sdstop_collector_enabled", "gauge", "Whether the collector is enabled (1 = yes).", _BY)
APPLICABLE = Heading(
    "sdstop_collector_applicable", "gauge", "Whether the collector applies to this node (0 = nothing to collect).", _BY
)
SUCCESS = Heading(
    "sdstop_collector_success", "gauge", "Whether the last run of the collector succeeded (1 = yes).", _BY
)
DURATION = Heading(
    "sdstop_collector_duration_seconds", "gauge", "Duration of the collector's last completed run.", _BY, "seconds"
)
RUNNING = Heading(
    "sdstop_collector_running_seconds",
    "gauge",
    "Elapsed time of the collector's current run if it is overdue, otherwise 0.",
    _BY,
    "seconds",
)
INTERVAL = Heading(
    "sdstop_collector_interval_seconds", "gauge",
    "Longest collection interval; +Inf if the collector runs only on change.", _BY, "seconds",
)  # fmt: skip
SUCCEEDED = Heading(
    "sdstop_collector_last_success_timestamp_seconds",
    "gauge",
    "Unix timestamp of the collector's last successful run.",
    _BY,
    "seconds",
)
ERRORS = Heading(
    "sdstop_collector_errors_total", "counter", "Failed runs of the collector by reason.", ("collector", "reason")
)
STALE = Heading(
    "sdstop_collector_stale",
    "gauge",
    "Whether the collector's series are withheld: its data is missing or too old (1 = yes).",
    _BY,
)
RELOADED = Heading(
    "sdstop_config_last_reload_successful", "gauge", "Whether the last configuration reload succeeded (1 = yes)."
)
DROPPED = Heading(
    "sdstop_series_dropped",
    "gauge",
    "Series of the collector that were dropped by the series limit or as duplicates.",
    _BY,
)

RECORDED = Heading(
    "sdstop_recorder_success", "gauge", "Whether the newest block of the recording was written (1 = yes)."
)
RECORDED_FRAMES = Heading("sdstop_recorder_frames_total", "counter", "Samples that were recorded.")
RECORDED_LOST = Heading(
    "sdstop_recorder_lost_frames_total", "counter", "Samples that could not be recorded, or not one by one."
)
RECORDED_SIZE = Heading("sdstop_recorder_size_bytes", "gauge", "Size of the recording.", (), "bytes")
RECORDED_CAPTURES = Heading(
    "sdstop_recorder_captures_total", "counter", "Captures of new critical findings that were written."
)

OTLP = Heading("sdstop_otlp_success", "gauge", "Whether the endpoint accepted the newest push by OTLP (1 = yes).")
OTLP_PUSHED = Heading("sdstop_otlp_pushes_total", "counter", "Pushes by OTLP that the endpoint accepted.")
OTLP_FAILED = Heading(
    "sdstop_otlp_failures_total", "counter", "Pushes by OTLP that were refused, or failed within their deadline."
)

CPU = Heading(
    "process_cpu_seconds_total",
    "counter",
    "Total user and system CPU time of the exporter process, excluding the sampler.",
    (),
    "seconds",
)
RESIDENT = Heading("process_resident_memory_bytes", "gauge", "Resident memory size.", (), "bytes")
VIRTUAL = Heading("process_virtual_memory_bytes", "gauge", "Virtual memory size.", (), "bytes")
OPEN_FDS = Heading("process_open_fds", "gauge", "Number of open file descriptors.")
PEAK = Heading("process_resident_memory_peak_bytes", "gauge", "Peak resident memory size.", (), "bytes")
STARTED = Heading("process_start_time_seconds", "gauge", "Unix timestamp of the start of the process.", (), "seconds")
MAX_FDS = Heading("process_max_fds", "gauge", "Maximum number of open file descriptors.")

OF_RECORDER = (RECORDED, RECORDED_FRAMES, RECORDED_LOST, RECORDED_SIZE, RECORDED_CAPTURES)
OF_OTLP = (OTLP, OTLP_PUSHED, OTLP_FAILED)
OF_SOURCES = (
    BUILD, FRAME, TOOK, LATE, ERRED, RELOADED, OUTCOME, RUNNING, DROPPED, ENABLED, APPLICABLE, SUCCESS, STALE,
    DURATION, INTERVAL, SUCCEEDED, ERRORS, *OF_RECORDER,
    *OF_OTLP,
)  # fmt: skip
OF_PROCESS = (CPU, RESIDENT, VIRTUAL, PEAK, STARTED, OPEN_FDS, MAX_FDS)

_START = time.time()


class Health(Struct):
    """Counters that span more than one snapshot."""

    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    durations: dict[str, float] = field(default_factory=dict)
    succeeded: dict[str, float] = field(default_factory=dict)
    evaluated: dict[str, float] = field(default_factory=dict)
    lasted: dict[tuple[str, str, Severity], float] = field(default_factory=dict)
    """Seconds by rule, subject and severity; the most recent ones are last."""
    since: dict[str, float] = field(default_factory=dict)
    """Unix timestamp of the beginning of each active finding, by its ID."""
    _runs: dict[str, Run] = field(default_factory=dict)
    _before: float | None = None

    def observe(self, look: Look, episodes: Mapping[str, Episode]) -> None:
        """Update the counters with the next frame; `episodes` are those of the active findings, by ID."""
        now = look.now
        for name, run in now.runs.items():
            known = self._runs.get(name)
            if run is known:
                continue
            if run.duration is not None:
                self.durations[name] = run.duration
            if run.ok and dated(run.taken):
                self.succeeded[name] = run.taken
            elif not run.ok and run.outcome in REASONS and not _same_hang(known, run):
                self.errors[name, REASONS[run.outcome]] += 1
        self._runs = dict(now.runs)
        seconds = 0.0 if self._before is None else max(0.0, now.monotonic - self._before)
        self._before = now.monotonic
        for kind in {(f.rule, label(f.subject), f.severity) for f in look.judgement.findings[:MOST_LASTED]}:
            self.lasted[kind] = self.lasted.pop(kind, 0.0) + seconds
        for kind in list(self.lasted)[: max(len(self.lasted) - MOST_LASTED, 0)]:
            del self.lasted[kind]
        begun = ((finding.id, episodes.get(finding.id)) for finding in look.judgement.findings)
        self.since = {
            key: since for key, episode in begun if episode is not None and dated(since := _since(episode, now))
        }
        for rule in looked(look.judgement) if look.held is None and dated(now.taken) else ():
            self.evaluated[rule] = now.taken


STEP = 5.0
"""Seconds by which the clock must have been set for a beginning to be stated by the new time."""


def _since(episode: Episode, now: Snapshot) -> float:
    """Return the beginning of a finding by the clock of the newest sample: one that was set is wrong about the past."""
    by_clock = float(round(now.taken - (now.monotonic - episode.began)))
    return episode.since if abs(by_clock - episode.since) < STEP or not dated(now.taken) else by_clock


def _same_hang(before: Run | None, run: Run) -> bool:
    return before is not None and before.outcome is run.outcome is Outcome.TIMEOUT and before.started == run.started


def looked(judgement: Judgement) -> frozenset[str]:
    """Return the rules that ran."""
    return frozenset(judgement.ran)


def of_sources(
    shot: Snapshot,
    enabled: Sequence[Collector],
    now: float,
    dropped: Counter[str],
    fresh: Container[str],
    *,
    full: bool,
) -> Iterator[Told]:
    """Yield the build and the outcome of each collector that applies; `fresh`: those whose readings are shown.

    `now` is in monotonic seconds. Overdue runs and dropped series follow where there are any; if `full`, of all
    collectors.
    """
    yield BUILD, [({"version": sdstop.__version__, "python": platform.python_version()}, 1)]
    yield FRAME, [({}, shot.taken)] if dated(shot.taken) else []
    ran = [({"collector": c.name}, shot.runs[c.name]) for c in enabled if c.name in shot.runs]
    applied = [(by, run) for by, run in ran if run.outcome is not Outcome.ABSENT]
    yield OUTCOME, [({**by, "outcome": _word(run, fresh)}, 1) for by, run in applied]
    overdue = [(by, max(0.0, now - run.started) if _hangs(run) else 0.0) for by, run in ran]
    yield RUNNING, [(by, seconds) for by, seconds in overdue if full or seconds]
    yield DROPPED, [({"collector": c.name}, dropped[c.name]) for c in enabled if full or dropped[c.name]]


def of_runs(
    health: Health, shot: Snapshot, enabled: Sequence[Collector], known: Sequence[Collector],
    interval: float, fresh: Container[str],
) -> Iterator[Told]:  # fmt: skip
    """Yield the counters and times of each collector, and which of those known are enabled."""
    runs, names = shot.runs, [collector.name for collector in enabled]
    on = set(names)
    others = [collector for collector in known if collector.name not in on]
    yield ENABLED, [({"collector": c.name}, int(c.name in on)) for c in (*enabled, *others)]
    ran = [({"collector": name}, runs[name]) for name in names if name in runs]
    yield APPLICABLE, [(by, int(run.outcome is not Outcome.ABSENT)) for by, run in ran]
    yield SUCCESS, [(by, int(run.outcome in {Outcome.OK, Outcome.ABSENT})) for by, run in ran]
    yield STALE, [(by, int(run.collector not in fresh)) for by, run in ran if run.outcome is not Outcome.ABSENT]
    yield DURATION, [(by, health.durations[run.collector]) for by, run in ran if run.collector in health.durations]
    yield INTERVAL, [({"collector": c.name}, max(c.longest_at_rest, interval)) for c in enabled]
    yield SUCCEEDED, [(by, health.succeeded[run.collector]) for by, run in ran if run.collector in health.succeeded]
    reasons = REASONS.values()
    yield ERRORS, [({"collector": n, "reason": r}, health.errors[n, r]) for n in names for r in reasons]


def of_recorder(state: RecorderState) -> Iterator[Told]:
    """Yield the state of a recorder."""
    yield RECORDED, [({}, int(not state.trouble))]
    yield RECORDED_FRAMES, [({}, state.frames)]
    yield RECORDED_LOST, [({}, state.lost)]
    yield RECORDED_SIZE, [({}, state.size)]
    yield RECORDED_CAPTURES, [({}, state.captures)]


def of_otlp(state: OtlpState) -> Iterator[Told]:
    """Yield the state of pushes by OTLP."""
    yield OTLP, [({}, int(state.success))]
    yield OTLP_PUSHED, [({}, state.pushed)]
    yield OTLP_FAILED, [({}, state.failed)]


def _word(run: Run, fresh: Container[str]) -> str:
    return "stale" if run.ok and run.collector not in fresh else run.word


def _hangs(run: Run) -> bool:
    return run.outcome is Outcome.TIMEOUT and run.duration is None


def of_process() -> Iterator[Told]:
    """Yield the resource use of this process, which is not part of the monitored node's metrics."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield CPU, [({}, usage.ru_utime + usage.ru_stime)]
    sizes = _sizes()
    yield RESIDENT, [({}, sizes[1])] if sizes else []
    yield VIRTUAL, [({}, sizes[0])] if sizes else []
    yield PEAK, [({}, max(usage.ru_maxrss * 1024, *(sizes or (0, 0))[1:]))]  # the kernel updates it now and then
    yield STARTED, [({}, _START)]
    with contextlib.suppress(OSError):
        yield OPEN_FDS, [({}, len(os.listdir("/proc/self/fd")) - 1)]  # noqa: PTH208  # all but the one of the listing
    yield MAX_FDS, [({}, float("inf") if files == resource.RLIM_INFINITY else files)]


def _sizes() -> tuple[int, int] | None:
    """Return the virtual and resident size of this process in bytes; None if the system has none.

    The first numbers of /proc/self/statm, in pages: `9213 3120 1893 1 0 4401 0`.
    """
    try:
        virtual, resident, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return int(virtual) * resource.getpagesize(), int(resident) * resource.getpagesize()
