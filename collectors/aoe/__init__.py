"""Collectors of ATA over Ethernet targets, imported and exported."""
