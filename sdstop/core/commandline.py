r"""Command lines of processes without potential secrets; for programs that move data, their devices, sizes and options.

Passwords cannot be recognized by their format: `mysql -pX`, `sshpass -p 123456`, JSON in an argument. A word is
therefore kept only if its program and option are in GRAMMARS, and if its value is a device, path, size or word of the
kind that the option accepts. For any other program only the name is kept:

    fio --filename=/dev/md0 --bs=4k                                    all of it
    qemu-kvm -m 8G -drive file=/dev/vg/web,key=x -vnc :1,password=x    qemu-kvm -m 8G -drive file=/dev/vg/web ...
    mysql -pX                                                          mysql ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from sdstop.core.expression import expression

LONGEST = 200
"""Maximum length of a kept command line, in characters."""
OMITTED = "..."
"""End of a command line from which words were omitted."""
_MOST = 400
"""Maximum number of words of a command line that are processed."""

_NUMBER = r"[+-]?\d{1,20}(?:\.\d{1,9})?(?:[kmgtpe]i?b?|b|s|ms|us|ns|%)?"
_KINDS = {
    "number": expression(rf"{_NUMBER}(?:[:/,-]{_NUMBER}){{0,40}}", re.IGNORECASE),
    "word": expression(r"[A-Za-z][A-Za-z0-9_.,+-]{0,199}"),
    "path": expression(r"(?:/[\w.+:@%~-]{1,200}){1,40}/?"),
    "file": expression(r"/?[\w.][\w.+:@%~-]{0,200}(?:/[\w.+:@%~-]{1,200}){0,40}"),
    "name": expression(r"[A-Za-z0-9_](?:[\w.:@%+-]|/(?!/)){0,200}"),
    "flag": expression(r"on|off|yes|no|true|false|0|1"),
}
"""Kinds of values. No kind matches spaces, because some command lines are a single string."""


class Grammar(Struct, frozen=True):
    """Rules for the parts of a program's command line that are kept.

    `options` maps options with a value to its kind: `-o value`, `-o=value`, or `o=value` for names without a hyphen.
    `flags` matches options without a value. `words` are the kinds of other arguments, or literal words. `fields` maps
    options with compound values, `a=1,b=2` or JSON, to the kept fields and their kinds. For programs that run another
    one, such as interpreters, `runs` are the options and arguments (kinds by option, "" for an argument) that name
    the program run; nothing is kept after it, nor after an unknown word.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    flags: re.Pattern[str] | None = None
    words: tuple[str, ...] = ()
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)


def _grammar(flags: str = "", words: str = "", **options: str) -> Grammar:
    """Return a grammar from space-separated options by the kind of their values."""
    kinds = {name: kind for kind, names in options.items() for name in names.split()}
    return Grammar(kinds, expression(flags) if flags else None, tuple(words.split()))


def _same(programs: str, grammar: Grammar) -> dict[str, Grammar]:
    return dict.fromkeys(programs.split(), grammar)


_LIMITS = {
    f"{prefix}{unit}-{way}{burst}": "number"
    for prefix in ("throttling.", "x-", "limits.")
    for unit in ("iops", "bps")
    for way in ("total", "read", "write")
    for burst in ("", "-max", "-max-length")
} | {
    f"{unit}{way}{burst}": "number"
    for unit in ("iops", "bps")
    for way in ("", "_rd", "_wr")
    for burst in ("", "_max", "_max_length")
}
_DRIVE = _LIMITS | {
    "throttling.group": "name", "throttling.iops-size": "number", "iops_size": "number", "throttle-group": "name",
    "group": "name", "file": "path", "filename": "path", "file.filename": "path", "file.driver": "word", "id": "name",
    "node-name": "name", "if": "word", "index": "number", "format": "word", "driver": "word", "media": "word",
    "cache": "word", "cache.direct": "flag", "cache.no-flush": "flag", "aio": "word", "file.aio": "word",
    "discard": "word", "readonly": "flag", "read-only": "flag", "snapshot": "flag",
}  # fmt: skip
_QEMU = Grammar(
    {"-m": "number", "-smp": "number", "-M": "word", "-machine": "word", "-cpu": "word", "-accel": "word"},
    expression(r"-enable-kvm|-nographic|-daemonize|-S|-no-reboot|-no-shutdown|-nodefaults"),
    fields={
        "-name": {"": "name", "guest": "name"}, "-drive": _DRIVE, "-blockdev": _DRIVE,
        "-object": _LIMITS | {"": "throttle-group", "qom-type": "throttle-group", "id": "name"},
        "-device": {"": "word", "driver": "word", "drive": "name", "id": "name", "num-queues": "number"},
    },
)  # fmt: skip
_COPY = _grammar(
    r"-[A-Za-df-z]{1,12}|--(?:archive|recursive|sparse|inplace|delete|progress|partial|whole-file|one-file-system|stats"
    r"|verbose|checksum|numeric-ids|hard-links|acls|xattrs|append|force|update|preserve)",
    "path",
    number="--bwlimit --block-size --max-size --min-size --timeout",
    word="--sparse --reflink --info",
)
_DISK = _grammar(r"-[A-Za-z]{1,4}", "path")
_VOLUMES = _grammar(
    r"-[afrtvy]{1,4}|--(?:noheadings|nosuffix|all|yes|force|verbose|readonly|test|thin)",
    "path name",
    number="-L --size -l --extents -i --stripes -I --stripesize -m --mirrors -V --virtualsize --chunksize -b",
    word="--type -o --options --reportformat --units --cachemode --cachepolicy",
    name="-n --name --thinpool --cachepool --cachevol --poolmetadata",
)
_ZFS = _grammar(r"-[A-NP-Za-np-z]{1,8}", "path name")
_SHELL = Grammar({}, expression(r"-[abefhiklmnpstuvx]{1,6}"), runs={"": "path"})
_PYTHON = Grammar({}, expression(r"-[bBdEiIOsSuvqxP]{1,4}"), runs={"": "path", "-m": "word"})
_SERVER = _grammar(r"--(?:daemon|foreground|no-fork)|-[dfF]", path="-D --datadir --dbpath", number="-i --id")
_COUNTED = _grammar(r"-[A-Za-z]{1,6}", "number")

