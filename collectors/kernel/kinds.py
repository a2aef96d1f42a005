"""Kinds of messages in the kernel's log, by their effect."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct

from sdstop.core import format as human


class LogEffect(enum.StrEnum):
    """Effect of the event that a message reports, worst first."""

    GONE = "gone"
    """A device, file system or pool has stopped, or data was lost."""
    FAILED = "failed"
    """A request failed."""
    DELAYED = "delayed"
    """A request took seconds, and was repeated."""
    NOTICE = "notice"
    """Normal alone: a link reset at hot-plug, a corrected error."""
    CLEARED = "cleared"
    """The fault is over: a file system was mounted again."""


class Subject(enum.StrEnum):
    """Type of thing that a message is about; rules judge each type apart."""

    DEVICE = "device"
    FILESYSTEM = "filesystem"
    NODE = "node"


class MessageKind(Struct, frozen=True):
    """Kind of message: its effect, type of thing, and noun for one and for several."""

    effect: LogEffect
    subject: Subject
    one: str
    many: str

    def counted(self, count: int) -> str:
        """Return a number of such messages: `14 aborts`."""
        return f"{human.number(count, 0)} {self.one if count == 1 else self.many}"


def _kinds(effect: LogEffect, subject: Subject, **nouns: str) -> dict[str, MessageKind]:
    found = {}
    for name, noun in nouns.items():
        one, _, many = noun.partition("|")
        found[name.replace("_", "-")] = MessageKind(effect, subject, one, many or f"{one}s")
    return found


KINDS: Mapping[str, MessageKind] = {
    **_kinds(
        LogEffect.GONE, Subject.DEVICE,
        write_lost="lost write", device_gone="removal after errors|removals after errors",
        controller_fault="controller fault", member_failed="failed member", array_failed="failed array",
        pool_suspended="pool suspension", pool_failed="failed pool", thin_full="full thin pool",
        thin_readonly="read-only thin pool", thin_failed="failed thin pool", snapshot_invalid="invalid snapshot",
        cache_failed="failed cache", split_brain="split brain",
        journal_missing="missing journal", volume_readonly="read-only volume",
        controller_fatal="fatal controller event",
        failure_predicted="predicted failure", paths_gone="loss of all paths|losses of all paths",
    ),
    **_kinds(
        LogEffect.FAILED, Subject.DEVICE,
        medium_error="medium error", io_error="I/O error", target_error="target error",
        protection_error="protection error", no_space="allocation failure", buffer_error="buffer I/O error",
        sense_medium="medium error", sense_hardware="hardware error", transport_error="transport error",
        bitmap_lost="disabled bitmap",
        offline_io="request to an offline disk|requests to an offline disk", integrity_error="integrity error",
        read_unrepaired="unrepaired read error", zfs_io="ZFS I/O error", zfs_checksum="ZFS checksum error",
        vdev_failed="failed vdev", path_failed="failed path", session_lost="lost session",
        beyond_end="request beyond the end|requests beyond the end", duplicate_id="duplicate identifier",
        controller_alarm="controller alarm",
        pending_sectors="report of unreadable sectors|reports of unreadable sectors",
        request_failed="failed request",
        selftest_failed="failed self-test", critical_warning="critical warning", degraded_array="degraded array",
    ),
    **_kinds(
        LogEffect.DELAYED, Subject.DEVICE,
        timeout="timeout", abort="abort", reset="reset", controller_reset="controller reset",
        link_down="failed link reset", link_error="link error", link_slow="lower link speed|lower link speeds",
        sense_aborted="aborted command", read_repaired="repaired read error", session_error="session error",
        server_silent="silent server", thin_low="low thin pool",
        missed_interrupt="missed interrupt", cache_error="cache I/O error",
        pcie_fatal="fatal PCIe error", pcie_uncorrected="uncorrected PCIe error",
        port_down="link loss|link losses", capacity_error="failed capacity query|failed capacity queries",
        controller_hot="temperature alarm", module_error="module error",
        path_wait="wait for a path|waits for a path",
        error_count="growth of the error count|growths of the error count",
    ),
    **_kinds(
        LogEffect.NOTICE, Subject.DEVICE,
        link_reset="link reset", power_on="power-on or reset|power-ons or resets", hba_event="HBA event",
        flush_failed="failed cache flush|failed cache flushes", reservation_conflict="reservation conflict",
        usb_reset="USB reset", usb_gone="USB disconnect", pcie_corrected="corrected PCIe error",
        device_removed="removal of a device|removals of devices", device_blocked="blocked device",
        slot_empty="empty PCIe slot", pcie_gone="PCIe link loss|PCIe link losses",
        read_only_write="write to a read-only device|writes to a read-only device",
        recovery="recovery of an array|recoveries of an array", array_reduced="reduced array",
    ),
    **_kinds(
        LogEffect.CLEARED, Subject.DEVICE,
        path_restored="restored path", session_restored="restored session", server_back="server back|servers back",
        recovery_done="finished recovery|finished recoveries", thin_restored="writable thin pool",
    ),
    **_kinds(
        LogEffect.GONE, Subject.FILESYSTEM,
        fs_readonly="remount read-only|remounts read-only", fs_shutdown="shutdown", journal_abort="aborted journal",
        fs_write_lost="lost write",
    ),
    **_kinds(LogEffect.FAILED, Subject.FILESYSTEM, fs_error="file system error", fs_corruption="corrupt block"),
    **_kinds(
        LogEffect.NOTICE, Subject.FILESYSTEM,
        fs_old_errors="report of old errors|reports of old errors", fs_corrected="corrected error",
    ),
    **_kinds(LogEffect.CLEARED, Subject.FILESYSTEM, fs_mounted="mount", fs_unmounted="unmount"),
    **_kinds(
        LogEffect.FAILED, Subject.NODE,
        oom_kill="out-of-memory kill", lockup="lockup", kernel_bug="kernel bug", machine_check="fatal machine check",
        memory_uncorrected="uncorrected memory error", overheating="critical temperature",
        superblock_error="superblock error", request_refused="oversized request",
        interrupt_lost="disabled interrupt", metadata_damaged="damaged metadata block", swap_error="swap I/O error",
        cluster_fs_stopped="withdrawn cluster file system",
    ),
    **_kinds(
        LogEffect.DELAYED, Subject.NODE,
        hung_task="hung task", cpu_stall="CPU stall",
        transmit_hang="hung transmit queue", conntrack_full="full connection table",
        peer_lost="peer without an answer|peers without an answer", bond_down="bond without links|bonds without links",
        cpu_hot="hot processor",
        client_abort="abort by an initiator|aborts by initiators",
        client_lost="message of a lost initiator|messages of lost initiators",
        alloc_failure="failed page allocation", neighbors_full="full neighbor table",
        tcp_memory="lack of TCP memory|lacks of TCP memory",
        files_full="full table of open files|full tables of open files",
        clients_refused="refusal of NFS clients|refusals of NFS clients",
        udev_stuck="stuck worker of udev|stuck workers of udev",
    ),
    **_kinds(
        LogEffect.NOTICE, Subject.NODE,
        cgroup_oom_kill="kill at a cgroup's memory limit|kills at a cgroup's memory limit",
        memory_corrected="corrected memory error", hardware_corrected="corrected hardware error",
        nic_down="network link loss|network link losses", clock_unstable="unstable clock source",
        iommu_fault="IOMMU fault",
        lacp_silent="bond without an LACP partner|bonds without an LACP partner",
        cpu_throttled="thermal throttling of a processor|thermal throttlings of processors",
        osd_down="report of a down OSD|reports of down OSDs",
        task_waiting="task in state D|tasks in state D",
        kernel_warning="kernel warning", unnamed_fault="unclassified fault",
    ),
}  # fmt: skip
"""All kinds by ID, an interface: metrics have it as a label."""
