"""Command line: one module per command. Modules that are slow to import are imported where needed."""
