"""Tests of a whole disk in recorded output of badblocks, which is never run.

    Checking blocks 0 to 976762583                                      badblocks -sv (e2fsprogs misc/badblocks.c)
    Checking for bad blocks (read-only test): 8214032                   2.10% done, 1:02:11 elapsed. (0/0/0 errors)
    8214033
    done
    Pass completed, 2 bad blocks found. (2/0/0 errors)
    Interrupted at block 1209301

The counts are errors of reading, of writing, and of comparing; those of each pass are counted from the beginning of the
run. Without -v the output has the numbers of the bad blocks alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.health.readings import SurfaceTest
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.expression import expression
from sdstop.core.form import NOT_SHOWN, Form, FormOutput
from sdstop.core.host import Absent, Host, Malformed

_PASSED = expression(r"Pass completed, (\d{1,12}) bad blocks found\.")
_COUNTS = expression(r"\((\d{1,12})/(\d{1,12})/(\d{1,12}) errors\)")
_BLOCK = expression(r"(?m)^\d{1,12}(?![\d.:/%])|(?<=test\): )\d{1,12}(?![\d.:/%])")
_RANGE = expression(r"(?:Checking blocks|From block) (\d{1,12}) to (\d{1,12})")
_ENDS = expression(r"Pass completed, \d+ bad blocks found\.|Interrupted at block \d+|Too many bad blocks")
_MODES = (("non-destructive read-write", "non-destructive"), ("read-write mode", "write"), ("read-only test", "read"))


def parse(text: str, device: str, key: str) -> SurfaceTest:
    """Return what an output shows. Raises Malformed for a text that has neither a heading nor numbers of blocks."""
    text = text.replace("\b", "")
    mode = next((name for words, name in _MODES if words in text), None)
    blocks = set(map(int, _BLOCK.findall(text)))
    if mode is None and (not blocks or not _is_bare(text)):
        raise Malformed("badblocks: neither a heading nor numbers of blocks")
    passed = [int(each[1]) for each in _PASSED.finditer(text)]
    counts = [tuple(map(int, each.groups())) for each in _COUNTS.finditer(text)]
    span = _RANGE.search(text)
    read, write, compare = (max((each[at] for each in counts), default=None) for at in range(3))
    return SurfaceTest(
        device=device,
        mode=mode,
        finished=bool(passed) and "Interrupted at block" not in text,
        bad=max([*passed, len(blocks)]) if passed or blocks else None,
        read_errors=read,
        write_errors=write,
        compare_errors=compare,
        blocks=None if span is None else int(span[2]) - int(span[1]) + 1,
        told=key,
        needle="bad blocks found" if passed else "errors)" if counts else "",
    )


def fault(text: str) -> str:
    """Return why a text is not the whole output: it ends with a finished or an interrupted pass."""
    return "" if _ENDS.search(text) is not None else NOT_SHOWN


TEXT = Form(
    key="cmd:badblocks",
    first=(
        r"Checking (?:blocks \d+ to \d+ *$|for bad blocks in (?:non-destructive )?read-write mode *$"
        r"|for bad blocks \((?:read-only|non-destructive read-write) test\):?)"
    ),
    goes_on=(
        r"\s*\d{1,12}(?:\D.*)?|Checking .*|From block \d.*|Testing with .*|Reading and comparing.*|done\s*"
        r"|Pass completed, .*|Interrupted at block \d+|Weird value .*|Too many bad blocks.*|.*\d% done, .*"
    ),
    reads="unreadable blocks of a disk",
    versions="e2fsprogs 1.40 and later, in English",
    fault=fault,
)


def _shows(text: str) -> bool:
    return TEXT.shows(text) or _is_bare(text)


def _is_bare(text: str) -> bool:
    """Return whether a text has only numbers: bad blocks, as badblocks prints them without -v."""
    return text[:1].isascii() and text.replace("\n", "").replace(" ", "").isdigit()


def read(host: Host) -> Iterable[SurfaceTest]:
    """Return the tests of recorded outputs, the last one of each device. Raises Absent without any."""
    rows: dict[str, SurfaceTest] = {}
    for key in host.recorded_texts(TEXT.program, _shows):
        output = FormOutput(key, host.recorded_output(key.partition(":")[2]))
        paths = [path for path in output.paths if path.startswith("/dev/")]
        device = paths[0].removeprefix("/dev/") if paths else "disk"
        try:
            rows[device] = parse(output.text, device, output.key)
        except Malformed as error:
            host.defect(output.key, str(error), device)
    if not rows:
        raise Absent(TEXT.key, "not recorded", recorded=False)
    return list(rows.values())


SURFACE_TESTS = Collector(
    "surface-tests",
    "Tests of whole disks in recorded output of badblocks",
    read,
    (SurfaceTest,),
    (Need("cmd:badblocks *", "unreadable blocks that a test found, from captures only; never run"),),
    SLOW,
    forms=(TEXT,),
)
