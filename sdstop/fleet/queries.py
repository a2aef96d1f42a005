"""PromQL queries, each aggregated and limited on the server, so that the size of the fleet does not matter.

Only PromQL that both Prometheus 2.42 and VictoriaMetrics 1.79 support: no `@`, negative offset or native histogram;
aggregated by explicit labels, because MetricsQL keeps metric names where PromQL drops them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec import Struct

from sdstop.fleet.promql import one_of, quoted, series

MOST_NODES = 500
"""Maximum listed nodes, worst first; all nodes are counted."""
MOST_ROWS = 100
"""Maximum rows of other lists."""
MOST_TRAITS = 10_000
"""Series in the result of a query about traits."""
STALE_SECONDS = 120.0
"""Age in seconds of the last sample above which a node is silent: eight scrapes of 15 s."""
LOOKBACK = "6h"
"""Period for which a vanished node is remembered."""
AT_LIMIT = 0.9
"""Minimum used share of a limit for a volume to be listed."""

RECORDED_SKEW = "sdstop:array_skew:ratio5m"
RECORDED_USE = "sdstop:limit_used:ratio5m"

ON_ARRAYS = ("hot-stripe-member", "slow-stripe-member", "stripe-convoy", "device-hung", "array-degraded")
"""Rules whose subject is an array or ARRAY/MEMBER."""
ON_VOLUMES = ("volume-qos-saturated", "qos-multiplied", "qos-partial", "volume-below-promise")

_NODE = "job, instance"

FAST, SLOW, RARE = 1, 2, 10
"""Query intervals in refreshes: every one, every second, every tenth."""


class Query(Struct, frozen=True):
    """A query: name in the picture, interval in refreshes, and text for given matchers and recorded names."""

    name: str
    pace: int
    text: Callable[[str, Collection[str]], str]


def skew(match: str) -> str:
    """Return the busy time of each array's busiest member relative to the mean of its members; 1 is even.

    The join is many members to one disk, because a disk may have partitions in several arrays. Nearly idle arrays are
    left out: with ten requests an hour, one member may get all of them.
    """
    busy = (
        f"({series('sdstop_array_member_state', match, _is('state', 'in_sync'))} * on ({_NODE}, device) group_left () "
        f"max by ({_NODE}, device) (rate({series('sdstop_disk_io_time_seconds_total', match)}[5m])))"
    )
    most = f"max without (device, state) {busy}"
    return f"{most} / avg without (device, state) {busy} and {most} > 0.05"


def limit_used(match: str) -> str:
    """Return the share of its limit that each volume uses, 0 to 1, with `binds` saying which limit: iops, bandwidth."""
    parts = []
    for binds, unit in (("iops", "requests"), ("bandwidth", "bytes")):
        counted = f"rate({series(f'sdstop_limit_used_{unit}_total', match)}[5m])"
        told = series(f"sdstop_limit_used_{unit}_per_second", match)
        alone = f"{told} unless {series('sdstop_limit_sharers', match)} > 1"  # else it is the use of several owners
        used = f"({counted} or ({alone})) / {series(f'sdstop_limit_{unit}_per_second', match)}"
        parts.append(f'label_replace({used}, "binds", "{binds}", "", "")')
    return " or ".join(parts)


def _is(label: str, value: str) -> str:
    return f"{label}={quoted(value)}"


def _in(label: str, values: Collection[str]) -> str:
    return f"{label}=~{one_of(values)}"


def _top(count: int, expression: str) -> str:
    return f"topk({count}, {expression})"


def _nodes(match: str, _: Collection[str]) -> str:
    return _top(MOST_NODES, f"time() - max by ({_NODE}) ({series('sdstop_frame_timestamp_seconds', match)})")


def _total(match: str, _: Collection[str]) -> str:
    return f"count({series('sdstop_frame_timestamp_seconds', match)})"


def _severities(match: str, _: Collection[str]) -> str:
    each = (
        _top(MOST_NODES, f"sum by ({_NODE}, severity) ({series('sdstop_findings', match, _is('severity', word))}) > 0")
        for word in ("critical", "warning", "info")
    )
    return " or ".join(each)


def _counts(match: str, _: Collection[str]) -> str:
    return f"count by (severity) (sum by ({_NODE}, severity) ({series('sdstop_findings', match)}) > 0)"


def _causes(match: str) -> str:
    """Return the findings that follow from no other: 2 is a warning, 3 critical; incidents have 0.1 more.

    A cause is as severe as the worst finding that follows from it.
    """
    by = f"{_NODE}, rule, subject"
    causes, standing, follows = (
        series("sdstop_finding_active", match, *chosen)
        for chosen in ((_is("cause_rule", ""),), (_is("cause_rule", ""), _is("standing", "true")), ('cause_rule!=""',))
    )
    above = f"max by ({_NODE}, cause_rule, cause_subject) ({follows})"
    above = f'label_replace({above}, "rule", "$1", "cause_rule", "(.*)")'
    above = f'label_replace({above}, "subject", "$1", "cause_subject", "(.*)")'
    known = f"max by ({by}) ({causes} or {above})"
    return f"({known} unless on ({by}) {standing}) + 0.1 or {known}"


def _worst(match: str, _: Collection[str]) -> str:
    """Return one finding of each node: the cause that is most severe, incidents before standing conditions."""
    return _top(MOST_NODES, f"topk by ({_NODE}) (1, ({_causes(match)}) >= 2)")


def _rules(match: str, _: Collection[str]) -> str:
    """Return the number of nodes by rule and severity, without findings that follow from others."""
    causes = series("sdstop_finding_active", match, _is("cause_rule", ""))
    return f"count by (rule, severity) (max by ({_NODE}, rule, severity) ({causes}))"


def _accepted(match: str, _: Collection[str]) -> str:
    """Return the number of nodes by rule of accepted findings, and the severity that they would have."""
    known = f"max by ({_NODE}, rule) ({series('sdstop_finding_accepted', match)})"
    each = (
        f'label_replace({_top(MOST_ROWS, f"count by (rule) ({known} == {rank})")}, "severity", "{word}", "", "")'
        for rank, word in ((3, "critical"), (2, "warning"))
    )
    return " or ".join(each)


def _of_rules(rules: Collection[str]) -> Callable[[str, Collection[str]], str]:
    by = f"{_NODE}, rule, severity, subject"

    def text(match: str, _: Collection[str]) -> str:
        each = (
            _top(MOST_ROWS, f"max by ({by}) ({series('sdstop_finding_active', match, _in('rule', rules), severity)})")
            for severity in (_is("severity", "critical"), _is("severity", "warning"))
        )
        return " or ".join(each)

    return text


def _findings(match: str, _: Collection[str]) -> str:
    by = f"{_NODE}, rule, severity, subject"
    each = (
        _top(MOST_ROWS, f"max by ({by}) ({series('sdstop_finding_active', match, _is('severity', word))})")
        for word in ("critical", "warning")
    )
    return " or ".join(each)


def _skew(match: str, recorded: Collection[str]) -> str:
    source = series(RECORDED_SKEW, match) if RECORDED_SKEW in recorded else skew(match)
    return _top(MOST_ROWS, f"max by ({_NODE}, array) ({source})")


def _volumes(match: str, recorded: Collection[str]) -> str:
    source = series(RECORDED_USE, match) if RECORDED_USE in recorded else limit_used(match)
    return _top(MOST_ROWS, f"max by ({_NODE}, volume, owner, kind, direction, binds) ({source}) > {AT_LIMIT}")


def _rebuilds(match: str, _: Collection[str]) -> str:
    """Return all values of running rebuilds, distinguished by the label `what`.

    The rebuilds with the highest values are kept if there are too many; one without a known remaining time is listed
    through its state.
    """
    by = f"{_NODE}, array, operation"

    def estimated(ours: str, reported: str) -> str:
        """Return the exporter's estimate; of rebuilds without one, return the figure that their source reports."""
        names = f"sdstop_rebuild_estimated_{ours}", f"sdstop_rebuild_{reported}"
        return " or ".join(f"max by ({by}) ({series(name, match)})" for name in names)

    done, total = series("sdstop_rebuild_done_bytes", match), series("sdstop_rebuild_total_bytes", match)
    figures = {
        "done": f"max by ({by}) ({done} / {total})",
        "remaining": estimated("remaining_seconds", "remaining_seconds"),
        "speed": estimated("bytes_per_second", "speed_bytes_per_second"),
        "state": f"max by ({by}, state) ({series('sdstop_rebuild_state', match)} == 1)",
    }
    parts = (f'label_replace({_top(MOST_ROWS, each)}, "what", "{what}", "", "")' for what, each in figures.items())
    return " or ".join(parts)


