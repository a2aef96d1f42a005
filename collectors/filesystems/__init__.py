"""File systems: errors that they counted."""
