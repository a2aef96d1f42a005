"""No secret is seen anywhere: not in files, logs, screens, metrics and captures, nor in the process list."""

from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sdstop.cli.config import load
from sdstop.collectors.powerflex.cluster import SCALEIO
from sdstop.core.config_error import ConfigError
from sdstop.core.evidence import Frame, Origin
from sdstop.core.host import Unreadable
from sdstop.core.recording import RecordingHost
from sdstop.core.session import Session
from sdstop.node.gateway.client import GatewayClient
from sdstop.node.gateway.secret import VARIABLE, Secret, SecretError, cleaned, finder
from sdstop.node.gateway.settings import settings
from sdstop.node.live import LiveHost
from sdstop.rules import RULES
from tests.gateway.fake import PASSWORD, USER, Fault, Gateway
from tests.stories.scaleio import _Cloud
from tests.tui.screens import screen

BEARER = "eyJhbGciOi"


def gateway(version: str) -> Gateway:
    found = Gateway(version)
    cloud = _Cloud()
    found.objects, found.numbers = cloud.objects(), cloud.numbers(0.0)
    return found


def forms(of: Gateway) -> list[bytes]:
    """Return every form of every secret of a gateway: of the password, and of each token it gave."""
    found: set[str] = set()
    for text in (PASSWORD, *of.tokens, *of.refreshes, f"{USER}:{PASSWORD}", *(f":{token}" for token in of.tokens)):
        coded = base64.b64encode(text.encode()).decode()
        found |= {text, coded, coded.rstrip("="), quote(text, safe=""), json.dumps(text)[1:-1]}
    for token in of.tokens:
        if not token.startswith(BEARER):
            found.add(base64.b64decode(token).decode())  # user, expiry, checksum
            found.add(base64.b64decode(token).decode().split(":")[1])
    return [form.encode() for form in found]


def leaks(data: bytes, of: Gateway) -> list[bytes]:
    return [form for form in forms(of) if form in data]


# --- where it comes from --------------------------------------------------------------------------------------


def test_a_file_that_others_may_read_is_refused_with_what_mends_it(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")
    file.chmod(0o640)
    found = finder(str(file), {})
    assert found is not None
    with pytest.raises(SecretError, match=f"chmod 600 {file}") as refused:
        found()
    assert PASSWORD not in str(refused.value)
    file.chmod(0o600)
    assert found().reveal() == PASSWORD


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe\n", b"x" * 5000])
def test_a_file_without_a_password_is_said_to_have_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    file.chmod(0o600)
    found = finder(str(file), {})
    assert found is not None
    with pytest.raises(SecretError, match="holds no password"):
        found()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "password", 0o600)
    found = finder(str(tmp_path / "password"), {})
    assert found is not None
    with pytest.raises(SecretError, match="is not a regular file"):
        found()


def test_systemds_credential_comes_first_then_the_file_then_what_was_given(tmp_path: Path) -> None:
    (tmp_path / "powerflex").write_text("of systemd")
    (tmp_path / "powerflex").chmod(0o440)  # as systemd makes it, in a folder that nobody else may enter
    (tmp_path / "file").write_text("of the file")
    (tmp_path / "file").chmod(0o600)
    known = [
        finder(str(tmp_path / "file"), {"CREDENTIALS_DIRECTORY": str(tmp_path)}, Secret("given")),
        finder(str(tmp_path / "file"), {}, Secret("given")),
        finder(None, {"CREDENTIALS_DIRECTORY": "/nowhere"}, Secret("given")),
    ]
    assert [found().reveal() for found in known if found is not None] == ["of systemd", "of the file", "given"]
    assert finder(None, {}) is None


def test_a_secret_is_shown_by_nobody() -> None:
    secret = Secret(PASSWORD)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>20}", repr([secret]), repr({"a": secret})]
    assert all(PASSWORD not in text for text in shown)
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)


