"""Collectors for the path from processor to disk: NUMA nodes, PCIe, HBAs, SAS expanders, phys and interrupts."""
