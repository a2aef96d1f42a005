"""Collectors of memory modules and the errors they corrected."""

from __future__ import annotations

from sdstop.collectors.memory.dimms import DIMMS
from sdstop.collectors.memory.edac import EDAC

COLLECTORS = (DIMMS, EDAC)
