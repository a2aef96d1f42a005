"""Collectors of memory modules and the errors they corrected."""
