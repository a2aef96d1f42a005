"""Messages of network links, network cards, and peers and servers across the network."""

from __future__ import annotations

from sdstop.collectors.kernel.message import LogPlace, pattern

_INTERFACE = r"(?P<also>[\w.@-]{1,15})"
_CARD = r"(?P<dev>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)"

PATTERNS = (
    pattern(
        "ink is ",
        r"(?:\w{1,20}:? )?(?:[0-9a-f:.]{12}:? )?(?:[\w.@-]{1,15}: \w{1,20}: )?"
        + _INTERFACE
        + r":? (?:NIC )?Link is [Dd]own",
        "nic-down",
        LogPlace.NODE,
    ),
    pattern("Link down", r"mlx[45]\w{0,5} [0-9a-f:.]{12} " + _INTERFACE + r": Link down", "nic-down", LogPlace.NODE),
    pattern(
        "definitely down",
        r"(?:bonding: )?[\w.@-]{1,15}: (?:\(slave (?P<also>[\w.@-]{1,15})\): )?link status definitely down",
        "nic-down",
        LogPlace.NODE,
    ),
    pattern(
        "down",
        r"(?:bonding: )?bond\d{1,3}: \(slave (?P<also>[\w.@-]{1,15})\): (?:link status down for|(?:backup )?interface "
        r"is now down)",
        "nic-down",
        LogPlace.NODE,
    ),
    pattern(
        "interface ",
        r"(?:bonding: )?bond\d{1,3}: (?:link status down for (?:\w{1,10} )?|(?:backup )?)interface "
        r"(?P<also>[\w.@-]{1,15})(?:, disabling it in| is now down)",
        "nic-down",
        LogPlace.NODE,
    ),
    pattern(
        "initiating reset",
        r"ixgbe [0-9a-f:.]{12} (?P<also>[\w.@-]{1,15}): (?:initiating reset due to tx timeout"
        r"|Received ECC Err, initiating reset)",
        "transmit-hang",
        LogPlace.NODE,
    ),
    pattern(
        "without any active interface",
        r"(?:bonding: )?" + _INTERFACE + r": now running without any active interface",
        "bond-down",
        LogPlace.NODE,
    ),
    pattern(
        "poll_health",
        r"mlx5_core " + _CARD + r": poll_health:\d{1,6}:\(pid \d{1,8}\): (?:Fatal error \d{1,4} detected"
        r"|device's health compromised)",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "PingAck did not arrive",
        r"(?:block drbd\d{1,6}|drbd (?P<hidden>\S{1,128}(?: \S{1,128})?)): PingAck did not arrive in time",
        "peer-lost",
        LogPlace.NODE,
    ),
    pattern(
        " conn( ",
        r"(?:block drbd\d{1,6}|drbd (?P<hidden>\S{1,128}(?: \S{1,128})?)): (?:[a-z]{2,12}\( \w{1,20} -> \w{1,20} \) )?"
        r"conn\( \w{1,20} -> (?:NetworkFailure|Timeout|BrokenPipe|ProtocolError) \)",
        "peer-lost",
        LogPlace.NODE,
    ),
    pattern("osd", r"libceph(?: \([0-9a-f-]{36} e\d{1,12}\))?: osd\d{1,7} down$", "osd-down", LogPlace.NODE),
    pattern(
        "Remote failed to finish a request",
        r"(?:block drbd\d{1,6}|drbd (?P<hidden>\S{1,128}(?: \S{1,128})?)): Remote failed to finish a request within "
        r"\d{1,9}ms",
        "peer-lost",
        LogPlace.NODE,
    ),
    pattern(
        "blocked FC remote port time out",
        r" ?(?P<dev>rport-\d{1,5}:\d{1,5}-\d{1,7}): blocked FC remote port time out",
        "session-lost",
        LogPlace.SESSION,
    ),
    pattern("onnection timed out", r"block (?P<dev>nbd\d{1,5}): Connection timed out", "session-error", LogPlace.DISK),
    pattern(
        "eceive control failed",
        r"block (?P<dev>nbd\d{1,5}): Receive control failed \(result -\d{1,4}\)",
        "session-error",
        LogPlace.DISK,
    ),
    pattern(
        " result -",
        r"rbd: (?P<dev>rbd\d{1,5}): (?:read|write|discard|zeroout|copyup|write_zeroes) [\w ~]{1,80} result -\d{1,4}",
        "io-error",
        LogPlace.DISK,
    ),
    pattern(
        "neighbor table overflow",
        r"neighbour: \w{1,20}: neighbor table overflow",
        "neighbors-full",
        LogPlace.NODE,
    ),
    pattern("consider tuning tcp_mem", r"TCP: out of memory -- consider tuning tcp_mem", "tcp-memory", LogPlace.NODE),
    pattern(
        "No 802.3ad response",
        r"(?:bonding: )?" + _INTERFACE + r": [Ww]arning: No 802\.3ad response from the link partner",
        "lacp-silent",
        LogPlace.NODE,
    ),
    pattern(
        "Port module event",
        r"mlx5_core " + _CARD + r": Port module event\[error\]: module \d{1,3}, Cable error",
        "module-error",
        LogPlace.PCI,
    ),
    pattern(
        "High temperature",
        r"mlx5_core " + _CARD + r": temp_warn:\d{1,6}:(?:\(pid \d{1,8}\): )?High temperature",
        "controller-hot",
        LogPlace.PCI,
    ),
)
