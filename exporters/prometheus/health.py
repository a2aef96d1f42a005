"""Metrics about the exporter itself, its sources and the rules, counted over all frames."""

from __future__ import annotations

import platform
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence

from msgspec import Struct, field

import sdstop
from sdstop.core.collector import Collector
from sdstop.core.diagnosis import Judgement
from sdstop.core.evidence import Outcome, dated
from sdstop.core.finding import Rule, Severity
from sdstop.core.session import Look
from sdstop.core.snapshot import Run, Snapshot
from sdstop.exporters.prometheus.exposition import Heading, Sample, label

MOST_FINDINGS = 100
"""Maximum findings exported individually, worst first."""

REASONS = {
    Outcome.TIMEOUT: "timeout", Outcome.DENIED: "permission", Outcome.FAILED: "failed", Outcome.UNREAD: "unread",
}  # fmt: skip

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
    "Collection interval; +Inf if the collector runs only on change.", _BY, "seconds",
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

FINDINGS = Heading(
    "sdstop_findings", "gauge", "Active findings; absent if the rule could not be checked.", ("rule", "severity")
)
ACTIVE = Heading(
    "sdstop_finding_active", "gauge", f"Active findings (the {MOST_FINDINGS} most severe); the value is always 1.",
    ("rule", "severity", "subject"),
)  # fmt: skip
HIDDEN = Heading("sdstop_findings_dropped", "gauge", "Active findings omitted from sdstop_finding_active.")
LASTED = Heading(
    "sdstop_finding_seconds_total", "counter",
    "Time with an active finding of the rule, accumulated independently of scrapes.",
    ("rule", "severity"), "seconds",
)  # fmt: skip
EVALUATED = Heading(
    "sdstop_rule_evaluated_timestamp_seconds", "gauge", "Unix timestamp of the last evaluation of the rule.", ("rule",)
)
UNCHECKED = Heading(
    "sdstop_rule_unchecked", "gauge", "Number of applicable subjects that the rule could not check.", ("rule",)
)

CPU = Heading(
    "process_cpu_seconds_total",
    "counter",
    "Total user and system CPU time of the exporter process, excluding the sampler.",
    (),
    "seconds",
)
PEAK = Heading("process_resident_memory_peak_bytes", "gauge", "Peak resident memory size.", (), "bytes")
STARTED = Heading("process_start_time_seconds", "gauge", "Unix timestamp of the start of the process.", (), "seconds")
MAX_FDS = Heading("process_max_fds", "gauge", "Maximum number of open file descriptors.")

OF_SOURCES = (
    BUILD, FRAME, TOOK, LATE, ERRED, RELOADED, ENABLED, APPLICABLE, SUCCESS, STALE, DURATION, RUNNING, INTERVAL,
    SUCCEEDED, ERRORS, DROPPED,
)  # fmt: skip
OF_RULES = (FINDINGS, ACTIVE, HIDDEN, LASTED, EVALUATED, UNCHECKED)
OF_PROCESS = (CPU, PEAK, STARTED, MAX_FDS)

_START = time.time()

Told = tuple[Heading, list[Sample]]


class Health(Struct):
    """Counters that span more than one snapshot."""

    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    durations: dict[str, float] = field(default_factory=dict)
    succeeded: dict[str, float] = field(default_factory=dict)
    evaluated: dict[str, float] = field(default_factory=dict)
    lasted: defaultdict[tuple[str, Severity], float] = field(default_factory=lambda: defaultdict(float))
    _runs: dict[str, Run] = field(default_factory=dict)
    _before: float | None = None

    def observe(self, look: Look) -> None:
        """Update the counters with the next frame."""
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
        for kind in {(finding.rule, finding.severity) for finding in look.judgement.findings}:
            self.lasted[kind] += seconds
        for rule in looked(look.judgement) if dated(now.taken) else ():
            self.evaluated[rule] = now.taken


def _same_hang(before: Run | None, run: Run) -> bool:
    return before is not None and before.outcome is run.outcome is Outcome.TIMEOUT and before.started == run.started


