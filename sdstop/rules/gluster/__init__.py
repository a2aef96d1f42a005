"""Rules about GlusterFS."""
