"""Verdicts: one for each thing that a rule covers, earned by whole evidence; and what vanished."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Annotated, ClassVar

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.collector import Collector, Command, Need, providers_of
from sdstop.core.coverage import NO_VERDICT, _beginning, names_in
from sdstop.core.evidence import Cite, Evidence, Frame, Origin, Outcome
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Verdict, passed
from sdstop.core.headline import CRITICAL, OK, UNKNOWN
from sdstop.core.history import Window
from sdstop.core.host import Host, Malformed
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.judgement import Judgement
from sdstop.core.lookback import Lookback
from sdstop.core.memory import Presence
from sdstop.core.model import Label, Metric, Reading, Source
from sdstop.core.rule import Covers, Limits, Rule
from sdstop.core.session import Session
from sdstop.core.snapshot import Snapshot

SHELF = "/shelf"


class Box(Reading, frozen=True):
    """A box on a shelf."""

    family: ClassVar[str] = "box"
    title: ClassVar[str] = "Boxes"
    rows_of = Source(SHELF, "{box} ")
    things: ClassVar = {"box": Identity(ThingKind.ARRAY, Naming.DEV, aliases=(("mapper/{box}-a", Naming.LINK),))}

    box: Annotated[str, Label("Box", plain=True)]
    dents: Annotated[int, Metric("Dents", "Dents")]


def read(host: Host) -> Iterator[Reading]:
    """Read lines of `a 3`; `?` after a number contradicts it, and a text needs its `end`."""
    text = host.text(SHELF)
    for line in text.splitlines():
        if line == "end":
            continue
        name, _, dents = line.partition(" ")
        if not dents.rstrip("?").isdigit():
            raise Malformed(f"no number: {line}")
        if dents.endswith("?"):
            host.defect(SHELF, f'"{dents}" is in doubt', name, contradiction=True)
        yield Box(name, int(dents.rstrip("?")))
    if "end" not in text:
        host.defect(SHELF, "end not shown")


BOXES = Collector("boxes", "Boxes", read, (Box,), (Need(SHELF, "boxes"), Command(("shelf", "--json"), "boxes")))


def check(window: Window, limits: Limits) -> Iterable[Verdict]:
    del limits
    boxes = window.rows(Box).values()
    for row in boxes:
        if row.dents > 3:
            yield Finding(severity=Severity.CRITICAL, subject=f"{row.box}/side", cause=f"{row.dents} dents",
                          evidence=(Cite(SHELF, window.now.number, row.box),))  # fmt: skip
    yield from passed((row.box for row in boxes if row.dents <= 3 and row.dents != 2), "few dents")


DENTED = Rule("dented", "boxes with dents", Severity.CRITICAL, check, (Box,), remembers=True)


def frame(number: int, text: str | None, fault: str = "") -> Frame:
    if text is None:
        item = Evidence(SHELF, Outcome.ABSENT, detail="no such file")
    else:
        item = Evidence(SHELF, data=text.encode(), fault=fault)
    return Frame(number, 1e9 + number, float(number), (item,))


def session(*frames: Frame, rule: Rule = DENTED) -> Session:
    made = Session(Origin("n", collectors=frozenset({"boxes"})), (BOXES,), (rule,))
    made.feed_all(frames)
    return made


def judged(*texts: str | None, rule: Rule = DENTED) -> Judgement:
    return session(*(frame(n, text) for n, text in enumerate(texts, 1)), rule=rule).head().judgement


# --- coverage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "names"),
    [("md2", {"md2"}), ("md2/sdc", {"md2/sdc", "md2", "sdc"}), ("vol:a/b", {"vol:a/b", "a/b", "a", "b"})],
)
def test_a_subject_contains_names(subject: str, names: set[str]) -> None:
    assert set(names_in(subject)) == names


def test_a_thing_that_a_rule_does_not_mention_is_unchecked() -> None:
    said = judged("a 1\nb 2\nc 9\nd 2\nend\n")
    assert said.unchecked == (Unchecked(NO_VERDICT, "b", rule="dented", others=("d",)),)
    assert [found.subject for found in said.findings] == ["c/side"]


def test_things_of_one_verdict_are_one_object() -> None:
    many = "".join(f"b{n} 1\n" for n in range(1000))
    (passed_,) = judged(f"{many}end\n").ruled_out
    assert len(passed_.subjects) == 1000


def test_verdicts_alike_are_merged() -> None:
    def each(window: Window, limits: Limits) -> Iterator[Verdict]:
        del limits
        yield from (RuledOut(row.box, "fine") for row in window.rows(Box).values())

    (said,) = judged("a 1\nb 1\nend\n", rule=Rule("r", "r", Severity.INFO, each, (Box,))).ruled_out
    assert said == RuledOut("a", "fine", "r", ("b",))


def test_an_alias_is_as_good_as_a_name() -> None:
    def by_alias(window: Window, limits: Limits) -> Iterator[Verdict]:
        del limits
        yield from (RuledOut(f"{row.box}-a", "fine") for row in window.rows(Box).values())

    assert judged("a 1\nend\n", rule=Rule("r", "r", Severity.INFO, by_alias, (Box,))).unchecked == ()


def test_a_word_on_the_node_covers_all() -> None:
    rule = Rule("r", "r", Severity.INFO, lambda *_: [Unchecked("no time")], (Box,))
    assert judged("a 1\nend\n", rule=rule).unchecked == (Unchecked("no time", rule="r"),)


@pytest.mark.parametrize(
    ("covers", "owed"),
    [
        ((), []),
        ((Covers(Box, where=lambda row: row.dents > 1),), ["b"]),
        ((Covers(Box, "shelf of {box}"),), ["shelf of a", "shelf of b"]),
        ((Covers(Box, "shelf"),), ["shelf"]),
    ],
)
def test_a_rule_declares_what_it_covers(covers: tuple[Covers, ...], owed: list[str]) -> None:
    rule = Rule("r", "r", Severity.INFO, lambda *_: (), (Box,), covers=covers)
    assert [subject for v in judged("a 1\nb 2\nend\n", rule=rule).unchecked for subject in v.subjects] == owed


# --- defect ----------------------------------------------------------------------------------------------------


def test_without_its_end_nothing_is_good_and_findings_count() -> None:
    made = session(frame(1, "a 1\nc 9\n"))
    said = made.head().judgement
    assert said.ruled_out == ()
    assert said.unchecked == (Unchecked(f"{SHELF}: end not shown", "a", rule="dented", gap=Gap.FAULTY),)
    assert made.headline().code == CRITICAL


def test_a_contradiction_leaves_that_thing_unchecked() -> None:
    said = judged("a 1\nb 9?\nd 1?\nend\n")
    assert [found.subject for found in said.findings] == []
    assert [verdict.subjects for verdict in said.ruled_out] == [("a",)]
    assert {v.subject: v.reason for v in said.unchecked} == {
        "b/side": f'{SHELF}: "9?" is in doubt', "d": f'{SHELF}: "1?" is in doubt',
    }  # fmt: skip


@pytest.mark.parametrize("fault", ["modified after recording", "end not shown"])
def test_damaged_evidence_makes_nothing_good(fault: str) -> None:
    made = session(frame(1, "a 1\nend\n", fault))
    assert made.head().judgement.ruled_out == ()
    assert made.headline().code == UNKNOWN
    assert made.headline().text.startswith("incomplete data: boxes")


def test_what_is_not_understood_is_unread() -> None:
    made = session(frame(1, "a 1\nb\n"))
    run = made.head().now.runs["boxes"]
    assert run.outcome is Outcome.UNREAD
    assert run.reason == 'not understood: no number: b; /shelf begins "a 1"'
    assert made.headline().code == UNKNOWN


def test_another_form_of_the_same_command_is_unread() -> None:
    made = Session(Origin("n"), (BOXES,), (DENTED,))
    made.feed(Frame(1, 1e9, 0.0, (Evidence("cmd:shelf -l", data=b"BOXES\na\n"),)))
    run = made.head().now.runs["boxes"]
    assert (run.outcome, run.reason) == (Outcome.UNREAD, 'recorded in another form: cmd:shelf -l begins "BOXES"')
    assert made.headline().code == UNKNOWN


def test_another_form_of_the_same_command_that_was_lost_is_unread() -> None:
    made = Session(Origin("n"), (BOXES,), (DENTED,))
    made.feed(Frame(1, 1e9, 0.0, (Evidence("cmd:shelf -l", Outcome.FAILED, detail="lost from the capture"),)))
    run = made.head().now.runs["boxes"]
    assert (run.outcome, run.reason) == (
        Outcome.UNREAD,
        "recorded in another form: cmd:shelf -l: lost from the capture",
    )
    assert made.headline().code == UNKNOWN


@pytest.mark.parametrize(("filled", "outcome"), [(True, Outcome.UNREAD), (False, Outcome.ABSENT)])
def test_another_form_that_is_empty_is_unread_if_the_command_always_prints(*, filled: bool, outcome: Outcome) -> None:
    collector = Collector("boxes", "Boxes", BOXES.read, BOXES.families, (Command(("shelf",), "boxes", filled=filled),))
    made = Session(Origin("n"), (collector,), (DENTED,))
    made.feed(Frame(1, 1e9, 0.0, (Evidence("cmd:shelf -l"),)))
    assert made.head().now.runs["boxes"].outcome is outcome


def test_a_finding_is_not_made_of_its_own_refutation() -> None:
    with pytest.raises(ValueError, match="its own evidence"):
        Finding(severity=Severity.INFO, subject="a", cause="b", evidence=(Cite(SHELF, 1, "no errors at all"),),
                disproof="no errors")  # fmt: skip


# --- headline -------------------------------------------------------------------------------------------------


def _other(host: Host) -> Iterable[Reading]:
    host.text("/other")
    return ()


def test_good_is_said_of_what_was_recorded() -> None:
    other = Collector("other", "Other", _other, (), ())
    made = Session(Origin("n", collectors=frozenset({"boxes", "other"})), (BOXES, other), (DENTED,))
    made.feed(frame(1, "a 1\nend\n"))
    said = made.headline()
    assert (said.code, said.text) == (OK, "no findings in the recorded data; not recorded: other")
    live = Session(Origin("n", live=True), (BOXES,), (DENTED,))
    live.feed(frame(1, "a 1\nend\n"))
    assert live.headline().text == "no findings"


def test_where_nothing_was_judged_nothing_is_good() -> None:
    made = session(frame(1, "end\n"))
    assert (made.headline().code, made.headline().text) == (UNKNOWN, "nothing checked")


# --- memory ---------------------------------------------------------------------------------------------------


def test_what_was_critical_and_is_gone_stays_critical() -> None:
    made = session(*(frame(n, text) for n, text in enumerate(["a 9\nb 1\nend\n", "b 1\nend\n", "b 1\nend\n"], 1)))
    (found,) = made.head().judgement.findings
    assert (found.id, found.severity) == ("dented:a/side", Severity.CRITICAL)
    assert found.cause == "a was critical, and is gone."
    assert {value.name: value.value for value in found.values}["before"] == "9 dents"
    assert found.evidence == (Cite(SHELF, 1, "a"),)
    (episode,) = made.episodes()
    assert episode.until is None
    lookback = Lookback(made)
    assert [again.id for again in lookback.at(1).judgement.findings] == [found.id]
    assert [again.summary for again in lookback.at(0).judgement.findings] == ["9 dents"]


def test_it_stays_so_where_the_whole_source_is_gone_and_ends_when_it_is_back() -> None:
    texts = ["a 9\nend\n", None, "a 1\nend\n", "end\n"]
    found = [[f.summary for f in judged(*texts[:n]).findings] for n in range(1, 5)]
    assert found == [["9 dents"], ["a was critical, and is gone. Last finding: critical."], [], []]


def test_what_was_well_or_repaired_may_go() -> None:
    assert judged("a 1\nend\n", "end\n").findings == ()
    assert judged("a 9\nend\n", "a 1\nend\n", "end\n").findings == ()


def test_a_source_that_fails_has_lost_nothing() -> None:
    made = session(frame(1, "a 9\nend\n"), frame(2, "garbage"), frame(3, "a 9\nend\n"))
    assert [f.summary for f in made.head().judgement.findings] == ["9 dents"]
    assert made.memory.changes == []


@pytest.mark.parametrize(
    "texts",
    [
        ["a 1\nend\n", "a 9\nend\n", "a 1\nb 1\nend\n"],
        ["a 9\nend\n", "garbage", "a 9\nend\n"],
        ["b 1\nend\n", None, None],
        ["a 9\nend\n", None, "a 1\nend\n", "end\n"],
        ["a 9\nend\n", "garbage", "end\n"],
        ["a 9\nb 1\nend\n", "b 1\nend\n"],
        ["a 9\nend\n", "end\n", "end\n", "a 9\nend\n"],
    ],
)
def test_without_a_loss_nothing_is_recalled(texts: list[str | None]) -> None:
    present = Presence((DENTED,), providers_of((BOXES,)))
    made = Session(Origin("n", collectors=frozenset({"boxes"})), (BOXES,), (DENTED,))
    for number, text in enumerate(texts, 1):
        present.note(made.feed(frame(number, text)).now)
        assert present.lost or not made.memory.changes
    names = [set((text or "").replace("garbage", "a").split()) & {"a", "b"} for text in texts]
    assert present.lost is any(not before <= after for before, after in pairwise(names))


def test_a_rule_that_does_not_remember_forgets() -> None:
    rule = Rule("dented", "boxes", Severity.CRITICAL, check, (Box,))
    assert judged("a 9\nend\n", "end\n", rule=rule).findings == ()


def _thin(window: Window, limits: Limits) -> Iterable[Verdict]:
    del limits
    for row in window.rows(Box).values():
        if row.dents > 3:
            yield Finding(severity=Severity.WARNING, subject=row.box, cause=f"{row.dents} dents",
                          damage=Damage.REDUNDANCY, evidence=())  # fmt: skip
        else:
            yield RuledOut(row.box, "few dents")


def _shelves(shot: Snapshot) -> dict[str, tuple[str, ...]]:
    return {row.box: (f"shelf of {row.box[0]}",) for row in shot.rows(Box).values()}


THIN = Rule("thin", "boxes that lack redundancy", Severity.CRITICAL, _thin, (Box,), remembers=True, roles=_shelves)


def test_a_lack_of_redundancy_is_remembered_where_another_thing_can_take_the_role() -> None:
    (found,) = judged("a1 9\nb1 1\nend\n", "b1 1\nend\n", rule=THIN).findings
    assert (found.severity, found.damage) == (Severity.WARNING, Damage.REDUNDANCY)
    assert found.cause == "a1 had a fault, and is gone."
    forgets = Rule("thin", "boxes", Severity.CRITICAL, _thin, (Box,), remembers=True)
    assert judged("a1 9\nb1 1\nend\n", "b1 1\nend\n", rule=forgets).findings == ()


def test_another_thing_in_the_same_role_replaces_the_one_that_is_gone() -> None:
    assert judged("a1 9\nb1 1\nend\n", "b1 1\nend\n", "a2 1\nb1 1\nend\n", rule=THIN).findings == ()
    assert judged("a1 9\nb1 1\nend\n", "b2 1\nb1 1\nend\n", rule=THIN).findings != ()


@pytest.mark.parametrize(
    ("pattern", "begins"),
    [
        (r"md(\d+|_\S+)", "md"), (r"mapper/.+_w?corig", "mapper/"), (r"dm-\d+", "dm-"), (r"zd?\d+", "z"),
        (r"a*b", ""), (r"md\d|dm-\d", ""), (r"md(a)|dm(b)", ""), (r"(md|dm)\d", ""), (r"ab|c(d)", ""), (r"[ab]c", ""),
    ],
)  # fmt: skip
def test_the_beginning_of_a_pattern_is_that_of_all_its_matches(pattern: str, begins: str) -> None:
    assert _beginning(pattern) == begins


def test_every_device_of_a_source_has_the_beginning_of_its_pattern() -> None:
    names = [
        "md0",
        "md_home",
        "mapper/vg-a_corig",
        "mapper/vg-a_wcorig",
        "dm-1",
        "etherd/e1.2",
        "bcache0",
        "zd16",
        "drbd1",
    ]
    patterns = [collector.devices for collector in BUILTIN if collector.devices]
    assert all(any(re.fullmatch(pattern, name) for name in names) for pattern in patterns)
    for pattern in patterns:
        found = [name for name in names if re.fullmatch(pattern, name)]
        assert all(name.startswith(_beginning(pattern)) for name in found)


def test_evidence_is_recognized_by_key_or_pattern_alike() -> None:
    needs = (
        Need("/a", "", filled=True, everyone=True), Need("/b/*", "", filled=True), Need("/c/*", "", filled=("x",)),
        Need("/d/*", "", everyone=True), Need("/e", ""), Command(("f", "g"), "", filled=True),
    )  # fmt: skip
    source = Collector("a", "A", lambda _: (), (), needs)
    keys = ["/a", "/b/1", "/c/x", "/c/y", "/d/1", "/e", "cmd:f g", "/a/b", ""]
    assert [key for key in keys if source.filled()(key)] == ["/a", "/b/1", "/c/x", "cmd:f g"]
    assert [key for key in keys if source.everyone()(key)] == ["/a", "/d/1"]
    bare = Collector("a", "A", lambda _: (), (), ())
    assert not any(test(key) for test in (bare.filled(), bare.everyone()) for key in keys)
