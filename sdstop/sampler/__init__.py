"""Sampler: frames of the live node, taken by a child process that may hang where its parent must not.

parent          (`Sampler`, one socket: frames come, requests go)
  supervisor    (starts the next worker when one crashed; never reads the node)
    worker      (main thread: `Scheduler` decides which collectors run and what is sent; it never reads the node either)
      threads for collectors (`CollectorRunner`, `SerialExecutor`); one that hangs keeps its own
"""

from sdstop.sampler.process import Sampler
from sdstop.sampler.runner import sample

__all__ = ["Sampler", "sample"]
