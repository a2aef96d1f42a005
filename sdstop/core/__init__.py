"""Core data model: evidence, readings, snapshots, windows, findings, and the session that connects them."""
