"""Comparison of a node before and after: findings, things, settings and loads of two captures or moments.

    sides       the two states, A and B, and which of their sources can be compared   sides.py
    findings    gone, new, worse, better, with the verdict of the other side          findings.py
    settings    things added, removed or renamed; declared settings             settings.py
    loads       rates, and distributions of latency                                   loads.py, load_totals.py

Nothing is concluded from silence: what one side did not record or check is stated as such.
"""
