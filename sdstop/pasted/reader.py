"""Pasted text: terminal output copied into a ticket, recognized by its prompts or by its form.

    [root@san1 ~]# dmsetup status cachedev            a prompt has the command; its output ends at the next prompt
    0 2930294784 flashcache stats:                    without a prompt, the form of the text identifies the command
    Personalities : [raid10]
      pool: tank

Recognized output becomes evidence as if it had been recorded. Several outputs of one command are frames in their order,
unless they are about different things. Where the text does not show that the later one is of the same node and newer
(a time, or the same prompt in one terminal), nothing that rests on it counts as good, and findings of both stay.
Output that may have been cut is marked, and where a part of it misleads it is not used. Every block of the text is
accounted for (Origin.blocks).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from sdstop.core import dates
from sdstop.core.collector import Texts
from sdstop.core.evidence import ELSEWHERE, NO_OUTPUT, UNDATED, Evidence, Frame, Origin, Outcome, TextBlock
from sdstop.core.expression import expression
from sdstop.core.form import Several
from sdstop.core.format import safe
from sdstop.core.interval import MOST
from sdstop.core.refusal import refusal
from sdstop.pasted import LONGEST, TextRefused, nodes
from sdstop.pasted.division import Division
from sdstop.pasted.output import TextOutput, usable
from sdstop.pasted.prompt import typed

_SHORTEST = 5.0
"""Seconds below which the distance of two times is not used."""
_FIRST = 120
"""Maximum number of characters of the first line of a block."""


UNORDERED = "another output in this text differs; order or node unknown"
"""Fault of the later of two outputs of which the text does not show that it is the newer one."""
_Place = tuple[int, str]
"""Part of the text between changes of the terminal, and the prompt in it; its host, if it shows that."""


class _Moment(Struct):
    """Evidence of one time: outputs before the first repeated one, and the node's clock if the text shows it."""

    evidence: dict[str, Evidence] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    shown: float | None = None
    places: dict[str, _Place | None] = field(default_factory=dict)
    """Terminal of the newest output of each key."""
    unordered: bool = False


def read_nodes(data: bytes, texts: Texts, name: str = "pasted text") -> list[tuple[Origin, list[Frame]]]:
    """Return the origin and the frames of the node with most of the outputs of a pasted text.

    If the text has outputs of several nodes, each of them follows. Raises TextRefused if nothing is recognized.
    """
    if len(data) > LONGEST:
        raise TextRefused(f"is longer than {LONGEST >> 20} MiB")
    division = Division(texts)
    text = division.cleaned(data)
    outputs = list(division.outputs(text))
    hosts = _hosts(outputs)
    main = nodes.most([host for host, output in zip(hosts, outputs, strict=True) if output.key])
    found = [_node(name, text, texts, outputs, [host if main and host != main else "" for host in hosts])]
    others = dict.fromkeys(host for host, output in zip(hosts, outputs, strict=True) if output.key and host)
    if len(others) > 1:
        for host in others:
            own = [each for each, its in zip(outputs, hosts, strict=True) if its == host or (not its and host == main)]
            with contextlib.suppress(TextRefused):  # a host without an output that is read
                found.append(_node(host, "\n".join(each.shown for each in own), texts, own, [""] * len(own)))
    return found if len(found) > 2 else found[:1]


def _node(
    name: str, text: str, texts: Texts, outputs: Sequence[TextOutput], elsewhere: Sequence[str]
) -> tuple[Origin, list[Frame]]:
    """Return the origin and the frames of outputs; those with another node in `elsewhere` are only listed.

    `text` has the dates of the outputs. Raises TextRefused without evidence.
    """
    moments, blocks = [_Moment()], list[TextBlock]()
    shown: float | None = None
    for output, place, node in zip(outputs, _places(outputs), elsewhere, strict=True):
        shown = _shown_time(output) or shown
        block = _block(output, node, moments, shown, place)
        if block is not None:
            blocks.append(block)
    if not any(moment.evidence for moment in moments):
        begins = "; ".join(f"line {each.line}: {each.first!r}" for each in blocks[:1])
        programs = ", ".join(sorted(texts.programs))
        raise TextRefused(f"is text without a recognized output ({begins or 'empty'}); supported: {programs}")
    taken, said = _taken(text, texts)
    frames, untimed = _frames([moment for moment in moments if moment.evidence] or moments[:1], taken)
    undated = " without a date" if taken is None else ""
    sampled = any(output.form is not None and output.form.intervals for output in outputs)
    one = f"pasted text is a single snapshot{undated}; rates are unavailable"
    notes = [one] if not sampled and len(frames) == 1 else ["the date of the text is unknown"] if taken is None else []
    notes += [said] if said else []
    notes += ["the times between the outputs of one command are unknown"] if untimed else []
    notes += ["outputs of one command differ; their order or nodes are unknown"] if frames[-1].unordered else []
    unknown = sum(1 for output in outputs if not output.key for line in output.lines if line.strip())
    notes += [f"unrecognized lines, ignored: {unknown}"] if unknown else []
    origin = Origin(name, note="; ".join(notes), collectors=frozenset(), made="pasted text", blocks=tuple(blocks))
    return origin, frames


