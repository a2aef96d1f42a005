"""Tasks and programs that do I/O or wait for it."""
