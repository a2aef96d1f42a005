"""Collectors for ATA over Ethernet targets, imported and exported."""
