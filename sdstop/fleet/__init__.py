"""Fleet: all nodes, as known to a Prometheus-compatible server."""
