"""The kernel's log: which device it complains of, and how often."""
