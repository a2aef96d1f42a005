"""Rules about ZFS."""
