"""The vocabulary of readings: one declaration per field serves table, metric, JSON and docs.

A reading is a frozen msgspec.Struct, one row of its family. The type of each field declares what it is:

    class Member(Reading, frozen=True):
        family: ClassVar[str] = "array_member"
        title: ClassVar[str] = "Array members"

        array: Annotated[str, Label("Array", "md array", names=Name.DEVICE)]
        errors: Annotated[int | None, Metric("Errors", "Read errors that the array corrected",
        kind=Kind.COUNTER)]

`None` means "the node does not say", never 0.

Families with many fields take keywords only. Those that are made a thousand times a second are made by position: 16
fields take 0.2 us so, and 2.9 us by keywords.
"""

from __future__ import annotations

import enum
import operator
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from sdstop.core.joins import Identity, Join
from sdstop.core.template import filled, needed_fields


class Kind(enum.Enum):
    """How a number behaves over time."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Name(enum.Enum):
    """What a text field names, where that belongs to the node's owner. Redaction learns names from these fields alone.

    Names that the kernel, a standard or every distribution gives (`sda`, `eth0`, `/var/lib`, `root`) stay as they are.
    """

    HOST = "host"
    """A host, or the name of a node or client in its cluster; in full, with a port, or several parted by blanks."""
    USER = "user"
    VOLUME = "volume"
    """A volume, pool, dataset, cluster, resource, machine or failure domain; `/`, `@` and commas part names in it."""
    MAPPING = "mapping"
    """A device mapper name: `group-volume`, a hyphen of either doubled."""
    DEVICE = "device"
    """A block device by its kernel name, its path below /dev, its link there, or an alias; several with commas."""
    INTERFACE = "interface"
    """A network interface; several with commas."""
    PATH = "path"
    """A file or a folder."""
    SERIAL = "serial"
    IDENTIFIER = "identifier"
    """An address, WWN, IQN, UUID or id, known by its form wherever it stands."""
    PATHS = "paths"
    """A text that is not a name, as a command line: devices and paths that stand in it are."""
    TEXT = "text"
    """Free text of the source, in which any name may stand: redaction drops it."""
    EVIDENCE = "evidence"
    """The key of evidence, a part that marks a line of it, or a text made of names that other fields hold."""


class Label(Struct, frozen=True):
    """Part of a row's identity; a Prometheus label.

    A text says what it `names`, or that it is `plain`: a word of the kernel, of a format or of a product.
    """

    title: str
    help: str = ""
    names: Name | None = None
    plain: bool = False


class Metric(Struct, frozen=True):
    """A number.

    `unit` is a base unit: "bytes", "seconds", "ratio", "bytes_per_second", "per_second", "" for a plain
    count. `scale` turns the stored number into the base unit (a counter that wraps is kept in the kernel's
    own unit, because its wrap can only be undone there); one below 1 is one over a whole number. `exact` numbers are
    shown in full: an MTU of 9000 is not 8.8K.
    """

    title: str
    help: str
    unit: str = ""
    kind: Kind = Kind.GAUGE
    scale: float = 1
    name: str | None = None
    export: bool = True
    exact: bool = False


class State(Struct, frozen=True):
    """One word out of a known set, so nobody's name; in Prometheus a gauge with a `state` label."""

    title: str
    help: str
    export: bool = True


class Fact(Struct, frozen=True):
    """Text that describes the row; in Prometheus a label of the family's `_info` metric. Names are those of Label."""

    title: str
    help: str
    export: bool = True
    names: Name | None = None
    plain: bool = False


class Buckets(Struct, frozen=True):
    """Cumulative counts by upper bound, `{bound in base unit: count}`; in Prometheus a histogram.

    `shown` names the attribute that has the histogram as Prometheus is told it, where that is another; `name` is the
    metric's, if not as of others.
    """

    title: str
    help: str
    unit: str = ""
    export: bool = True
    name: str | None = None
    shown: str = ""


Mark = Label | Metric | State | Fact | Buckets


class Source(Struct, frozen=True):
    """Where in the raw evidence a row stands: the evidence's key, and a text that marks its line.

    As a declaration both are templates (sdstop.core.template) that a row fills. `show` names the fields of a JSON
    object that are quoted where the evidence is a gateway's answer.
    """

    key: str
    needle: str = ""
    show: tuple[str, ...] = ()

    def of(self, row: Reading) -> Source | None:
        """Return the place of one row, None if its key needs a field without a value."""
        key = filled(self.key, row)
        if not key:
            return None
        return Source(key, object_needle(key, filled(self.needle, row) or "", self.show))

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields that the templates need."""
        return needed_fields(self.key) | needed_fields(self.needle)


def object_needle(key: str, needle: str, show: Sequence[str]) -> str:
    """Return the needle of a JSON object, with the fields to show of it where the evidence is a gateway's answer."""
    return f"{needle}>{','.join(show)}" if show and key.startswith("http:") else needle


class Unplaced(Struct, frozen=True):
    """Says that rows of a family have no single place in the evidence, and why."""

    why: str


Sources = Source | tuple[Source, ...]
"""A place, or several, of which the first counts that a row has the fields for."""


def files(folder: str, *same: str, **names: str) -> dict[str, Sources]:
    """Return the places of fields that are files of a folder (a template): `same` are named as the fields."""
    return {field: Source(f"{folder}/{name}") for field, name in ({name: name for name in same} | names).items()}


