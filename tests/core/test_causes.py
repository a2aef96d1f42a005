"""The order of findings that explain each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.finding import Finding, Severity
from sdstop.core.finding_order import by_cause


def finding(subject: str, explains: list[str]) -> Finding:
    above = tuple(f"r:{name}" for name in explains)
    return Finding(severity=Severity.INFO, subject=subject, cause="s", rule="r", explains=above)


FINDINGS = st.lists(
    st.builds(finding, st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefgh"), max_size=4)), max_size=9
)


def slowly(places: list[int], findings: list[Finding]) -> list[int]:
    """Return the order of a group by its definition: the first that no other one left explains, else the first."""
    left, found = list(places), []
    while left:
        explained = {key for place in left for key in findings[place].explains}
        chosen = next((place for place in left if findings[place].id not in explained), left[0])
        left.remove(chosen)
        found.append(chosen)
    return found


@given(FINDINGS)
def test_each_group_is_in_the_order_of_its_definition(findings: list[Finding]) -> None:
    led = by_cause(findings)
    assert sorted(each.place for each in led) == list(range(len(findings)))
    groups: list[list[int]] = []
    for each in led:
        if each.follows:
            groups[-1].append(each.place)
        else:
            groups.append([each.place])
    for _, *rest in groups:
        assert rest == slowly(sorted(rest), findings)


def test_a_cause_of_thousands_is_ordered_at_once() -> None:
    names = [f"d{number}" for number in range(5000)]
    findings = [finding("hba", names), *(finding(name, []) for name in names)]
    assert [each.place for each in by_cause(findings)] == list(range(5001))
