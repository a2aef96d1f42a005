"""The policy in every output, in the files that are found without being named, and in captures."""

from __future__ import annotations

import json
import os
import re
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sdstop.capture.reader import open_capture
from sdstop.cli.choices import configured
from sdstop.cli.config import load
from sdstop.cli.export import reloading
from sdstop.cli.settings import Config
from sdstop.cli.watch import Watch
from sdstop.collectors import BUILTIN
from sdstop.core.config_error import ConfigError
from sdstop.core.evidence import Origin
from sdstop.core.finding import Severity
from sdstop.core.policy import Acceptance, Policy
from sdstop.core.session import Session
from sdstop.exporters.prometheus.metrics import Exposition
from sdstop.rules import EVERY, RULES
from tests.cli.run import executed
from tests.exporters.page import samples
from tests.fixtures import FIXTURES, opened
from tests.tui.screens import screen

ACCEPT = """
[[accept]]
rule = "mtu-misaligned"
subject = "eth1"
reason = "the switch is replaced in May"
until = 2027-05-31
"""


def loaded(tmp_path: Path, *texts: str) -> Config:
    files = [tmp_path / f"{number}.toml" for number, _ in enumerate(texts)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    return load(files, EVERY)


def session(config: Config) -> Session:
    origin, frames = opened("aoe-flashcache")
    found = Session(origin, BUILTIN, RULES, config.thresholds, policy=config.policy)
    found.feed_all(frames)
    return found


def test_check_names_what_is_accepted_and_is_ok(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(ACCEPT)
    plain = executed("check", "--from", FIXTURES / "aoe-flashcache")
    assert plain.returncode == 2
    said = executed("check", "--from", FIXTURES / "aoe-flashcache", "--config", tmp_path / "c.toml")
    assert said.returncode == 0, said.stdout
    first, *rest = said.stdout.splitlines()
    assert "accepted: mtu-misaligned eth1" in first
    assert not re.search("info: [^;]*mtu-misaligned", first), "it is named once"
    assert not [line for line in rest if line.startswith("INFO: mtu-misaligned")]
    assert (
        "ACCEPTED: mtu-misaligned eth1: accepted until 2027-05-31: the switch is replaced in May (otherwise critical)"
        in rest
    )
    assert (
        "ACCEPTED: cache-bypassed cachedev: accepted until 2027-05-31: follows from mtu-misaligned eth1" in said.stdout
    )


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_reports_say_that_it_is_accepted(tmp_path: Path, form: str) -> None:
    (tmp_path / "c.toml").write_text(ACCEPT)
    said = executed("report", "--from", FIXTURES / "aoe-flashcache", "--config", tmp_path / "c.toml", "--format", form)
    assert "ccepted until 2027-05-31: the switch is replaced in May (otherwise critical)" in said.stdout


def test_the_data_has_reason_end_and_severity(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(ACCEPT)
    words = ("report", "--from", FIXTURES / "aoe-flashcache", "--config", tmp_path / "c.toml", "--format", "json")
    found = {finding["rule"]: finding for finding in json.loads(executed(*words).stdout)["findings"]}
    assert found["mtu-misaligned"]["severity"] == "info"
    assert found["mtu-misaligned"]["accepted"] == {
        "reason": "the switch is replaced in May", "until": 1811808000.0, "severity": "critical",
    }  # fmt: skip


def test_prometheus_gets_information_and_what_is_accepted(tmp_path: Path) -> None:
    page = Exposition(session(loaded(tmp_path, ACCEPT)))
    page.observe(page.session.head())
    found = samples(page.page())
    active = {key: value for key, value in found.items() if key[0] == "sdstop_finding_active"}
    assert set(active.values()) == {1}
    assert found["sdstop_finding_accepted", "rule=mtu-misaligned", "subject=eth1"] == 3
    ends = {key[1:]: value for key, value in found.items() if key[0].startswith("sdstop_finding_acceptance_end")}
    end = datetime(2027, 6, 1, tzinfo=UTC).timestamp()
    assert ends["rule=mtu-misaligned", "subject=eth1"] == end
    assert set(ends.values()) == {end}  # those that follow from it
    endless = Exposition(session(loaded(tmp_path, ACCEPT.replace("until = 2027-05-31", ""))))
    endless.observe(endless.session.head())
    assert b"sdstop_finding_acceptance_end" not in endless.page()


async def test_the_screen_says_that_it_is_accepted(tmp_path: Path) -> None:
    async with screen(session(loaded(tmp_path, ACCEPT))) as shown:
        assert shown.line("MTU 4000 SPLITS").startswith(" info ")
        assert "accepted until 2027-05-31: the switch is replaced in May" in shown.text()
        assert "CRIT" not in shown.text()


def test_files_are_found_and_later_ones_override_key_by_key(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        "[rules.link-saturated]\nshare = 0.9\nseverity = 'info'\n" + ACCEPT,
        "[rules.link-saturated]\nshare = 0.8\n[[accept]]\nrule = 'phy-errors'\nreason = 'old cable'\n",
    )
    assert config.thresholds["link-saturated"] == {"share": 0.8}
    assert config.policy.rules["link-saturated"].severity == "info"
    assert [each.rule for each in config.policy.accepted] == ["mtu-misaligned", "phy-errors"]
    home = tmp_path / "home"
    (home / "sdstop").mkdir(parents=True)
    (home / "sdstop" / "config.toml").write_text("[rules.link-saturated]\nshare = 0.7\n")
    said = executed("config", "--config", tmp_path / "1.toml", XDG_CONFIG_HOME=str(home))
    assert said.returncode == 0, said.stderr
    (line,) = [line for line in said.stdout.splitlines() if line.startswith("rules.link-saturated.share ")]
    assert line.split()[:2] == ["rules.link-saturated.share", "0.8"]
    assert str(tmp_path / "1.toml").startswith(line.split()[2])
    assert "old cable" in said.stdout
    alone = executed("rules", XDG_CONFIG_HOME=str(home))
    assert "0.7 (default " in alone.stdout.replace("ratio ", "")


def test_an_acceptance_is_up_to_its_severity(tmp_path: Path) -> None:
    config = loaded(tmp_path, ACCEPT + 'severity = "warning"\n')
    assert config.policy.accepted[0].severity is Severity.WARNING
    assert session(config).headline().word == "CRITICAL"  # the MTU is critical
    assert loaded(tmp_path, ACCEPT).policy.accepted[0].severity is None


def test_a_capture_is_not_judged_by_the_settings_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "sdstop").mkdir()
    (tmp_path / "sdstop" / "config.toml").write_text(ACCEPT)
    said = executed("check", "--from", FIXTURES / "aoe-flashcache", XDG_CONFIG_HOME=str(tmp_path))
    assert said.returncode == 2


def test_a_capture_has_the_policy_of_its_node(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[rules.tasks-stuck]\nenabled = false\n" + ACCEPT)
    out = tmp_path / "live.tar.gz"
    words = ("capture", "--config", tmp_path / "c.toml", "--duration", "1", "--collectors", "node,diskstats", "-o", out)
    made = executed(*words)
    assert made.returncode == 0, made.stderr
    recorded = json.loads(open_capture(str(out))[0].facts["policy"])
    assert recorded["rules"] == {"tasks-stuck": {"enabled": False}}
    assert recorded["accept"][0]["until"] == "2027-05-31"
    origin, frames = opened("aoe-flashcache")
    from sdstop.cli.config import with_recorded  # noqa: PLC0415

    config, fault = with_recorded(Config(), {"policy": json.dumps(recorded)}, EVERY)
    assert fault == ""
    judged = Session(origin, BUILTIN, RULES, config.thresholds, policy=config.policy)
    judged.feed_all(frames)
    assert judged.headline().word == "OK"


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "1", '{"rules": 1}', '{"accept": [{"rule": 5}]}', '{"rules": {"phy-errors": {"x": 1}}}']
)
def test_a_hostile_policy_of_a_capture_is_not_used(text: str) -> None:
    from sdstop.cli.config import with_recorded  # noqa: PLC0415

    config, fault = with_recorded(Config(), {"policy": text}, EVERY)
    assert config == Config()
    assert fault.startswith("its policy is not usable: ")
    assert "\n" not in fault


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[accept]]\nrule = 'phy-errors'\n", "accept[0].reason: missing; expected a reason"),
        ("[[accept]]\nreason = ''\n", "accept[0].reason: expected a reason"),
        ("[[accept]]\nreason = 'x'\nseverity = 'info'\n", "accept[0].severity: expected "),
        ("[[accept]]\nreason = 'x'\nuntil = 'soon'\n", "accept[0].until: expected a date such as 2026-12-31"),
        ("[rules.phy-errors]\nseverity = 'warn'\n", "severity: expected one of info, warning, critical"),
        ("[[accept]]\nreason = 'x'\nrule = 'phy-error'\n", "accept[0].rule: unknown rule; did you mean phy-errors?"),
        ("[accept]\nreason = 'x'\n", "accept: expected a list; write [[accept]], in two pairs of brackets"),
        ("[rules.link-saturated]\nshare = 95\n", "link-saturated.share: expected a share from 0 to 1; 95% is 0.95"),
        ("[rules.link-saturated.subjects.eth1]\nshare = 1.5\n", "subjects.eth1.share: expected a share from 0 to 1"),
        ("[rules.phy-errors]\nenabled = 0\n", "rules.phy-errors.enabled: expected true or false"),
        ("[rules.phy-errors.subjects.'phy-1*']\nx = 1\n", "rules.phy-errors.subjects.phy-1*.x: unknown threshold"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert says in str(caught.value), str(caught.value)


def test_the_settings_in_effect_say_which_acceptances_have_ended(tmp_path: Path) -> None:
    ended = "[[accept]]\nreason = 'x'\nuntil = 2026-01-31\n[[accept]]\nreason = 'y'\nuntil = '2026-02-01'\n"
    (tmp_path / "c.toml").write_text(f"{ended}[[accept]]\nreason = 'z'\nuntil = 9999-12-31\n[[accept]]\nreason = 'w'\n")
    said = executed("config", "--config", tmp_path / "c.toml", XDG_CONFIG_HOME=str(tmp_path)).stdout
    kinds = re.findall(r"^(accept(?: \(ended\))?)  ", said, re.MULTILINE)  # long paths are on lines of their own
    assert kinds == ["accept (ended)", "accept (ended)", "accept", "accept"]


def test_patterns_of_later_files_come_first(tmp_path: Path) -> None:
    general = "[rules.disk-hot.subjects]\n'sd*' = {flash = 5}\nsdb = {flash = 9}\n"
    config = loaded(tmp_path, general, "[rules.disk-hot.subjects]\nsda = {flash = 20}\nsdb = {flash = 3}\n")
    own = config.policy.rules["disk-hot"]
    found = {name: own.subjects[own.group([name]) or ""]["flash"] for name in ("sda", "sdb", "sdc")}
    assert found == {"sda": 20, "sdb": 3, "sdc": 5}


def test_what_the_page_on_configuration_shows_is_taken_and_accepts_its_example(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text("utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 2
    config = loaded(tmp_path, *blocks)
    origin, frames = opened("draid-one-dimm")
    judged = Session(origin, BUILTIN, RULES, config.thresholds, policy=config.policy)
    judged.feed_all(frames)
    (finding,) = [each for each in judged.head().judgement.findings if each.rule == "dimm-too-few-channels"]
    assert finding.severity is Severity.INFO
    assert finding.accepted is not None
    assert finding.accepted.severity is Severity.CRITICAL


def test_a_multiple_may_be_above_1(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[rules.hba-unbalanced]\ntimes = 4\n").thresholds == {"hba-unbalanced": {"times": 4}}


def test_a_capture_of_another_version_keeps_what_this_one_knows() -> None:
    """A rule that this version does not have cannot make the rest of the policy unusable."""
    from sdstop.cli.config import with_recorded  # noqa: PLC0415

    accept = [{"rule": "of-the-future", "reason": "x"}, {"rule": "phy-*", "reason": "y"}]
    config, fault = with_recorded(Config(), {"policy": json.dumps({"accept": accept})}, EVERY)
    assert fault == ""
    assert [each.reason for each in config.policy.accepted] == ["y"]


def test_a_mistake_in_the_settings_of_the_exporter_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "sdstop").mkdir()
    (tmp_path / "sdstop" / "config.toml").write_text('[export]\nprofil = "full"\n')
    done = executed("config", XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode == 2
    file = tmp_path / "sdstop" / "config.toml"
    assert done.stderr == f"sdstop: {file}: export.profil: unknown setting; did you mean profile?\n"


def test_a_file_that_this_user_must_not_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same settings would be in effect for root only, and the node judged in two ways."""
    (tmp_path / "sdstop").mkdir()
    file = tmp_path / "sdstop" / "config.toml"
    file.write_text(ACCEPT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: real(path, mode) and (path != file or mode != os.R_OK))
    assert configured(Namespace(config=None)).policy.accepted == ()
    assert capsys.readouterr().err == f"sdstop: {file}: permission denied; its settings are not in effect\n"
    # An exporter that is to reload keeps what it has: without its acceptances, everything accepted would be an alarm.
    accepted = Policy(accepted=(Acceptance("known"),))
    exposition = Exposition(Session(Origin("n"), BUILTIN, RULES, policy=accepted))
    watch = Watch(exposition.session.origin, BUILTIN, Config(policy=accepted), 1.0)
    reload = reloading(Namespace(config=None, interval=None), watch, exposition, None, None)
    with pytest.raises(ConfigError, match=r"config\.toml: permission denied"):
        reload()
    assert exposition.session.diagnosis.policy is accepted
    monkeypatch.setattr(os, "access", real)
    reload()
    assert [each.rule for each in exposition.session.diagnosis.policy.accepted] == ["mtu-misaligned"]
    assert "mtu-misaligned" in exposition.session.origin.facts["policy"]
