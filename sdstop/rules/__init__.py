"""Rules: one file, one pure function over a window each."""

from sdstop.analysis.peers import BETWEEN
from sdstop.core.finding import NodeRule, Rule
from sdstop.rules.array_degraded import ARRAY_DEGRADED
from sdstop.rules.cache_bypassed import CACHE_BYPASSED
from sdstop.rules.cache_errors import CACHE_ERRORS
from sdstop.rules.cache_full_of_dirty import CACHE_FULL_OF_DIRTY
from sdstop.rules.cache_ineffective import CACHE_INEFFECTIVE
from sdstop.rules.cache_sub_block_io import CACHE_SUB_BLOCK_IO
from sdstop.rules.capacity_near_full import CAPACITY_NEAR_FULL
from sdstop.rules.cluster_degraded import CLUSTER_DEGRADED
from sdstop.rules.cluster_resource_failed import CLUSTER_RESOURCE_FAILED
from sdstop.rules.device_hung import DEVICE_HUNG
from sdstop.rules.dimm_below_rated_speed import DIMM_BELOW_RATED_SPEED
from sdstop.rules.dimm_too_few_channels import DIMM_TOO_FEW_CHANNELS
from sdstop.rules.dimm_unequal_sockets import DIMM_UNEQUAL_SOCKETS
from sdstop.rules.frames_dropped import FRAMES_DROPPED
from sdstop.rules.hba_oversubscribed import HBA_OVERSUBSCRIBED
from sdstop.rules.hba_unbalanced import HBA_UNBALANCED
from sdstop.rules.hot_stripe_member import HOT_STRIPE_MEMBER
from sdstop.rules.link_oversubscribed import LINK_OVERSUBSCRIBED
from sdstop.rules.link_saturated import LINK_SATURATED
from sdstop.rules.mdm_no_redundancy import MDM_NO_REDUNDANCY
from sdstop.rules.memory_errors import MEMORY_ERRORS
from sdstop.rules.mtu_misaligned import MTU_MISALIGNED
from sdstop.rules.mtu_mismatch import MTU_MISMATCH
from sdstop.rules.numa_imbalance import NUMA_IMBALANCE
from sdstop.rules.numa_remote_hba import NUMA_REMOTE_HBA
from sdstop.rules.path_mtu_shrunk import PATH_MTU_SHRUNK
from sdstop.rules.pcie_degraded import PCIE_DEGRADED
from sdstop.rules.phy_errors import PHY_ERRORS
from sdstop.rules.qos_multiplied import QOS_MULTIPLIED
from sdstop.rules.qos_partial import QOS_PARTIAL
from sdstop.rules.rebuild_running import REBUILD_RUNNING
from sdstop.rules.rebuild_slow import REBUILD_SLOW
from sdstop.rules.rebuild_stalled import REBUILD_STALLED
from sdstop.rules.rebuild_throttled import REBUILD_THROTTLED
from sdstop.rules.rmcache_on_flash import RMCACHE_ON_FLASH
from sdstop.rules.scaling_poor import SCALING_POOR
from sdstop.rules.slow_stripe_member import SLOW_STRIPE_MEMBER
from sdstop.rules.spare_below_fault_set import SPARE_BELOW_FAULT_SET
from sdstop.rules.stripe_convoy import STRIPE_CONVOY
from sdstop.rules.unstable_device_path import UNSTABLE_DEVICE_PATH
from sdstop.rules.volume_below_promise import VOLUME_BELOW_PROMISE
from sdstop.rules.volume_qos_saturated import VOLUME_QOS_SATURATED
from sdstop.rules.zero_padding_off import ZERO_PADDING_OFF
from sdstop.rules.zfs_no_slog import ZFS_NO_SLOG
from sdstop.rules.zfs_pool_degraded import ZFS_POOL_DEGRADED
from sdstop.rules.zvol_slow_path import ZVOL_SLOW_PATH

RULES: tuple[Rule, ...] = (
    ARRAY_DEGRADED,
    ZFS_POOL_DEGRADED,
    DEVICE_HUNG,
    STRIPE_CONVOY,
    HOT_STRIPE_MEMBER,
    SLOW_STRIPE_MEMBER,
    REBUILD_STALLED,
    REBUILD_SLOW,
    REBUILD_THROTTLED,
    REBUILD_RUNNING,
    ZFS_NO_SLOG,
    ZVOL_SLOW_PATH,
    CACHE_ERRORS,
    CACHE_SUB_BLOCK_IO,
    CACHE_BYPASSED,
    CACHE_FULL_OF_DIRTY,
    CACHE_INEFFECTIVE,
    MTU_MISALIGNED,
    MTU_MISMATCH,
    PATH_MTU_SHRUNK,
    FRAMES_DROPPED,
    LINK_OVERSUBSCRIBED,
    LINK_SATURATED,
    PHY_ERRORS,
    PCIE_DEGRADED,
    HBA_OVERSUBSCRIBED,
    HBA_UNBALANCED,
    NUMA_REMOTE_HBA,
    DIMM_TOO_FEW_CHANNELS,
    DIMM_UNEQUAL_SOCKETS,
    DIMM_BELOW_RATED_SPEED,
    VOLUME_QOS_SATURATED,
    VOLUME_BELOW_PROMISE,
    QOS_MULTIPLIED,
    QOS_PARTIAL,
    CLUSTER_DEGRADED,
    CLUSTER_RESOURCE_FAILED,
    MDM_NO_REDUNDANCY,
    SPARE_BELOW_FAULT_SET,
    CAPACITY_NEAR_FULL,
    UNSTABLE_DEVICE_PATH,
    ZERO_PADDING_OFF,
    RMCACHE_ON_FLASH,
    SCALING_POOR,
    NUMA_IMBALANCE,
    MEMORY_ERRORS,
)
"""Every rule of a node, in the order in which lists show them."""

EVERY: tuple[Rule | NodeRule, ...] = (*RULES, *BETWEEN)
"""Those between nodes, too: what config can set thresholds of."""
