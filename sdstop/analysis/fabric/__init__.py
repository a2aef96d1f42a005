"""HBAs, expanders, links and memory."""
