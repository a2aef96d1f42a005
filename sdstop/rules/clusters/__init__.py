"""Rules about clusters of any kind: Ceph, ScaleIO, GlusterFS, DRBD, Pacemaker."""
