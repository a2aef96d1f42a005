"""The report as one HTML page that needs nothing else: no script, no other file, no network."""

from sdstop.exporters.report.html.page import page

__all__ = ["page"]
