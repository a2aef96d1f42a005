"""contrib/prometheus/scrape: Prometheus takes the snippets as they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent.parent / "contrib" / "prometheus" / "scrape"


@pytest.mark.needs("promtool")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda path: path.name)
def test_prometheus_takes_it(path: Path, tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    copy = tmp_path / path.name
    text = copy.read_text()
    for name in ("sdstop.password", "sdstop-ca.pem", "sdstop-client.pem", "sdstop-client.key"):
        (tmp_path / name).write_text("")
        text = text.replace(f"/etc/prometheus/{name}", str(tmp_path / name))
    copy.write_text(text)
    argv = ["promtool", "check", "config", "--syntax-only", str(copy)]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
