"""Block devices: membership, standstills, saturation, redundancy."""
