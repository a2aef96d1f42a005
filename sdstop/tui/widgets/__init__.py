"""Parts that every view is built of: panes, tables, trees, strips, graphs, the last line, and the palette."""
