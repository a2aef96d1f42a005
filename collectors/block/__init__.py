"""Collectors of block devices: counters, properties and names."""
