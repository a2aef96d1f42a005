"""Collectors for Ceph clusters, their OSDs, and RBD images mapped on this node."""
