"""Rules about configured limits of I/O."""
