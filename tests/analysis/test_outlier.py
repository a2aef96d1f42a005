"""Nodes that differ from their peers: where that is said, where not, and near the thresholds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdstop.analysis.comparison.outlier import ASPECTS, Trait, outliers
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, RuledOut, Severity, Unchecked


def traits(aspect: str, *values: str | float, item: str = "", group: str = "") -> list[Trait]:
    return [
        Trait(f"n{at}", aspect, item, value, group, Cite(f"query:{aspect}", 0, f"n{at} {value}"))
        for at, value in enumerate(values)
    ]


def test_one_differs_from_its_peers() -> None:
    (finding,) = outliers(traits("mtu", *[9000] * 11, 1500, item="eth2"))
    assert isinstance(finding, Finding)
    assert (finding.rule, finding.severity, finding.subject) == ("mtu-mismatch", Severity.WARNING, "n11/eth2")
    assert (finding.title, finding.cause) == ("DIFFERENT MTU", "MTU of eth2: 1500; 11 peers have 9000.")
    assert (finding.damage, finding.view) == (Damage.AVAILABILITY, "network")
    assert [value.value for value in finding.values] == [1500, 9000]
    assert [cite.excerpt for cite in finding.evidence] == ["n11 1500", "n0 9000", "n1 9000", "n10 9000", "n2 9000"]
    assert finding.steps


def test_two_differ_each_its_own_way() -> None:
    found = list(outliers(traits("dimms", *["16 x 32G"] * 8, "15 x 32G", "16 x 16G")))
    assert [f.cause for f in found if isinstance(f, Finding)] == [
        "Memory modules: 15 x 32G; 8 of 9 peers have 16 x 32G.",
        "Memory modules: 16 x 16G; 8 of 9 peers have 16 x 32G.",
    ]  # fmt: skip
    assert {f.rule for f in found} == {"node-outlier"}


def test_where_all_agree_it_says_so() -> None:
    (verdict,) = outliers(traits("nic-speed", 1.25e9, 1.25e9, item="eth0", group="sdstop"))
    assert verdict == RuledOut(
        "sdstop/nic-speed/eth0", "Line speed of eth0: 1.2 GiB/s on all 2 nodes", rule="node-outlier"
    )
    assert list(outliers(traits("kernel", "6.1"))) == []


def test_near_the_thresholds() -> None:
    """Four nodes are enough and three are not; three quarters must agree."""
    assert [type(v) for v in outliers(traits("kernel", "a", "a", "a", "b"))] == [Finding]
    assert [type(v) for v in outliers(traits("kernel", "a", "a", "b"))] == [Unchecked]
    assert [type(v) for v in outliers(traits("kernel", "a", "a", "a", "b", "b"))] == [Unchecked]  # 0.6
    assert [type(v) for v in outliers(traits("kernel", *"aaaaaa", *"bb"))] == [Finding, Finding]  # 0.75
    assert [
        type(v) for v in outliers(traits("kernel", "a", "a", "b"), {"node-outlier": {"peers": 2, "agree": 0.6}})
    ] == [Finding]


def test_two_generations_and_other_groups_are_no_outliers() -> None:
    assert [type(v) for v in outliers(traits("kernel", *"aabb"))] == [Unchecked]
    one, other = traits("kernel", *"aaaaa", group="one"), traits("kernel", *"bbbbb", group="other")
    assert [type(v) for v in outliers([*one, *other])] == [RuledOut, RuledOut]


@given(
    st.lists(
        st.builds(
            Trait,
            st.sampled_from("abcdef"), st.sampled_from(sorted(ASPECTS)), st.sampled_from(["", "x"]),
            st.sampled_from(["v", "w", 1.0, 2.5]), st.sampled_from(["", "g"]),
        ),
        max_size=40,
    )
)  # fmt: skip
def test_the_order_of_traits_does_not_matter_and_most_are_never_outliers(given_: list[Trait]) -> None:
    unique = {(t.group, t.aspect, t.item, t.node): t for t in given_}
    found = list(outliers(unique.values()))
    assert found == list(outliers(reversed(unique.values())))
    assert sum(isinstance(v, Finding) for v in found) <= len(unique) / 4


def test_a_section_of_the_config_sets_its_own_rule_alone() -> None:
    three = [*traits("mtu", 9000, 9000, 1500, item="eth2"), *traits("kernel", "a", "a", "b")]
    configured = {"mtu-mismatch": {"peers": 2.0, "agree": 0.6}}
    assert [(type(v), v.rule) for v in outliers(three, configured)] == [
        (Unchecked, "node-outlier"),
        (Finding, "mtu-mismatch"),
    ]


def test_speeds_of_memory_are_told_as_they_are_printed_on_it() -> None:
    (finding,) = outliers(traits("dimm-speed", *[2.4e9] * 4, 2.133e9))
    assert isinstance(finding, Finding)
    assert finding.cause == "Memory speed: 2133 MT/s; 4 peers have 2400 MT/s."
