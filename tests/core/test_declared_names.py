"""Every text field says what it names, or that it is plain: redaction learns names from nowhere else."""

from sdstop.collectors import BUILTIN
from sdstop.core.model import Column, Fact, Label, Name, Reading, schema
from sdstop.exporters.prometheus import tallies

FAMILIES = list(
    dict.fromkeys(
        family
        for collector in BUILTIN
        for family in (*collector.families, *(derivation.target for derivation in collector.derives))
    )
)
FAMILIES += tallies.OF


def texts(family: type[Reading]) -> list[Column]:
    return [column for column in schema(family).columns if isinstance(column.mark, Label | Fact)]


def test_a_text_field_names_something_or_is_plain() -> None:
    for family in FAMILIES:
        for column in texts(family):
            mark = column.mark
            assert isinstance(mark, Label | Fact)
            declared = (mark.names is not None) + mark.plain
            assert declared == (1 if column.is_text else 0), f"{family.__name__}.{column.name}: names= or plain=True"


def test_a_row_is_not_identified_by_free_text() -> None:
    """Free text is dropped by redaction, and rows would become one."""
    labels = [c for family in FAMILIES for c in texts(family) if isinstance(c.mark, Label)]
    assert labels
    assert not [column.name for column in labels if column.names in {Name.TEXT, Name.EVIDENCE}]


def test_every_kind_of_name_is_declared_somewhere() -> None:
    assert {column.names for family in FAMILIES for column in texts(family)} - {None} == set(Name)
