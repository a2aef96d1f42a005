"""Collectors for Pacemaker clusters: nodes, quorum and resources."""
