"""Rules about what device mapper and LVM map."""
