"""Settings of every test."""

from __future__ import annotations

from hypothesis import settings

# Machines are shared: how long an example takes says nothing about the code.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")
