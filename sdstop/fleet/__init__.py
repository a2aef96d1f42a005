"""The fleet: what a Prometheus-compatible server knows of all nodes. The one part of sdstop that opens a URL."""
