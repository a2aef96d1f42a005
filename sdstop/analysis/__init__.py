"""Analysis of one subject over windows of readings, shared by rules and views so that both agree.

A package for each domain; modules beside the packages serve all domains.
"""
