"""Collectors of interfaces, links, TCP connections, path MTUs, and the sessions and clients of network storage."""

from __future__ import annotations

from sdstop.collectors.network.clients import CLIENTS
from sdstop.collectors.network.interfaces import INTERFACES, NETWORK
from sdstop.collectors.network.links import LINKS
from sdstop.collectors.network.paths import PATHS, TCP
from sdstop.collectors.network.sessions import SESSIONS

COLLECTORS = (NETWORK, INTERFACES, LINKS, TCP, PATHS, SESSIONS, CLIENTS)
