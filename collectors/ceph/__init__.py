"""Collectors of Ceph clusters, their OSDs, and RBD images mapped on this node."""
