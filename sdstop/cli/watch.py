"""Watch of one node: its frames, live or recorded, and the sessions that judge them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Self

from sdstop.cli.problem import Problem
from sdstop.cli.settings import Config
from sdstop.core.collector import Collector
from sdstop.core.evidence import Frame, Origin
from sdstop.core.format import safe

if TYPE_CHECKING:
    from sdstop.core.history import Window
    from sdstop.core.judgement import Judgement
    from sdstop.core.rule import Rule
    from sdstop.core.session import Look, Session
    from sdstop.core.timeline import Timeline
    from sdstop.exporters.local.attached import AttachedFrames
    from sdstop.node.tracing import SizeCounting
    from sdstop.redaction.redactor import Redactor
    from sdstop.sampler import Sampler

PATIENCE = 10.0
"""Maximum seconds to wait for the first answer of slow sources."""
PATIENT = frozenset({"tasks-stuck", "io-stalled", "device-hung", "volume-suspended"})
"""Rules about things that do not move and that wait longer than a live check lasts."""
HELD = 15.0
"""Seconds of frames held back for redaction; by then every source has reported its names once."""


class Watch:
    """Frames of one node. Context manager that ends the sampler."""

    def __init__(
        self, origin: Origin, collectors: Sequence[Collector], config: Config, interval: float,
        sampler: Sampler | AttachedFrames | None = None, recorded: Timeline | None = None,
        counting: SizeCounting | None = None,
    ) -> None:  # fmt: skip
        """Use a started sampler and its kernel counting, or the frames of a capture or recording."""
        self.origin = origin
        self.collectors = tuple(collectors)
        self.config = config
        self.interval = interval
        self.sampler = sampler
        self.redactor: Redactor | None = None
        self.recorded = recorded
        self._counting = counting
        self._held: list[Frame] = []
        self._streams = False
        self.nodes: tuple[Watch, ...] = ()
        """Watches of all nodes, if it is of a text of several."""

    def redact(self, redactor: Redactor) -> None:
        """Replace names in the origin and in all following frames."""
        self.redactor = redactor
        redactor.learn_origin(self.origin)
        for frame in self._recorded_frames():
            redactor.learn(frame)
        self.origin = redactor.origin(self.origin)

    @property
    def live(self) -> Sampler:
        """The sampler of a live watch. Raises TypeError for a capture, and for the frames of an exporter."""
        from sdstop.sampler import Sampler

        if not isinstance(self.sampler, Sampler):
            raise TypeError("not a watch with a sampler of its own")
        return self.sampler

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sampler, then the kernel counting, if running."""
        if self.sampler is not None:
            self.sampler.close()
        if self._counting is not None:
            self._counting.close()
        if self.recorded is not None:
            self.recorded.close()

    def session(self, remember: float | None = 0.0, rules: Sequence[Rule] | None = None) -> Session:
        """Return a new session that keeps `remember` seconds of frames (None: all)."""
        from sdstop.core.opened_timeline import OpenedTimeline
        from sdstop.core.session import Session
        from sdstop.core.timeline import RING_SECONDS
        from sdstop.rules import RULES  # imported after forking the sampler, which samples in parallel

        judges = RULES if rules is None else rules
        config = self.config
        whole = self.recorded if remember is None and self.redactor is None else None
        if remember is None and self.redactor is not None and not isinstance(self.recorded, OpenedTimeline):
            remember = RING_SECONDS  # days of redacted frames do not fit into memory
        return Session(
            self.origin, self.collectors, judges, config.thresholds, remember=remember, policy=config.policy,
            timeline=whole,
        )  # fmt: skip

    @property
    def frames_kept(self) -> float | None:
        """Seconds of frames kept for reports that quote evidence (None: all, already in memory)."""
        from sdstop.core.timeline import RING_SECONDS

        return None if self.sampler is None else RING_SECONDS

    def judge(self, window: Window, watched: float = math.inf) -> Judgement:
        """Return the judgement of a single window; `watched` is the number of seconds that a live check lasts.

        Rules about things that do not move need no more than that, and state the time that they used.
        """
        from sdstop.core.judgement import judge
        from sdstop.rules import RULES

        configured = {rule: dict(limits) for rule, limits in self.config.thresholds.items()}
        for rule in RULES:
            if self.sampler is not None and rule.id in PATIENT:
                known = configured.setdefault(rule.id, {})
                known["seconds"] = min(rule.limits(known)["seconds"], watched)
        return judge(window, RULES, configured, policy=self.config.policy)

    def frames(self, seconds: float, enough: Callable[[], bool] = lambda: True) -> Iterator[Frame]:
        """Yield all frames of a capture, or live frames for `seconds` and further ones until `enough` returns true.

        Raises Problem without frames.
        """
        if self.redactor is None:
            yield from self._plain(seconds, enough)
            return
        for frame in self._plain(seconds, enough):
            if self.sampler is not None:
                self.redactor.learn(frame)
            self._held.append(frame)
            if self.sampler is None or frame.monotonic - self._held[0].monotonic >= HELD or self._streams:
                self._streams = True
                yield from self.held_back()
        yield from self.held_back()

    def _recorded_frames(self) -> Iterator[Frame]:
        if self.recorded is not None:
            yield from map(self.recorded.frame, range(len(self.recorded.frames)))

    def held_back(self) -> Iterator[Frame]:
        """Yield and remove the frames held back for redaction, redacted."""
        held, self._held = self._held, []
        for frame in held:
            yield self.redactor.frame(frame) if self.redactor is not None else frame

    def _plain(self, seconds: float, enough: Callable[[], bool]) -> Iterator[Frame]:
        if self.sampler is None:
            yield from self._recorded_frames()
            return
        start: float | None = None
        for frame in self.sampler.frames(max(seconds, PATIENCE)):
            start = frame.monotonic if start is None else start
            yield frame
            if frame.monotonic - start >= seconds - self.interval / 2 and enough():
                return
        if start is None:
            why = self.sampler.trouble or "the sampler returned no data"
            raise Problem(f"no data sampled: {safe(why, 500)}")


def watched(
    watch: Watch,
    session: Session,
    seconds: float,
    progress: Callable[[float], None] = lambda _: None,
    noted: Callable[[Look], None] = lambda _: None,
) -> None:
    """Feed a session for `seconds`; `progress` gets the elapsed seconds, `noted` the result of each frame."""
    start: float | None = None
    for frame in watch.frames(seconds):
        start = frame.monotonic if start is None else start
        progress(frame.monotonic - start)
        noted(session.feed(frame))
