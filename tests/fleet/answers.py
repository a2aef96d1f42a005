"""What a server may answer to the fleet's queries."""

from __future__ import annotations

from collections.abc import Mapping

from sdstop.fleet.answer import LabeledSeries, QueryAnswer

HOSTILE = 'eth\x1b[31m0\n"\u202e'


def answer(*rows: tuple[Mapping[str, str], float], **more: tuple[str, ...]) -> QueryAnswer:
    return QueryAnswer(
        tuple(LabeledSeries({"job": "sdstop", **labels}, ((1000.0, value),)) for labels, value in rows), **more
    )


def node(name: str, **labels: str) -> Mapping[str, str]:
    return {"instance": f"{name}:10042", **labels}


WORST = {"rule": "link-saturated", "severity": "critical", "subject": HOSTILE}
ANSWERS = {
    "total": answer(({}, 3)),
    "counts": answer(({"severity": "critical"}, 1), ({"severity": "odd"}, 1)),
    "nodes": answer((node("a"), 3.0), (node("b"), 500.0), (node("c"), -2.0)),
    "severities": answer((node("c", severity="critical"), 2), (node("a", severity="info"), 1)),
    "worst": answer((node("c", **WORST), 1)),
    "findings": answer((node("c", **WORST), 1)),
    "silent": answer((node("b"), 500), (node("d"), 900)),
    "down": answer((node("e"), 1)),
    "arrays": answer(
        (node("c", rule="hot-stripe-member", severity="warning", subject="md0/sdb"), 1),
        (node("c", rule="array-degraded", severity="critical", subject="md0"), 1),
    ),
    "skew": answer((node("c", array="md0"), 3), (node("a", array="md1"), 1.2), (node("a", array="md2"), 2.5)),
    "rebuilds": answer(
        (node("a", array="md0", operation="recovery", what="done"), 0.5),
        (node("a", array="md0", operation="recovery", what="remaining"), 60),
        (node("a", array="md1", operation="resync", what="state", state="delayed"), 1),
    ),
    "volumes": answer((node("a", volume="v", owner="o", binds="iops", direction="read"), 0.97)),
    "saturated": answer((node("a", rule="volume-qos-saturated", severity="warning", subject="vol:v@o"), 1)),
}
