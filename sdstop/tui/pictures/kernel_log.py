"""Kernel log: the messages that a finding is about, and those around them."""

from __future__ import annotations

from sdstop.core.finding import Finding
from sdstop.core.format import plural
from sdstop.tui.pictures import Picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.kernel_log import accused_lines, log_messages

_MOST = 14
"""Maximum lines, so that other panes get some."""


def log_picture(finding: Finding, scene: Scene) -> Picture | None:
    """Return the messages of the kernel's log around those of a finding, None if none is about it."""
    known = log_messages(scene)
    told = [each for each in known if each.is_about(finding.subjects)]
    if not told:
        return None
    count = sum(each.count for each in told)
    name = scene.palette.word(finding.subject, 40)
    most = max(min(len(known), _MOST), 2)
    whole = min(len(told) + 1, most)
    return Picture(
        f"Kernel log: {plural(count, 'message')} about {name}",
        lambda width, height: accused_lines(finding, scene, width, height),
        tuple(range(2, most + 1)), whole=whole,
    )  # fmt: skip
