"""Declarations of readings: each field is declared once for table, metric, JSON and documentation.

A reading is a frozen msgspec.Struct, one row of its family. The annotation of each field declares its meaning:

    class Member(Reading, frozen=True):
        family: ClassVar[str] = "array_member"
        title: ClassVar[str] = "Array members"

        array: Annotated[str, Label("Array", "md array", names=Name.DEVICE)]
        errors: Annotated[int | None, Metric("Errors", "Read errors that were corrected", kind=Kind.COUNTER)]

`None` means "not reported by the node", never 0.

Families with many fields are keyword-only. Those created a thousand times a second are created by position: 16 fields
take 0.2 us that way, and 2.9 us by keyword.
"""

from __future__ import annotations

import enum
import operator
import sys
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.joins import Identity, Join, Peers
from sdstop.core.template import filled, needed_fields


class Kind(enum.Enum):
    """Metric type: gauge or counter."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Name(enum.Enum):
    """Kind of site-specific name in a text field. Redaction learns names only from fields declared with one.

    Names assigned by the kernel, a standard or every distribution (`sda`, `eth0`, `/var/lib`, `root`) are kept.
    """

    HOST = "host"
    """A host, or a cluster's name for a node or client; may be qualified, have a port, or be a space-separated list."""
    USER = "user"
    VOLUME = "volume"
    """A volume, pool, dataset, cluster, resource, machine or failure domain; `/`, `@` and commas separate names."""
    MAPPING = "mapping"
    """A device mapper name: `group-volume`, hyphens within either part are doubled."""
    DEVICE = "device"
    """A block device: kernel name, path or link below /dev, or alias; several are comma-separated."""
    INTERFACE = "interface"
    """A network interface; several are comma-separated."""
    PATH = "path"
    """A file or directory."""
    SERIAL = "serial"
    IDENTIFIER = "identifier"
    """An address, WWN, IQN, UUID or ID, recognized by its format in any text."""
    PATHS = "paths"
    """Text that contains device names and paths, such as a command line, but is not itself a name."""
    TEXT = "text"
    """Free text from the source that may contain any name; dropped by redaction."""
    EVIDENCE = "evidence"
    """An evidence key, a marker of a line in it, or text composed of names held by other fields."""


class Label(Struct, frozen=True):
    """Part of a row's identity; a Prometheus label.

    A text field has either a kind of name (`names`) or is `plain` (a term of the kernel, of a format or of a product).
    """

    title: str
    help: str = ""
    names: Name | None = None
    plain: bool = False


class Metric(Struct, frozen=True):
    """Numeric field.

    `unit` is a base unit: "bytes", "seconds", "ratio", "bytes_per_second", "per_second", "celsius", "" for a
    plain count. `scale` converts the stored number to the base unit (wrapping counters stay in the kernel's own unit
    because wraps can only be corrected there); a scale below 1 is the reciprocal of an integer. `exact` numbers are
    shown in full: an MTU of 9000 is not abbreviated to 8.8K. A `detail` is not on the default metrics page, because
    there are many rows, and it seldom changes or is seldom asked for. A `setting` is configured or built in, and not
    load: a size, a limit, a number of queues; `sdstop diff` compares it.
    """

    title: str
    help: str
    unit: str = ""
    kind: Kind = Kind.GAUGE
    scale: float = 1
    name: str | None = None
    export: bool = True
    exact: bool = False
    detail: bool = False
    setting: bool = False


class State(Struct, frozen=True):
    """One word from a fixed set, never a site-specific name; in Prometheus a gauge with a `state` label.

    `name` is that of the metric, if not made of those of the family and the field. `detail` has the same meaning as in
    Metric. `alike` are words between which load alone changes: to a comparison they are one.
    """

    title: str
    help: str
    export: bool = True
    name: str | None = None
    detail: bool = False
    alike: frozenset[str] = frozenset()


class Fact(Struct, frozen=True):
    """Text that describes the row; in Prometheus a label of the family's `_info` metric.

    `names` and `plain` have the same meaning as in Label. Where all facts of a family are a `detail`, its `_info`
    metric is not on the default page. `setting`: `sdstop diff` compares it although it is not exported.
    """

    title: str
    help: str
    export: bool = True
    names: Name | None = None
    plain: bool = False
    detail: bool = False
    setting: bool = False


class Buckets(Struct, frozen=True):
    """Cumulative counts by upper bound, `{bound in base unit: count}`; in Prometheus a histogram.

    `shown` names the attribute that holds the exported histogram, if it is a different one; `name` overrides the
    default metric name.
    """

    title: str
    help: str
    unit: str = ""
    export: bool = True
    name: str | None = None
    shown: str = ""


