"""Rules about file systems."""