class Reading(Struct, frozen=True, gc=False):
    """One row of a family. Subclasses are frozen as well, and each of their fields has one mark.

    Several collectors may bring one family: rows of a `joined` one are put side by side, of any other those of the
    first that has rows count. Of a `remembered` one, small as it must be, windows know more than their seconds.
    Of a `crowded` one people are shown the largest rows first, and of those in which all numbers are 0 how many.

    `rows_of` says where a row stands in the raw evidence, `fields_of` where single fields do, if not there. A family
    whose places depend on more than its fields overrides `source`. `things` are the things that a row names, the first
    one what it is about, and `joins` how they need each other (sdstop.core.joins).
    """

    family: ClassVar[str]
    title: ClassVar[str]
    exported: ClassVar[bool] = True
    joined: ClassVar[bool] = False
    remembered: ClassVar[bool] = False
    crowded: ClassVar[bool] = False
    rows_of: ClassVar[Sources | Unplaced | None] = None
    fields_of: ClassVar[Mapping[str, Sources]] = {}
    things: ClassVar[Mapping[str, Identity]] = {}
    joins: ClassVar[tuple[Join, ...]] = ()

    def source(self, field: str = "") -> Source | None:
        """Return where the raw evidence of this row (of `field`, if named) stands, None if it has no single place."""
        for place in (self.fields_of.get(field), self.rows_of):
            for each in (place,) if isinstance(place, Source) else place if isinstance(place, tuple) else ():
                found = each.of(self)
                if found is not None:
                    return found
        return None


class Column(Struct, frozen=True):
    """One declared field of a family."""

    name: str
    mark: Mark
    optional: bool
    is_text: bool = False

    @property
    def title(self) -> str:
        """Heading of the column."""
        return self.mark.title

    @property
    def unit(self) -> str:
        """Base unit, "" for counts and words."""
        return self.mark.unit if isinstance(self.mark, Metric | Buckets) else ""

    @property
    def exported(self) -> bool:
        """Whether the field becomes a metric (labels always take part)."""
        return True if isinstance(self.mark, Label) else self.mark.export

    @property
    def names(self) -> Name | None:
        """What its text names; None for numbers, words of a known set, and plain text."""
        return self.mark.names if isinstance(self.mark, Label | Fact) else None

    def base(self, value: Any) -> Any:
        """Turn a stored value into base units; enums become their word."""
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(self.mark, Metric) and self.mark.scale != 1 and value is not None:
            scale = self.mark.scale
            return value * scale if scale > 1 else value / round(1 / scale)  # 30 ms: 0.03, not 0.030000000000000002
        return value


class Schema(Struct, frozen=True):
    """A family's columns, in the order of declaration.

    `key` gives a row's identity: one label's value, or a tuple.
    """

    reading: type[Reading]
    family: str
    title: str
    doc: str
    columns: tuple[Column, ...]
    labels: tuple[str, ...]
    key: Callable[[Reading], Hashable]

    def column(self, name: str) -> Column:
        """Return the column of that name; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def row(self, reading: Reading) -> dict[str, Any]:
        """Return the reading as `{field: value in base units}`."""
        return {column.name: column.base(getattr(reading, column.name)) for column in self.columns}


_schemas: dict[type[Reading], Schema] = {}


def schema(reading: type[Reading]) -> Schema:
    """Read the declaration of a family once and remember it.

    Raises TypeError for a field without exactly one mark.
    """
    known = _schemas.get(reading)
    if known is None:
        known = _schemas[reading] = _read_declaration(reading)
    return known


def _read_declaration(reading: type[Reading]) -> Schema:
    hints = typing.get_type_hints(reading, include_extras=True)
    columns = []
    for name in reading.__struct_fields__:
        hint = hints[name]
        marks = [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Mark)]
        if len(marks) != 1:
            raise TypeError(f"{reading.__name__}.{name} needs one Label, Metric, State, Fact or Buckets")
        inner = typing.get_args(hint)[0]
        kinds = typing.get_args(inner) or (inner,)
        columns.append(Column(name, marks[0], type(None) in kinds, str in kinds))
    labels = tuple(c.name for c in columns if isinstance(c.mark, Label))
    key: Callable[[Reading], Hashable] = operator.attrgetter(*labels) if labels else lambda _: ()
    doc = (reading.__doc__ or "").strip()
    return Schema(reading, reading.family, reading.title, doc, tuple(columns), labels, key)


def metric_name(family: str, column: Column) -> str:
    """Return the Prometheus name of a numeric column, e.g. `sdstop_disk_read_bytes_total`."""
    mark = column.mark
    if isinstance(mark, Metric | Buckets) and mark.name is not None:
        return mark.name
    if not isinstance(mark, Metric):
        return f"sdstop_{family}_{column.name}"
    name = f"sdstop_{family}_{column.name}"
    if mark.unit and not name.endswith(f"_{mark.unit}"):
        name += f"_{mark.unit}"
    return name + ("_total" if mark.kind is Kind.COUNTER and not name.endswith("_total") else "")


Rows = Mapping[Hashable, Reading]


class Derivation(Struct, frozen=True):
    """How rows of one family follow from two runs of another.

    `make(before, after, seconds)`, None if they cannot.
    """

    source: type[Reading]
    target: type[Reading]
    make: Callable[[Any, Any, float], Reading | None]
