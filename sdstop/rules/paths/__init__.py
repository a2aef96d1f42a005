"""Rules about paths to disks: multipath, NVMe, sessions with targets, names."""
