"""Configured limits of I/O."""
