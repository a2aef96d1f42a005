"""sdstop shows what a storage node is really doing and says what is wrong with it."""

__version__ = "0.1.0"
