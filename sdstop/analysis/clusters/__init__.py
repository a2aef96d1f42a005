"""Clusters: Ceph, Pacemaker, DRBD, GlusterFS."""
