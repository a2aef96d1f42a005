r"""Form: the appearance of a program's text output, by which it is recognized wherever it was recorded.

A collector declares the forms that it reads. Pasted text is divided into outputs by them (sdstop.pasted.reader), and
`outputs` returns the recorded outputs of a form whatever options the program was run with:

    STATUS = Form(
        key="cmd:zpool status",                 evidence key where the text shows no command line
        first=r" *pool: \S",                    the first line, from its beginning
        reads="pools, vdevs, errors and scans",
        versions="ZFS 0.6 to 2.4",
        fault=zpool_status.fault,               why a text is not the complete output
    )
"""

# Annotations are not postponed: an index is decoded by them (sdstop.core.index), and their text would be evaluated.

import enum
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from msgspec import Struct

from sdstop.core.host import Host, Output, Unreadable

NOT_SHOWN = "end not shown"
"""Fault of a text that may go on."""
NOT_BEGUN = "beginning not shown"
"""Fault of a text of which earlier lines may be lost, so that it misleads; not after a prompt."""
_FIRST_LINES = 40
"""Number of lines in which an output of a named command shows its form; messages of the program may precede it."""
_FIRST_BYTES = 16_384
"""Characters at the beginning of a text by which its form is recognized."""


class Several(enum.StrEnum):
    """Treatment of several outputs of one form in a text.

    LATER: each shows the same things at another time; they become frames. JOINED: each shows other things (the program
    is run once per device); they become one output, one after the other.
    """

    LATER = "later"
    JOINED = "joined"


class Form(Struct, frozen=True):
    r"""Form of a text output.

    `key` is its evidence key without a known command line: `cmd:` and the command as it would be run, or the path of a
    file; the program of the key is the only one that prints the form. `first` is a regular expression that matches the
    output from the beginning of its first line; it may contain `\n` to include further lines. Its match must identify
    the program; no other program, and no prose, may match. `reads` and `versions` are for the list of supported texts:
    the facts read from it, and the versions of the program known to print it.

    `goes_on` is a regular expression that matches every later line of the output in full, blank lines excepted; the
    first line that it does not match is outside of the output. Without it an output ends only where another begins, or
    at a prompt, a fence or its `last` line. `last` matches the last line from its beginning, if it differs from all
    others.

    `fault` returns why a text is not a complete output, "" if the text itself proves that it is (totals, an end mark,
    closed brackets); it never raises. If it returns "end not shown", a prompt or a fence after the output is its
    end, as for forms without it. A text with wrapped lines is accepted unwrapped if that removes its fault.

    `whole`: a part of the output is misleading (a histogram, one of two modules), so that an output that may be cut is
    not used at all. Otherwise it is used, and nothing that rests on it counts as good, unless lines in the middle are
    marked as omitted. `by_line`: each line is independent (a log), and omitted lines only cost their own facts.

    `about` is a regular expression whose first group is the name of a thing that the output shows (a pool, a volume
    group): outputs of one form about different things are joined, whatever `several` is, and those about the same thing
    are not. `intervals`: an output can report several intervals (see Need.split), and thus rates.
    """

    key: str
    first: str
    reads: str
    versions: str
    goes_on: str = ""
    last: str = ""
    fault: Callable[[str], str] | None = None
    whole: bool = False
    by_line: bool = False
    several: Several = Several.LATER
    about: str = ""
    intervals: bool = False

    @property
    def program(self) -> str:
        """Name of the program, "" for a file."""
        kind, _, words = self.key.partition(":")
        return words.split(" ", 1)[0] if kind == "cmd" else ""

    def begun(self, text: str, at: int = 0) -> re.Match[str] | None:
        """Return the match of the first line at an offset; None if no output of this form begins there."""
        return _compiled(self.first).match(text, at)

    def goes_on_with(self, line: str) -> bool:
        """Return whether a line is a later line of an output, as far as `goes_on` is known."""
        return bool(self.goes_on) and _compiled(self.goes_on).fullmatch(line) is not None

    def ends_with(self, line: str) -> bool:
        """Return whether a line is the last one, as far as `last` is known."""
        return bool(self.last) and _compiled(self.last).match(line) is not None

    def shows(self, text: str) -> bool:
        """Return whether the output of a program has this form, after at most a few messages."""
        pattern, at = _compiled(self.first), 0
        head = text[:_FIRST_BYTES]
        for _ in range(_FIRST_LINES):
            if pattern.match(head, at) is not None:
                return True
            at = head.find("\n", at) + 1
            if not at:
                return False
        return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


class FormOutput(Struct, frozen=True):
    """Recorded output of a form: its evidence key, and the output."""

    key: str
    output: Output

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.output.text

    @property
    def words(self) -> list[str]:
        """Arguments of the program: `["-v", "tank"]`; a capture that has only slugs shows blanks as `_`."""
        name = self.key.partition(":")[2]
        return name.split(" " if " " in name else "_")[1:]

    @property
    def paths(self) -> list[str]:
        """Arguments that are paths; in the name of a file of sos, `/` is a dot: `sg_ses_-p_2_.dev.sg12`."""
        dotted = (word.replace(".", "/") if re.match(r"\.[A-Za-z]", word) else word for word in self.words)
        return [word for word in dotted if word.startswith("/")]


def outputs(host: Host, form: Form) -> Iterator[FormOutput]:
    """Yield all recorded outputs of a form, whatever options the program was run with; a live node has none.

    `FormOutput.key` is the key to cite and to note defects of. Outputs of failed runs are included.
    """
    if not form.program:
        try:
            yield FormOutput(form.key, Output(host.read(form.key)))
        except Unreadable:
            return
        return
    for key in host.recorded_texts(form.program, form.shows):
        yield FormOutput(key, host.recorded_output(key.partition(":")[2]))


def named(forms: Iterable[Form], program: str) -> list[Form]:
    """Return the forms that a program prints."""
    return [form for form in forms if form.program == program]
