"""What everything else stands on: evidence, readings, snapshots, windows, findings, and the session that joins them."""
