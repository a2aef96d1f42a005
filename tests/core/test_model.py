"""A field is declared once."""

import enum
import gc
import operator
from types import SimpleNamespace
from typing import Annotated, ClassVar

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core import model
from sdstop.core.model import Fact, Kind, Label, Metric, Reading, State, metric_name, schema


class Mood(enum.StrEnum):
    CALM = "calm"


class Spindle(Reading, frozen=True):
    """One spindle."""

    family: ClassVar[str] = "spindle"
    title: ClassVar[str] = "Spindles"

    device: Annotated[str, Label("Device")]
    side: Annotated[int, Label("Side")]
    read_time: Annotated[int | None, Metric("Read time", "h", "seconds", Kind.COUNTER, scale=0.001)]
    size_bytes: Annotated[int, Metric("Size", "h", "bytes")]
    mood: Annotated[Mood, State("Mood", "h")]
    model: Annotated[str | None, Fact("Model", "h")]


ROW = Spindle("sda", 1, 1500, 512, Mood.CALM, None)


def test_columns_come_in_the_order_of_declaration() -> None:
    found = schema(Spindle)
    assert [c.name for c in found.columns] == ["device", "side", "read_time", "size_bytes", "mood", "model"]
    assert [c.optional for c in found.columns] == [False, False, True, False, False, True]
    assert found.labels == ("device", "side")


def test_key_is_the_tuple_of_labels() -> None:
    assert schema(Spindle).key(ROW) == ("sda", 1)


def test_row_is_in_base_units_and_words() -> None:
    assert schema(Spindle).row(ROW) == {
        "device": "sda", "side": 1, "read_time": 1.5, "size_bytes": 512, "mood": "calm", "model": None,
    }  # fmt: skip


def test_none_is_not_scaled_to_zero() -> None:
    column = schema(Spindle).column("read_time")
    assert column.base(None) is None


@pytest.mark.parametrize(
    ("field", "name"),
    [("read_time", "sdstop_spindle_read_time_seconds_total"), ("size_bytes", "sdstop_spindle_size_bytes")],
)
def test_metric_names_carry_unit_and_total_once(field: str, name: str) -> None:
    assert metric_name("spindle", schema(Spindle).column(field)) == name


def test_rows_are_compared_by_value_and_never_changed() -> None:
    values = ("sda", 1, 30, 512, Mood.CALM, None)
    one, other = Spindle(*values), Spindle(*values)
    assert (one, hash(one), repr(one)) == (other, hash(other), repr(other))
    assert one != Spindle("sdb", *values[1:])
    with pytest.raises(AttributeError, match="immutable"):
        one.side = 2  # type: ignore[misc]  # that is the test


def test_the_garbage_collector_need_not_visit_rows() -> None:
    assert not gc.is_tracked(Spindle("sda", 1, 30, 512, Mood.CALM, None))


def test_a_field_without_a_mark_is_refused() -> None:
    class Bare(Reading, frozen=True):
        family: ClassVar[str] = "bare"
        title: ClassVar[str] = "Bare"
        device: str

    with pytest.raises(TypeError, match=r"Bare\.device"):
        schema(Bare)


def test_a_family_without_labels_has_one_row() -> None:
    class Only(Reading, frozen=True):
        family: ClassVar[str] = "only"
        title: ClassVar[str] = "Only"
        load: Annotated[float, Metric("Load", "h")]

    assert schema(Only).key(Only(1.0)) == ()


FAMILIES = sorted(
    {family for each in BUILTIN for family in (*each.families, *(d.target for d in each.derives))},
    key=lambda family: family.__name__,
)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_key_is_that_of_the_schema_however_it_is_read(family: type[Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_schemas", {})
    monkeypatch.setattr(model, "_keys", {})
    key, labels = model.key_of(family), schema(family).labels
    if labels:
        assert isinstance(key, operator.attrgetter)
        assert key.__reduce__() == operator.attrgetter(*labels).__reduce__()
    else:
        assert key(SimpleNamespace()) == ()  # type: ignore[arg-type]


def test_few_declarations_are_read_whole_for_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_schemas", {})
    monkeypatch.setattr(model, "_keys", {})
    for family in FAMILIES:
        model.key_of(family)
    assert len(model._schemas) < len(FAMILIES) / 8
