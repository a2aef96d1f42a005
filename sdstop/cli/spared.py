"""Libraries without modules that they can do without, and that take milliseconds and megabytes."""

from __future__ import annotations

import sys
from importlib import import_module


def import_without(library: str, module: str) -> None:
    """Import a library as if another module were not installed; nothing changes if one of them has been imported."""
    if library in sys.modules or module in sys.modules:
        return
    sys.modules[module] = None  # type: ignore[assignment]  # raises ImportError, for which the library is prepared
    try:
        import_module(library)
    finally:
        del sys.modules[module]
