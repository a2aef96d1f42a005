"""Collectors of md arrays, their members and rebuilds."""
