"""Rules about arrays: md, raid volumes of LVM and controllers, stripes."""
