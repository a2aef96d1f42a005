"""Redaction: names by which a stranger would know a node become pseudonyms, the same everywhere, and for the same key.

pseudonym    what takes a name's place: as long, of the same kind of characters, never undone without the map
vocabulary   words that are nobody's name, and must stay
identity     what is known by its looks: addresses, WWNs, UUIDs
learning     where evidence says names that look like any other word
names        those found again, in any writing
firmware     the binary SMBIOS table
sockets      addresses in the hex digits of /proc/net
credentials  passwords, tokens and keys, which are taken out without a trace
needed       what is handed on at all
redactor     evidence with all of that done
leak         a look through what was written for what must not be there
"""
