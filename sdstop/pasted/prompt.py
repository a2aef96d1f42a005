"""Command lines in a terminal text: prompts, and the program that a shell command runs.

[root@san1 ~]# sudo /sbin/zpool status -v tank | less         cmd:zpool status -v tank
root@san1:~# for i in 0 1; do smp_rep_phy_err_log -p $i /dev/bsg/expander-1:0; done
Every 2.0s: cat /proc/mdstat          san1: Mon Nov 23 07:24:32 2026       (watch)
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.expression import expression

_SYMBOL = r"[#$%>\u276f\u279c\u00bb]"
_STRONG = expression(
    r"\s{0,8}(?:\([\w.+-]{1,40}\)\s)?(?:\[?\d\d:\d\d(?::\d\d)?\]?\s)?"
    r"(?:\[(?:[\w-]{1,40}:\s)?[\w.$-]{1,64}@(?P<host>[\w.-]{1,64})[^\]\n]{0,100}\]\s?(?P<end>[#$%>])"
    r"|[\w.$-]{1,64}@(?P<host2>[\w.-]{1,64})(?:[:\s][^#$%<>\n]{0,200}?(?:\([^()\n]{0,60}\)[^#$%>\n]{0,20})?)?(?P<end2>[#$%>])"
    r"|(?P<host3>[A-Za-z][\w.-]{0,63}):[~/][^\s#$%>]{0,200}\s?(?P<end3>[#$%>])"
    r"|(?:ba|da|z|k|)sh-[\d.]{1,6}(?P<end4>[#$]))"
    r"(?:\s{1,4}(?P<line>\S.{0,4000}))?\s*"
)
_WEAK = expression(
    r"\s{0,8}(?:\u279c\s{2}[\w./~-]{1,60}\s(?:git:\([^()\n]{0,60}\)\s)?(?:\u2717\s)?"  # zsh: folder and branch
    rf"|(?:\[[^\]\n]{{1,100}}\]\s?|[\u2514\u2570]\u2500{{1,3}}\s?|[\w./~:-]{{0,80}}\s?)?{_SYMBOL}\s{{1,4}})"
    r"(?P<line>\S.{0,4000})"
)
_WATCH = expression(
    r"Every (?P<seconds>\d{1,5}(?:[.,]\d{1,3})?)s?: (?P<line>.{1,400}?)"
    r"(?:\s{2,}(?P<rest>\S.*)|\s(?P<rest2>[\w.-]+: [A-Z][a-z]{2} [A-Z][a-z]{2} .*))?"
)
_NAME = expression(r"[a-z][\w.+-]{1,40}")
_FOLDER = expression(r"(?:/[\w.+-]{1,60}){0,8}/(?=[\w.+-]+$)")
_FILE = expression(r"/(?:proc|sys|etc)/[\w./:!@%+=,*?-]{1,500}")
_ASSIGNMENT = expression(r"[A-Za-z_]\w*=.*")
_READERS = frozenset({"cat", "less", "more", "head", "tail", "view"})
_HARMLESS = frozenset({"cat", "less", "more", "tee", "most", "view", "pv", "stdbuf", "xclip", "pbcopy", "nl"})
_SHELL = frozenset({";", "&&", "||", "&", "do", "then", "done", "else", "fi", "{", "}", "(", ")", ";;", "while", "if"})
_PREFIXES: dict[str, str] = {
    "sudo": "ugpCTRDh", "doas": "uC", "time": "", "env": "uC", "nice": "n", "ionice": "cn", "nohup": "",
    "stdbuf": "ioe", "timeout": "sk", "command": "", "exec": "", "strace": "eof", "unbuffer": "", "setsid": "",
}  # fmt: skip
"""Programs that run the rest of their command line, and their options that have an argument."""


_OF_IPMITOOL = frozenset({"sdr", "sel", "sensor", "fru", "chassis", "mc", "dcmi", "lan", "power", "pef", "delloem"})
"""Commands of ipmitool, before which are its options."""
_OF_IPMI_SEL = expression(r"--output-[a-z-]+|--no-[a-z-]+")
"""Options of ipmi-sel that are kept: others have the password of the controller."""


class TypedCommand(Struct, frozen=True):
    """Command line: the key of its output, "" if that is not supported, and why the output may be incomplete.

    `program` is the first program. `host` is the node, "" if the line does not show it. `asked` is the line itself,
    `prompt` the text before it.
    """

    key: str
    asked: str
    program: str = ""
    host: str = ""
    fault: str = ""
    ends_only: bool = False
    watch: str = ""
    """Rest of a heading of watch: host and time."""
    prompt: str = ""


def typed(line: str, programs: Collection[str]) -> TypedCommand | None:
    """Return the command line in a line of terminal text, None if there is none.

    An empty prompt has no program (`ends_only`).
    """
    line = line.rstrip()
    watch = _WATCH.fullmatch(line)
    if watch is not None:
        rest = watch["rest"] or watch["rest2"] or ""
        host = rest.partition(": ")[0] if re.match(r"[\w.-]+: ", rest) else ""
        return _command(watch["line"], programs, host, watch=rest or "watch")
    strong = _STRONG.fullmatch(line)
    if strong is not None:
        host = strong["host"] or strong["host2"] or strong["host3"] or ""
        if strong["line"] is None:
            return TypedCommand("", "", host=host, ends_only=True)
        return _after(line, strong.start("line"), _command(strong["line"], programs, host))
    weak = _WEAK.fullmatch(line)
    if weak is None:
        return None
    found = _after(line, weak.start("line"), _command(weak["line"], programs, ""))
    if found.key:
        return found
    plain = _NAME.fullmatch(found.program) is not None and line.lstrip()[:1] == "$"
    return found if plain or (found.program in _COMMON and not _is_text(weak["line"])) else None


def _after(line: str, start: int, found: TypedCommand) -> TypedCommand:
    return replace(found, prompt=line[:start].strip())


_COMMON = frozenset({
    "date", "uptime", "free", "top", "ps", "df", "du", "cat", "ls", "echo", "hostname", "uname", "systemctl", "watch",
    "for", "while", "exit", "clear", "ssh", "sudo", "dd", "fio", "hdparm", "head", "tail", "grep", "mount", "lspci",
    "modprobe", "rpm", "dpkg", "apt", "yum", "vmstat", "cd", "history", "cp", "mv", "rm", "vi", "vim", "nano", "reboot",
})  # fmt: skip
"""Usual commands that sdstop does not read, after a prompt that is only a symbol."""


def _is_text(line: str) -> bool:
    return len(line.split()) > 3 and re.search(r"[.!?:]$", line) is not None


def command(line: str, programs: Collection[str]) -> TypedCommand:
    """Return the command of a shell command line."""
    return _command(line, programs, "")


def _command(line: str, programs: Collection[str], host: str, watch: str = "") -> TypedCommand:
    words = _words(line)
    stages = _stages(words)
    known: list[tuple[str, str, str]] = []  # key, fault, host
    first = ""
    for pipe in stages:
        plain, there = _plain(pipe[0], host)
        if len(plain) == 1 and " " in plain[0]:  # watch "cat /proc/mdstat", ssh san1 "zpool status"
            inner = _command(plain[0], programs, there)
            plain_key, fault = inner.key, inner.fault
            first = first or inner.program
        else:
            first = first or (_FOLDER.sub("", plain[0]) if plain else "")
            plain_key, fault = _key(plain, programs)
        if plain_key:
            filters = [_FOLDER.sub("", each[0]) for each in pipe[1:] if each]
            bad = next((name for name in filters if name not in _HARMLESS), "")
            known.append((plain_key, fault or (f"only what {bad} passed on" if bad else ""), there))
    if len({key for key, _, _ in known}) == 1:
        key, fault, there = known[0]
        return TypedCommand(key, line, first, there, fault, watch=watch)
    return TypedCommand("", line, first, host, watch=watch)


def _words(line: str) -> list[str]:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        return list(lexer)
    except ValueError:
        return line.split()


def _stages(words: Sequence[str]) -> list[list[list[str]]]:
    """Return the pipelines of a command line, each a list of commands."""
    pipes: list[list[list[str]]] = [[[]]]
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif word in _SHELL and not (word == "fi" and pipes[-1][-1]):  # `btrfs fi df` has an argument of that name
            pipes.append([[]])
        elif word in {"|", "|&"}:
            pipes[-1].append([])
        elif re.fullmatch(r"[<>]+&?", word):
            skip = True
            if pipes[-1][-1] and re.fullmatch(r"\d", pipes[-1][-1][-1]) and at:
                pipes[-1][-1].pop()
        else:
            pipes[-1][-1].append(word)
    return [pipe for pipe in pipes if pipe[0]]


def _plain(words: list[str], host: str) -> tuple[list[str], str]:
    """Return a command without the programs that run it, and the node that it runs on."""
    for _ in range(6):
        while words and _ASSIGNMENT.fullmatch(words[0]):
            words = words[1:]
        name = _FOLDER.sub("", words[0]) if words else ""
        if name in _PREFIXES:
            words = _options(words[1:], _PREFIXES[name])
            if name == "timeout":
                words = words[1:]
        elif name == "watch":
            words = _options(words[1:], "n")
        elif name == "ssh":
            rest = _options(words[1:], "pilFoJ")
            if len(rest) < 2:
                return words, host
            host, words = rest[0].rpartition("@")[2], rest[1:]
        elif name in {"docker", "podman", "lxc"} and "exec" in words[:3]:
            words = _options(words[words.index("exec") + 1 :], "eu")[1:]
            words = words[1:] if words[:1] == ["--"] else words
        elif name in {"kubectl", "oc", "cephadm", "pdsh", "clush", "ip"} and "--" in words:
            words = words[words.index("--") + 1 :]
        else:
            break
    return words, host


def _options(words: list[str], valued: str) -> list[str]:
    """Remove leading options; those in `valued` have an argument."""
    while words and words[0].startswith("-") and words[0] != "-":
        takes = len(words[0]) == 2 and words[0][1] in valued
        words = words[2:] if takes else words[1:]
    return words


def _key(words: Sequence[str], programs: Collection[str]) -> tuple[str, str]:
    """Return the evidence key of a command, "" if it is not supported, and why its output may be incomplete."""
    if not words:
        return "", ""
    program = _FOLDER.sub("", words[0])
    if program in _READERS:
        files = [word for word in words[1:] if not word.startswith("-")]
        if len(files) == 1 and _FILE.fullmatch(files[0]) and not re.search(r"[*?]", files[0]):
            return files[0], f"only what {program} passed on" if program in {"head", "tail"} else ""
        return "", ""
    if program not in programs:
        return "", ""
    if program == "ipmitool":  # its options have the password of the controller
        at = next((at for at, word in enumerate(words) if word in _OF_IPMITOOL), len(words))
        return " ".join([f"cmd:{program}", *(word for word in words[at:] if _NAME.fullmatch(word))]), ""
    if program == "ipmi-sel":
        return " ".join([f"cmd:{program}", *(word for word in words[1:] if _OF_IPMI_SEL.fullmatch(word))]), ""
    return " ".join([f"cmd:{program}", *words[1:]]), ""