Mark = Label | Metric | State | Fact | Buckets


class Source(Struct, frozen=True):
    """Location of a row in the raw evidence: the evidence key, and text that marks the line.

    In declarations both are templates (sdstop.core.template) filled from a row. `show` names the fields of the JSON
    object to quote if the evidence is a gateway response.
    """

    key: str
    needle: str = ""
    show: tuple[str, ...] = ()

    def of(self, row: Reading) -> Source | None:
        """Return the location of a row, or None if its key needs a field that has no value."""
        key = filled(self.key, row)
        if not key:
            return None
        needle = filled(self.needle, row) or "" if self.needle else ""
        return Source(key, object_needle(key, needle, self.show) if self.show else needle)

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields used by the templates."""
        return needed_fields(self.key) | needed_fields(self.needle)


def object_needle(key: str, needle: str, show: Sequence[str]) -> str:
    """Return the needle of a JSON object, with the fields to show if the evidence is a gateway response."""
    return f"{needle}>{','.join(show)}" if show and key.startswith("http:") else needle


class Unplaced(Struct, frozen=True):
    """Declaration that rows of a family have no single location in the evidence, with the reason."""

    why: str


Sources = Source | tuple[Source, ...]
"""One location, or alternatives: the first whose fields have values in the row is used."""


def files(folder: str, *same: str, **names: str) -> dict[str, Source]:
    """Return locations of fields read from files in a directory (a template); `same` files have the fields' names."""
    return {field: Source(f"{folder}/{name}") for field, name in ({name: name for name in same} | names).items()}


def recorded(needle: str, places: Mapping[str, Source]) -> dict[str, Sources]:
    """Return locations of fields; the recorded output that a row names as its source takes precedence.

    `needle` (a template) marks the row's line there.
    """
    return {field: (Source("{told}", needle), place) for field, place in places.items()}


class Reading(Struct, frozen=True, gc=False):
    """One row of a family. Subclasses are frozen too, and each of their fields has exactly one mark.

    Several collectors may produce the same family: rows of a `joined` family are combined; otherwise the first
    collector that has rows is used. A `remembered` family, which must be small, keeps history beyond the window (a
    number: for that number of runs).
    A `crowded` family is displayed with the largest rows first; rows whose numbers are all 0 are only counted.
    Tables of a `numerous` family are columns (sdstop.core.columns).

    `rows_of` is the location of a row in the raw evidence, `fields_of` that of single fields read elsewhere. A family
    whose locations depend on more than its fields overrides `source`. `things` are the things named by a row (the
    first is its subject), `joins` the dependencies between them, `peers` the groups whose members should behave alike,
    and `traits` the fields with the traits of such a group, of which the subject is the upper thing or a member
    (sdstop.core.joins). The rows of a family with a title `remarked` have a field `device`, the kernel name of a disk,
    and state in `remark` what belongs to each finding about this disk (sdstop.core.remarks).
    """

    family: ClassVar[str]
    title: ClassVar[str]
    exported: ClassVar[bool] = True
    joined: ClassVar[bool] = False
    remembered: ClassVar[int] = False
    crowded: ClassVar[bool] = False
    numerous: ClassVar[bool] = False
    rows_of: ClassVar[Sources | Unplaced | None] = None
    fields_of: ClassVar[Mapping[str, Sources]] = {}
    things: ClassVar[Mapping[str, Identity]] = {}
    joins: ClassVar[tuple[Join, ...]] = ()
    peers: ClassVar[tuple[Peers, ...]] = ()
    traits: ClassVar[Mapping[str, str]] = {}
    remarked: ClassVar[str] = ""

    def remark(self) -> str:
        """Return what each finding about the disk has to state, in at most 60 characters; "" for nothing."""
        return ""

    def source(self, field: str = "") -> Source | None:
        """Return the evidence location of this row (of `field` if given), or None if its evidence is at several."""
        for place in _places(type(self), field):
            found = place.of(self)
            if found is not None:
                return found
        return None


@cache
def _places(family: type[Reading], field: str) -> tuple[Source, ...]:
    """Return the declared locations of a field, then those of a row, in order."""
    found: list[Source] = []
    for place in (family.fields_of.get(field), family.rows_of):
        found += (place,) if isinstance(place, Source) else place if isinstance(place, tuple) else ()
    return tuple(found)


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
        """Whether the field is exported as a metric (labels always are)."""
        return True if isinstance(self.mark, Label) else self.mark.export

    @property
    def names(self) -> Name | None:
        """Kind of name in the text; None for numbers, states and plain text."""
        return self.mark.names if isinstance(self.mark, Label | Fact) else None

    def base(self, value: Any) -> Any:
        """Convert a stored value to base units; an enum member becomes its value."""
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(self.mark, Metric) and self.mark.scale != 1 and value is not None:
            scale = self.mark.scale
            return value * scale if scale > 1 else value / round(1 / scale)  # 30 ms: 0.03, not 0.030000000000000002
        return value


