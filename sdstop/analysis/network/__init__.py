"""Networks: how full their lines are."""