GRAMMARS: Mapping[str, Grammar] = {
    "fio": _grammar(
        r"--(?:time_based|thread|group_reporting|minimal|norandommap)",
        "path",
        path="--filename --directory",
        number="--bs --blocksize --bsrange --bssplit --blockalign --ba --size --io_size --filesize --offset --runtime"
        " --ramp_time --iodepth --numjobs --rate --rate_iops --rate_min --rwmixread --rwmixwrite --fsync --fdatasync"
        " --nrfiles --loops --offset_increment --thinktime --startdelay --latency_target",
        word="--rw --readwrite --ioengine --verify --random_distribution --output-format",
        name="--name",
        flag="--direct --sync --invalidate --buffered --group_reporting --time_based --thread --norandommap",
    ),
    "dd": _grammar(file="if of", number="bs ibs obs count skip seek", word="conv iflag oflag status"),
    "qemu-img": _grammar(
        r"-[pqnUCcd]{1,4}",
        "path convert commit create resize rebase check map info snapshot compare dd bench",
        number="-m -r -s -S", word="-f -F -O -t -T",
    ),
    "qemu-nbd": _grammar(
        r"-[nrsv]{1,4}|--(?:read-only|persistent|fork)", "path", path="-c --connect -d --disconnect",
        word="-f --format --cache --aio --discard",
    ),
    "vblade": _grammar(r"-[dsr]{1,3}", "number path name", number="-b -o"),
    "mdadm": _grammar(
        r"-[ACDEFGIQRSUXafirstvw]{1,4}|--(?:create|assemble|grow|detail|examine|add|remove|fail|re-add|replace|stop"
        r"|run|monitor|scan|wait|manage|query|verbose|force|assume-clean|readonly|readwrite|with|oneshot)",
        "path",
        number="--raid-devices -n --spare-devices -x --chunk -c --size -z --array-size --delay -d --bitmap-chunk",
        word="--level -l --layout -p --bitmap -b --metadata -e --consistency-policy --action",
    ),
    "rsync": _COPY, "cp": _COPY, "mv": _COPY, "zpool": _ZFS, "zfs": _ZFS,
    **_same("lvs vgs pvs lvcreate lvconvert lvextend lvresize lvremove lvchange lvdisplay pvmove pvcreate", _VOLUMES),
    **_same("pvscan vgcreate vgextend vgchange", _VOLUMES),
    **_same("ddrescue tar mkfs mkfs.ext4 mkfs.xfs mke2fs fsck fsck.ext4 e2fsck xfs_repair xfs_growfs xfs_fsr", _DISK),
    **_same("resize2fs badblocks blkdiscard fstrim hdparm smartctl blockdev wipefs shred e4defrag", _DISK),
    **_same("sh bash dash ksh zsh perl ruby", _SHELL),
    **_same("sleep iostat vmstat mpstat pidstat", _COUNTED),
    **_same("systemd-udevd multipathd iscsid tgtd ceph-osd ceph-mon postgres mysqld mariadbd mongod", _SERVER),
    "python": _PYTHON, "qemu": _QEMU,
}  # fmt: skip
"""Grammars of programs that move data, store it, or run other programs."""
_FAMILIES = ((expression(r"python[\d.]*"), "python"), (expression(r"qemu-system-\w+|qemu-kvm|kvm"), "qemu"))
_SYSTEM = expression(r"/(?:usr/|s?bin/|lib(?:64|exec)?/)")
_PROGRAM = expression(r"[A-Za-z0-9_(+][A-Za-z0-9_.+()-]{0,60}")
_TITLE = expression(
    r"postgres: (?:\d{1,2}/main: )?(?:checkpointer|walwriter|background writer|autovacuum launcher|archiver|startup"
    r"|logger|stats collector|logical replication launcher)"
)
"""Titles of a server's internal processes; those of its other processes contain users and addresses."""


