"""The config file: every threshold can be set, every mistake is one line."""

from pathlib import Path

import pytest

from sdstop.config import Config, ConfigError, load
from sdstop.core.finding import Rule, Severity, Threshold

RULES = (Rule("too-hot", "s", Severity.WARNING, lambda _window, _limits: (), (), (Threshold("degrees", 40.0, "h"),)),)


def loaded(tmp_path: Path, text: str) -> Config:
    file = tmp_path / "sdstop.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    return load(file, RULES)


def test_no_file_means_defaults() -> None:
    assert load(None, RULES) == Config()


def test_thresholds_and_interval(tmp_path: Path) -> None:
    config = loaded(tmp_path, "[rules.too-hot]\ndegrees = 50\n[sampler]\ninterval = 2.5\n")
    assert config.thresholds == {"too-hot": {"degrees": 50.0}}
    assert config.interval == 2.5
    assert RULES[0].limits(config.thresholds["too-hot"]) == {"degrees": 50.0}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[rules.too-cold]\nx=1", "no such rule"),
        ("[rules.too-hot]\nkelvin=1", "rules.too-hot.kelvin: there is no such threshold; too-hot has degrees"),
        ("[rules.too-hot]\ndegrees='hot'", "must be a number"),
        ("[rules.too-hot]\ndegrees=true", "must be a number"),
        ("[rules.too-hot]\ndegrees=nan", "rules.too-hot.degrees must be a number from 0 to 1e18"),
        ("[rules.too-hot]\ndegrees=inf", "from 0 to 1e18"),
        ("[rules.too-hot]\ndegrees=-inf", "from 0 to 1e18"),
        ("[rules.too-hot]\ndegrees=-1", "from 0 to 1e18"),
        (f"[rules.too-hot]\ndegrees=1{'0' * 400}", "from 0 to 1e18"),
        ("[rules]\ntoo-hot=1", "must be a table"),
        ("rules=1", "must be a table"),
        ("[sampler]\ninterval=0", "0.1 to 3600"),
        ("[sampler]\ninterval=nan", "sampler.interval must be seconds from 0.1 to 3600"),
        ("[sampler]\ninterval=-1", "0.1 to 3600"),
        ("[sampler]\nintervall=2", "sampler.intervall: there is no such setting"),
        ("[sampler]\nsmp=0", "sampler.smp must be true or false"),
        ("sampler=2", r"\[sampler\] must be a table"),
        ("export=2", r"\[export\] must be a table"),
        ("[nonsense]", r"\[nonsense\] is no section"),
        ("interval=2", "interval stands in no section"),
        ("[[[", "sdstop.toml"),
        ("\udcff", "sdstop.toml"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        loaded(tmp_path, text)
    assert "sdstop.toml: " in str(caught.value)
    assert "\n" not in str(caught.value) or says == "sdstop.toml"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "none.toml", RULES)
