"""HTTP server of the exporter, and its access control."""
