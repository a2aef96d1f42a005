"""Node traits from a server: queried rarely, and compared by sdstop.analysis.comparison.outlier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.analysis.comparison.outlier import Trait
from sdstop.core.evidence import Cite
from sdstop.core.format import bytes_, number
from sdstop.fleet.answer import LabeledSeries
from sdstop.fleet.picture import key_of, names
from sdstop.fleet.promql import series
from sdstop.fleet.queries import MOST_TRAITS
from sdstop.fleet.state import Key

_PORTS = 'kind=~"physical|bond"'


class TraitQuery(Struct, frozen=True):
    """A query for traits: `text` for given matchers and grouping labels, and the reader of its answer."""

    name: str
    text: Callable[[str, str], str]
    read: Callable[[Sequence[LabeledSeries], Sequence[str]], Iterator[Trait]]


def _cut(expression: str) -> str:
    return f"topk({MOST_TRAITS}, {expression})"


def _linked(match: str, metric: str, by: str, ports: str = _PORTS) -> str:
    """Return a metric of the ports with a link; differences between ports without a link are harmless."""
    on = "on (job, instance, interface)"
    return (
        f"max by ({by}, interface) ({series(metric, match)} and {on} {series('sdstop_interface_info', match, ports)} "
        f"and {on} {series('sdstop_interface_carrier', match)} == 1)"
    )


def node_of(row: LabeledSeries) -> str:
    """Return the name of a series' node."""
    return row.label("instance")


def group_of(row: LabeledSeries, groups: Sequence[str]) -> str:
    """Return the peer group of a series' node."""
    return ",".join(row.label(name) for name in groups)


def _cite(name: str, row: LabeledSeries) -> Cite:
    labels = ", ".join(f'{key}="{value}"' for key, value in sorted(row.labels.items()))
    return Cite(f"query:{name}", 0, f"{{{labels}}} {number(row.value)}")


def _numbers(aspect: str, item: str = "") -> Callable[[Sequence[LabeledSeries], Sequence[str]], Iterator[Trait]]:
    """Return a reader of traits that are the value of a series; `item` is the label that names the part."""

    def read(rows: Sequence[LabeledSeries], groups: Sequence[str]) -> Iterator[Trait]:
        for row in rows:
            part = row.label(item) if item else ""
            yield Trait(node_of(row), aspect, part, row.value, group_of(row, groups), _cite(aspect, row))

    return read


def _words(
    aspect: str, word: Callable[[LabeledSeries], str], item: Callable[[LabeledSeries], str], *, counted: bool = False
) -> Callable[[Sequence[LabeledSeries], Sequence[str]], Iterator[Trait]]:
    """Return a reader of traits that are label values, joined per node and item: `8 x 32G, 4 x 16G`."""

    def read(rows: Sequence[LabeledSeries], groups: Sequence[str]) -> Iterator[Trait]:
        found: dict[tuple[str, str, str], list[tuple[str, LabeledSeries]]] = defaultdict(list)
        for row in rows:
            said = f"{row.value:.0f} x {word(row)}" if counted else word(row)
            found[group_of(row, groups), node_of(row), item(row)].append((said, row))
        for (group, node, part), told in found.items():
            value = ", ".join(sorted({each for each, _ in told}))
            yield Trait(node, aspect, part, value, group, _cite(aspect, told[0][1]))

    return read


def _size(text: str) -> str:
    try:
        return bytes_(float(text))
    except ValueError:
        return text


def _whole(_: LabeledSeries) -> str:
    return ""


def _count_values(label: str, metric: str, condition: str = "") -> Callable[[str, str], str]:
    return lambda match, by: _cut(f'count_values by ({by}) ("{label}", {series(metric, match)}{condition})')


def _level(row: LabeledSeries) -> str:
    return f"{row.label('level')} {row.label('layout')}".strip()


TRAITS: tuple[TraitQuery, ...] = (
    TraitQuery(
        "kernel",
        lambda m, by: _cut(f"max by ({by}, kernel) ({series('sdstop_node_info', m)})"),
        _words("kernel", lambda row: row.label("kernel"), _whole),
    ),
    TraitQuery("mtu", lambda m, by: _cut(_linked(m, "sdstop_interface_mtu_bytes", by)), _numbers("mtu", "interface")),
    TraitQuery(
        "nic-speed",
        lambda m, by: _cut(_linked(m, "sdstop_interface_speed_bytes_per_second", by)),
        _numbers("nic-speed", "interface"),
    ),
    TraitQuery(
        "nics",
        lambda m, by: _cut(f"count by ({by}) ({_linked(m, 'sdstop_interface_carrier', by, _PHYSICAL)})"),
        _numbers("nics"),
    ),
    TraitQuery(
        "dimms",
        _count_values("size", "sdstop_dimm_size_bytes", " > 0"),
        _words("dimms", lambda row: _size(row.label("size")), _whole, counted=True),
    ),
    TraitQuery(
        "dimm-speed",
        lambda m, by: _cut(f"min by ({by}) ({series('sdstop_dimm_configured_per_second', m)})"),
        _numbers("dimm-speed"),
    ),
    TraitQuery(
        "channels",
        lambda m, by: _cut(f"max by ({by}, socket) ({series('sdstop_memory_socket_used', m)})"),
        _numbers("channels", "socket"),
    ),
    TraitQuery(
        "hba-firmware",
        lambda m, by: _cut(f"count by ({by}, device_id, firmware) ({series('sdstop_hba_info', m, _SAID)})"),
        _words("hba-firmware", lambda row: row.label("firmware"), lambda row: row.label("device_id")),
    ),
    TraitQuery(
        "disk-firmware",
        lambda m, by: _cut(f"count by ({by}, model, revision) ({series('sdstop_block_device_info', m, _DISKS)})"),
        _words("disk-firmware", lambda row: row.label("revision"), lambda row: row.label("model")),
    ),
    TraitQuery(
        "arrays",
        lambda m, by: _cut(f"count by ({by}, level, layout) ({series('sdstop_array_info', m)})"),
        _words("arrays", _level, _whole, counted=True),
    ),
    TraitQuery(
        "array-members",
        _count_values("members", "sdstop_array_raid_disks"),
        _words("arrays", lambda row: f"{_size(row.label('members'))} members", lambda _: "members", counted=True),
    ),
    TraitQuery(
        "array-chunks",
        _count_values("chunk", "sdstop_array_chunk_bytes"),
        _words("arrays", lambda row: _size(row.label("chunk")), lambda _: "chunk", counted=True),
    ),
)  # fmt: skip

_PHYSICAL = 'kind="physical"'
_SAID = 'firmware!=""'
_DISKS = 'model!="",revision!=""'


def queries(match: str, groups: Collection[str]) -> Mapping[str, str]:
    """Return the text of each query; `groups` are the labels that define peer groups."""
    by = ", ".join(dict.fromkeys(("job", "instance", *groups)))
    return {query.name: query.text(match, by) for query in TRAITS}


def traits(answers: Mapping[str, Sequence[LabeledSeries]], groups: Sequence[str]) -> Iterator[Trait]:
    """Yield the traits in the answers; a query without an answer has none.

    Nodes have the same names as elsewhere in the picture.
    """
    named = names(sorted({key_of(row) for rows in answers.values() for row in rows}))
    for query in TRAITS:
        yield from query.read([_named(row, named) for row in answers.get(query.name, ())], groups)


def _named(row: LabeledSeries, named: Mapping[Key, str]) -> LabeledSeries:
    return LabeledSeries({**row.labels, "instance": named[key_of(row)]}, row.points)
