"""Advice is meant to be pasted: whatever devices, pools and nodes are called, their names run nothing."""

from __future__ import annotations

import ast
import functools
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from sdstop.collectors import BUILTIN
from sdstop.collectors.system.readings import Pressure
from sdstop.core.collector import Collector
from sdstop.core.columns import Batch
from sdstop.core.format import safe
from sdstop.core.judgement import judge
from sdstop.core.model import Fact, Label, Reading, schema
from sdstop.core.session import Session
from sdstop.core.shell import phrase, quoted
from sdstop.exporters.report import table
from sdstop.exporters.report.postmortem import escaped
from sdstop.rules import RULES
from tests import fixtures
from tests.fixtures import expected, opened
from tests.fixtures import names as stories

MARKER = "pwned"
HOSTILE: dict[str, Callable[[str], str]] = {
    "semicolon": lambda name: f"{name};{MARKER}${{IFS}}x;",
    "substitution": lambda name: f"$({MARKER}){name}",
    "backquotes": lambda name: f"{name}`{MARKER}`",
    "newline": lambda name: f"{name}\n{MARKER} x\n",
    "apostrophe": lambda name: f"{name}';{MARKER};'",
    "quotation mark": lambda name: f'{name}";{MARKER};"',
    "backslash": lambda name: f"{name}\\;{MARKER};\\",
    "pipe": lambda name: f"{name}|{MARKER}",
    "background": lambda name: f"{name}&{MARKER}&",
    "redirection": lambda name: f"{name}>{MARKER}",
    "subshell": lambda name: f"{name} ({MARKER})",
    "history": lambda name: f"!{name}!!{MARKER}",
    "comment": lambda name: f"#{name} # {MARKER}",
    "globs": lambda name: f"*{name}?[!{{a,b}}]{MARKER}",
    "home": lambda name: f"~root/{name}{MARKER}",
    "option": lambda name: f"-{name}{MARKER}",
    "long option": lambda name: f"--{name}={MARKER}",
    "arithmetic": lambda name: f"a[$({MARKER})]{name}",
    "ansi": lambda name: f"{name}$'\\n{MARKER}\\n'",
    "escape": lambda name: f"\x1b]0;{name}\x07\x9b;{MARKER}\u202e;\udcff",
}

# Not one command is found, no file can be written, and each that is tried is told.
BASH = shutil.which("bash") or "bash"
TRYING = "while IFS= read -r -d '' line; do printf '\\0'; eval \"$line\" </dev/null; done"


def tried(folder: Path, *pages: Sequence[str]) -> tuple[set[str], set[str]]:
    """Paste pages into a restricted shell that has no programs; return the commands and the files that it tries.

    Each line of a page is pasted alone, and then all of the page. Some syntax errors end a shell; another goes on.
    """
    lines = list(dict.fromkeys(line for page in pages for line in [*page, "\n".join(page)]))
    said = ""
    while lines:
        ended = subprocess.run(
            ["bash", "--norc", "--noprofile", "-r", "-c", TRYING],
            input="".join(f"{line}\0" for line in lines).encode("utf-8", "surrogateescape"), capture_output=True,
            check=False, cwd=folder, executable=BASH, env={"PATH": str(folder), "LC_ALL": "C.UTF-8"}, timeout=60,
        )  # fmt: skip
        said += ended.stderr.decode("utf-8", "surrogateescape")
        begun = ended.stdout.count(b"\0")
        assert begun
        lines = lines[begun:]
    commands = re.findall(r"(?ms)^bash: line \d+: ((?:(?!bash: line).)*?): command not found$", said)
    commands += re.findall(r"(?ms)^bash: line \d+: ([^\n]*?): restricted: cannot specify", said)
    files = re.findall(r"(?ms)^bash: line \d+: ([^\n]*?): restricted: cannot redirect", said)
    return set(commands), set(files)


