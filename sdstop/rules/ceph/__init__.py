"""Rules about Ceph."""
