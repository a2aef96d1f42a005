"""Rules about rebuilds, scrubs and other passes over all data."""
