"""Pasted text: output of programs that was copied from a terminal into a ticket or a mail.

terminal    removal of the traces of terminals, mailers and ticket systems
margins     columns that tools add to copied output
fence       delimiters of code blocks
prompt      prompts and command lines
nodes       parts of a text from different hosts
outputs     division of the text into the outputs of programs
reader      the outputs as evidence, frame by frame
"""

LONGEST = 16 << 20
"""Maximum size of a text in bytes."""


class TextRefused(Exception):  # noqa: N818  # the text is at fault, not sdstop
    """Raised for a text that is too long or has no recognized output. The reason continues after the text's name."""
