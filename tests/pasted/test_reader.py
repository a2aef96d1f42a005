"""The reader of pasted text: traces of copying, ends of outputs, several nodes, kinds of files, and the account."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path

import pytest

from sdstop.capture.kind import kind_of
from sdstop.capture.reader import OpenError, open_capture, open_pasted
from sdstop.cli import command as cli
from sdstop.core.account import Use, accounts
from sdstop.core.collector import Collector, Need, Texts, texts_of
from sdstop.core.evidence import Evidence, Outcome
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.form import NOT_BEGUN, NOT_SHOWN, Form, Several, outputs
from sdstop.core.headline import OK, UNKNOWN
from sdstop.core.session import Session
from sdstop.pasted.division import Division
from sdstop.pasted.prompt import command, typed
from sdstop.pasted.reader import read_nodes
from sdstop.tui.scene import Scene
from sdstop.tui.widgets.palette import Palette
from tests.pasted.corpus import FORMS, judged, rows

TOOL = Form(key="cmd:tool list", first=r"NAME +SIZE$", goes_on=r"\w+ +\d+", reads="things", versions="tool 1")
PARTS = Form(key="cmd:parts", first=r"part \d", reads="parts", versions="parts 1", whole=True)
EACH = Form(key="cmd:each", first=r"device \S+", reads="devices", versions="each 1", several=Several.JOINED)
POOLS = Form(
    key="cmd:pools", first=r"pool \w+$", goes_on=r" .*", reads="pools", versions="pools 1", about=r"pool (\w+)"
)
OWN = Texts((TOOL, PARTS, EACH, POOLS), frozenset({"tool", "parts", "each", "pools"}))
MDSTAT = """Personalities : [raid1]
md0 : active raid1 sdb[1] sda[0]
      1047552 blocks [2/2] [UU]

