"""Redaction: replaces names that identify a node by pseudonyms, consistently, and stable for the same key.

pseudonym    replacement of a name: same length and kinds of characters, not reversible without the map
ordinary     names that are not identifying
identity     values recognized by their form: addresses, WWNs, UUIDs
declared     names in fields of readings that are declared as names
names        search for those names in any spelling
sockets      addresses in the hex digits of /proc/net
credentials  passwords, tokens and keys, which are removed entirely
redactor     redaction of evidence with all of these
comparison   check that readings are unchanged except for names
leak         check of the output for names that should have been replaced
"""
