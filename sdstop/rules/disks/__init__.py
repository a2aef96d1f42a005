"""Rules about disks and other block devices."""
