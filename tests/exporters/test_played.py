"""Playback of a capture: frames arrive at their own pace, and rates computed from scrapes are those of the node."""

from __future__ import annotations

import re
import signal
import time
import urllib.request
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from sdstop.cli.command import execute
from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Frame
from sdstop.core.session import Session
from sdstop.exporters.capture import CaptureWriter
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.exporters.web.played import PlayedFrames
from sdstop.fleet.client import PrometheusClient
from sdstop.fleet.http_config import HttpConfig
from sdstop.fleet.url import parse_url
from sdstop.readings.disk import DiskActivity
from sdstop.rules import RULES
from tests.cli.run import start
from tests.exporters.process import port_of
from tests.fixtures import FIXTURES, opened
from tests.fleet.engines import prometheus


def test_frames_arrive_when_they_are_due_and_the_source_ends() -> None:
    frames = [Frame(number, 100.0 + number, 50.0 + number * 0.1) for number in range(1, 5)]
    played = PlayedFrames(frames, linger=0.1)
    try:
        assert played.receive() == []
        begun = time.monotonic()
        played.start()
        came: list[tuple[int, float]] = []
        while played.alive:
            came += [(frame.number, time.monotonic() - begun) for frame in played.receive()]
            time.sleep(0.005)
        assert [number for number, _ in came] == [1, 2, 3, 4]
        assert all(at >= due - 0.001 for (_, at), due in zip(came, (0.0, 0.1, 0.2, 0.3), strict=True))
        assert time.monotonic() - begun >= 0.39
    finally:
        played.close()


def test_it_ends_at_once_when_closed() -> None:
    played = PlayedFrames([Frame(1, 0.0, 0.0), Frame(2, 3600.0, 3600.0)])
    played.start()
    begun = time.monotonic()
    played.close()
    played.close()
    assert time.monotonic() - begun < 1.0


def capture(tmp_path: Path) -> Path:
    """Write a story of one sample a second at one in half a second."""
    origin, frames = opened("aoe-flashcache-8700")
    path = tmp_path / "fast.tar.gz"
    with CaptureWriter(path, origin.name, collectors=origin.collectors) as writer:
        for number, frame in enumerate(frames[:12]):
            writer.add(replace(frame, monotonic=frames[0].monotonic + number * 0.5))
        writer.finish()
    return path


def written(page: str) -> float:
    found = re.search(r'^sdstop_disk_written_bytes_total\{device="dm-0"\} (\S+)$', page, re.MULTILINE)
    assert found
    return float(found[1])


def test_rates_of_scrapes_are_those_of_the_recording(tmp_path: Path) -> None:
    server = start("export", "--from", capture(tmp_path), "--play", "--listen", "127.0.0.1:0")
    try:
        url = f"http://127.0.0.1:{port_of(server)}/metrics"
        seen: dict[float, float] = {}
        end = time.monotonic() + 60
        while len(set(seen.values())) < 3 and time.monotonic() < end:  # a busy machine may miss some of the twelve
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    seen[time.monotonic()] = written(answer.read().decode())
            except OSError:
                pass  # not ready before the first frame
            time.sleep(0.1)
        values = list(dict.fromkeys(seen.values()))
        assert len(values) >= 3
        assert values == sorted(values)
        (first, *_, last), taken = values, list(seen)
        assert last > first
        assert taken[-1] - taken[0] >= 0.5  # not all at once
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=20)
    assert server.returncode == 0


def test_a_pause_of_the_recorder_is_a_gap_of_the_series() -> None:
    origin, frames = opened("quiet-node")
    later = [replace(each, monotonic=each.monotonic + 100.0) for each in frames[3:6]]
    played = PlayedFrames([*frames[:3], *later])
    try:
        assert played.interval == pytest.approx(1.0, abs=0.1)
        exposition = Exposition(Session(origin, BUILTIN, RULES), BUILTIN, interval=1.0)
        for frame in frames[:3]:
            exposition.feed(frame)
        for passed, ready in ((2.0, True), (16.0, True), (18.5, False), (90.0, False)):
            exposition.clock = partial(float, frames[0].monotonic + passed)
            assert exposition.ready is ready
        exposition.feed(later[0])
        exposition.clock = partial(float, frames[0].monotonic + 103.5)
        assert exposition.ready
        assert played.now() == frames[0].monotonic
    finally:
        played.close()


@pytest.mark.slow
@pytest.mark.needs("prometheus")
def test_a_real_prometheus_computes_the_rates_of_the_node(tmp_path: Path) -> None:
    origin, frames = opened("aoe-flashcache-8700")
    session = Session(origin, BUILTIN, ())
    known = [row.write_bytes_per_second for frame in frames
             if (row := session.feed(frame).now.get(DiskActivity, "dm-0")) is not None]  # fmt: skip
    server = start("export", "--from", FIXTURES / "aoe-flashcache-8700", "--play", "--listen", "127.0.0.1:0")
    job = "job_name: played, scrape_interval: 1s, scrape_timeout: 1s"
    try:
        with (
            prometheus(
                tmp_path, scrape=f"- {{{job}, static_configs: [{{targets: ['127.0.0.1:{port_of(server)}']}}]}}"
            ) as url,
            PrometheusClient(parse_url(url), HttpConfig()) as client,
        ):
            end = time.monotonic() + 60
            rate = 0.0
            while time.monotonic() < end and not min(known) <= rate <= max(known):
                time.sleep(1.0)
                found = client.query('rate(sdstop_disk_written_bytes_total{device="dm-0"}[15s])').series
                rate = float(found[0].value) if found else 0.0
            assert min(known) * 0.9 <= rate <= max(known) * 1.1
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=20)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "--play"], "cannot use --play without --from"),
        (["export", "--play", "--once", "--from", str(FIXTURES / "quiet-node")], "cannot use --play with --once"),
    ],
    ids=["live", "once"],
)
def test_it_plays_captures_only(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(words) == 2
    assert capsys.readouterr().err == f"sdstop: {said}\n"