class Schema(Struct, frozen=True):
    """Columns of a family, in declaration order.

    `key` returns the identity of a row: the value of its only label, or a tuple of several.
    """

    reading: type[Reading]
    family: str
    title: str
    doc: str
    columns: tuple[Column, ...]
    labels: tuple[str, ...]
    key: Callable[[Reading], Hashable]

    def column(self, name: str) -> Column:
        """Return the column with this name. Raises KeyError."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def row(self, reading: Reading) -> dict[str, Any]:
        """Return the reading as `{field: value in base units}`."""
        return {column.name: column.base(getattr(reading, column.name)) for column in self.columns}


_schemas: dict[type[Reading], Schema] = {}


def schema(reading: type[Reading]) -> Schema:
    """Return the schema of a family, read from its declaration once and cached.

    Raises TypeError for a field without exactly one mark.
    """
    known = _schemas.get(reading)
    if known is None:
        known = _schemas[reading] = _read_declaration(reading)
    return known


_keys: dict[type[Reading], Callable[[Reading], Hashable]] = {}
_MARKED = expression(r"Annotated\[[\w |.]+, *(Label|Metric|State|Fact|Buckets)\(")


def key_of(reading: type[Reading]) -> Callable[[Reading], Hashable]:
    """Return the key of a family's schema; only its labels are read where nothing else has asked for the schema.

    Raises TypeError like `schema`.
    """
    known = _keys.get(reading)
    if known is None:
        known = _keys[reading] = _schemas[reading].key if reading in _schemas else _key(reading)
    return known


def _key(reading: type[Reading]) -> Callable[[Reading], Hashable]:
    """Return the key of a family whose marks are all written in the annotations, as they usually are."""
    labels = []
    given: dict[str, Any] = {}
    for base in reversed(reading.__mro__):
        given |= _annotations(base)
    for name in reading.__struct_fields__:
        found = _MARKED.match(" ".join(given[name].split())) if isinstance(given.get(name), str) else None
        if found is None:
            return schema(reading).key
        labels += [name] if found[1] == "Label" else []
    return operator.attrgetter(*labels) if labels else lambda _: ()


def _annotations(base: type) -> dict[str, Any]:
    """Return the annotations of a class without those of its bases, like inspect.get_annotations (8 ms to import)."""
    return getattr(base, "__annotations__", {})


def _hints(reading: type[Reading]) -> dict[str, Any]:
    """Return the type of each field. Much faster than typing.get_type_hints, which compiles every annotation alone."""
    found: dict[str, Any] = {}
    for base in reversed(reading.__mro__):
        given = _annotations(base)
        own = {name: given[name] for name in reading.__struct_fields__ if name in given}
        texts = [text for text in own.values() if isinstance(text, str)]
        types = iter(eval(f"[{', '.join(texts)}]", vars(sys.modules[base.__module__])))  # noqa: S307  # our own source
        found.update({name: next(types) if isinstance(hint, str) else hint for name, hint in own.items()})
    return {name: found[name] for name in reading.__struct_fields__}


def _read_declaration(reading: type[Reading]) -> Schema:
    columns = []
    for name, hint in _hints(reading).items():
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
    """Return the Prometheus name of a numeric column, e.g. `sdstop_disk_read_bytes_total`.

    A word that ends the family's name and begins the column's is written once: `sdstop_path_mtu_bytes`.
    """
    mark = column.mark
    if isinstance(mark, Metric | Buckets | State) and mark.name is not None:
        return mark.name
    field = column.name
    if field.partition("_")[0] == family.rpartition("_")[2]:
        field = field.partition("_")[2]
    name = f"sdstop_{family}_{field}".rstrip("_")
    if not isinstance(mark, Metric):
        return name
    if mark.unit and not name.endswith(f"_{mark.unit}"):
        name += f"_{mark.unit}"
    return name + ("_total" if mark.kind is Kind.COUNTER and not name.endswith("_total") else "")


Rows = Mapping[Hashable, Reading]


class Derivation(Struct, frozen=True):
    """Derivation of rows of one family from two runs of another.

    `make(before, after, seconds)` returns the derived row, or None if it cannot be computed. That of a `numerous`
    source gets both tables, as columns, and returns the derived one.
    """

    source: type[Reading]
    target: type[Reading]
    make: Callable[[Any, Any, float], Any]
