"""Reports: what a session says, as text, JSON, Markdown and a page for a browser; between captures, too."""
