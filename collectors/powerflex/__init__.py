"""Collectors for PowerFlex (ScaleIO) clusters."""
