"""Web: the exporter's small server, and who may ask it what."""
