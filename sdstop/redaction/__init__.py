"""Redaction: names by which a stranger would know a node become pseudonyms, the same everywhere, and for the same key.

pseudonym    what takes a name's place: as long, of the same kind of characters, never undone without the map
identity     where in evidence a node says such names
redactor     evidence with all of them replaced
leak         a look through what was written for what must not be there
"""

from sdstop.redaction.leak import leaks
from sdstop.redaction.pseudonym import Pseudonyms
from sdstop.redaction.redactor import Redactor

__all__ = ["Pseudonyms", "Redactor", "leaks"]
