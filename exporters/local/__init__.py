"""Local socket of a running exporter, for programs on the same node.

A program connects to the socket, sends one request as a line of JSON, and gets lines of JSON. A check is answered with
one line; `frames` with the origin, then one line for each frame until the program closes the connection:

    {"sdstop": 1, "ask": "check", "rule": ["cache-*"], "subject": null, "strict": false}
    {"sdstop": 1, "code": 0, "text": "SDSTOP OK - no findings | ...", "age": 0.4, "privileged": true}

    {"sdstop": 1, "ask": "frames"}
    {"sdstop": 1, "origin": {"name": "node1", ...}, "interval": 1.0}
    {"number": 71, "taken": 1767225600.0, "monotonic": 3600.5, "evidence": [...], "ran": {...}}

Instead of an answer, `{"sdstop": 1, "error": "..."}` has the reason for none. The socket's mode is 0660: its group may
read all evidence that the exporter reads.
"""
