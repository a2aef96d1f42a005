"""Members of peer groups (stripes, legs, vdevs, OSDs): their requests and waits, and which of them are slow or hot."""
