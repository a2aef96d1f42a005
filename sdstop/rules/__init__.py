"""Rules: one file each, with a pure function over a window."""

from __future__ import annotations

from importlib import import_module

from sdstop.core.finding import NodeRule, Rule

ORDER = (
    "array_degraded",
    "volume_degraded",
    "no_spare_left",
    "data_mismatch",
    "zfs_pool_degraded",
    "device_hung",
    "disk_offline",
    "disk_failing",
    "raid_volume_degraded",
    "disk_worn",
    "disk_hot",
    "disk_link_errors",
    "cache_unprotected",
    "kernel_io_errors",
    "filesystem_readonly",
    "filesystem_errors",
    "kernel_faults",
    "volume_suspended",
    "target_left",
    "path_failed",
    "path_used_directly",
    "paths_unbalanced",
    "volume_group_partial",
    "volume_unhealthy",
    "session_down",
    "stripe_convoy",
    "hot_stripe_member",
    "slow_stripe_member",
    "slow_device",
    "device_saturated",
    "flush_slow",
    "rebuild_stalled",
    "rebuild_slow",
    "rebuild_throttled",
    "rebuild_running",
    "log_device_volatile",
    "sync_disabled",
    "zfs_no_slog",
    "zvol_slow_path",
    "cache_errors",
    "cache_sub_block_io",
    "cache_bypassed",
    "cache_full_of_dirty",
    "cache_ineffective",
    "cache_misplaced",
    "mtu_misaligned",
    "mtu_mismatch",
    "path_mtu_shrunk",
    "link_degraded",
    "frames_dropped",
    "bond_unbalanced",
    "link_oversubscribed",
    "link_saturated",
    "storage_retransmits",
    "pause_frames",
    "phy_errors",
    "storage_port_errors",
    "pcie_degraded",
    "hba_oversubscribed",
    "hba_unbalanced",
    "numa_remote_hba",
    "dimm_too_few_channels",
    "dimm_unequal_sockets",
    "dimm_below_rated_speed",
    "dimm_mixed",
    "volume_qos_saturated",
    "volume_below_promise",
    "qos_multiplied",
    "qos_partial",
    "ceph_daemon_down",
    "osd_down",
    "osd_slow",
    "ceph_health",
    "split_brain",
    "cluster_degraded",
    "cluster_fencing",
    "cluster_not_running",
    "cluster_resource_failed",
    "cluster_link_down",
    "cluster_constraint_left",
    "gluster_split_brain",
    "gluster_volume_degraded",
    "gluster_heal_pending",
    "mdm_no_redundancy",
    "spare_below_fault_set",
    "capacity_near_full",
    "thin_pool_filling",
    "snapshot_filling",
    "filesystem_full",
    "discard_unaligned",
    "scrub_overdue",
    "zfs_small_blocks",
    "unstable_device_path",
    "zero_padding_off",
    "rmcache_on_flash",
    "scaling_poor",
    "numa_imbalance",
    "memory_errors",
    "memory_missing",
    "memory_saturated",
    "memory_short",
    "clock_stepped",
    "tasks_stuck",
    "io_stalled",
    "load_unexplained",
)
"""Modules of this package in display order, one per line. `a_b` defines A_B."""


def _rule(module: str) -> Rule:
    rule: Rule = getattr(import_module(f"sdstop.rules.{module}"), module.upper())
    return rule


RULES: tuple[Rule, ...] = tuple(_rule(module) for module in ORDER)
"""Every rule about one node."""

EVERY: tuple[Rule | NodeRule, ...]
"""Rules about one node and rules between nodes: all rules with configurable thresholds."""


def __getattr__(name: str) -> tuple[Rule | NodeRule, ...]:
    """Return EVERY; rules between nodes are imported when they are asked for, because most commands see one node."""
    if name != "EVERY":
        raise AttributeError(name)
    return (*RULES, *import_module("sdstop.rules.between").BETWEEN)
