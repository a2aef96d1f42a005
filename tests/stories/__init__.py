"""The made-up nodes behind the synthetic fixtures: `python -m tests.make_fixtures` writes their captures.

Loads come from `tests.arrays`; what is around the arrays (processors, memory, system disk, interfaces, udev's names) is
drawn up here, by the same formats as a kernel 6.1 prints. The same command writes the same bytes.
"""
