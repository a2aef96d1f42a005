"""Collectors of interfaces, links, TCP connections, path MTUs, and the sessions and clients of network storage."""
