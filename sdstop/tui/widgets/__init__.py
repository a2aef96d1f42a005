"""Building blocks of the views: panes, tables, trees, strips, graphs, the bottom line and the palette."""
