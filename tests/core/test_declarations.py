"""Every family declares where its rows stand in the raw evidence, and what they join, by names of fields it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from sdstop.collectors import BUILTIN
from sdstop.core import joins
from sdstop.core.columns import Columns
from sdstop.core.model import Label, Metric, Reading, Source, Unplaced, files, schema
from sdstop.exporters.prometheus import tallies

FAMILIES = tuple(
    dict.fromkeys([*(f for c in BUILTIN for f in (*c.families, *(d.target for d in c.derives))), *tallies.OF])
)


def faults(family: type[Reading]) -> Iterator[str]:
    """Yield what is wrong with a family's declaration of its places."""
    names = {column.name for column in schema(family).columns}
    coded = family.source is not Reading.source
    places = list(family.fields_of.values())
    if isinstance(family.rows_of, Unplaced):
        if not family.rows_of.why:
            yield "no reason why its rows have no place"
    elif family.rows_of is not None:
        places.append(family.rows_of)
    elif not coded:
        yield "neither rows_of nor a source()"
    if coded and (family.rows_of is not None or family.fields_of):
        yield "a source() that hides its rows_of and fields_of"
    needed = {
        name for place in places for each in (place if isinstance(place, tuple) else (place,)) for name in each.fields
    }
    missing = (needed - known(family)) | (family.fields_of.keys() - names)
    yield from (f"no field {name}" for name in sorted(missing))


def test_where_rows_stand_is_declared() -> None:
    assert {family.family: said for family in FAMILIES if (said := [*faults(family)])} == {}


def test_what_rows_join_is_declared_by_fields_and_things_that_there_are() -> None:
    wrong = {
        family.family: said
        for family in FAMILIES
        if (said := [*joins.faults(family.things, family.joins, known(family), family.peers, family.traits)])
    }
    assert wrong == {}


def known(family: type[Reading]) -> frozenset[str]:
    """Return the names of a family's fields and properties."""
    properties = {name for base in family.__mro__ for name, item in vars(base).items() if isinstance(item, property)}
    return frozenset(properties | {column.name for column in schema(family).columns})


class Bare(Reading, frozen=True):
    """A family that declares no place."""

    family: ClassVar[str] = "bare"
    title: ClassVar[str] = "Bare"

    name: Annotated[str, Label("Name")]
    where: Annotated[str, Label("Where")] = ""
    count: Annotated[int | None, Metric("Count", "A number")] = None
    other: Annotated[int | None, Metric("Other", "A number")] = None


class Placed(Bare, frozen=True):
    """One that does."""

    rows_of = (Source("{where}", "{name}"), Source("/list", " {where|name} ", ("a", "b")))
    fields_of = files("/counts/{name:sysfs}", "count", other="old_{count}")


def test_what_is_forgotten_or_misspelt_is_seen() -> None:
    assert list(faults(Bare)) == ["neither rows_of nor a source()"]
    assert list(faults(Placed)) == []
    wrong = type("Wrong", (Placed,), {"rows_of": Source("/x/{nam}"), "fields_of": files("/x", "coun")})
    assert list(faults(wrong)) == ["no field coun", "no field nam"]
    both = type("Both", (Placed,), {"source": lambda _: None})
    assert list(faults(both)) == ["a source() that hides its rows_of and fields_of"]
    mute = type("Mute", (Bare,), {"rows_of": Unplaced("")})
    assert list(faults(mute)) == ["no reason why its rows have no place"]


def test_templates_are_filled_from_the_row() -> None:
    row = Placed("etherd/e0.1", "/there", 7)
    assert row.source() == row.source("name") == Source("/there", "etherd/e0.1")
    assert row.source("count") == Source("/counts/etherd!e0.1/count")
    assert row.source("other") == Source("/counts/etherd!e0.1/old_7")


def test_a_place_whose_key_lacks_a_field_is_not_there() -> None:
    row = Placed("etherd/e0.1")
    assert row.source("other") == row.source() == Source("/list", " etherd/e0.1 ")
    assert Bare("x").source() is None
    assert type("Unknown", (Bare,), {"rows_of": Unplaced("a test")})("x").source("count") is None


def test_a_needle_that_lacks_a_field_is_none() -> None:
    assert Source("/x", "count {count}").of(Bare("x")) == Source("/x")
    assert Source("/x", "count {count}").of(Bare("x", count=0)) == Source("/x", "count 0")


def test_of_an_object_of_a_gateway_some_fields_are_shown() -> None:
    assert Source("http:GET {name}", "id", ("a", "b")).of(Bare("/x")) == Source("http:GET /x", "id>a,b")
    assert Source("/x", "id", ("a", "b")).of(Bare("/x")) == Source("/x", "id")


def test_a_row_survives_being_packed() -> None:
    """Old tables of many rows are kept as columns, and each row is made again from its fields."""
    for family in FAMILIES:
        row = family(**{column.name: None for column in schema(family).columns})
        assert Columns.of(family, {"key": row})["key"] == row, family.family
