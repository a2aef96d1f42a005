"""Collectors for GlusterFS: peers, volumes, bricks, and entries that wait to be healed."""
