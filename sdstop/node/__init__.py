"""The only code that touches the node."""
