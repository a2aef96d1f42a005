"""Cost of limits at many control groups, as calls of functions; and what is made for those far from their limit."""

from __future__ import annotations

from sdstop.collectors import BUILTIN
from sdstop.collectors.limits.cgroups import QUESTION
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.finding import Finding
from sdstop.core.session import Session
from sdstop.rules import RULES
from tests.rules.calls import CountingGuard

FEW, MANY = 100, 1000
SECONDS = 14
MOST = 70
"""Calls of all rules for each group, which has a limit on reads and one on writes; today 56, before columns 464."""
FIXED = 2500
"""Calls that do not depend on the groups."""
READ = 50
"""Calls to parse a group's files; today 40, before columns 151."""
NEAR = 50
"""One in this many groups is at its limit."""


def frame(groups: int, second: int) -> Frame:
    items = []
    if second == 1:
        paths = ", ".join(f'"/a.slice/{n}.scope"' for n in range(groups))
        items.append(Evidence(f"answer:{QUESTION}", data=f'{{"v1": [], "v2": [{paths}], "groups": {groups}}}'.encode()))
    for n in range(groups):
        base, done = f"/sys/fs/cgroup/a.slice/{n}.scope", second * (98 if n % NEAR == 0 else 20 + n % 60)
        if second == 1:
            items.append(Evidence(f"{base}/io.max", data=b"254:0 rbps=1048576 wbps=max riops=max wiops=100\n"))
        text = f"254:0 rbytes={done * 4096} wbytes={done * 8192} rios={done} wios={done} dbytes=0 dios=0\n"
        items.append(Evidence(f"{base}/io.stat", data=text.encode()))
        items.append(Evidence(f"{base}/io.pressure", data=f"some avg10=0.00 total={second * 90}\n".encode()))
    return Frame(second, 1e9 + second, float(second), tuple(items))


def cost(groups: int) -> tuple[CountingGuard, tuple[Finding, ...]]:
    """Return the calls in the last frame, and the findings."""
    session = Session(Origin("n"), BUILTIN, RULES)
    session.feed_all(frame(groups, second) for second in range(1, SECONDS))
    counting = CountingGuard()
    session.diagnosis.guard = session._replay._guard = counting
    return counting, session.feed(frame(groups, SECONDS)).judgement.every


def test_cost_grows_with_the_groups_and_no_faster() -> None:
    (few, _), (many, findings) = cost(FEW), cost(MANY)
    assert len([f for f in findings if f.rule == "volume-qos-saturated" and not f.members]) == MANY / NEAR
    for counting, groups in ((few, FEW), (many, MANY)):
        read = counting.calls.pop("cgroups")
        assert read <= READ * groups, (groups, read / groups)
        assert counting.calls.total() <= MOST * groups + FIXED, (groups, counting.calls.total() / groups)
