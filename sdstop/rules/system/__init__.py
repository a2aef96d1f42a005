"""Rules about the node as a whole: its kernel, clock, tasks and load."""