def _hosts(outputs: Sequence[TextOutput]) -> list[str]:
    """Return the short name of the node of each output, "" before the first prompt or heading that shows one."""
    found: list[str] = []
    there = ""
    for output in outputs:
        there = (output.typed.host if output.typed is not None else "") or there
        found.append(nodes.short(there))
    return found


_MAIL = expression(
    r"(?im)^\W{0,4}(?:From|Von|De|Sent|Gesendet|Envoy\S|Date|Datum|To|An|Subject|Betreff|Objet): |"
    r"(?:wrote|writes|schrieb(?: [^\n]{1,80})?|a \S{1,4}crit) ?:\s*$|^\W{0,6}Original Message\W{0,6}$"
)
"""Headers and introductions of an older mail below."""


def _places(outputs: Sequence[TextOutput]) -> Iterator[_Place | None]:
    """Yield the terminal of each output, None if its text does not show it: of those in one, the later is newer."""
    part = 0
    current: _Place | None = None
    for output in outputs:
        asked = output.typed
        if asked is None:
            yield current if output.key and current is not None and current[0] == part else None
            part += _is_mail(output)
            continue
        there = bool(output.key and asked.host) and "$" not in asked.host
        moved = _MOVES.search(asked.asked) is not None and not there
        part += moved
        name = asked.host or asked.prompt
        known = (part, name) if name and not output.alone else None
        current = known if _REPEATED.search(asked.asked) and not moved else None
        part += moved or _is_mail(output)
        yield known


def _is_mail(output: TextOutput) -> bool:
    return not output.key and _MAIL.search(output.text) is not None


_REPEATED = expression(r"\b(?:sleep|while|until)\b")
_MOVES = expression(
    r"\b(?:ssh|pdsh|clush|ansible|salt|exit|logout|telnet|mosh|screen|tmux|virsh|docker|podman|kubectl|chroot|nsenter"
    r"|hostname|uname -n)\b"
)
"""Commands that run on other nodes or lead to them, and those that show that the node has changed."""


def _block(
    output: TextOutput, elsewhere: str, moments: list[_Moment], shown: float | None, place: _Place | None
) -> TextBlock | None:
    """Add the evidence of an output to the newest moment, and return its block; None if it has no text."""
    content = output.text
    if not content and not output.key:
        return None
    lines = len("\n".join(output.lines).rstrip().split("\n")) if content else 0
    program = output.typed.program if output.typed is not None and not output.key else ""
    first = f"{program}: {output.first}" if program else output.first
    block = TextBlock(output.line, lines + output.is_named, plain_words(first), output.key)
    if not output.key:
        return replace(block, program=plain_words(output.typed.program)) if content and output.typed else block
    if elsewhere:
        return replace(block, unused=ELSEWHERE, node=safe(elsewhere, 64))
    if not content:
        return replace(block, unused=NO_OUTPUT)
    refused = refusal(output.key.partition(":")[2], content)
    if refused is not None:
        item = Evidence(output.key, refused.outcome, detail=refused.reason)
        _add(output, item, moments, shown, place)
        return replace(block, unused=refused.reason)
    found = usable(output)
    blank = "\n" if output.end and not output.lines[-1].strip() else ""  # some tables end with one
    data = f"{found.text}\n{blank}".encode("utf-8", "surrogatepass")
    if found.misleads:
        reason = f"incomplete: {found.fault}"
        _add(output, Evidence(output.key, Outcome.FAILED, detail=reason), moments, shown, place)
        return replace(block, unused=reason)
    _add(output, Evidence(output.key, data=data, fault=found.fault), moments, shown, place)
    return block


def _add(output: TextOutput, item: Evidence, moments: list[_Moment], shown: float | None, place: _Place | None) -> None:
    """Add evidence to the newest moment, or to a new one if it has other evidence of the same key."""
    moment, form = moments[-1], output.form
    known = moment.evidence.get(item.key)
    about = form.about if form is not None else ""
    names = set(re.findall(about, item.data.decode("utf-8", "replace"))) if about else set[str]()
    is_later = shown is not None and moment.shown not in {None, shown} and not (form is not None and form.intervals)
    if known is not None and (is_later or not known.same(item)):
        others = moment.names.get(item.key, set())
        apart = bool(names and others) and names.isdisjoint(others)
        read = item.outcome is Outcome.OK and known.outcome is Outcome.OK
        again = _is_again(output) or bool(names & others)
        joined = apart or (form is not None and form.several is Several.JOINED and not again)
        if read and not is_later and joined:
            item = Evidence(item.key, data=known.data + b"\n" + item.data, fault=known.fault or item.fault)
            names |= others
        elif read or item.outcome is known.outcome:
            if len(moments) >= MOST:
                del moments[0]
            is_newer = is_later or (place is not None and place == moment.places.get(item.key))
            moment = _Moment(unordered=moment.unordered or not is_newer, places=dict(moment.places))
            moments.append(moment)
            if moment.unordered:
                item = replace(item, fault=item.fault or UNORDERED)
        elif known.outcome is Outcome.OK:
            item = replace(known, fault=known.fault or item.detail)
            names = others
    moment.evidence[item.key] = item
    moment.places[item.key] = place
    moment.names[item.key] = names
    moment.shown = shown if moment.shown is None else moment.shown


