"""Rebuilds: pace, bottleneck and advice."""
