"""Recorded output of commands that other people ran, with whatever options they gave."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from msgspec import Struct

from sdstop.core.host import Host


class RecordedOutput(Struct, frozen=True):
    """Output of a recorded command: its evidence key, its command line (or the slug of it), and the text.

    `is_whole` is unset if the end of the output was not seen, as of pasted text that nothing follows.
    """

    key: str
    command: str
    text: str
    is_whole: bool = True

    @property
    def words(self) -> list[str]:
        """The words of the command line; of a slug those between its underscores."""
        try:
            return shlex.split(self.command) if " " in self.command else self.command.split("_")
        except ValueError:
            return self.command.split()

    @property
    def options(self) -> list[str]:
        """The words behind the program's name."""
        return self.words[1:]

    def option(self, *names: str) -> str | None:
        """Return the value of an option: `-o X`, `--units=X`; None if it was not given."""
        for place, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name in names:
                return value if equals else (self.words[place + 1 : place + 2] or [""])[0]
        return None


def outputs(host: Host, program: str, pattern: str = "") -> Iterator[RecordedOutput]:
    """Yield the recorded outputs of a program whose command line matches a pattern from its start.

    An output with another exit status than 0 counts where it has text, and is noted as incomplete. Raises TimedOut.
    """
    for key in host.recorded_texts(program, lambda text: bool(text.strip())):
        command = key.partition(":")[2]
        if pattern and re.match(pattern, command) is None:
            continue
        output = host.recorded_output(command)
        if output.exit:
            host.defect(key, f"exit status {output.exit}")
        yield RecordedOutput(key, command, output.text, not output.fault and not output.exit)