def looked(judgement: Judgement) -> frozenset[str]:
    """Return the rules that ran."""
    return frozenset(judgement.ran)


def of_sources(
    health: Health, shot: Snapshot, enabled: Sequence[Collector], known: Sequence[Collector],
    interval: float, now: float, dropped: Counter[str], fresh: Container[str],
) -> Iterator[Told]:  # fmt: skip
    """Yield build and collector metrics. `now`: monotonic seconds; `fresh`: collectors whose readings are shown."""
    runs, names = shot.runs, [collector.name for collector in enabled]
    yield BUILD, [({"version": sdstop.__version__, "python": platform.python_version()}, 1)]
    yield FRAME, [({}, shot.taken)] if dated(shot.taken) else []
    on = set(names)
    yield (
        ENABLED,
        [({"collector": c.name}, int(c.name in on)) for c in (*enabled, *(k for k in known if k.name not in on))],
    )
    ran = [({"collector": name}, runs[name]) for name in names if name in runs]
    yield APPLICABLE, [(by, int(run.outcome is not Outcome.ABSENT)) for by, run in ran]
    yield SUCCESS, [(by, int(run.outcome in {Outcome.OK, Outcome.ABSENT})) for by, run in ran]
    yield STALE, [(by, int(run.collector not in fresh)) for by, run in ran if run.outcome is not Outcome.ABSENT]
    yield DURATION, [(by, health.durations[run.collector]) for by, run in ran if run.collector in health.durations]
    yield RUNNING, [(by, max(0.0, now - run.started) if _hangs(run) else 0.0) for by, run in ran]
    yield INTERVAL, [({"collector": c.name}, max(c.pace, interval)) for c in enabled]
    yield SUCCEEDED, [(by, health.succeeded[run.collector]) for by, run in ran if run.collector in health.succeeded]
    reasons = REASONS.values()
    yield ERRORS, [({"collector": n, "reason": r}, health.errors[n, r]) for n in names for r in reasons]
    yield DROPPED, [({"collector": name}, dropped[name]) for name in names]


def _hangs(run: Run) -> bool:
    return run.outcome is Outcome.TIMEOUT and run.duration is None


def of_rules(health: Health, judgement: Judgement, rules: Sequence[Rule]) -> Iterator[Told]:
    """Yield the finding metrics, 0 for each rule that ran without a finding."""
    judged = looked(judgement)
    count = Counter((finding.rule, finding.severity) for finding in judgement.findings)
    kinds = [(r, s) for r in rules if r.id in judged for s in Severity if s.rank <= r.worst.rank or count[r.id, s]]
    yield FINDINGS, [({"rule": r.id, "severity": s.value}, count[r.id, s]) for r, s in kinds]
    subjects = {(f.rule, f.severity.value, label(f.subject)): None for f in judgement.findings}
    shown = list(subjects)[:MOST_FINDINGS]
    yield ACTIVE, [({"rule": r, "severity": s, "subject": subject}, 1) for r, s, subject in shown]
    yield HIDDEN, [({}, len(judgement.findings) - len(shown))]
    lasted = {**{(r.id, s): 0.0 for r, s in kinds}, **health.lasted}
    yield LASTED, [({"rule": rule, "severity": s.value}, seconds) for (rule, s), seconds in sorted(lasted.items())]
    yield EVALUATED, [({"rule": rule}, taken) for rule, taken in sorted(health.evaluated.items())]
    helpless = Counter[str]()
    for verdict in judgement.unchecked:
        if not verdict.calm:
            helpless[verdict.rule] += max(len(verdict.subjects), 1)
    concerned = sorted(judged | set(helpless))
    yield UNCHECKED, [({"rule": rule}, helpless[rule]) for rule in concerned]


def of_process() -> Iterator[Told]:
    """Yield the resource use of this process, which is not part of the monitored node's metrics."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield CPU, [({}, usage.ru_utime + usage.ru_stime)]
    yield PEAK, [({}, usage.ru_maxrss * 1024)]
    yield STARTED, [({}, _START)]
    yield MAX_FDS, [({}, float("inf") if files == resource.RLIM_INFINITY else files)]
