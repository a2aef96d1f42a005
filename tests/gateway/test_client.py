"""The client against a gateway that answers, refuses and fails as real ones do."""

from __future__ import annotations

import hashlib
import itertools
import json
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sdstop.collectors.powerflex.objects import QUERY
from sdstop.collectors.powerflex.readings import INSTANCES, STATISTICS
from sdstop.core.host import Denied, Failed, Reply, TimedOut
from sdstop.node.gateway.allowed import may_ask, may_send
from sdstop.node.gateway.client import FIRST_PAUSE, LONGEST_PAUSE, STALE, GatewayClient
from sdstop.node.gateway.exchange import exchange
from sdstop.node.gateway.secret import Secret, SecretError
from sdstop.node.gateway.settings import settings
from sdstop.node.http import Endpoint
from tests.gateway.fake import PASSWORD, USER, Fault, Gateway, closed_port

CERTIFICATES = Path(__file__).parent / "certificates"
OBJECTS: dict[str, Any] = {"System": {"id": "4a"}, "volumeList": [{"id": "v1", "name": "one"}]}
VOLUME = {"userDataReadBwc": {"numSeconds": 1, "numOccured": 5, "totalWeightInKb": 20}}


class Clock:
    """A clock that goes on when it is told to, and with the real one, so that deadlines of sockets are met."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


def made(version: str = "3.6") -> Gateway:
    gateway = Gateway(version)
    gateway.objects = OBJECTS
    gateway.numbers = {"System": {"maxCapacityInKb": 1024}, "Volume": {"v1": VOLUME}}
    return gateway


def client(*addresses: str, password: str = PASSWORD, clock: Clock | None = None, **more: Any) -> GatewayClient:
    section = {"gateways": list(addresses), "user": USER, "insecure": True, **more}
    return GatewayClient(settings(section), lambda: Secret(password), clock or Clock(), each=0.5)


def objects(of: GatewayClient) -> Any:
    reply = of.request("GET", INSTANCES, None, 5.0)
    assert isinstance(reply, Reply)
    return json.loads(reply.body)


def numbers(of: GatewayClient) -> Any:
    return json.loads(of.request("POST", STATISTICS, QUERY, 5.0).body)


@pytest.mark.parametrize(
    ("version", "login"), [("1.32", "token"), ("2.6", "token"), ("3.6", "token"), ("4.5", "bearer")]
)
def test_every_version_lets_in_once_and_answers_two_requests_a_sample(version: str, login: str) -> None:
    gateway = made(version)
    with gateway.serve() as address:
        asked = client(address)
        assert objects(asked) == OBJECTS
        assert numbers(asked)["Volume"] == {"v1": VOLUME}
        first = len(gateway.asked)
        for _ in range(3):
            objects(asked)
            numbers(asked)
        assert len(gateway.asked) == first + 6
        assert gateway.logins == 1
        assert (asked.state()["login"], asked.state()["version"], asked.state()["state"]) == (login, version, "ok")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("version", ["1.32", "4.5"])
def test_what_a_version_does_not_know_is_left_out_from_then_on(version: str, *, named: bool) -> None:
    gateway = made(version)
    gateway.names_unknown = named
    with gateway.serve() as address:
        asked = client(address)
        assert numbers(asked)["System"] == {"maxCapacityInKb": 1024}
        before = len(gateway.asked)
        numbers(asked)
        assert len(gateway.asked) == before + 1
        dropped = asked.state()["dropped"]
        if version == "4.5":
            assert dropped == ["StoragePool.degradedFailedCapacityInKb", "System.degradedFailedCapacityInKb"]
        else:
            assert "Device.avgReadLatencyInMicrosec" in dropped
            assert "System.maxCapacityInKb" not in dropped


def test_a_question_that_is_refused_whole_is_no_matter_of_properties() -> None:
    gateway = made()
    gateway.faults[STATISTICS] = Fault(400, b'{"message":"no"}')
    with gateway.serve() as address:
        asked = client(address)
        with pytest.raises(Failed, match="400"):
            numbers(asked)
        assert asked.state()["dropped"] == []
    assert len(gateway.data_requests()) < 200


@pytest.mark.parametrize("version", ["3.6", "4.5"])
def test_a_token_that_expires_is_renewed_once_and_nobody_notices(version: str) -> None:
    gateway = made(version)
    with gateway.serve() as address:
        asked = client(address)
        objects(asked)
        gateway.tokens.clear()
        assert objects(asked) == OBJECTS
        if version == "3.6":
            assert gateway.logins == 2
        else:
            assert gateway.logins == 1  # the refresh token was enough
            gateway.tokens.clear()
            gateway.refreshes.clear()
            assert objects(asked) == OBJECTS
            assert gateway.logins == 2


def test_tokens_are_renewed_before_they_end() -> None:
    clock, gateway = Clock(), made("4.5")
    with gateway.serve() as address:
        asked = client(address, clock=clock)
        objects(asked)
        clock.ahead = 250.0
        objects(asked)
        assert [path for _, path, _ in gateway.asked].count("/rest/auth/update-token") == 1
        assert gateway.logins == 1
    clock, gateway = Clock(), made()
    with gateway.serve() as address:
        asked = client(address, clock=clock)
        objects(asked)
        clock.ahead = 500.0  # unused for nearly ten minutes
        objects(asked)
        assert gateway.logins == 2


@pytest.mark.parametrize("version", ["3.6", "4.5"])
def test_a_wrong_password_is_sent_at_most_twice_until_it_changes(version: str) -> None:
    clock, gateway, password = Clock(), made(version), ["wrong-password"]
    with gateway.serve() as address:
        section = {"gateways": [address, f"http://127.0.0.1:{closed_port()}"], "user": USER, "insecure": True}
        asked = GatewayClient(settings(section), lambda: Secret(password[0]), clock)
        said = set()
        for _ in range(50):
            clock.ahead += 3600.0
            with pytest.raises(Denied) as refused:
                objects(asked)
            said.add(str(refused.value))
        tried = [path for _, path, _ in gateway.asked if "login" in path]
        assert len(tried) <= 2
        assert gateway.logins <= 2
        assert all("login failed (401)" in text for text in said)
        assert all("wrong-password" not in text for text in said)
        password[0] = PASSWORD
        assert objects(asked) == OBJECTS


def test_a_user_who_may_log_in_and_not_read_is_told_which_role_it_takes() -> None:
    gateway = made()
    gateway.faults[INSTANCES] = Fault(403, b'{"message":"Forbidden"}')
    with gateway.serve() as address:
        asked = client(address)
        for _ in range(5):
            with pytest.raises(Denied, match="role Monitor"):
                objects(asked)
    assert gateway.logins == 1


def test_without_a_password_it_is_said_where_one_may_be() -> None:
    with pytest.raises(Denied, match="password_file"):
        GatewayClient(settings({"gateways": ["https://127.0.0.1"], "user": USER}), None).request(
            "GET", INSTANCES, None, 1.0
        )


def test_a_password_that_cannot_be_read_is_no_failure_of_the_gateway() -> None:
    def find() -> Secret:
        raise SecretError("/x may be read by others (mode 0644): chmod 600 /x")

    with made().serve() as address:
        asked = GatewayClient(settings({"gateways": [address], "user": USER, "insecure": True}), find)
        with pytest.raises(Denied, match="chmod 600 /x"):
            asked.request("GET", INSTANCES, None, 1.0)


FAULTS = {
    "500 in JSON": (Fault(500), "HTTP 500: Internal error"),
    "500 as a web page": (Fault(500, b"<html>Tomcat</html>", "text/html"), "HTTP 500: a web page"),
    "503": (Fault(503, b'{"message":"MDM is not reachable"}'), r"busy \(503\): MDM is not reachable"),
    "429": (Fault(429, b""), r"busy \(429\)"),
    "428": (Fault(428, b'{"message":"Precondition","httpStatusCode":428}'), "HTTP 428: Precondition"),
    "204": (Fault(204, b""), r"empty response \(204\)"),
    "a web page": (Fault(200, b"<html><body>Log in</body></html>", "text/html"), "unexpected web page"),
    "half an answer": (Fault(200, b'{"System":{"id":"4a"},"volu'), "incomplete JSON response"),
    "no JSON": (Fault(200, b"surprise"), "incomplete JSON response"),
    "cut off": (Fault(200, b'{"System":{"id":"4a"}}', cut=True), "closed before the response was complete"),
    "a redirect": (Fault(302, b"", headers={"Location": "http://127.0.0.1:1/login?token=abc"}), r"redirect \(302\)"),
    "empty": (Fault(200, b""), "empty response"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_and_the_next_gateway_answers(name: str) -> None:
    fault, said = FAULTS[name]
    bad, good = made(), made()
    bad.faults[INSTANCES] = fault
    with bad.serve() as first, good.serve() as second:
        with pytest.raises(Failed, match=said):
            objects(client(first))
        asked = client(first, second)
        assert objects(asked) == OBJECTS
        assert asked.state()["gateway"] == second.removeprefix("http://")
        before = len(bad.asked)
        assert objects(asked) == OBJECTS
        assert len(bad.asked) == before  # the last good one is asked first


def test_a_login_that_is_sent_elsewhere_is_not_followed() -> None:
    trap, gateway = made(), made()
    with trap.serve() as target:
        gateway.faults["*"] = Fault(302, b"", headers={"Location": f"{target}/api/login"})
        with gateway.serve() as address, pytest.raises(Failed, match="not followed"):
            objects(client(address))
    assert trap.asked == []


@pytest.mark.parametrize(
    "fault", [Fault(200, b'{"a": 1}' * 50, drip=0.01), Fault(silent=1.5)], ids=["drips", "is silent"]
)
def test_a_gateway_that_drips_or_is_silent_costs_its_time_and_no_more(fault: Fault) -> None:
    gateway = made()
    gateway.faults["*"] = fault
    with gateway.serve() as address:
        asked = client(address)
        with pytest.raises(TimedOut, match=r"no complete response within 0\.4 s"):  # the response would come later
            asked.request("GET", INSTANCES, None, 0.4)


def test_a_gateway_that_drips_its_headers_is_left_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                for _ in range(100):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return
                    time.sleep(0.02)

        thread = threading.Thread(target=drip)
        thread.start()
        asked = client(f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(TimedOut):
            asked.request("GET", INSTANCES, None, 0.3)
        thread.join()


def test_a_huge_answer_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.node.gateway.exchange.LARGEST_REPLY", 1 << 20)
    gateway = made()
    gateway.objects = {"System": {}, "x": "y" * (2 << 20)}
    with gateway.serve() as address, pytest.raises(Failed, match="exceeds 1 MiB"):
        objects(client(address))


def test_chunked_answers_are_answers() -> None:
    gateway = made()
    gateway.objects = {"System": {"name": "x" * 5000}}
    gateway.chunked = True
    with gateway.serve() as address:
        assert objects(client(address)) == gateway.objects


def test_a_gateway_that_fails_is_left_alone_longer_and_longer() -> None:
    clock, gateway = Clock(), made()
    gateway.faults[INSTANCES] = Fault(500)
    with gateway.serve() as address:
        asked = client(address, clock=clock)
        tried = []
        for second in range(0, 2000, 5):
            clock.ahead = float(second)
            before = len(gateway.data_requests())
            with pytest.raises(Failed, match="HTTP 500"):
                objects(asked)
            if len(gateway.data_requests()) > before:
                tried.append(second)
        pauses = [b - a for a, b in itertools.pairwise(tried)]
        assert pauses[0] <= 2 * FIRST_PAUSE
        assert pauses == sorted(pauses)
        assert LONGEST_PAUSE <= pauses[-1] <= LONGEST_PAUSE + 10
        gateway.faults.clear()
        clock.ahead += LONGEST_PAUSE
        assert objects(asked) == OBJECTS


def test_retry_after_is_heeded() -> None:
    clock, gateway = Clock(), made()
    gateway.faults[INSTANCES] = Fault(429, b"", headers={"Retry-After": "120"})
    with gateway.serve() as address:
        asked = client(address, clock=clock)
        for second in range(0, 130, 10):
            clock.ahead = float(second)
            with pytest.raises(Failed):
                objects(asked)
        assert len(gateway.data_requests()) == 2


def test_the_last_answer_stands_for_a_while_and_is_called_stale() -> None:
    clock, gateway = Clock(), made()
    with gateway.serve() as address:
        asked = client(address, clock=clock)
        objects(asked)
        gateway.faults["*"] = Fault(503, b'{"message":"MDM"}')
        clock.ahead = 47.0
        assert objects(asked) == OBJECTS
        state = asked.state()
        assert (state["state"], round(state["age"])) == ("stale", 47)
        assert "MDM" in state["trouble"]
        clock.ahead = STALE + 60
        with pytest.raises(Failed):
            objects(asked)
        gateway.faults.clear()
        clock.ahead += LONGEST_PAUSE
        objects(asked)
        assert asked.state() | {"version": ""} == asked.state() | {
            "version": "",
            "state": "ok",
            "age": 0.0,
            "trouble": "",
        }


def test_refused_connections_are_told_as_such() -> None:
    with pytest.raises(Failed, match="connection refused"):
        objects(client(f"http://127.0.0.1:{closed_port()}"))


# --- TLS ------------------------------------------------------------------------------------------------------


@pytest.fixture
def tls() -> Any:
    def context(name: str) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(CERTIFICATES / f"{name}.pem")
        return made

    return context


def secure(address: str, **more: Any) -> GatewayClient:
    return GatewayClient(settings({"gateways": [address], "user": USER, **more}), lambda: Secret(PASSWORD), each=2.0)


def fingerprint(name: str) -> str:
    pem = (CERTIFICATES / f"{name}.pem").read_text()
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem[: pem.index("-----BEGIN P")])).hexdigest()


CA = str(CERTIFICATES / "ca.pem")


def test_a_certificate_of_the_ca_is_trusted(tls: Any) -> None:
    with made().serve(tls("good")) as address:
        asked = secure(address, ca=CA)
        assert objects(asked) == OBJECTS
        assert asked.state()["verified"] == "ca"


@pytest.mark.parametrize(("name", "ca", "said"), [
    ("good", None, "unable to get local issuer"), ("own", None, "self-signed"), ("expired", CA, "expired"),
    ("elsewhere", CA, "IP address mismatch"),
])  # fmt: skip
def test_any_other_is_not_and_nothing_is_sent(tls: Any, name: str, ca: str | None, said: str) -> None:
    gateway = made()
    with gateway.serve(tls(name)) as address:
        asked = secure(address, **({} if ca is None else {"ca": ca}))
        with pytest.raises(Failed, match=said) as refused:
            objects(asked)
    assert gateway.asked == []
    assert f"sha256:{fingerprint(name)}" in str(refused.value)


def test_a_pinned_certificate_is_trusted_and_no_other(tls: Any) -> None:
    gateway = made()
    with gateway.serve(tls("own")) as address:
        asked = secure(address, fingerprint=f"sha256:{fingerprint('own')}")
        assert objects(asked) == OBJECTS
        assert asked.state()["verified"] == "fingerprint"
        gateway.asked.clear()
        with pytest.raises(Failed, match="does not match the pinned fingerprint"):
            objects(secure(address, fingerprint=fingerprint("good")))
        assert gateway.asked == []


def test_to_verify_nothing_must_be_wanted_and_is_told(tls: Any) -> None:
    with made().serve(tls("own")) as address:
        asked = secure(address, insecure=True)
        assert objects(asked) == OBJECTS
        assert asked.state()["verified"] == "NOT VERIFIED"


def test_a_gateway_that_hangs_in_the_handshake_is_left_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = secure(f"https://127.0.0.1:{server.getsockname()[1]}", ca=CA)
        with pytest.raises(TimedOut):
            asked.request("GET", INSTANCES, None, 0.3)


# --- what may be sent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [
    ("POST", "/api/instances"), ("DELETE", "/api/instances"), ("PUT", "/api/instances"),
    ("POST", "/api/instances/Volume::1/action/removeVolume"), ("POST", "/api/types/Volume/instances"),
    ("GET", "/api/types/../login"), ("GET", "/api/instances?x=1"), ("GET", "/api/instances\r\nHost: x"),
    ("POST", "/api/instances/querySelectedStatistics/../x"), ("GET", "/api/instances/\n"),
])  # fmt: skip
def test_nothing_that_changes_anything_can_be_sent(method: str, path: str) -> None:
    assert not may_send(method, path)
    with pytest.raises(Failed, match="not in the allow-list"):
        client("http://127.0.0.1:1").request(method, path, None, 1.0)
    with pytest.raises(ValueError, match="not in the allow-list"):
        exchange(Endpoint("127.0.0.1", 1), method, path, {}, None, 1.0)


def test_collectors_cannot_log_in() -> None:
    assert may_send("GET", "/api/login")
    assert not may_ask("GET", "/api/login")
    assert may_ask("GET", INSTANCES)
    assert may_ask("POST", STATISTICS)
