"""Collectors of the node as a whole: processors, memory, kernel, pressure and processes."""