unused devices: <none>
"""


def read(text: str) -> list[dict[str, Evidence]]:
    _, frames = read_nodes(text.encode(), OWN)[0]
    return [{item.key: item for item in frame.evidence} for frame in frames]


def test_an_output_ends_where_its_form_does_not_go_on() -> None:
    ((_, (found,)),) = [(0, read("Hello\n\nNAME  SIZE\na  1\n\nb  2\nThat is all.\n"))]
    assert found["cmd:tool list"].data == b"NAME  SIZE\na  1\n\nb  2\n"
    assert found["cmd:tool list"].fault == NOT_SHOWN


@pytest.mark.parametrize("end", ["[root@a ~]# ", "a:/# ls\n", "```\n", "{code}\n", "(END)\n"])
def test_a_prompt_or_a_fence_shows_the_end(end: str) -> None:
    (found,) = read(f"NAME  SIZE\na  1\n{end}")
    assert found["cmd:tool list"].fault == ""


@pytest.mark.parametrize("mark", ["[...]", "...", "<snip>", "[snipped]", "--More--", "(12 more lines)", "lines 1-23"])
def test_a_mark_of_omitted_lines_is_a_fault(mark: str) -> None:
    (found,) = read(f"[root@a ~]# tool list\nNAME  SIZE\na  1\n{mark}\n[root@a ~]# ")
    assert found["cmd:tool list"].fault == f"cut: {mark!r}"
    (found,) = read("[root@a ~]# tool list\nNAME  SIZE\n[...]\nb  1\n[root@a ~]# ")
    assert found["cmd:tool list"].outcome is Outcome.FAILED  # its rows may belong to lost ones


def test_an_output_of_which_a_part_misleads_is_not_used_unless_its_end_is_shown() -> None:
    (found,) = read("part 1\n 5\n")
    assert (found["cmd:parts"].outcome, found["cmd:parts"].detail) == (Outcome.FAILED, f"incomplete: {NOT_SHOWN}")
    (found,) = read("part 1\n 5\n# ls\n")
    assert found["cmd:parts"].outcome is Outcome.OK


def test_outputs_about_different_things_are_joined_and_others_are_frames() -> None:
    assert len(read("pool a\n x\n\npool b\n y\n")) == 1
    assert [list(each) for each in read("# pools\npool a\n x\n# pools\npool b\n y\n")] == [["cmd:pools"]]
    assert len(read("# pools\npool a\n x\n# pools\npool a\n z\n")) == 2
    (found,) = read("# each\ndevice a\n1\n# each\ndevice b\n2\n")
    assert found["cmd:each"].data == b"device a\n1\n\ndevice b\n2\n"


def test_outputs_of_other_nodes_are_not_mixed() -> None:
    own = "[root@a ~]# tool list\nNAME  SIZE\na  1\n[root@a ~]# pools\npool p\n x\n"
    text = f"{own}[root@b ~]# tool list\nNAME  SIZE\nb  1\n"
    origin, (frame,) = read_nodes(text.encode(), OWN)[0]
    assert [item.data for item in frame.evidence if item.key == "cmd:tool list"] == [b"NAME  SIZE\na  1\n"]
    assert [(block.unused, block.node) for block in origin.blocks] == [("", ""), ("", ""), ("from another node", "b")]


@pytest.mark.parametrize(
    ("line", "key", "fault"),
    [
        ("sudo -u root /sbin/tool list -v x", "cmd:tool list -v x", ""),
        ("LANG=C tool list 2>/dev/null | less", "cmd:tool list", ""),
        ("tool list | grep -v x", "cmd:tool list", "only what grep passed on"),
        ("tool list | head -20", "cmd:tool list", "only what head passed on"),
        ("for i in 1 2; do tool list $i; done", "cmd:tool list $i", ""),
        ("watch -n 1 'tool list'", "cmd:tool list", ""),
        ("ssh root@b tool list", "cmd:tool list", ""),
        ("timeout 5 tool list", "cmd:tool list", ""),
        ("docker exec -it c tool list", "cmd:tool list", ""),
        ("cat /proc/mdstat", "/proc/mdstat", ""),
        ("tail -5 /proc/mdstat", "/proc/mdstat", "only what tail passed on"),
        ("cat /proc/mdstat /proc/drbd", "", ""),
        ("tool list; pools", "", ""),
        ("uptime", "", ""),
        ("tool 'unclosed", "cmd:tool 'unclosed", ""),
    ],
)
def test_a_command_line_names_its_output(line: str, key: str, fault: str) -> None:
    found = command(line, OWN.programs)
    assert (found.key, found.fault) == (key, fault)


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("[root@san1 ~]# tool list", "san1"), ("root@san1:~# tool list", "san1"), ("san1:/# tool list", "san1"),
        ("(venv) anna@san1:/some dir$ tool list", "san1"), ("[12:03:04] root@san1:~# tool list", "san1"),
        ("[ceph: root@san1 /]# tool list", "san1"), ("bash-5.1# tool list", ""), ("~ # tool list", ""),
        ("$ tool list", ""), ("# tool list", ""), ("> tool list", ""), ("\u276f tool list", ""),
        ("root@san1 ~ # tool list", "san1"), ("Every 2.0s: tool list     san1: Mon Nov 23 07:24:32 2026", "san1"),
    ],
)  # fmt: skip
def test_prompts_have_many_forms(line: str, host: str) -> None:
    found = typed(line, OWN.programs)
    assert found is not None
    assert (found.key, found.host) == ("cmd:tool list", host)


@pytest.mark.parametrize(
    "line",
    [
        "# Comment: tool list",
        "96 % full",
        "a > b",
        "see the tool list",
        "[    1.23] sd 0:0:0:0: [sda] x",
        "# see below",
    ],
)
def test_other_lines_are_no_prompts(line: str) -> None:
    assert typed(line, OWN.programs) is None


def test_outputs_of_a_form_are_found_whatever_the_options() -> None:
    files = {"cmd:tool list -v": "warning: x\nNAME  SIZE\na  1\n", "cmd:tool other": "NAME\n"}
    host = EvidenceHost.of(files | {"slug:tool_list_b": "NAME  SIZE\nb  1\n"})
    found = list(outputs(host, TOOL))
    assert [each.key for each in found] == ["cmd:tool list -v", "slug:tool_list_b"]
    assert [each.words for each in found] == [["list", "-v"], ["list", "b"]]
    assert "cmd:tool other" not in host.touched


def test_two_forms_of_one_key_and_first_line_are_refused() -> None:
    def reads(name: str, form: Form) -> Collector:
        return Collector(name, name, lambda _: (), (), (Need("cmd:tool *", "things"),), forms=(form,))

    assert texts_of([reads("a", TOOL), reads("b", TOOL)]).forms == (TOOL,)
    other = Form(key=TOOL.key, first=TOOL.first, reads="other things", versions="tool 2")
    with pytest.raises(ValueError, match="declared twice"):
        texts_of([reads("a", TOOL), reads("b", other)])


def test_every_form_compiles_alone_and_with_all_others() -> None:
    text = Division(FORMS).cleaned(b"nothing\n")
    assert [each.key for each in Division(FORMS).outputs(text)] == [""]
    for form in FORMS.forms:
        assert not form.shows("Hello,\nthis is prose: see below.\n"), form.key


PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "a PNG image"), (b"\x7fELF" + bytes(9), "an ELF program or core dump"),
        (b"\xd4\xc3\xb2\xa1" + bytes(9), "a packet capture (pcap)"), (b"%PDF-1.7", "a PDF document"),
        (gzip.compress(b"x", mtime=0), "gzip data"), (lzma.compress(b"x"), "xz data"),
        (bytes(100), "binary data of an unknown kind"),
        (b"", "an empty file"), (b"plain text\n", ""), ("größer\n".encode("utf-16"), ""),
        ("größer\n".encode("latin-1"), ""),
    ],
)  # fmt: skip
def test_a_file_says_its_kind(data: bytes, kind: str) -> None:
    assert kind_of(data) == kind


def test_what_is_no_text_is_refused_with_its_kind(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    with pytest.raises(OpenError, match="is a PNG image, not a capture, sosreport or text"):
        open_capture(tmp_path / "shot.png", FORMS)
    with pytest.raises(OpenError, match="is a PNG image"):
        open_pasted(io.BytesIO(PNG), FORMS)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_a_compressed_text_is_read(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    (tmp_path / "ticket").write_bytes(pack(MDSTAT.encode()))
    assert [item.key for item in open_capture(tmp_path / "ticket", FORMS)[1][0].evidence] == ["/proc/mdstat"]


TICKET = f"""Hi,

