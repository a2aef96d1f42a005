"""Caches of block devices."""
