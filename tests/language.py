"""Wording that is not plain English, in code and documents.

    python -m tests.language             list every hit
    python -m tests.language PLACE       list every hit in places that begin with PLACE

A place is a folder of product code with the kind of text (string, docstring, comment), a document, or `--help`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CODE = ("sdstop", "collectors", "exporters")
LINKS = ("sdstop/collectors", "sdstop/exporters")
"""Links to packages that are read at their own place."""
GENERATED = ("docs/evidence.md", "docs/metrics.md", "docs/rules.md")
"""Written by scripts/docs from strings that are read in the code."""

PATTERNS = {
    name: re.compile(pattern, flags)
    for name, pattern, flags in (
        ("impersonal pronoun", r"\b(?:nobody|somebody|anybody|everybody|whoever)\b", re.IGNORECASE),
        ("is no", r"\b(?:is|are|was|were) no\b(?! longer)", re.IGNORECASE),
        ("tell, say", r"\b(?:tell|tells|told|said|says)\b", re.IGNORECASE),
        ("go past", r"\b(?:go|goes|went|gone|going) past\b", re.IGNORECASE),
        ("hang on", r"\bhangs? on\b", re.IGNORECASE),
        ("stand", r"\b(?:stands?|stood)\b(?! in)", re.IGNORECASE),
        ("come", r"\b(?:came|come|comes)\b", re.IGNORECASE),
        ("from ... on", r"\bfrom (?:which |where |\S+ )on\b", re.IGNORECASE),
        ("German word", r"\b(?:anew|meanwhile|mend(?:s|ed|ing)?|hardly|besides|reckoned)\b", re.IGNORECASE),
        ("idiom", r"worth a word|without a word|by no way|for ever\b|it takes to judge", re.IGNORECASE),
        ("exclude each other", r"exclude each other", re.IGNORECASE),
        ("None", r"(?<!\| )\bNone\b", 0),
        ("not known", r"\b(?:is|are|was) not (?:yet )?(?:known|told)\b|\bis known after\b", re.IGNORECASE),
        (
            "what-clause",
            r"\bwhat (?:it|its|they|is|was|does|goes|came|comes|becomes|stands|all|of|a|the)\b",
            re.IGNORECASE,
        ),
        ("so many, as much", r"\b(?:so|as) (?:many|much)\b", re.IGNORECASE),
        ("look at", r"\blook(?:ed|s)? at\b", re.IGNORECASE),
        ("status word", r"\b(?:past it|is due|in force|not well|are well)\b", re.IGNORECASE),
    )
}
FOR_USERS = frozenset({"None"})
"""Patterns for texts that users read; docstrings, comments and documents for developers may use them."""
DEVELOPERS = ("CONTRIBUTING.md", "docs/architecture.md")


class Text(NamedTuple):
    """A text, where it begins, and the place that it counts for; `user` if users may read it."""

    place: str
    file: str
    line: int
    text: str
    user: bool


class Hit(NamedTuple):
    """A pattern that a text matches, with the words around it."""

    place: str
    pattern: str
    where: str
    words: str

    def __str__(self) -> str:
        return f"{self.where}: {self.pattern}: {self.words}"


def strings(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield kind, line and text of docstrings, and of strings with a space; `{}` replaces what an f-string inserts."""
    inner: set[ast.AST] = set()
    nodes = list(ast.walk(tree))
    for node in nodes:
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else []:
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                inner.add(each.value)
                yield "docstrings", each.lineno, each.value.value
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and node not in inner:
            for part in node.values:
                if isinstance(part, ast.Constant):
                    inner.add(part)
                elif isinstance(part, ast.FormattedValue) and isinstance(part.format_spec, ast.JoinedStr):
                    inner.update((part.format_spec, *part.format_spec.values))
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "strings", node.lineno, "".join(parts)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner and " " in node.value:
            yield "strings", node.lineno, node.value


_COMMENT = re.compile(
    r"""(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\#(?P<words>[^\n]*)""",
    re.DOTALL,
)
"""A string, which may hold the sign of a comment, or a comment; a tokenizer takes ten times as long."""


def comments(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield the comments; those of lines that follow each other are one text."""
    first, last, words = 0, -1, ""
    line, seen = 1, 0
    for match in _COMMENT.finditer(source):
        if match["words"] is None:
            continue
        line, seen = line + source.count("\n", seen, match.start()), match.start()
        if line != last + 1:
            if words:
                yield "comments", first, words
            first, words = line, ""
        last, words = line, f"{words} {match['words'].lstrip('# ')}"
    if words:
        yield "comments", first, words


def code(root: Path) -> Iterator[Text]:
    """Yield the texts of product code."""
    for path in sorted(path for top in CODE for path in (root / top).rglob("*.py")):
        file = path.relative_to(root).as_posix()
        if file.startswith(LINKS):
            continue
        source = path.read_text(encoding="utf-8")
        folder = file.rpartition("/")[0]
        for kind, line, text in (*strings(ast.parse(source)), *comments(source)):
            yield Text(f"{folder} {kind}", file, line, text, user=kind == "strings")


def documents(root: Path) -> Iterator[Text]:
    """Yield the paragraphs of the documents that are written by hand."""
    for path in (root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))):
        file = path.relative_to(root).as_posix()
        if file in GENERATED or not path.is_file():
            continue
        line = 1
        for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
            yield Text(file, file, line, paragraph, user=file not in DEVELOPERS)
            line += paragraph.count("\n") + 2


def hits(texts: Iterable[Text]) -> list[Hit]:
    """Return the matches of all patterns in texts."""
    found = []
    for text in texts:
        words = " ".join(text.text.split())
        for name, pattern in PATTERNS.items():
            if name in FOR_USERS and not text.user:
                continue
            for match in pattern.finditer(words):
                around = words[max(0, match.start() - 60) : match.end() + 60]
                found.append(Hit(text.place, name, f"{text.file}:{text.line}", around))
    return found


def main() -> int:
    """List hits."""
    parser = argparse.ArgumentParser(description="List wording that is not plain English.")
    parser.add_argument("place", nargs="?", default="", help="list only hits in places that begin with this")
    place = parser.parse_args().place
    found = hits((*code(ROOT), *documents(ROOT)))
    sys.stdout.writelines(f"{hit}\n" for hit in found if hit.place.startswith(place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
