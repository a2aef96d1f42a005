"""Metrics that node_exporter also provides. A node that runs both would store them twice.

Disk metrics of members are kept, because sdstop's queries use them and a join needs a common `instance`; see
docs/monitoring.md. The others are left out unless the config enables them.
"""

from __future__ import annotations

from collections.abc import Mapping

_DISK = {
    "reads_total": "reads_completed_total",
    "reads_merged_total": "reads_merged_total",
    "read_bytes_total": "read_bytes_total",
    "read_time_seconds_total": "read_time_seconds_total",
    "writes_total": "writes_completed_total",
    "writes_merged_total": "writes_merged_total",
    "written_bytes_total": "written_bytes_total",
    "write_time_seconds_total": "write_time_seconds_total",
    "io_now": "io_now",
    "io_time_seconds_total": "io_time_seconds_total",
    "io_time_weighted_seconds_total": "io_time_weighted_seconds_total",
    "discards_total": "discards_completed_total",
    "discards_merged_total": "discards_merged_total",
    "discard_time_seconds_total": "discard_time_seconds_total",
    "flushes_total": "flush_requests_total",
    "flush_time_seconds_total": "flush_requests_time_seconds_total",
}
DISKS: Mapping[str, str] = {f"sdstop_disk_{ours}": f"node_disk_{theirs}" for ours, theirs in _DISK.items()}
"""sdstop name to node_exporter name, same value and `device` label. node_exporter counts discards in sectors."""

OTHERS: Mapping[str, str] = {
    "sdstop_node_boot_time_seconds": "node_boot_time_seconds",
    "sdstop_node_load1": "node_load1",
    "sdstop_node_load5": "node_load5",
    "sdstop_node_load15": "node_load15",
    "sdstop_node_tasks_running": "node_procs_running",
    "sdstop_node_tasks_blocked": "node_procs_blocked",
    "sdstop_node_memory_total_bytes": "node_memory_MemTotal_bytes",
    "sdstop_node_memory_available_bytes": "node_memory_MemAvailable_bytes",
    "sdstop_node_memory_dirty_bytes": "node_memory_Dirty_bytes",
    "sdstop_node_memory_writeback_bytes": "node_memory_Writeback_bytes",
    "sdstop_node_swap_total_bytes": "node_memory_SwapTotal_bytes",
    "sdstop_node_swap_free_bytes": "node_memory_SwapFree_bytes",
    "sdstop_interface_traffic_rx_bytes_total": "node_network_receive_bytes_total",
    "sdstop_interface_traffic_rx_packets_total": "node_network_receive_packets_total",
    "sdstop_interface_traffic_tx_bytes_total": "node_network_transmit_bytes_total",
    "sdstop_interface_traffic_tx_packets_total": "node_network_transmit_packets_total",
    "sdstop_interface_rx_errors_total": "node_network_receive_errs_total",
    "sdstop_interface_tx_errors_total": "node_network_transmit_errs_total",
    "sdstop_interface_tx_dropped_total": "node_network_transmit_drop_total",
    "sdstop_interface_collisions_total": "node_network_transmit_colls_total",
    "sdstop_tcp_in_segments_total": "node_netstat_Tcp_InSegs",
    "sdstop_tcp_out_segments_total": "node_netstat_Tcp_OutSegs",
    "sdstop_tcp_retransmitted_total": "node_netstat_Tcp_RetransSegs",
    "sdstop_tcp_in_errors_total": "node_netstat_Tcp_InErrs",
    "sdstop_tcp_established": "node_netstat_Tcp_CurrEstab",
    "sdstop_tcp_listen_drops_total": "node_netstat_TcpExt_ListenDrops",
    "sdstop_softnet_processed_total": "node_softnet_processed_total",
    "sdstop_softnet_dropped_total": "node_softnet_dropped_total",
    "sdstop_softnet_squeezed_total": "node_softnet_times_squeezed_total",
}
"""sdstop name to node_exporter name of other metrics that node_exporter exports by default."""