[root@san1 ~]# cat /proc/mdstat
{MDSTAT}[root@san1 ~]# zpool status
internal error: cannot open libzfs
[root@san1 ~]# lsusb
 07:20:01 up 3 days
"""


def test_each_block_is_accounted_for() -> None:
    session = judged(TICKET.encode())
    found = accounts(session.origin, session.head().now)
    assert [(each.block.line, each.block.key, each.use) for each in found] == [
        (1, "", Use.UNKNOWN), (3, "/proc/mdstat", Use.READ), (9, "cmd:zpool status", Use.UNREAD), (11, "", Use.UNKNOWN),
    ]  # fmt: skip
    assert found[1].sources == ("mdraid", "mdmembers")
    assert "internal error" in found[2].text
    assert session.headline().code == UNKNOWN  # md0 is good, and the pools are not known


def test_the_account_is_in_every_view(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ticket.txt"
    file.write_text(TICKET)
    assert cli.execute(["check", "--from", str(file)]) == UNKNOWN
    assert "UNKNOWN - no usable data: " in capsys.readouterr().out
    cli.execute(["report", "--from", str(file)])
    report = capsys.readouterr().out
    cli.execute(["doctor", "--from", str(file)])
    doctor = capsys.readouterr().out
    for text in (report, doctor):
        assert "cmd:zpool status" in text
        assert 'begins "internal error: cannot open libzfs"' in text
        assert "read: mdraid, mdmembers" in text
    cli.execute(["report", "--format", "json", "--from", str(file)])
    assert '"use": "unread"' in capsys.readouterr().out


def test_the_screen_lists_outputs_that_are_not_understood() -> None:
    session = judged(f"[root@a ~]# cat /proc/mdstat\n{MDSTAT}[root@a ~]# zpool history\nHistory for 'tank':\n".encode())
    entries = {each.subject: each.summary for each in Scene(session.head(), session, Palette()).unknown()}
    assert entries["cmd:zpool history"].startswith("recorded, not understood: ")
    assert session.headline().code == UNKNOWN


def test_the_output_of_a_command_that_no_source_reads_is_never_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = f"[root@a ~]# cat /proc/mdstat\n{MDSTAT}"
    file = tmp_path / "ticket.txt"
    file.write_text(f"Hello,\n\n{good}[root@a ~]# megaraidsas-status\nUnit  Status\nu0    DEGRADED\n")
    assert cli.execute(["check", "--from", str(file)]) == UNKNOWN
    said = capsys.readouterr().out
    assert "no usable data: megaraidsas-status" in said
    assert "megaraidsas-status (no source reads this output (line 9))" in said
    assert 'TEXT NOT UNDERSTOOD: line 1 "Hello,"' in said
    file.write_text(
        f"{good}[root@a ~]# date\nMon Nov 23 12:00:00 UTC 2026\n[root@a ~]# megacli -AdpSetProp\n[root@a ~]# "
    )
    assert cli.execute(["check", "--from", str(file)]) == OK
    assert "NOT UNDERSTOOD" not in capsys.readouterr().out


def test_a_command_without_output_is_not_missed() -> None:
    session = judged(f"[root@a ~]# cat /proc/mdstat\n{MDSTAT}[root@a ~]# zpool status\n[root@a ~]# ".encode())
    assert [each.text for each in accounts(session.origin, session.head().now)][-1] == "no output"
    assert session.headline().code == OK


def test_an_unknown_line_shows_only_plain_words() -> None:
    origin, _ = read_nodes(f"mysql -phunter2Zebra -u root\n{MDSTAT}".encode(), FORMS)[0]
    assert origin.blocks[0].first == "mysql ... root"


def test_an_output_that_nothing_reads_is_listed_in_a_capture() -> None:
    from sdstop.collectors import BUILTIN  # noqa: PLC0415
    from sdstop.core.evidence import Frame, Origin  # noqa: PLC0415

    item = Evidence("cmd:zpool history", data=b"History for 'tank':\n")
    session = Session(Origin("n", collectors=frozenset()), BUILTIN, ())
    session.feed(Frame(1, 0.0, 0.0, (item, Evidence("/proc/mdstat", data=MDSTAT.encode()))))
    now = session.head().now
    assert now.unread == {"cmd:zpool history": "History for 'tank':"}
    assert [each.block.key for each in accounts(session.origin, now)] == ["cmd:zpool history"]


def test_the_beginning_of_a_log_is_not_shown_without_a_prompt() -> None:
    line = "[  100.000000] sd 0:0:0:0: [sda] Attached SCSI disk\n"
    _, (frame,) = read_nodes(f"{line}".encode(), FORMS)[0]
    assert frame.evidence[0].fault == NOT_BEGUN
    _, (frame,) = read_nodes(f"[root@a ~]# dmesg\n{line}[root@a ~]# ".encode(), FORMS)[0]
    assert frame.evidence[0].fault == ""


def test_a_line_of_backquotes_within_an_output_does_not_show_its_end() -> None:
    assert read("part 1\n```\n 5\n")[0]["cmd:parts"].outcome is Outcome.FAILED
    assert read("````\npart 1\n```\n 5\n````\n")[0]["cmd:parts"].data == b"part 1\n```\n 5\n"
    assert read("part 1\n 5\n```console\n# ls\n```\n")[0]["cmd:parts"].outcome is Outcome.FAILED
    assert read("```\npart 1\n 5\n```\n")[0]["cmd:parts"].fault == ""


def test_an_empty_prompt_like_those_before_shows_the_end() -> None:
    assert read("# parts\npart 1\n 5\n# \n")[0]["cmd:parts"].fault == ""
    assert read("part 1\n 5\n#\n")[0]["cmd:parts"].outcome is Outcome.FAILED


@pytest.mark.parametrize("stray", ["\n [ 1234.567890] md0: failed\n", " s[   12.345678] md/raid1:md0: failed\n"])
def test_a_kernel_message_in_the_middle_of_an_output_is_a_fault(stray: str) -> None:
    found = read(f"# parts\npart 1{stray} 5\n# ")[0]["cmd:parts"]
    assert (found.outcome, found.detail) == (Outcome.FAILED, "incomplete: interrupted by messages of the kernel")


def test_lines_that_watch_cut_are_a_fault() -> None:
    heading = f"Every 2.0s: tool list{'':20}a: Mon Nov 23 07:24:32 2026"
    rows = f"NAME  SIZE\n{'a' * (len(heading) - 3)}  1\n"
    (found,) = read(f"{heading}\n\n{rows}[root@a ~]# ")
    assert found["cmd:tool list"].fault == f"lines cut at {len(heading)} columns"


def test_two_terminals_side_by_side_are_two_texts() -> None:
    left, right = ["# tool list", "NAME  SIZE", "a  1", "b  2", "# "], ["$ each", "device x", "1", "2", "$ "]
    both = "\n".join(f"{a.ljust(20)}\u2502{b}" for a, b in zip(left, right, strict=True))
    (found,) = read(both)
    assert found["cmd:tool list"].data == b"NAME  SIZE\na  1\nb  2\n"
    assert found["cmd:each"].data == b"device x\n1\n2\n"


@pytest.mark.parametrize("margin", ["out.txt:", "+"])
def test_a_margin_that_other_lines_have_too_is_no_part_of_an_output(margin: str) -> None:
    tables = ["vg0-root: 0 100 linear 8:2 2048", "vg0-data: 0 100 linear 8:2 9000", "vg0-data: 100 100 linear 8:2 2148"]
    plain = "\n".join(["The tables:", "", "```", *tables, "```", ""])
    session = judged("".join(f"{margin}{line}\n" for line in plain.split("\n")).encode())
    assert {each.partition(" ")[2] for each in rows(session) if each.startswith("mapped_device ")} == {
        "vg0-root",
        "vg0-data",
    }


def test_a_prefix_of_an_output_alone_is_its_own() -> None:
    session = judged(b"The tables:\n" + b"".join(b"vg0-a: %d 100 linear 8:2 2048\n" % at for at in (0, 100, 200)))
    assert "mapped_device vg0-a" in rows(session)


def test_a_border_on_the_right_hides_no_fence() -> None:
    lines = ["```", "device a", "x 1", "```", "Also seen: b", "and much more"]
    (found,) = read("\n".join(f"{line:40}\u2502" for line in lines))
    assert (found["cmd:each"].data, found["cmd:each"].fault) == (b"device a\nx 1\n", "")


@pytest.mark.parametrize(
    "text",
    ["```NAME  SIZE\na  1```\nb  2\n", "```NAME  SIZE\na  1\n```\nb  2\n", "```\nNAME  SIZE\na  1```\nb  2\n"],
)
def test_a_fence_in_a_line_of_text_ends_the_one_that_is_open(text: str) -> None:
    (found,) = read(text)
    assert (found["cmd:tool list"].data, found["cmd:tool list"].fault) == (b"NAME  SIZE\na  1\n", "")


def test_backquotes_after_text_end_nothing_if_no_fence_is_open() -> None:
    (found,) = read("device a\nx 1\nout.txt:```\n")
    assert found["cmd:each"].data == b"device a\nx 1\nout.txt:```\n"
    assert found["cmd:each"].fault == NOT_SHOWN


@pytest.mark.parametrize("outer", ["        {}", "\t{}", "> {}", "{}   "])
def test_times_before_lines_are_removed_within_another_margin(outer: str) -> None:
    lines = ["# tool list", "NAME  SIZE", "a  1", "b  2", "# "]
    text = "".join(outer.format(f"[2026-11-23 12:03:04.123] {line}") + "\n" for line in lines)
    (found,) = read(f"Hello,\n\n{text}\nBye\n")
    assert (found["cmd:tool list"].data, found["cmd:tool list"].fault) == (b"NAME  SIZE\na  1\nb  2\n", "")
