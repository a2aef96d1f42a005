"""Collectors of ZFS: pools, vdevs, datasets, settings, the ARC and the L2ARC."""
