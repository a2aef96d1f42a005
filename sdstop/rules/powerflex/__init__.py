"""Rules about PowerFlex (ScaleIO)."""
