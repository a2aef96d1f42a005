"""Collectors of the way from the processor to the disk: NUMA nodes, PCIe, HBAs, SAS expanders, phys and interrupts."""