def words(line: str) -> list[str]:
    """Return a line's words as a shell has them, none if its sentences have an odd apostrophe."""
    try:
        return shlex.split(line)
    except ValueError:
        return []


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["sda", "md_d0", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1", "tank/vol@1", "10.0.0.1", ""]
)
def test_usual_names_stay_as_they_are(name: str) -> None:
    assert quoted(name) == phrase(name) == name


ANY_NAME = st.text(st.characters(exclude_characters="\0", exclude_categories=()), max_size=12).filter(
    lambda name: not any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in name)
)


@given(st.lists(ANY_NAME, min_size=1, max_size=8))
@example([make("sdz") for make in HOSTILE.values()])
def test_a_shell_reads_a_name_as_it_is(names: list[str]) -> None:
    names = [name for name in names if name]
    argv = "".join(f" {quoted(name)}" for name in names)
    assert argv.isprintable()
    out = subprocess.run(
        ["bash", "-c", f"printf '%s\\0'{argv}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}, timeout=10
    ).stdout
    given_back = out.decode("utf-8", "surrogateescape").split("\0")[:-1] if names else []
    assert given_back == [name.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") for name in names]


@pytest.mark.parametrize("before", ["", "the peer's disks: ", 'what "they ', "a\\", "$(x ", "echo > /sys/"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_name_runs_nothing_wherever_it_stands(kind: str, before: str, tmp_path: Path) -> None:
    name = HOSTILE[kind]("sdz")
    lines = [f"{before}look {each(name)} again{after}" for each in (quoted, phrase) for after in ("", "'", '"')]
    commands, files = tried(tmp_path, [*lines, *map(escaped, lines)])
    assert not [command for command in commands if MARKER in command and "look" not in command]
    assert not [file for file in files if file == MARKER]
    assert not list(tmp_path.iterdir())


def test_what_is_tried_is_seen(tmp_path: Path) -> None:
    lines = [f"echo sdz;{MARKER}${{IFS}}x;", f"echo $({MARKER}2)", f"echo a>{MARKER}", f"/bin/{MARKER} x"]
    commands, files = tried(tmp_path, lines)
    assert {MARKER, f"{MARKER}2", f"/bin/{MARKER}"} <= commands
    assert files == {MARKER}


# --- rules ----------------------------------------------------------------------------------------------------------

LONGEST = 14
"""Frames of a story that are judged: enough for every rule."""
WORDS = frozenset({"counter", "cpu", "direction", "kind", "log", "module", "operation", "relation", "role"})
"""Labels whose values are words of the model, and no names of things."""


@functools.cache
def texts_of(family: type[Reading]) -> tuple[str, ...]:
    """Return the fields of a family in which names are."""
    return tuple(
        column.name for column in schema(family).columns
        if isinstance(column.mark, Label | Fact) and column.name not in WORDS
    )  # fmt: skip


def renamed(reading: Reading, new: Callable[[str], str]) -> Reading:
    """Return a reading in which every name is another."""
    if isinstance(reading, Batch):
        names = {name: reading.values[name] for name in texts_of(reading.of) if name in reading.values}
        changed = {name: [new(text) if type(text) is str else text for text in texts] for name, texts in names.items()}
        return Batch(reading.of, {**reading.values, **changed})
    texts = {name: getattr(reading, name) for name in texts_of(type(reading))}
    return replace(reading, **{name: new(text) for name, text in texts.items() if type(text) is str})


def named_otherwise(collector: Collector, new: Callable[[str], str]) -> Collector:
    def read(host: Any) -> Iterator[Reading]:
        for reading in collector.read(host):
            yield renamed(reading, new)

    return replace(collector, read=read)


@functools.cache
def shortened(name: str) -> tuple[Any, tuple[Any, ...], re.Pattern[str]]:
    """Return a story's origin, the frames that are judged, and what its things are called."""
    origin, frames = opened(name)
    frames = frames if len(frames) <= LONGEST else (frames[0], *frames[1 - LONGEST :])
    session = Session(origin, BUILTIN, ())
    session.feed_all(frames)
    found = set()
    for family, run in session.head().now.by_family.items():
        labels = [label for label in schema(family).labels if label not in WORDS and family is not Pressure]
        for row in run.tables[family].values():
            found |= {getattr(row, label) for label in labels}
    things = {name for name in found if type(name) is str and not name.isdigit()} - {""}
    one_of = "|".join(re.escape(name) for name in sorted(things, key=len, reverse=True)[:5000])
    return origin, frames, re.compile(rf"(?<![\w.-])(?:{one_of})(?![\w.-])")


def advised(story: str, kind: str) -> dict[str, tuple[str, ...]]:
    """Return what is advised in a story by the rule, with all things named otherwise."""
    origin, frames, names = shortened(story)

    @functools.cache
    def new(text: str) -> str:
        return names.sub(lambda found: HOSTILE[kind](found[0]), text)

    collectors = [named_otherwise(collector, new) for collector in BUILTIN]
    session = Session(origin, collectors, ())
    session.feed_all(frames)
    found: dict[str, tuple[str, ...]] = {}
    for finding in judge(session.head().window, RULES, {}).findings:
        found[finding.rule] = (*found.get(finding.rule, ()), *finding.steps)
    return found


TELLING = (
    "aoe-flashcache",
    "bcache-drains-slowly",
    "bond-one-slave",
    "bond-slave-down",
    "ceph-osd-down",
    "ceph-slow-osd",
    "device-hung",
    "disk-alone-slow",
    "disks-failing",
    "dm-caches-failing",
    "draid-one-dimm",
    "draid-one-hba",
    "draid-served",
    "drbd-resync",
    "dropping-link",
    "gluster-brick-down",
    "gluster-split-brain",
    "hot-member",
    "kernel-xfs-shutdown",
    "layers-misplaced",
    "lvm-failing",
    "lvm-physical-volume-missing",
    "md-degraded",
    "md-rebuild-finished",
    "md-rebuild-stalled",
    "md-unjudged",
    "mtu-mismatch",
    "offline-disk",
    "pacemaker-unclean",
    "path-mtu",
    "pcie-errors",
    "queue-depth-one",
    "raid-no-battery",
    "san-neglected",
    "san-path-failed",
    "scaleio-4node",
    "scaleio-tight",
    "server-lopsided",
    "slow-member",
    "vm-md-check",
    "vm-nvme-tcp-dead",
    "zfs-neglected",
)
"""Stories in which all that any story advises about something with a name is advised."""
PARTS = 16


def of_names(told: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the rules whose advice has the name of a thing."""
    return {rule for rule, advice in told.items() if MARKER in "".join(advice)}


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["parts", "whole"])
def test_advice_runs_nothing_of_what_things_are_called(tmp_path: Path, *, whole: bool) -> None:
    """Of every kind in a part of the stories, another for the next kind; `-m slow`: in all of them."""
    assert min(len(HOSTILE), len(TELLING)) >= PARTS  # every story has its turn
    known = set[str]()
    for number, kind in enumerate(HOSTILE):
        plain, wrapped = [], []
        for story in TELLING if whole else TELLING[number % PARTS :: PARTS]:
            told = advised(story, kind)
            known |= of_names(told)
            lines = [line for advice in told.values() for line in advice]
            plain.append([*lines, *map(escaped, lines)])
            cut = [table.wrapped(safe(line, 1000), width, pasted=True) for line in lines for width in (40, 66)]
            wrapped.append(["\n".join(rows) for rows in cut])
        commands, files = tried(tmp_path, *plain)
        assert not [command for command in commands if MARKER in command], kind
        assert MARKER not in files, kind
        commands, files = tried(tmp_path, *wrapped)
        assert not [command for command in commands if command.startswith(MARKER)], kind
        assert MARKER not in files, kind
    assert len(known) >= 70, known
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_no_other_story_advises_about_anything_else() -> None:
    known = {rule for story in TELLING for rule in of_names(advised(story, "semicolon"))}
    others = [story for story in stories() if story not in TELLING and (expected(story).found or expected(story).info)]
    assert {story: more for story in others if (more := of_names(advised(story, "semicolon")) - known)} == {}


@pytest.mark.parametrize("name", stories())
def test_no_sentence_has_an_apostrophe(name: str) -> None:
    """Pasted with the lines that follow, it would open a quotation that ends at the next quoted name."""
    told = [each for episode in fixtures.story(name).session.episodes() for each in episode.finding.advice]
    assert [each for each in told if isinstance(each, str) and "'" in each.replace("\\'", "")] == []


def test_no_rule_has_an_apostrophe_in_its_advice() -> None:
    assert [rule.advice for rule in RULES if "'" in rule.advice] == []


PROGRAMS = frozenset({
    "blkid", "cat", "crm_resource", "dmsetup", "drbdadm", "echo", "ethtool", "grep", "iftop", "ip", "journalctl",
    "lspci", "lvchange", "lvconvert", "lvs", "mdadm", "nvme", "pgrep", "ping", "rbd", "scli", "smartctl",
    "smp_rep_phy_err_log", "sysctl", "systemctl", "tcpdump", "tracepath", "virsh", "zfs", "zpool",
})  # fmt: skip
PASSES = frozenset({"operand", "phrase", "quoted"})
NUMBERS = frozenset({"human.bytes_", "human.percent", "human.quantity", "human.number", "_power", "_mtu"})
COMMAND = re.compile(rf"(?:^|[;|:>] |[$][(]|then )(?:{'|'.join(sorted(PROGRAMS))}) ")
ROOT = Path(__file__).parent.parent.parent


def unquoted(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield what is put into commands without being quoted: file, line, expression."""
    tree = ast.parse(path.read_text())
    local = {
        node: values for function in ast.walk(tree) if isinstance(function, ast.FunctionDef)
        for values in [_assigned(function)] for node in ast.walk(function)
    }  # fmt: skip
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        if not COMMAND.search(text):
            continue
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and not _harmless(part.value, local.get(node, {})):
                yield path.name, node.lineno, ast.unparse(part.value)


def _assigned(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """Return everything assigned to each local variable of a function; arguments are assigned what is not known."""
    found: dict[str, list[ast.expr]] = {}
    for node in (each for each in ast.walk(function) if isinstance(each, ast.Assign)):
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            pairs = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            values = node.value.elts if pairs and isinstance(node.value, ast.Tuple) else [node.value] * len(names)
            for name, value in zip(names, values, strict=True):
                found.setdefault(ast.unparse(name), []).append(value)
    for argument in (*function.args.args, *function.args.kwonlyargs):
        found.pop(argument.arg, None)
    return found


def _harmless(value: ast.expr, local: Mapping[str, list[ast.expr]]) -> bool:
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        joined = name.endswith(".join") and "map(quoted, " in ast.unparse(value)
        return name in PASSES | NUMBERS or joined
    if isinstance(value, ast.JoinedStr):
        return all(_harmless(part.value, local) for part in value.values if isinstance(part, ast.FormattedValue))
    values = local.get(value.id, []) if isinstance(value, ast.Name) else []
    return ast.unparse(value) in KNOWN or (bool(values) and all(_harmless(each, {}) for each in values))


KNOWN = frozenset({
    "'-6 ' if six else ''", "_mtu(large) - 28", "area", "base", "better.high", "better.low", "better.mtu", "bond.mtu",
    "kib", "large.mtu", "largest.mtu", "parent.mtu", "percent", "right", "run.outcome.value", "run.reason",
    "served.block", "served.frame", "setting", "size", "small.mtu", "upper.mtu", "way", "word", "worst.mtu", "asked",
    "end", "stalled[0].task.process", "stalled[0].task.task", "task.process", "task.task",
})  # fmt: skip
"""Numbers, words of ours, and texts that a function made of quoted names."""


def test_names_in_commands_are_quoted() -> None:
    """Also of rules that no story calls upon."""
    files = [*(ROOT / "sdstop" / "rules").glob("*.py"), *(ROOT / "sdstop" / "analysis").glob("*.py")]
    assert [found for path in files for found in unquoted(path)] == []
