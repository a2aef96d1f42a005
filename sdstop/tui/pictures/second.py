"""Second pictures: the traffic, latency or evidence below the picture that proves a finding, on a roomy screen."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sdstop.analysis.disks.likeness import DeviceFold
from sdstop.collectors.network.readings import InterfaceActivity
from sdstop.core.finding import Finding
from sdstop.tui.pictures import Picture
from sdstop.tui.pictures.passed import remaining_picture, stacked
from sdstop.tui.pictures.traffic import load_picture, network_picture, wait_picture
from sdstop.tui.scene import Scene
from sdstop.tui.views.plan import Needs, Plan

_SPARE = 4
"""Empty lines of a pane beyond which more is shown."""


def second_picture(
    finding: Finding | None, picture: Picture | None, folds: Sequence[DeviceFold], scene: Scene, *, passed: bool
) -> Picture | None:
    """Return the second picture of a roomy screen: the traffic of a network, or the latency of devices in use.

    Where a finding is about something else than idle devices, its evidence and disproof are shown instead.
    """
    found = None
    carried = any(row.rx_bytes_per_second or row.tx_bytes_per_second for row in _interfaces(scene))
    if finding is not None and finding.view == "network" and carried:
        found = network_picture(finding, scene)
        found = found if found is not None and (picture is None or found.title != picture.title) else None
    named = set(finding.subjects) if finding is not None else set()
    used = any((fold.figures.busy or 0.0) >= _IDLE or fold.devices[0].name in named for fold in folds)
    if found is None and finding is not None and picture is not None and folds and not used:
        return remaining_picture(finding, picture, scene, passed=passed)
    found = found or wait_picture(scene, finding) or load_picture(finding, scene)
    return found if picture is None or found is None or found.title != picture.title else None


def _interfaces(scene: Scene) -> list[InterfaceActivity]:
    return [row for row in scene.rows(InterfaceActivity)[0].values() if row.interface != "lo"]


_IDLE = 0.05
"""Share of time below which devices are idle: their latency explains nothing."""


def filled(needs: Needs, plan: Plan, finding: Finding | None, scene: Scene, *, passed: bool) -> Needs:
    """Return the needs with more below, or as a second picture, if much of a pane would stay empty."""
    first, second = needs.picture, needs.second
    empty = plan.devices - 2 - needs.devices
    if second is not None:
        if first is None or not plan.second or empty <= _SPARE:
            return needs
        rest = remaining_picture(finding, first, scene, passed=passed)
        return needs if rest is None or rest.title == second.title else replace(needs, second=stacked(second, rest))
    if empty > _SPARE and finding is not None:
        found = load_picture(finding, scene)
        found = found if found is not None and (first is None or found.title != first.title) else None
    elif first is None or plan.devices or plan.picture - 1 - first.steps[-1] <= _SPARE:
        return needs
    else:
        found = remaining_picture(finding, first, scene, passed=passed)
    return needs if found is None else replace(needs, second=found, filling=True)
