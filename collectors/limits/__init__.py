"""Collectors for volume limits that this node enforces: control groups and QEMU drives."""
