"""Sensors and events of the node and its enclosures: management controller (IPMI) and SES."""
