"""Rules about memory: modules, errors, bandwidth, NUMA nodes, shortage."""