def _down(match: str, _: Collection[str]) -> str:
    """Return targets that are down: jobs with sdstop in their name, and targets that ran sdstop recently."""
    lately = f"max by ({_NODE}) (max_over_time({series('sdstop_build_info', match)}[{LOOKBACK}]))"
    named = series("up", match, 'job=~".*sdstop.*"')
    return _top(MOST_NODES, f"(1 - (({series('up', match)} and on ({_NODE}) {lately}) or {named})) > 0")


def _silent(match: str, _: Collection[str]) -> str:
    last = f"max by ({_NODE}) (max_over_time({series('sdstop_frame_timestamp_seconds', match)}[{LOOKBACK}]))"
    return _top(MOST_NODES, f"(time() - {last}) > {STALE_SECONDS:g}")


def _recorded(match: str, _: Collection[str]) -> str:
    del match  # a recorded name may have lost the labels
    return f"count by (__name__) ({{__name__=~{one_of((RECORDED_SKEW, RECORDED_USE))}}})"


QUERIES: tuple[Query, ...] = (
    Query("total", FAST, _total),
    Query("recorded", RARE, _recorded),
    Query("nodes", FAST, _nodes),
    Query("severities", FAST, _severities),
    Query("counts", FAST, _counts),
    Query("worst", FAST, _worst),
    Query("rules", SLOW, _rules),
    Query("accepted", SLOW, _accepted),
    Query("findings", FAST, _findings),
    Query("arrays", FAST, _of_rules(ON_ARRAYS)),
    Query("rebuilds", FAST, _rebuilds),
    Query("saturated", SLOW, _of_rules(ON_VOLUMES)),
    Query("volumes", SLOW, _volumes),
    Query("skew", SLOW, _skew),
    Query("down", FAST, _down),
    Query("silent", SLOW, _silent),
)


