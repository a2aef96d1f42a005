"""Collectors: one file per source of evidence, each a function from a host to readings."""
