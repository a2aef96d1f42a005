"""Exporters: what writes snapshots and findings for somebody else to read."""