def kept(argv: Sequence[str]) -> str:
    """Return the kept part of a command line, at most LONGEST characters."""
    return _kept(tuple(argv[:_MOST]))


def kept_text(text: str) -> str:
    """Return the kept part of a command line given as space-separated words; idempotent."""
    return _kept(tuple(text.split(" ")[:_MOST]))


@lru_cache(4096)
def _kept(argv: tuple[str, ...]) -> str:
    title = " ".join(argv).strip()
    if not title or _TITLE.fullmatch(title):
        return title
    first, *arguments = argv[0].split(" ")[:1] + [word for word in argv[1:] if word]
    name = first.rpartition("/")[2].lstrip("-").rstrip(":")
    if not _PROGRAM.fullmatch(name):
        return OMITTED
    grammar = GRAMMARS.get(next((of for pattern, of in _FAMILIES if pattern.fullmatch(name)), name), Grammar())
    made = [first if _SYSTEM.match(first) and _KINDS["path"].fullmatch(first) else name]
    left_out = argv[0] != made[0]
    for words, is_whole in _words(grammar, arguments):
        made += [" ".join(words)] if words else []
        left_out = left_out or not is_whole
    line = " ".join([*made, OMITTED] if left_out else made)
    while len(line) > LONGEST:
        del made[-1]
        line = " ".join([*made, OMITTED])
    return line


def _words(grammar: Grammar, arguments: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield the kept words of each group of arguments, and whether the group is complete."""
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        if grammar.flags is not None and grammar.flags.fullmatch(word):
            yield [word], True
        elif word in grammar.fields:
            compound = next(rest, "")
            made = _fields(grammar.fields[word], compound)
            yield ([word, made] if made else []), made == compound != ""
        elif equals and name in grammar.options:
            known = _is(grammar.options[name], value)
            yield ([word] if known else []), known
        elif word in grammar.options:
            value = next(rest, "")
            known = _is(grammar.options[word], value)
            yield ([word, value] if known else []), known
        elif grammar.runs:
            yield from _run(grammar.runs, word, rest)
            return
        elif word.startswith("-"):  # the next word may be its value
            if not equals:
                next(rest, "")
            yield [], False
        else:
            known = any(_is(kind, word) for kind in grammar.words)
            yield ([word] if known else []), known


def _run(runs: Mapping[str, str], word: str, rest: Iterator[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield the program run by an interpreter, and an incomplete group if more arguments follow."""
    words = [word, next(rest, "")] if word.startswith("-") else [word]
    known = _is(runs.get(word if word.startswith("-") else "", "nothing"), words[-1])
    yield (words if known else []), known
    if known and next(rest, None) is not None:
        yield [], False


def _is(kind: str, value: str) -> bool:
    pattern = _KINDS.get(kind)
    return value == kind if pattern is None else pattern.fullmatch(value) is not None


_FIRST = ("", "qom-type", "driver")
"""Fields that define the type of a compound option; options of unknown types are dropped completely."""


def _fields(kinds: Mapping[str, str], compound: str) -> str:
    """Return the kept fields of a compound option as `a=1,b=2`, or "" if there are none."""
    said = _parsed(compound)
    if any(name in said and name in kinds and not _is(kinds[name], said[name]) for name in _FIRST):
        return ""
    kept = [(name, value) for name, value in said.items() if name in kinds and _is(kinds[name], value)]
    return ",".join(f"{name}={value}" if name else value for name, value in kept)


def _parsed(compound: str) -> dict[str, str]:
    """Return the fields of `first,a=1,b=2` (`,,` is a literal comma), or of JSON; nested fields get dotted names."""
    if compound.startswith("{"):
        try:
            return dict(_flat(json.loads(compound), ""))
        except (ValueError, RecursionError):
            return {}
    found: dict[str, str] = {}
    for place, word in enumerate(compound.replace(",,", "\0").split(",")):
        name, equals, value = word.partition("=")
        if equals:
            found[name] = value
        elif not place:
            found[""] = word
    return found


def _flat(said: Any, before: str) -> Iterator[tuple[str, str]]:
    for name, value in said.items() if isinstance(said, dict) else ():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, bool):
            yield f"{before}{name}", "true" if value else "false"
        elif isinstance(value, str | int):
            yield f"{before}{name}", str(value)
