"""Plain English in code, documents and `--help`: the patterns of language.py, and names that are not terms."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

from sdstop.cli.arguments import parse
from sdstop.cli.usage import COMMANDS
from tests.language import CODE, LINKS, PATTERNS, ROOT, Text, code, documents, hits

BANNED = frozenset(
    {
        "Arrived",
        "Asked",
        "Doer",
        "Held",
        "Here",
        "Knot",
        "LUXURIES",
        "Leaf",
        "Led",
        "Left",
        "Limb",
        "Looked",
        "Managed",
        "Near",
        "Passed",
        "Pieces",
        "Proposal",
        "Said",
        "Seen",
        "Served",
        "Spindle",
        "Stem",
        "Talk",
        "Top",
        "Twig",
        "Whole",
        "brought",
        "harms",
        "mend",
        "pain",
        "swift",
        "told",
        "wholes",
    }
)
"""Names of classes, functions and constants that are not terms of the field; a leading underscore does not help."""
_BANNED = re.compile(rf"\b_*(?:{'|'.join(sorted(BANNED))})\b")

SAMPLES = {
    "impersonal pronoun": ("nobody leads it", "no node leads it"),
    "is no": ("X is no capture", "X is no longer there"),
    "tell, say": ("the source says so", "essays and sayings"),
    "go past": ("reads that went past it", "reads that bypassed it"),
    "hang on": ("disks hang on it", "disks that hang only sometimes"),
    "stand": ("it stands before it", "it stands in for it"),
    "come": ("reads that came", "the outcome"),
    "from ... on": ("from 1MiB on", "from it only"),
    "German word": ("written anew", "amended"),
    "idiom": ("left for ever", "left forever"),
    "exclude each other": ("they exclude each other", "they exclude others"),
    "None": ("None: unknown", "none: unknown, or str | None"),
    "not known": ("it is not yet known", "it is unknown"),
    "what-clause": ("what it caches on", "what happened"),
    "so many, as much": ("as many as that", "how many"),
    "look at": ("50 devices looked at", "looked for"),
    "status word": ("no finding is in force", "the active finding"),
}


def helps() -> list[Text]:
    """Return `--help` of every command."""
    texts = []
    for command in COMMANDS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pytest.raises(SystemExit):
            parse(command, ["--help"])
        assert "--help" in printed.getvalue()
        texts.append(Text("--help", f"sdstop {command} --help", 1, printed.getvalue(), user=True))
    return texts


def test_no_text_matches_a_pattern() -> None:
    everything = [*code(ROOT), *documents(ROOT), *helps()]
    assert len(everything) > 5000
    assert [str(hit) for hit in hits(everything)] == []


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_matches_its_sample_and_no_other_word(name: str) -> None:
    bad, good = SAMPLES[name]
    assert [hit.pattern for hit in hits([Text("p", "f", 1, bad, user=True)]) if hit.pattern == name] == [name]
    assert [hit.pattern for hit in hits([Text("p", "f", 1, good, user=True)]) if hit.pattern == name] == []


PLANTED = '''
"""Nobody knows it."""
# it stands before
# somebody
# what it is
X = ("it went "
     "past")
Y = f"{X} is no {X:>{X + ' came '}} path" if X else f"{'as many' + X}: {f'told {X}'}"
Z = "anew"  # a single word is a key, not a text
def f() -> int | None:
    """Return None."""
'''


def test_a_planted_sentence_is_found(tmp_path: Path) -> None:
    (tmp_path / "collectors" / "md").mkdir(parents=True)
    (tmp_path / "collectors" / "md" / "new.py").write_text(PLANTED)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "new.md").write_text("# New\n\nfine\n\nThe node\nsays so.\n")
    (tmp_path / "docs" / "rules.md").write_text("generated: nobody")
    (tmp_path / "README.md").write_text("Disks hang\non it.")
    found = hits((*code(tmp_path), *documents(tmp_path)))
    assert {(hit.place, hit.where, hit.pattern) for hit in found} == {
        ("collectors/md docstrings", "collectors/md/new.py:2", "impersonal pronoun"),
        ("collectors/md comments", "collectors/md/new.py:3", "stand"),
        ("collectors/md comments", "collectors/md/new.py:3", "impersonal pronoun"),
        ("collectors/md comments", "collectors/md/new.py:3", "what-clause"),
        ("collectors/md strings", "collectors/md/new.py:6", "go past"),
        ("collectors/md strings", "collectors/md/new.py:8", "is no"),
        ("collectors/md strings", "collectors/md/new.py:8", "come"),
        ("collectors/md strings", "collectors/md/new.py:8", "so many, as much"),
        ("collectors/md strings", "collectors/md/new.py:8", "tell, say"),
        ("docs/new.md", "docs/new.md:5", "tell, say"),
        ("README.md", "README.md:1", "hang on"),
    }
    assert len(found) == 11


def names(tree: ast.Module) -> set[str]:
    """Return the names that a module defines at its top, and methods."""
    found = set()
    for node in (*tree.body, *(inner for each in tree.body if isinstance(each, ast.ClassDef) for inner in each.body)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign) and node in tree.body:
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def test_names_are_words_of_the_field() -> None:
    found = [
        (path.relative_to(ROOT).as_posix(), name)
        for top in CODE
        for path in sorted((ROOT / top).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(LINKS)
        if _BANNED.search(text := path.read_text(encoding="utf-8"))  # others are not worth parsing
        for name in sorted(names(ast.parse(text)))
        if name.lstrip("_") in BANNED
    ]
    assert found == []
