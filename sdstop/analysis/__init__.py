"""Analysis: what windows of readings mean for one subject; rules and views share it, so that both say the same."""
