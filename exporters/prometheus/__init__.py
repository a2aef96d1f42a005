"""Prometheus: what a page of metrics holds, from declared fields, findings and counters of its own."""
