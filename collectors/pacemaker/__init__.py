"""Collectors of Pacemaker clusters: nodes, quorum and resources."""
