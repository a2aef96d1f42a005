"""Redaction: names by which a stranger would know a node become pseudonyms, the same everywhere, and for the same key.

pseudonym    what takes a name's place: as long, of the same kind of characters, never undone without the map
ordinary     names that identify nobody
identity     what is known by its form: addresses, WWNs, UUIDs
declared     the names in fields of readings that are declared as names
names        those found again, in any writing
sockets      addresses in the hex digits of /proc/net
credentials  passwords, tokens and keys, which are taken out without a trace
redactor     evidence with all of that done
comparison   whether its readings are the same but for names
leak         a look through what was written for what must not be there
"""
