"""Clients of storage over TCP, as the kernel's tables and ss show them."""

from __future__ import annotations

from sdstop.collectors.network.clients import ADDRESSES6, ROUTES
from sdstop.collectors.network.connections import SOCKETS
from sdstop.collectors.network.peer_readings import ASK_CLIENTS
from sdstop.core.evidence import command_key

HEAD = "Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
MORE = "cubic wscale:7,7 rto:204 rtt:0.4/0.2 mss:1448 cwnd:10 bytes_sent:900"
TCP = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 010200C0:0801 1F0200C0:032C 01 00000000:00000000 00:00000000 00000000     0        0 31337 1\n"
)
ROUTE = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)


def line(client: str, received: int = 456, sent: int = 123, port: int = 2049, local: str = "192.0.2.1") -> str:
    acked = f" bytes_acked:{sent}" if sent else ""
    return f"0      0       {local}:{port}     {client}:812  {MORE}{acked} bytes_received:{received} segs_out:7\n"


def node(*lines: str) -> dict[str, str]:
    return {
        SOCKETS[0]: TCP, command_key(ASK_CLIENTS): HEAD + "".join(lines), ROUTES: ROUTE,
        ADDRESSES6: "20010db8000000000000000000000001 03 40 00 80     eth2\n",
    }  # fmt: skip
