"""Rules: one file, one pure function over a window each."""

from sdstop.finding import Rule
from sdstop.rules.hot_stripe_member import HOT_STRIPE_MEMBER
from sdstop.rules.slow_stripe_member import SLOW_STRIPE_MEMBER
from sdstop.rules.stripe_convoy import STRIPE_CONVOY

RULES: tuple[Rule, ...] = (
    HOT_STRIPE_MEMBER,
    SLOW_STRIPE_MEMBER,
    STRIPE_CONVOY,
)
"""Every rule, in the order in which equal findings are told."""
