"""Reports of a session or a comparison of captures, as text, JSON, Markdown and HTML."""