def _is_again(output: TextOutput) -> bool:
    """Return whether an output has a command line of its own, which names the device that it shows."""
    return output.typed is not None and not output.alone and " /" in output.key and "$" not in output.key


_PLAIN_WORD = expression(r"[(\[\"'*]?(?:[A-Za-z]{1,24}(?:-[A-Za-z]{1,24}){0,3}|\d{1,4})[)\].,:;%!?\"'*]{0,2}")


def plain_words(line: str) -> str:
    """Return a line of unknown text with its plain words and short numbers; all others become `...`.

    Passwords have many forms, and the lines of a ticket are shown again without a review.
    """
    words = [word if _PLAIN_WORD.fullmatch(word) else "..." for word in line[: 4 * _FIRST].split()]
    kept = [word for at, word in enumerate(words) if word != "..." or words[at - 1 : at] != ["..."]]
    return safe(" ".join(kept), _FIRST)


def _shown_time(output: TextOutput) -> float | None:
    """Return the seconds of the node's clock that `date` or watch printed, None for other outputs."""
    asked = output.typed
    if asked is None or not (asked.watch or asked.program == "date"):
        return None
    for line in (asked.watch.partition(": ")[2], *(output.lines if asked.program == "date" else ())):
        local = dates.local_time(line)
        if local:
            return datetime.fromisoformat(local).replace(tzinfo=UTC).timestamp()
        known = dates.seconds_since_epoch(line) if "+%s" in asked.asked else dates.unix_time(line)
        if known is not None:
            return known
    return None


def _frames(moments: Sequence[_Moment], taken: float | None) -> tuple[list[Frame], bool]:
    """Return a frame for each moment, and whether the times between them are unknown.

    Without times the frames have no distance, so that no rate is computed from them; likewise if they are so close that
    the whole seconds of a clock would falsify it.
    """
    shown = [moment.shown for moment in moments]
    times = [each for each in shown if each is not None]
    steps = [after - before for before, after in pairwise(times)]
    timed = len(times) == len(shown) and all(step >= _SHORTEST for step in steps)
    ages = [times[-1] - time for time in times] if timed else [0.0] * len(shown)
    last = UNDATED + (ages[0] if ages else 0.0) if taken is None else taken
    frames = [
        Frame(at, last - age, ages[0] - age, tuple(moment.evidence.values()), unordered=moment.unordered)
        for at, (moment, age) in enumerate(zip(moments, ages, strict=True), 1)
    ]
    return frames, not timed and len(frames) > 1


_SUDO = expression(r"(?:sudo|doas)\s+(?:-\S+\s+)*")
_DATE = expression(r"(?:/usr)?(?:/bin/)?date(?P<options>(?: \S{1,40}){0,3})")
_STAMPED = expression(r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] ")
_SCANNED = expression(r"\s*scan: .{1,200}? (?:on|since) ([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})")


def _taken(text: str, texts: Texts) -> tuple[float | None, str]:
    """Return the time of the text (Unix seconds) if it has a date with a known zone, and a note about the time.

    The last of several dates counts. A pool scan or a line of dmesg is older than the text and only gives a bound.
    """
    found: float | None = None
    local = after = ""
    asked = ""
    for line in text.split("\n"):
        prompt = typed(line, texts.programs)
        date = _DATE.fullmatch(_SUDO.sub("", prompt.asked, count=1)) if prompt is not None else None
        if date is not None:
            asked = date["options"].strip() or "date"
            continue
        known = dates.seconds_since_epoch(line) if asked == "+%s" else dates.unix_time(line)
        found = known if known is not None else found
        if asked and known is None:
            local = dates.local_time(line) or local
        if older := _SCANNED.match(line) or _STAMPED.match(line):
            after = dates.local_time(older[1]) or after
        asked = asked if asked and not line.strip() else ""
    if found is not None:
        return found, ""
    if local:
        return None, f"copied at {local} by the node's clock; time zone unknown"
    return None, f"copied after {after} by the node's clock; time zone unknown" if after else ""
