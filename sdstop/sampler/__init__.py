"""Sampler: frames of the live node, taken by a child process that may hang where its parent must not.

parent          (`Sampler`, one socket: frames come, requests go)
  supervisor    (starts the next worker when one crashed; never reads the node)
    worker      (main thread: `Rounds` decides who runs and what is sent; it never reads the node either)
      a thread for each collector (`Flight`), which hangs alone
"""

from sdstop.sampler.flight import sample
from sdstop.sampler.process import Sampler

__all__ = ["Sampler", "sample"]