@pytest.mark.parametrize("section", [
    'password = "hunter2-secret"', 'secret = "hunter2-secret"', 'gateways = ["https://u:hunter2-secret@gw"]',
    'gateways = ["https://gw"]\nuser = "a:hunter2-secret"', 'token = "hunter2-secret"',
])  # fmt: skip
def test_a_password_in_the_config_is_refused_and_not_repeated(tmp_path: Path, section: str) -> None:
    file = tmp_path / "sdstop.toml"
    file.write_text(f"[powerflex]\n{section}\n")
    with pytest.raises(ConfigError, match=r"powerflex\.") as refused:
        load([file], RULES)
    assert "hunter2-secret" not in str(refused.value)


@pytest.mark.parametrize(("section", "said"), [
    ({"user": "m"}, "gateways: missing"), ({"gateways": ["https://a"]}, "user: missing"),
    ({"gateways": ["ftp://a"], "user": "m"}, "https://HOST"), ({"gateways": ["http://a"], "user": "m"}, "in clear"),
    ({"gateways": ["https://a/x"], "user": "m"}, "without user"), ({"gateways": [], "user": "m"}, "1 to 8"),
    ({"gateways": ["https://a"], "user": "m", "fingerprint": "12:34"}, "64 hex digits"),
    ({"gateways": ["https://a"], "user": "m", "insecure": 1}, "true or false"),
    ({"gateways": ["https://a", 3], "user": "m"}, r"powerflex.gateways\[1\]: expected text"),
    ({"gateways": ["https://a:99999"], "user": "m"}, r"gateways\[0\]: expected https"),
    ({"gateways": ["https://a"], "user": "m\x1b"}, "user: must be printable"),
    ({"gateways": ["https://a"], "user": ""}, "user: expected the name"),
    ({"gateways": ["https://a"], "user": "m", "insecur": True}, "did you mean insecure"),
    ({"gateways": ["https://a"], "user": "m", "insecure": True, "ca": "/x"}, "cannot combine"),
    ({"gateways": ["https://a"], "user": "m", "login": "ldap"}, "one of auto"),
    ({"gateways": ["https://a"], "user": "m", "speed": 1}, "unknown setting"),
])  # fmt: skip
def test_settings_that_cannot_be_honoured_are_refused(section: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        settings(section)


@pytest.mark.parametrize("form", ["plain", "base64", "url", "json"])
def test_what_others_repeat_is_cleaned(form: str) -> None:
    text = {
        "plain": PASSWORD, "base64": base64.b64encode(PASSWORD.encode()).decode(), "url": quote(PASSWORD, safe=""),
        "json": json.dumps(PASSWORD),
    }[form]  # fmt: skip
    assert text.encode() not in cleaned(f"you sent {text}!".encode(), [Secret(PASSWORD)])
    assert cleaned(b'{"a": 123}', [Secret("123")]) == b'{"a": 123}'  # too short to be told from anything


# --- where it goes --------------------------------------------------------------------------------------------


class _Echo(Gateway):
    """Repeats what it was sent in each answer, as a proxy with debugging on does."""

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes, str]:
        status, said, kind = super().answer(method, path, headers, body)
        if status == 200 and said[:1] == b"{" and "login" not in path and "token" not in path:
            said = said[:-1] + b', "debug": ' + json.dumps(f"{headers.get('Authorization')} {PASSWORD}").encode() + b"}"
        return status, said, kind


@pytest.mark.parametrize("version", ["3.6", "4.5"])
def test_no_evidence_has_a_secret(version: str) -> None:
    server = _Echo(version)
    cloud = _Cloud()
    server.objects, server.numbers = cloud.objects(), cloud.numbers(0.0)
    with server.serve() as address:
        section = settings({"gateways": [address], "user": USER, "insecure": True})
        host = RecordingHost(LiveHost(gateway=lambda: GatewayClient(section, lambda: Secret(PASSWORD))))
        assert list(SCALEIO.read(host))
        server.faults["*"] = Fault(500, json.dumps({"message": f"bad {PASSWORD} {next(iter(server.tokens))}"}).encode())
        list(SCALEIO.read(host))
        kept = json.dumps(host.answer("powerflex.gateway")).encode()
    said = kept + b"".join(
        item.key.encode() + item.data + item.stderr + item.detail.encode() for item in host.evidence.values()
    )
    assert b"cloud1" in said
    assert b"***" in said
    assert b"JSESSIONID" not in said
    assert leaks(said, server) == []


