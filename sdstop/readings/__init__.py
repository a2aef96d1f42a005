"""Reading families that are produced by several collectors, or used directly by rules and views."""
