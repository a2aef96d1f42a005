"""Exporters that write snapshots and findings in external formats."""