def history(match: str, instances: Collection[str]) -> str:
    """Return the number of critical and warning findings of these nodes, for a range query."""
    chosen = series("sdstop_findings", match, 'severity=~"critical|warning"', _in("instance", instances))
    sampled = series("sdstop_frame_timestamp_seconds", match, _in("instance", instances))
    return f"sum by ({_NODE}) ({chosen}) or 0 * sum by ({_NODE}) ({sampled})"


def of_node(match: str, job: str, instance: str) -> dict[str, str]:
    """Return the queries for the details of one node."""
    node = ",".join(part for part in (match, _is("job", job), _is("instance", instance)) if part)
    failing = series("sdstop_collector_outcome", node, 'outcome=~"denied|failed|timeout|unread"')
    return {
        "findings": f"max by (rule, severity, subject) ({series('sdstop_finding_active', node)})",
        "accepted": f"max by (rule, subject) ({series('sdstop_finding_accepted', node)})",
        "sources": f"max by (collector) ({failing})",
        "unchecked": f"max by (rule) ({series('sdstop_rule_unchecked', node)} > 0)",
        "info": f"max by (hostname, kernel) ({series('sdstop_node_info', node)})",
        "version": f"max by (version) ({series('sdstop_build_info', node)})",
        "stalled": f"max({series('sdstop_pressure_some_avg60_ratio', node, _is('resource', 'io'))})",
    }


def node_history(match: str, job: str, instance: str) -> str:
    """Return the findings of one node by rule, for a range query."""
    node = ",".join(part for part in (match, _is("job", job), _is("instance", instance)) if part)
    return f"max by (rule, severity) ({series('sdstop_findings', node)}) > 0"
