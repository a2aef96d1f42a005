"""Collectors of PowerFlex (ScaleIO) clusters."""
