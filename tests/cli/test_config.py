"""The config file: every threshold can be set, every mistake is one line."""

from pathlib import Path

import pytest

from sdstop.cli.config import load
from sdstop.cli.settings import Config
from sdstop.core.config_error import ConfigError
from sdstop.core.finding import Severity
from sdstop.core.rule import Rule, Threshold

RULES = (Rule("too-hot", "s", Severity.WARNING, lambda _window, _limits: (), (), (Threshold("degrees", 40.0, "h"),)),)


def loaded(tmp_path: Path, text: str) -> Config:
    file = tmp_path / "sdstop.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    return load([file], RULES)


def test_no_file_means_defaults() -> None:
    assert load([], RULES) == Config()


def test_thresholds_and_interval(tmp_path: Path) -> None:
    config = loaded(tmp_path, "[rules.too-hot]\ndegrees = 50\n[sampler]\ninterval = 2.5\n")
    assert config.thresholds == {"too-hot": {"degrees": 50.0}}
    assert config.interval == 2.5
    assert RULES[0].limits(config.thresholds["too-hot"]) == {"degrees": 50.0}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[rules.too-cold]\nx=1", r"rules.too-cold: unknown rule; did you mean too-hot\?"),
        ("[rules.raid]\nx=1", r"rules.raid: unknown rule; see `sdstop rules`"),
        ("[rules.too-hot]\nkelvin=1", "rules.too-hot.kelvin: unknown threshold; valid: degrees"),
        ("[rules.too-hot]\ndegree=1", r"rules.too-hot.degree: unknown threshold; did you mean degrees\?"),
        ("[rules.too-hot]\ndegrees='hot'", "rules.too-hot.degrees: expected a number from 0 to 1e18, got text"),
        ("[rules.too-hot]\ndegrees=true", "degrees: expected a number from 0 to 1e18, got true or false"),
        ("[rules.too-hot]\ndegrees=nan", "rules.too-hot.degrees: expected a number from 0 to 1e18$"),
        ("[rules.too-hot]\ndegrees=inf", "from 0 to 1e18"),
        ("[rules.too-hot]\ndegrees=-inf", "from 0 to 1e18"),
        ("[rules.too-hot]\ndegrees=-1", "from 0 to 1e18"),
        (f"[rules.too-hot]\ndegrees=1{'0' * 400}", "from 0 to 1e18"),
        ("[rules.a]\nx=1\ny=2\n[rules.too-hot]\ndegrees=1\nx='a'", "rules.a: unknown rule"),
        ("[rules.too-hot]\ndegrees=1\nx='a'", "rules.too-hot.x: unknown threshold; valid: degrees"),
        ("[rules.too-hot]\nenable=false", r"rules.too-hot.enable: unknown setting; did you mean enabled\?"),
        ("[rules.too-hot]\nseverty='info'", r"rules.too-hot.severty: unknown setting; did you mean severity\?"),
        ("[rules]\ntoo-hot=1", "rules.too-hot: expected a table, got a whole number"),
        ("rules=1", "rules: expected a table"),
        ("[sampler]\ninterval=0", "0.1 to 3600"),
        ("[sampler]\ninterval='1s'", "sampler.interval: expected seconds from 0.1 to 3600, got text"),
        ("[sampler]\ninterval=nan", "sampler.interval: expected seconds from 0.1 to 3600"),
        ("[sampler]\ninterval=-1", "0.1 to 3600"),
        ("[sampler]\nintervall=2", r"sampler.intervall: unknown setting; did you mean interval\?"),
        ("[sampler]\nsmp=0", "sampler.smp: expected true or false, got a whole number"),
        ("sampler=2", "sampler: expected a table, got a whole number"),
        ("export=2", "export: expected a table"),
        ("powerflex=2", "powerflex: expected a table"),
        ("[nonsense]", "nonsense: unknown setting; valid: accept, export, powerflex, record, rules, sampler"),
        ("interval=2", r"interval: unknown setting; did you mean sampler.interval\?"),
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
        load([tmp_path / "none.toml"], RULES)
