"""Core: what every other package builds on."""
