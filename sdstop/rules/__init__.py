"""Rules: one file, one pure function over a window each."""

from sdstop.finding import Rule
from sdstop.rules.array_degraded import ARRAY_DEGRADED
from sdstop.rules.cache_bypassed import CACHE_BYPASSED
from sdstop.rules.cache_errors import CACHE_ERRORS
from sdstop.rules.cache_full_of_dirty import CACHE_FULL_OF_DIRTY
from sdstop.rules.cache_ineffective import CACHE_INEFFECTIVE
from sdstop.rules.cache_sub_block_io import CACHE_SUB_BLOCK_IO
from sdstop.rules.device_hung import DEVICE_HUNG
from sdstop.rules.dimm_below_rated_speed import DIMM_BELOW_RATED_SPEED
from sdstop.rules.dimm_too_few_channels import DIMM_TOO_FEW_CHANNELS
from sdstop.rules.dimm_unequal_sockets import DIMM_UNEQUAL_SOCKETS
from sdstop.rules.frames_dropped import FRAMES_DROPPED
from sdstop.rules.hba_oversubscribed import HBA_OVERSUBSCRIBED
from sdstop.rules.hba_unbalanced import HBA_UNBALANCED
from sdstop.rules.hot_stripe_member import HOT_STRIPE_MEMBER
from sdstop.rules.link_saturated import LINK_SATURATED
from sdstop.rules.mtu_misaligned import MTU_MISALIGNED
from sdstop.rules.mtu_mismatch import MTU_MISMATCH
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
from sdstop.rules.slow_stripe_member import SLOW_STRIPE_MEMBER
from sdstop.rules.stripe_convoy import STRIPE_CONVOY
from sdstop.rules.volume_below_promise import VOLUME_BELOW_PROMISE
from sdstop.rules.volume_qos_saturated import VOLUME_QOS_SATURATED

RULES: tuple[Rule, ...] = (
    ARRAY_DEGRADED,
    DEVICE_HUNG,
    STRIPE_CONVOY,
    HOT_STRIPE_MEMBER,
    SLOW_STRIPE_MEMBER,
    REBUILD_STALLED,
    REBUILD_SLOW,
    REBUILD_THROTTLED,
    REBUILD_RUNNING,
    CACHE_ERRORS,
    CACHE_SUB_BLOCK_IO,
    CACHE_BYPASSED,
    CACHE_FULL_OF_DIRTY,
    CACHE_INEFFECTIVE,
    MTU_MISALIGNED,
    MTU_MISMATCH,
    PATH_MTU_SHRUNK,
    FRAMES_DROPPED,
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
)
"""Every rule, in the order in which lists show them."""
