"""Collectors of bcache devices."""
