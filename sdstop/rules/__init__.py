"""Rules: a package for each domain, and in it one file for each rule, with a pure function over a window."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from sdstop.core.index import declarations
from sdstop.core.rule import NodeRule, Rule

ORDER = (
    "arrays.array_degraded",
    "arrays.volume_degraded",
    "arrays.no_spare_left",
    "arrays.data_mismatch",
    "zfs.zfs_pool_degraded",
    "disks.device_hung",
    "disks.disk_offline",
    "disks.disk_failing",
    "arrays.raid_volume_degraded",
    "disks.disk_worn",
    "disks.disk_hot",
    "disks.disk_link_errors",
    "arrays.cache_unprotected",
    "disks.kernel_io_errors",
    "filesystems.filesystem_readonly",
    "filesystems.mount_missing",
    "filesystems.flush_disabled",
    "filesystems.filesystem_errors",
    "system.service_failed",
    "system.kernel_limit_reached",
    "system.kernel_faults",
    "mappings.volume_suspended",
    "mappings.target_left",
    "paths.path_failed",
    "paths.path_used_directly",
    "paths.paths_unbalanced",
    "arrays.volume_group_partial",
    "mappings.volume_unhealthy",
    "paths.session_down",
    "arrays.stripe_convoy",
    "arrays.hot_stripe_member",
    "arrays.slow_stripe_member",
    "disks.slow_device",
    "disks.disk_unused",
    "disks.queue_depth_reduced",
    "disks.device_saturated",
    "disks.flush_slow",
    "rebuilds.rebuild_stalled",
    "rebuilds.rebuild_slow",
    "rebuilds.rebuild_throttled",
    "rebuilds.rebuild_running",
    "disks.log_device_volatile",
    "zfs.sync_disabled",
    "zfs.zfs_no_slog",
    "zfs.zvol_slow_path",
    "caches.cache_errors",
    "caches.cache_slow",
    "caches.cache_sub_block_io",
    "caches.cache_bypassed",
    "caches.cache_full_of_dirty",
    "caches.cache_ineffective",
    "caches.cache_misplaced",
    "network.mtu_misaligned",
    "network.mtu_mismatch",
    "network.path_mtu_shrunk",
    "network.link_degraded",
    "network.frames_dropped",
    "network.bond_unbalanced",
    "network.link_oversubscribed",
    "network.link_saturated",
    "network.storage_retransmits",
    "filesystems.nfs_timeouts",
    "filesystems.nfs_slow",
    "filesystems.nfs_server_busy",
    "filesystems.nfs_server_refuses",
    "filesystems.smb_unreachable",
    "network.pause_frames",
    "fabric.phy_errors",
    "fabric.storage_port_errors",
    "fabric.pcie_degraded",
    "fabric.pcie_errors",
    "fabric.hba_oversubscribed",
    "fabric.hba_unbalanced",
    "fabric.numa_remote_hba",
    "memory.dimm_too_few_channels",
    "memory.dimm_unequal_sockets",
    "memory.dimm_below_rated_speed",
    "memory.dimm_mixed",
    "limits.volume_qos_saturated",
    "limits.volume_below_promise",
    "limits.qos_multiplied",
    "limits.qos_partial",
    "limits.service_limited",
    "ceph.ceph_daemon_down",
    "ceph.osd_down",
    "ceph.osd_slow",
    "ceph.ceph_health",
    "clusters.split_brain",
    "clusters.cluster_degraded",
    "pacemaker.cluster_fencing",
    "pacemaker.cluster_not_running",
    "pacemaker.cluster_resource_failed",
    "pacemaker.cluster_link_down",
    "pacemaker.cluster_constraint_left",
    "gluster.gluster_split_brain",
    "gluster.gluster_volume_degraded",
    "gluster.gluster_heal_pending",
    "clusters.mdm_no_redundancy",
    "powerflex.spare_below_fault_set",
    "space.capacity_near_full",
    "space.thin_pool_filling",
    "space.snapshot_filling",
    "filesystems.filesystem_full",
    "filesystems.btrfs_unallocated",
    "filesystems.quota_exhausted",
    "disks.discard_unaligned",
    "rebuilds.scrub_overdue",
    "zfs.zfs_small_blocks",
    "zfs.zfs_failmode",
    "zfs.zfs_checkpoint_left",
    "paths.unstable_device_path",
    "powerflex.zero_padding_off",
    "powerflex.rmcache_on_flash",
    "clusters.scaling_poor",
    "memory.numa_imbalance",
    "memory.memory_errors",
    "memory.memory_missing",
    "memory.memory_saturated",
    "memory.memory_short",
    "system.hardware_fault",
    "system.clock_stepped",
    "system.cpu_stolen",
    "system.cpu_saturated",
    "system.tasks_stuck",
    "system.io_stalled",
    "arrays.members_differ",
    "disks.device_slowed",
    "system.load_unexplained",
)
"""Modules below this package in display order, one per line. `x.a_b` defines A_B."""


def written(module: str) -> Rule:
    """Import a module of ORDER and return the rule in it."""
    rule: Rule = getattr(import_module(f"sdstop.rules.{module}"), _name(module))
    return rule


def _name(module: str) -> str:
    return module.rpartition(".")[2].upper()


def _rules() -> Iterator[Rule]:
    """Yield the rules of ORDER; a module in the index is imported when its rule first has something to judge."""
    index = declarations(Path(__file__).with_name("declared.json"), Rule)
    for module in ORDER:
        yield index.get(f"sdstop.rules.{module}", {}).get(_name(module)) or written(module)


RULES: tuple[Rule, ...] = tuple(_rules())
"""Every rule about one node."""

EVERY: tuple[Rule | NodeRule, ...]
"""Rules about one node and rules between nodes: all rules with configurable thresholds."""


def __getattr__(name: str) -> tuple[Rule | NodeRule, ...]:
    """Return EVERY; rules between nodes are imported when they are asked for, because most commands see one node."""
    if name != "EVERY":
        raise AttributeError(name)
    return (*RULES, *import_module("sdstop.rules.between").BETWEEN)
