"""Settings files: TOML and YAML converted to declared types, or rejected with a one-line error.

The types are msgspec.Struct classes with `forbid_unknown_fields=True, frozen=True`; `Meta(description=...)`
describes the expected value if the type alone does not. Messages contain the path of the setting, `sampler.interval:
expected a number from 0.1 to 3600, got text`, but never the value, which may be a misplaced secret.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, TypeVar, get_origin

import msgspec

from sdstop.core.config_error import ConfigError, InvalidSetting, message
from sdstop.core.format import safe

T = TypeVar("T")
LARGEST = 1 << 20
"""Maximum size of a file in bytes."""


@contextlib.contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Prefix the message of a ConfigError with the file name."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{safe(path)}: {error}") from error.__cause__


def read_text(path: Path) -> str:
    """Return the UTF-8 text of a file. Raises ConfigError with the file name."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # a path with NUL is a ValueError
        raise ConfigError(f"{safe(path)}: {getattr(error, 'strerror', None) or 'not a path'}") from error
    if len(data) > LARGEST:
        raise ConfigError(f"{safe(path)}: larger than {LARGEST >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{safe(path)}: not UTF-8 text") from None


def read_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML document. Raises ConfigError."""
    import tomllib  # noqa: PLC0415  # most nodes have no file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {safe(error)}") from None
    except RecursionError:
        raise ConfigError("not TOML: nested too deeply") from None


def read_yaml(text: str) -> Any:
    """Return the plain data of a YAML document. Raises ConfigError, also for duplicate keys."""
    import yaml  # noqa: PLC0415  # 3 MB that most exporters do not need

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002  # its signature
            seen = []
            for key, _ in node.value:
                if key.value in seen:
                    raise ConfigError(f"line {key.start_mark.line + 1}: duplicate key {safe(key.value, 40)}")
                seen.append(key.value)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)  # noqa: S506  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""
        why = error.problem if error.problem and not re.search("['\"]", error.problem) else None  # it quotes the text
        raise ConfigError(f"{line}not YAML{f': {safe(why)}' if why else ''}") from None
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        raise ConfigError("not YAML") from None


def convert(value: object, kind: type[T], place: str = "") -> T:
    """Return parsed TOML or YAML as a declared type; `place` is the path of the value. Raises ConfigError."""
    try:
        return _validated(value, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(message(value, kind, error, place, _validated)) from None
    except RecursionError:
        raise ConfigError(f"{place}: nested too deeply".removeprefix(": ")) from None


def _validated(value: object, kind: type[T]) -> T:
    return msgspec.convert(value, kind, dec_hook=_special)


def _special(kind: type, value: object) -> object:
    """Convert to types not supported by msgspec. Raises ValueError."""
    if not isinstance(value, str):
        raise InvalidSetting("", f"expected {_SPECIAL[kind.__name__]}; put it in quotes")
    if (get_origin(kind) or kind) is re.Pattern:
        try:
            return re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidSetting("", f"not a regular expression: {error}") from None
    return kind(value)


_SPECIAL = {"Pattern": "a regular expression", "Path": "a path"}
