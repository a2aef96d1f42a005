"""Collectors for memory modules and memory errors."""
