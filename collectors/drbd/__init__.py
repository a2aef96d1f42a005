"""Collectors for DRBD resources."""
