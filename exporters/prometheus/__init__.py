"""Prometheus metrics page: declared fields, findings and the exporter's own counters."""