def test_no_error_has_a_secret() -> None:
    server = gateway("3.6")
    basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    server.faults["*"] = Fault(500, json.dumps({"message": f"no {PASSWORD}, Basic {basic}"}).encode())
    with server.serve() as address:
        section = settings({"gateways": [address], "user": USER, "insecure": True})
        with pytest.raises(Unreadable) as failed:
            list(SCALEIO.read(LiveHost(gateway=lambda: GatewayClient(section, lambda: Secret(PASSWORD)))))
    assert leaks(f"{failed.value} {failed.value!r} {failed.value.__cause__}".encode(), server) == []


def descendants(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from descendants(int(child))


async def test_no_screen_has_a_secret() -> None:
    """Every view, the findings and the raw evidence of a node that asks a gateway, which answers with secrets."""
    server = gateway("3.6")
    with server.serve() as address:
        section = settings({"gateways": [address], "user": USER, "insecure": True})
        recorder = RecordingHost(LiveHost(gateway=lambda: GatewayClient(section, lambda: Secret(PASSWORD))))
        assert list(SCALEIO.read(recorder))
    session = Session(Origin("n", collectors=frozenset({SCALEIO.name})), [SCALEIO], RULES)
    for number in (1, 2):
        session.feed(Frame(number, 1.7e9 + number, float(number), tuple(recorder.evidence.values())))
    seen = ""
    async with screen(session, (200, 60)) as shown:
        for key in "12345678":
            seen += await shown.press(key)
        seen += await shown.press("!", "enter")
        seen += await shown.press("enter")
    assert "cloud1" in seen
    assert leaks(seen.encode(), server) == []


@pytest.mark.live
@pytest.mark.parametrize("source", ["environment", "file"])
def test_the_whole_way_from_the_gateway_to_every_output(source: str, tmp_path: Path) -> None:
    server = gateway("3.6" if source == "file" else "4.5")
    config, folder, secret = tmp_path / "sdstop.toml", tmp_path / "capture", tmp_path / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-m", "sdstop", "--config", str(config)]
    with server.serve() as address:
        password = f'password_file = "{secret}"\n' if source == "file" else ""
        config.write_text(f'[powerflex]\ngateways = ["{address}"]\nuser = "{USER}"\ninsecure = true\n{password}')
        if source == "environment":
            environment[VARIABLE] = PASSWORD
        capture = [*command, "capture", "-o", str(folder), "--duration", "2s", "--collectors", "scaleio,node"]
        with subprocess.Popen(capture, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            while not server.data_requests() and running.poll() is None:
                time.sleep(0.01)
            processes = [Path(f"/proc/{pid}") for pid in descendants(running.pid)]
            seen = b"".join((p / "cmdline").read_bytes() + (p / "environ").read_bytes() for p in processes)
            said = running.communicate()[0]
        assert running.returncode == 0, said
        assert len(processes) >= 2  # itself and the worker
        out = said + b"".join(
            subprocess.run([*command, *words], env=environment, capture_output=True, check=False).stdout
            for words in (
                ["report", "--format", "json", "--from", str(folder)],
                ["export", "--once", "--from", str(folder)],
            )
        )  # fmt: skip
    files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"cloud1" in files
    assert b"cloud1" in out
    assert VARIABLE.encode() in seen or source == "file"  # the name stands, what it said does not
    for what in (seen, out, files):
        assert leaks(what, server) == []
