"""Collectors of DRBD resources."""
