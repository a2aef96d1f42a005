"""Wording that is not plain English, in code and documents, and the counts of it that are still allowed.

    python -m tests.language             list what is allowed, by place, and what is above
    python -m tests.language PLACE       list every hit in places that begin with PLACE
    python -m tests.language --lower     lower the counts of language.toml to the hits that are left

A place is a folder of product code with the kind of text (string, docstring, comment), a document, or `--help`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = Path(__file__).with_name("language.toml")
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


Counts = Mapping[tuple[str, str], int]


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


def counted(found: Iterable[Hit]) -> Counter[tuple[str, str]]:
    """Return the number of hits by place and pattern."""
    return Counter((hit.place, hit.pattern) for hit in found)


def allowed(text: str) -> Counter[tuple[str, str]]:
    """Return the allowed counts of `[place]` tables with `pattern = count`."""
    return Counter({(place, name): count for place, row in tomllib.loads(text).items() for name, count in row.items()})


def excess(found: Iterable[Hit], limits: Counts) -> list[str]:
    """Return a line for each hit of a place and pattern with more hits than are allowed."""
    found = list(found)
    over = {key for key, count in counted(found).items() if count > limits.get(key, 0)}
    return [f"{hit.where}: {hit.pattern}: {hit.words}" for hit in found if (hit.place, hit.pattern) in over]


def unneeded(found: Iterable[Hit], limits: Counts) -> list[str]:
    """Return a line for each allowed count that is above the number of hits."""
    have = counted(found)
    return [
        f"{place}: {name} = {limit}, but {have[place, name]} left: python -m tests.language --lower"
        for (place, name), limit in limits.items()
        if limit > have[place, name]
    ]


def rendered(limits: Counts) -> str:
    """Return the allow-list as TOML."""
    lines = [
        "# Allowed hits of the patterns in language.py, by place and pattern. A count may only become smaller:",
        "# python -m tests.language --lower",
    ]
    place = ""
    for (each, name), limit in sorted(limits.items()):
        if limit < 1:
            continue
        if each != place:
            lines += ["", f'["{each}"]']
            place = each
        lines.append(f'"{name}" = {limit}')
    return "\n".join(lines) + "\n"


def lowered(found: Iterable[Hit], limits: Counts) -> dict[tuple[str, str], int]:
    """Return the limits, each at most the number of hits."""
    have = counted(found)
    return {key: min(limit, have[key]) for key, limit in limits.items()}


def main() -> int:
    """List hits, or lower the allowed counts."""
    parser = argparse.ArgumentParser(description="List wording that is not plain English.")
    parser.add_argument("place", nargs="?", help="list every hit in places that begin with this")
    parser.add_argument("--lower", action="store_true", help="lower the allowed counts to the hits that are left")
    options = parser.parse_args()
    found = hits((*code(ROOT), *documents(ROOT)))
    limits = allowed(ALLOWED.read_text(encoding="utf-8"))
    if options.lower:
        ALLOWED.write_text(rendered(lowered(found, limits)), encoding="utf-8")
    elif options.place is not None:
        for hit in found:
            if hit.place.startswith(options.place):
                sys.stdout.write(f"{hit.where}: {hit.pattern}: {hit.words}\n")
    else:
        for (place, name), count in sorted(limits.items()):
            sys.stdout.write(f"{count:4} {place}: {name}\n")
        sys.stdout.writelines(f"{line}\n" for line in excess(found, limits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
