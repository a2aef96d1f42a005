"""Every scenario on a real kernel; README.md says what that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vm import guest, scenario
from tests.vm.machine import build_site, run
from tests.vm.verdict import judge

pytestmark = [pytest.mark.vm, pytest.mark.needs(*guest.NEEDS)]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


def every() -> list[object]:
    loaded = [scenario.load(name) for name in scenario.names()]
    return [pytest.param(one, id=one.name, marks=[pytest.mark.core] if one.core else []) for one in loaded]


@pytest.mark.parametrize("one", every())
def test_a_scenario_is_judged_as_it_expects(one: scenario.Scenario, site: Path, tmp_path: Path) -> None:
    back = run(one, guest.prepare(zfs=one.zfs, packages=one.packages), site, tmp_path / one.name)
    assert judge(one, back) == []
