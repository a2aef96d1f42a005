"""Analysis of one subject over windows of readings, shared by rules and views so that both agree."""
