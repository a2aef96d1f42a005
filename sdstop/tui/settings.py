"""Settings of the dashboard: the `[ui]` table of a config file, and the columns remembered from the last run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from sdstop.core.config_error import ConfigError
from sdstop.core.output_file import OutputFile
from sdstop.core.settings import convert, in_file, read_text, read_toml
from sdstop.core.zone import TimeChoice


class UiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[ui]`: appearance of the dashboard, and the time zone of reports.

    `theme` "terminal" uses the terminal's own colors, "auto" those for its background; `ascii`, if not set, depends on
    the terminal; `time` is the zone of times; `interval` is the dashboard's sampling interval in seconds, if not that
    of `[sampler]`; `columns` are the headings shown in a table, by its name:
    `disks = ["DEVICE", "aqu", "await", "%util"]`; `graph` is the metric of the graph above the time axis.
    """

    theme: Literal["auto", "dark", "light", "terminal"] = "auto"
    mouse: bool = True
    ascii: bool | None = None
    time: TimeChoice = "node"
    interval: Annotated[float, msgspec.Meta(ge=0.1, le=3600, description="seconds from 0.1 to 3600")] | None = None
    graph: Literal["throughput", "requests", "latency"] = "throughput"
    columns: dict[str, list[str]] = {}


class _StoredSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    columns: dict[str, list[str]] = {}


def found_files(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the config files that are found without being named and are readable, the most general first."""
    return [path for path in config_places(environment) if os.access(path, os.R_OK)]


def unreadable_files() -> list[Path]:
    """Return the config files that exist and that this user must not read: their settings are not in effect."""
    return [path for path in config_places() if os.access(path, os.F_OK) and not os.access(path, os.R_OK)]


def config_places(environment: Mapping[str, str] = os.environ) -> tuple[Path, Path]:
    """Return the paths at which config files are found without being named, the most general first."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME") or "/nonexistent") / ".config")
    return Path("/etc/sdstop/config.toml"), Path(home) / "sdstop" / "config.toml"


def ui_settings(paths: Sequence[Path]) -> UiSettings:
    """Return the `[ui]` settings of files, of which later ones override earlier ones. Raises ConfigError."""
    merged: dict[str, object] = {}
    for path in paths:
        text = read_text(path)
        with in_file(path):
            given = read_toml(text).get("ui", {})
            convert(given, UiSettings, "ui")  # an error names the file that has it
            merged |= given
    return convert(merged, UiSettings, "ui")


def remembered_file() -> Path:
    """Return the file with the columns chosen in the dashboard."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path(os.environ.get("HOME") or "/nonexistent") / ".local/state")
    return Path(home) / "sdstop" / "columns.toml"


def remembered_columns() -> dict[str, list[str]]:
    """Return the columns chosen in the dashboard, by table; nothing if there are none or the file is damaged."""
    try:
        path = remembered_file()
        return convert(read_toml(read_text(path)), _StoredSettings).columns if path.exists() else {}
    except (ConfigError, OSError):
        return {}


def remember_columns(columns: Mapping[str, Sequence[str]]) -> str:
    """Write the chosen columns, by table, for the next run; return "" or a one-line error message."""
    path = remembered_file()
    lines = [f"{_key(table)} = {json.dumps(list(names), ensure_ascii=False)}" for table, names in columns.items()]
    text = "\n".join(
        ["# Columns chosen in the dashboard (key o). Delete the file to forget them.", "[columns]", *lines]
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with OutputFile(path, replace=True) as file:
            file.write(f"{text}\n".encode())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
