"""The dashboard's views."""
