"""The command line: what each command does. Whatever costs time to import is imported by the one who needs it."""
