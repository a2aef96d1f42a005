"""What a gateway said: as evidence, in captures of every kind, and back again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sdstop.capture.reader import open_capture
from sdstop.core.evidence import Evidence, Frame, Outcome, http_key, http_slug
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.excerpt import json_excerpt
from sdstop.core.host import LARGEST, Absent, Denied, Failed, Host, Output, Reply, TimedOut
from sdstop.core.recording import RecordingHost
from sdstop.exporters.capture import CaptureWriter
from sdstop.node.live import LiveHost

ASK = "/api/instances"


class Gateway(Host):
    """Answers what it is asked, and nothing else."""

    def read(self, path: str) -> bytes:
        raise Absent(path)

    def entries(self, path: str) -> list[str]:
        raise Absent(path)

    def link(self, path: str) -> str:
        raise Absent(path)

    def run(self, argv: Any, deadline: float = 10.0) -> Output:
        del deadline
        raise Absent(str(argv))

    def answer(self, question: str) -> Any:
        raise Absent(question)

    def request(self, method: str, path: str, body: Any = None, deadline: float = 20.0) -> Reply:
        del deadline
        if path == "/slow":
            raise TimedOut("http:GET /slow", "did not answer in time")
        said = {"asked": [method, path, body]}
        return Reply(json.dumps(said).encode(), 200 if body is None else 400, "application/json")


def recorded() -> RecordingHost:
    host = RecordingHost(Gateway())
    host.get(ASK)
    host.request("POST", "/api/q", {"b": 1, "a": [2]})
    with pytest.raises(TimedOut):
        host.get("/slow")
    return host


def written(path: Path, *, index: bool = True) -> EvidenceHost:
    with CaptureWriter(path, "n") as writer:
        writer.add(Frame(1, 1.0, 1.0, tuple(recorded().evidence.values()), {}))
        writer.finish()
    if not index:
        (path / "index.jsonl").unlink()
        shutil.rmtree(path / "index", ignore_errors=True)
    host = EvidenceHost()
    for frame in open_capture(path)[1]:
        host.apply(frame.evidence)
    return host


def asked(host: Host) -> list[tuple[Any, int, str]]:
    replies = [host.get(ASK), host.request("POST", "/api/q", {"a": [2], "b": 1})]
    return [(json.loads(reply.body), reply.status, reply.kind) for reply in replies]


@pytest.mark.parametrize(("name", "index"), [("folder", True), ("folder", False), ("capture.tar.gz", True)])
def test_every_kind_of_capture_answers_as_the_gateway_did(name: str, *, index: bool, tmp_path: Path) -> None:
    host = written(tmp_path / name, index=index)
    assert asked(host) == asked(Gateway())
    with pytest.raises(TimedOut, match="did not answer in time"):
        host.get("/slow")
    with pytest.raises(Absent) as absent:
        host.get("/never")
    assert not absent.value.recorded


def test_the_files_are_where_design_has_them(tmp_path: Path) -> None:
    written(tmp_path / "c")
    body = http_slug(http_key("POST", "/api/q", {"b": 1, "a": [2]}))
    assert body.startswith("POST__api_q~")
    found = {path.name: path for path in (tmp_path / "c/frames/0001/http").iterdir()}
    assert set(found) == {
        name + end for name in ("GET__api_instances", body) for end in ("", ".status", ".headers")
    }  # fmt: skip
    assert found[f"{body}.status"].read_text() == "400\n"
    assert found["GET__api_instances.headers"].read_text() == "Content-Type: application/json\n"
    outcomes = json.loads((tmp_path / "c/frames/0001/outcomes.json").read_text())
    assert outcomes == {"http:GET /slow": {"outcome": "timeout", "detail": "did not answer in time"}}


def test_a_hand_made_capture_needs_the_body_alone_and_answers_any_question(tmp_path: Path) -> None:
    folder = tmp_path / "frames" / "0001" / "http"
    folder.mkdir(parents=True)
    (folder / "GET__api_instances").write_text('{"by": "hand"}')
    (folder / "POST__api_q").write_text("{}")
    (tmp_path / "frames/0001/outcomes.json").write_text('{"http:GET /api/x": {"outcome": "denied", "detail": "no"}}')
    host = EvidenceHost()
    host.apply(open_capture(tmp_path)[1][0].evidence)
    assert (host.get(ASK).status, host.get(ASK).body) == (200, b'{"by": "hand"}')
    assert host.request("POST", "/api/q", {"whatever": 1}).body == b"{}"
    found = host.evidence("http:GET /api/instances")
    assert found is not None
    assert found.data == b'{"by": "hand"}'
    with pytest.raises(Denied):
        host.get("/api/x")


def test_the_answer_to_another_question_serves_if_it_is_the_only_one() -> None:
    one = Evidence(http_key("POST", "/api/q", {"old": 1}), data=b"1")
    host = EvidenceHost([one])
    assert host.request("POST", "/api/q", {"new": 1}).body == b"1"
    host.apply([Evidence(http_key("POST", "/api/q", {"older": 1}), data=b"2")])
    with pytest.raises(Absent):
        host.request("POST", "/api/q", {"new": 1})


def test_an_answer_may_be_larger_than_a_file(tmp_path: Path) -> None:
    large = b'{"a": "' + b"x" * (LARGEST + 100) + b'"}'
    with CaptureWriter(tmp_path / "c", "n") as writer:
        writer.add(Frame(1, 1.0, 1.0, (Evidence("http:GET /api/instances", data=large, exit=200),), {}))
        writer.finish()
    origin, frames = open_capture(tmp_path / "c")
    assert [item.data for item in frames[0].evidence] == [large]
    assert origin.complete


def test_a_live_node_without_a_gateway_says_how_to_have_one() -> None:
    with pytest.raises(Absent, match=r"\[powerflex\] gateways"):
        LiveHost().get(ASK)
    with pytest.raises(Absent, match="no gateway queried yet"):
        LiveHost().answer("powerflex.gateway")


def test_a_gateway_is_not_asked_for_another_root(tmp_path: Path) -> None:
    def never() -> Any:
        raise AssertionError

    with pytest.raises(Denied, match="--root"):
        LiveHost(str(tmp_path), gateway=never).get(ASK)


def test_a_recorded_failure_stays_one() -> None:
    host = EvidenceHost([Evidence("http:GET /api/instances", Outcome.FAILED, detail="gw1:443 says 500")])
    with pytest.raises(Failed, match="gw1:443 says 500"):
        host.get(ASK)


SAID = (
    b'{"p":[{"links":[{"id":"x","n":1}],"id":"p1","name":"one","n":{"a":[1]}},{"id":"p2","n":2}],"s":{"p1":{"k":7}},'
    b'"u":"v","p9":{"k":8,"l":9}}'
)


@pytest.mark.parametrize(("needle", "excerpt", "mark"), [
    ("p1>n", '"name":"one"\n"id":"p1"\n"n":{"a":[1]}', '"id": "p1"'), ("p2>n,m", '"id":"p2"\n"n":2', '"id": "p2"'),
    ("p9>l", '"p9":\n"l":9', '"p9": {'), ("s>p1", '"s":\n"p1":{"k":7}', '"s": {'),
    ("u", '"u":"v"', '"u": "v"'), ("none>n", "", ""), ("", "", ""),
])  # fmt: skip
def test_of_a_document_the_object_is_quoted_that_matters(needle: str, excerpt: str, mark: str) -> None:
    assert json_excerpt(SAID, needle) == (excerpt, mark)
    pretty = json.dumps(json.loads(SAID), indent=1).encode()
    quoted, _ = json_excerpt(pretty, needle)
    assert all(line in pretty.decode() for line in quoted.splitlines())


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"id": "p1"', b"[" * 5000, b'"id": "p1" }}}', b"\xff\x00"])
def test_what_is_no_document_is_quoted_as_nothing_or_as_it_stands(data: bytes) -> None:
    quoted, _ = json_excerpt(data, "p1>n")
    assert all(line in data.decode("utf-8", "replace") for line in quoted.splitlines())
