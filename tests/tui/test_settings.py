"""Settings of the dashboard, and the columns that it remembers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sdstop.cli.command import execute
from sdstop.core.config_error import ConfigError
from sdstop.tui.settings import UiSettings, found_files, remember_columns, remembered_columns, ui_settings
from tests.cli.run import one_line


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_later_files_override_earlier_ones_key_by_key(tmp_path: Path) -> None:
    first = written(tmp_path, "a.toml", '[ui]\ntime = "utc"\nmouse = false\n[rules.x]\nnot = "checked here"\n')
    second = written(tmp_path, "b.toml", '[ui]\nmouse = true\ninterval = 2\ncolumns = {disks = ["aqu"]}\n')
    assert ui_settings([]) == UiSettings()
    assert ui_settings([first, second]) == UiSettings(time="utc", mouse=True, interval=2.0, columns={"disks": ["aqu"]})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('time = "berlin"', "ui.time: expected one of local, node, utc"),
        ("interval = 0", "ui.interval: expected seconds from 0.1 to 3600"),
        ("mous = true", "ui.mous: unknown setting; did you mean mouse?"),
        ("mouse = 1", "ui.mouse: expected true or false"),
        ('graph = "load"', "ui.graph: expected one of latency, requests, throughput"),
        ('columns = ["aqu"]', "ui.columns: expected a table"),
    ],
)
def test_errors_name_the_file_and_the_setting(text: str, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, "c.toml", f"[ui]\n{text}\n")
    with pytest.raises(ConfigError, match=r"c\.toml: ") as raised:
        ui_settings([path])
    assert complaint in str(raised.value)


def test_files_are_found_without_being_named(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert tmp_path / "sdstop/config.toml" not in found_files(environment)
    path = written(tmp_path, "sdstop/config.toml", "[ui]\n")
    assert path in found_files(environment)
    assert path in found_files({"HOME": str(tmp_path)}) or not (tmp_path / ".config").exists()


def test_a_mistake_in_a_found_file_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = written(tmp_path, "sdstop/config.toml", "[ui]\ntheme = 3\n")
    assert execute(["report", "--from", "fixtures/clone-convoy"]) == 2
    assert one_line(capsys.readouterr().err).startswith(f"sdstop: {path}: ui.theme: expected one of auto, dark,")


def test_chosen_columns_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert remembered_columns() == {}
    chosen = {"disks": ["device", "queue"], 'odd "name"': ["µs"]}
    assert remember_columns(chosen) == ""
    assert remembered_columns() == chosen
    (tmp_path / "state/sdstop/columns.toml").write_text("columns = 3")
    assert remembered_columns() == {}


def test_columns_that_cannot_be_remembered_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert remember_columns({"disks": []}) == "Not a directory"


def test_the_documented_settings_are_all_and_valid(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/dashboard.md").read_text()
    example = page.partition("```toml\n")[2].partition("```")[0]
    assert ui_settings([written(tmp_path, "example.toml", example)]).columns["disks"][0] == "DEVICE"
    assert set(tomllib.loads(example)["ui"]) == set(UiSettings.__struct_fields__)
