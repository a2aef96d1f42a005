"""Collectors for interfaces, links, TCP connections, path MTUs, and sessions and clients of network storage."""
