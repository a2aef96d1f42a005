"""Space: file systems, pools, volumes, and when they will be full."""
