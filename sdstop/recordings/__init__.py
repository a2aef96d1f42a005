"""Recordings: days of frames of a node in one file. They are written by sdstop.exporters.recording.

database    the file: its tables, runs and blocks
clock       the times of its frames
timeline    the frames of a period, read when they are asked for
"""
