"""Fleet: all nodes, as known to a Prometheus-compatible server. The only part of sdstop that opens a URL."""
