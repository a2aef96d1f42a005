"""The only code that touches the node and the network."""
