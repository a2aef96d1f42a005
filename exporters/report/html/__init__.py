"""Report as a self-contained HTML page: no scripts, no other files, no network."""

from sdstop.exporters.report.html.page import page

__all__ = ["page"]
