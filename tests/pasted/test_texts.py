"""Every text of the corpus is read as declared beside it."""

from __future__ import annotations

from collections import Counter

import pytest

from sdstop.core.account import Use, accounts
from sdstop.core.form import Form
from sdstop.pasted import TextRefused
from sdstop.pasted.division import Division
from tests.pasted.corpus import FORMS, Text, findings, judged, keys_read, missing, rows, ruled_out, texts

EVERY = texts()


@pytest.mark.parametrize("text", EVERY, ids=lambda text: text.name)
def test_a_text_is_read_as_declared(text: Text) -> None:
    declared = text.declared
    if declared.refused:
        with pytest.raises(TextRefused, match="text without a recognized output"):
            judged(text.data)
        return
    session = judged(text.data)
    found = rows(session)
    assert keys_read(session) == set(declared.reads)
    assert missing(declared.rows, found) == []
    counts = Counter(name.partition(" ")[0] for name in found)
    assert {family: counts[family] for family in declared.counts} == declared.counts
    uses = accounts(session.origin, session.head().now)
    unread = {each.block.key or each.block.first for each in uses if each.use is not Use.READ}
    assert {each.block.key for each in uses if each.use is Use.UNREAD} <= set(declared.unread) <= unread
    assert findings(session) == set(declared.found)
    assert set(declared.good) <= ruled_out(session)


def _shown() -> set[str]:
    """Return the keys of the forms of which a text of the corpus has an output that is read."""
    division, found = Division(FORMS), set[str]()
    for text in EVERY:
        read = set(text.declared.reads)
        for output in division.outputs(division.cleaned(text.data)):
            if output.key in read:
                found |= {form.key for form in FORMS.forms if _is_of(form, output.key) and form.shows(output.text)}
    return found


def _is_of(form: Form, key: str) -> bool:
    return key.partition(" ")[0] == form.key.partition(" ")[0] if form.program else key == form.key


def test_every_form_is_read_from_a_text_of_the_corpus() -> None:
    assert sorted({form.key for form in FORMS.forms} - _shown()) == []
