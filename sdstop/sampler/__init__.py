"""Sampler: frames of the live node, taken by a child process so that a hanging read does not block the parent.

parent      (`Sampler`: receives frames and sends requests over one socket; starts a new worker after a crash)
  worker    (main thread: `Scheduler` decides which collectors run and which evidence is sent; never reads the node)
    threads for collectors (`CollectorRunner`, `SerialExecutor`); a hanging collector keeps its thread
"""

from sdstop.sampler.process import Sampler
from sdstop.sampler.runner import sample

__all__ = ["Sampler", "sample"]
