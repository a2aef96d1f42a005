"""Collectors of limits on volumes that this node enforces: control groups and QEMU's drives."""
