"""Slugs: names of commands in hand-made captures. The commands replace them, so that users can run the cited ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec.structs import replace

from sdstop.core.collector import Collector, commands_of
from sdstop.core.evidence import Frame, slug


class Slugs:
    """Slugs of the commands that some collectors run."""

    def __init__(self, collectors: Sequence[Collector]) -> None:
        """Remember the collectors; none if no frame can have slugs, as those of a live node."""
        self._collectors = collectors

    @cached_property
    def _commands(self) -> dict[str, str]:
        """Keys of the commands without variable words, by their slug keys."""
        commands = (command for command in commands_of(self._collectors) if "*" not in command.argv)
        return {f"slug:{slug(' '.join(command.argv))}": command.what for command in commands}

    def named(self, frame: Frame) -> Frame:
        """Return a frame with the keys of commands in place of known slug keys."""
        if not self._collectors or not any(item.key.startswith("slug:") for item in frame.evidence):
            return frame
        evidence = (replace(item, key=self._commands.get(item.key, item.key)) for item in frame.evidence)
        return replace(frame, evidence=tuple(evidence))
