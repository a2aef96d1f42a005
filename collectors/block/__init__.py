"""Collectors of block devices: what the kernel counts of each, what they are and how they are named."""
