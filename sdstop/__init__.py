"""sdstop shows the activity of a storage node and diagnoses its problems."""

__version__ = "0.1.0"
