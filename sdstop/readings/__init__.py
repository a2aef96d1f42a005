"""Readings that several collectors bring, or that rules and views look for: the words in which evidence is told."""
