"""Rules about interfaces, links and MTUs."""
