"""Metrics of all frames of a capture as OpenMetrics with timestamps, for `promtool tsdb create-blocks-from`.

    # TYPE sdstop_disk_reads counter
    sdstop_disk_reads_total{device="sda",instance="node1",job="sdstop"} 221540 1767225600.0

All samples of a metric are together, as OpenMetrics demands. Undated frames have no place in a time series, and neither
have those of a clock that was set back; both are counted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Self

from sdstop.core.evidence import Frame, dated
from sdstop.exporters.prometheus.exposition import Heading, labeled, number
from sdstop.exporters.prometheus.metrics import Exposition

UP = Heading("up", "gauge", "Whether the node was sampled; the value is always 1.")
_SPOOL = 1 << 20
"""Bytes of a metric that are kept in memory."""


class Backfill:
    """Samples by metric, over frames."""

    def __init__(self, exposition: Exposition, labels: Mapping[str, str]) -> None:
        """Start before the first frame; `labels`, such as job and instance, are added to each sample."""
        self.skipped = 0
        """Frames without a place in a time series."""
        self.samples = 0
        self._exposition = exposition
        self._labels = dict(labels)
        self._last = -1.0
        self._files: dict[Heading, IO[bytes]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Keep large metrics in temporary files."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove them."""
        self._stack.close()

    def feed(self, frame: Frame) -> None:
        """Add the samples of a frame."""
        self._exposition.feed(frame)
        if not dated(frame.taken) or frame.taken <= self._last:
            self.skipped += 1
            return
        self._last = frame.taken
        self._add(UP, [({}, 1.0)], frame.taken)
        for heading, samples in self._exposition.shown():
            self._add(heading, samples, frame.taken)

    def _add(self, heading: Heading, samples: Iterable[tuple[Mapping[str, str], float]], taken: float) -> None:
        if heading not in self._files:
            self._files[heading] = self._stack.enter_context(tempfile.SpooledTemporaryFile(_SPOOL))  # noqa: SIM115
        name = f"{heading.name}_bucket" if heading.type == "histogram" else heading.name
        end = f" {taken!r}\n"
        lines = [f"{name}{labeled({**self._labels, **labels})} {number(value)}{end}" for labels, value in samples]
        self.samples += len(lines)
        self._files[heading].write("".join(lines).encode())

    def pieces(self) -> Iterator[bytes]:
        """Yield the document: each metric with its heading, then the end mark."""
        for heading, file in self._files.items():
            yield heading.openmetrics().encode()
            file.seek(0)
            while part := file.read(_SPOOL):
                yield part
        yield b"# EOF\n"
