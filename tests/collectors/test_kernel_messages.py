"""Messages of the kernel: those that are understood, by kind and device, and those that must not be."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sdstop.collectors.kernel.kinds import KINDS
from sdstop.collectors.kernel.message import Pattern
from sdstop.collectors.kernel.messages import LONGEST, PATTERNS, suppressed, understood

UNDERSTOOD = """
zfs-checksum /dev/sdq1 | eid=41 class=checksum pool_guid=0x4A33D7952CA15248 vdev_path=/dev/sdq1
vdev-failed /dev/sdq1 | eid=52 class=statechange pool_guid=0x4A33D7952CA15248 vdev_path=/dev/sdq1 vdev_state=FAULTED
pool-suspended 0x4A33D7952CA15248 | eid=60 class=io_failure pool_guid=0x4A33D7952CA15248
array-failed md4 | md/raid:md4: cannot start dirty degraded array.
unnamed-fault node | md/raid:md4: starting dirty degraded array with PPL.
array-failed md6 | md/raid0md6: Disk failure on sdf detected, failing array.
split-brain r0 | drbd r0 stor2: Split-Brain detected but unresolved, dropping connection!
osd-down node | libceph (5b3c1f2e-0000-4000-8000-123456789abc e512): osd3 down
io-error drbd0 | drbd r0/0 drbd0: IO ERROR: neither local nor remote data, sector 1+8
io-error drbd1 | block drbd1: IO ERROR: neither local nor remote disk
controller-fault 0000:03:00.0 | hpsa 0000:03:00.0: controller lockup detected: 0x00000015 after 30
kernel-bug node | PANIC: zfs: removing nonexistent segment from range tree (offset=1 size=2)
fs-shutdown sdb1 | XFS (sdb1): Corruption of on-disk metadata detected.  Shutting down filesystem
fs-corruption sdb | BTRFS error (device sdb): bad tree block start, mirror 1 want 123 have 456
fs-corruption sdb | BTRFS error (device sdb: state A): level verify failed on logical 1 mirror 1 wanted 0 found 1
fs-error dm-7 | EXT3-fs (dm-7): error in ext3_orphan_add: Journal has aborted
fs-error dm-7 | EXT3-fs (dm-7): error: ext3_journal_start_sb: Detected aborted journal
abort 0000:05:00.0 | qla2xxx 0000:05:00.0: scsi(1:0:3): Abort command issued -- 1 2f5a 2002.
reset 0000:05:00.0 | qla2xxx 0000:05:00.0: scsi(1:0:3): DEVICE RESET ISSUED.
controller-reset 0000:05:00.0 | qla2xxx 0000:05:00.0: scsi(1:0:3): ADAPTER RESET ISSUED.
controller-reset 0000:05:00.0 | qla2xxx 0000:05:00.0: Mailbox command timeout occurred. Issuing ISP abort.
port-down 0000:05:00.0 | qla2xxx 0000:05:00.0: LOOP DOWN detected (2 3 0).
controller-fault 0000:05:00.0 | qla2xxx 0000:05:00.0: ISP System Error - mbx1=1234h mbx2=0h mbx3=0h.
fs-shutdown dm-3 | Filesystem "dm-3": I/O Error Detected.  Shutting down filesystem: dm-3
fs-shutdown dm-3 | Filesystem "dm-3": Corruption of in-memory data detected.  Shutting down filesystem: dm-3
fs-shutdown dm-3 | Filesystem "dm-3": All device paths lost.  Shutting down filesystem: dm-3
fs-shutdown dm-3 | xfs_force_shutdown(dm-3,0x2) called from line 811 of file fs/xfs/xfs_log.c.
fs-error dm-3 | I/O error in filesystem ("dm-3") meta-data dev dm-3 block 0x5a ("xlog_iodone") error 5 buf count 64
fs-corruption dm-3 | Filesystem "dm-3": XFS internal error xfs_btree_check_lblock at line 186 of file fs/xfs/x.c.
fs-error dm-3 | Filesystem "dm-3": xfs_log_force: error 5 returned.
fs-error sda1 | EXT4-fs error (device sda1): ext4_lookup: deleted inode referenced: 123
memory-uncorrected node | EDAC MC0: UE page 0x5a, offset 0x0, grain 8, row 1, labels "A1": sbridge
memory-corrected node | EDAC MC0: CE row 1, channel 0, label "A1": Corrected error
hardware-corrected node | Machine check events logged
machine-check node | CPU 3: Machine Check Exception:                4 Bank 5: be00000000800400
alloc-failure node | kswapd0: page allocation failure. order:2, mode:0x20
oom-kill node | Out of memory: kill process 1234 (ceph-osd) score 123 or a child
degraded-array ioc0 | mptbase: ioc0:   volume is now degraded, enabled
array-failed ioc0 | mptbase: ioc0:   volume is now failed, enabled
member-failed ioc0 | mptbase: ioc0:   PhysDisk is now missing, out of sync
failure-predicted ioc0 | mptbase: ioc0:   SMART data received, ASC/ASCQ = 5dh/10h
member-failed vg-data | WARNING: Device #1 of raid5_ls array, vg-data, has failed.
controller-fault 0000:18:00.0 | megaraid_sas 0000:18:00.0: cannot recover from previous reset failures
controller-fault 0000:18:00.0 | megaraid_sas 0000:18:00.0: failed to do reset
controller-fault 0000:18:00.0 | megaraid_sas 0000:18:00.0: megasas_wait_for_outstanding:2759 HBA is killed.
controller-fault 0000:18:00.0 | megaraid_sas 0000:18:00.0: FW detected to be in faultstate, restarting it...
controller-fault 0000:18:00.0 | megaraid_sas 0000:18:00.0: IO/DCMD timeout is detected, forcibly FAULT Firmware
controller-fault megasas | megasas: cannot recover from previous reset failures
controller-fault megaraid_sas | megaraid_sas: Found FW in FAULT state, will reset adapter scsi0.
controller-fault megaraid_sas | megaraid_sas: Iop2SysDoorbellInt for scsi0
controller-reset megaraid_sas | megaraid_sas: resetting fusion adapter scsi0.
controller-reset 0000:18:00.0 | megaraid_sas 0000:18:00.0: HBA reset wait ...
timeout megasas | megasas: [ 0]waiting for 2 commands to complete
timeout 0000:18:00.0 | megaraid_sas 0000:18:00.0: [ 5]waiting for 12 commands to complete for scsi0
timeout 0000:18:00.0 | megaraid_sas 0000:18:00.0: DCMD(opcode: 0x2010000) is timed out, func:megasas_issue_blocked_cmd
reset 2:2:0:0 | sd 2:2:0:0: [sda] megasas: RESET cmd=28 retries=0
reset 2:2:0:0 | sd 2:2:0:0: [sda] megasas: RESET -5123 cmd=2a retries=0
timeout 0:2:0:0 | sd 0:2:0:0: [sda] tag#12 Controller reset is requested due to IO timeout
timeout scsi0 | 3w-9xxx: scsi0: AEN: ERROR (0x04:0x0009): Drive timeout detected:port=3.
degraded-array scsi0 | 3w-9xxx: scsi0: AEN: ERROR (0x04:0x0002): Degraded unit detected:unit=0, port=3.
read-repaired scsi0 | 3w-sas: scsi0: AEN: WARNING (0x04:0x0023): Sector repair completed:port=4, LBA=0x1.
controller-alarm scsi0 | 3w-9xxx: scsi0: AEN: ERROR (0x04:0x0004): Background rebuild failed:unit=0.
failure-predicted scsi2 | 3w-xxxx: scsi2: AEN: WARNING: SMART threshold exceeded: Port #3.
controller-alarm scsi2 | 3w-xxxx: scsi2: AEN: ERROR: Rebuild failed: Unit #0.
controller-reset scsi0 | 3w-9xxx: scsi0: WARNING: (0x06:0x002C): Command (0x2a) timed out, resetting card.
controller-fault scsi0 | 3w-9xxx: scsi0: ERROR: (0x06:0x002B): Reset failed
io-error scsi2 | 3w-xxxx: scsi2: Command failed: status = 0xc7, flags = 0x1b, unit #1.
sense-medium cciss | cciss 0000:05:00.0: cmd ffff880035f4bd28 has CHECK CONDITION sense key = 0x3
sense-hardware cciss | cciss: cmd ffff8800 has CHECK CONDITION sense key = 0x4
sense-medium 0000:03:00.0 | hpsa 0000:03:00.0: cp ffff880000 has check condition: unknown type: Sense: 0x3, ASC: 0x11
controller-reset mpi3mr0 | mpi3mr0: controller reset is triggered by mpi3mr_watchdog_work:1190
reset 0:0:1:0 | sd 0:0:1:0: Target Reset is issued to handle(0x000a)
reset 0:0:1:0 | sd 0:0:1:0: [sdb] tag#5 Attempting Device(lun) Reset! scmd(00000000abcd1234)
reset 1:0:3:0 | smartpqi 0000:5c:00.0: scsi 1:0:3:0: waiting 10 seconds for LUN reset to complete
controller-fault aacraid | aacraid: SCSI bus appears hung
controller-reset 0000:01:00.0 | aacraid 0000:01:00.0: Controller reset type is 3
controller-reset arcmsr | arcmsr0: executing hw bus reset .....
abort ioc1 | mptscsih: ioc1: attempting task abort! (sc=ffff88061db32a00)
abort ioc1 | mptscsih: ioc1: task abort: FAILED (rv=2003) (sc=ffff88061db32a00)
reset ioc1 | mptscsih: ioc1: attempting target reset! (sc=ffff88061db32a00)
reset ioc1 | mptscsih: ioc1: attempting bus reset! (sc=ffff88061db32a00)
controller-reset ioc1 | mptscsih: ioc1: attempting host reset! (sc=ffff88061db32a00)
controller-reset ioc0 | mptbase: ioc0: Initiating recovery
controller-reset ioc0 | mptscsih: ioc0: WARNING - Issuing Reset from mptscsih_IssueTaskMgmt!!
controller-fault ioc0 | mptbase: ioc0: WARNING - IOC is in FAULT state (1234h)!!!
controller-fault ioc0 | mptbase: ioc0: ERROR - IOC is in FAULT state (1234h)!!!
hba-event ioc1 | mptbase: ioc1: LogInfo(0x31140000): Originator={PL}, Code={IO Executed}, SubCode(0x0000)
abort mpt2sas3 | mpt2sas3: attempting task abort! scmd(ffff8814605d2100)
abort mpt2sas3 | mpt2sas3: task abort: FAILED scmd(ffff8814605d2100)
reset mpt2sas3 | mpt2sas3: attempting device reset! scmd(ffff8814605d2100)
reset mpt2sas3 | mpt2sas3: attempting target reset! scmd(ffff8814605d2100)
controller-reset mpt2sas3 | mpt2sas3: attempting host reset! scmd(ffff8814605d2100)
abort 0:0:1:0 | sd 0:0:1:0: task abort: FAILED scmd(ffff8801)
reset 0:0:1:0 | sd 0:0:1:0: [sdb] tag#7 device reset: FAILED scmd(0x00000000abcd1234)
reset target0:0:1 | scsi target0:0:1: attempting target reset! scmd(0x00000000abcd1234)
reset target0:0:1 | scsi target0:0:1: target reset: FAILED scmd(0x00000000abcd1234)
controller-fault mpt3sas_cm0 | mpt3sas_cm0: mpt3sas_base_hard_reset_handler: hard reset: FAILED
timeout sas | sas: Enter sas_scsi_recover_host busy: 1 failed: 1
abort sas | sas: trying to find task 0x00000000abcd1234
abort sas | sas: sas_scsi_find_task: aborting task 0x00000000abcd1234
reset sas | sas: sas_eh_handle_sas_errors: task 0x00000000abcd1234 is not at LU: I_T recover
reset sas | sas: I_T nexus reset for dev 5000c500a1b2c3d4
io-error sas | sas: error from device 5000c500a1b2c3d4, LUN 0 couldn't be recovered in any way
link-error sas | sas: smp task timed out or aborted
abort pm80xx | pm80xx pm8001_mpi_task_abort_resp 3742:task abort failed status 0x6 ,tag = 0x1, scp= 0x0
link-error pm80xx0 | pm80xx0:: mpi_ssp_completion 1933: sas IO status 0x3b
link-error pm80xx0 | pm80xx0:: mpi_ssp_completion  2016:sas IO status 0x3b
controller-fault pm80xx0 | pm80xx0:: pm80xx_chip_init 1446: Firmware is not ready!
abort mvsas | drivers/scsi/mvsas/mv_sas.c 1692:Release slot [5] tag[5], task [00000000abcd1234]:
device-removed mpt3sas_cm0 | mpt3sas_cm0: removing handle(0x000c), sas_addr(0x5000c500a1b2c3d4)
device-removed mpi3mr0 | mpi3mr0: mpi3mr_remove_tgtdev_from_host :Removing handle(0x000c), wwid(0x5000c500a1b2c3d4)
device-blocked 0:0:3:0 | sd 0:0:3:0: device_block, handle(0x000c)
transport-error 11:0:0:1 | sd 11:0:0:1: [sdx] Result: hostbyte=DID_TRANSPORT_DISRUPTED driverbyte=DRIVER_OK
timeout 11:0:0:1 | sd 11:0:0:1: [sdx]  Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK
request-failed 11:0:0:1 | sd 11:0:0:1: [sdx] Unhandled error code
request-failed 11:0:0:1 | sd 11:0:0:1: [sdx] Unhandled sense code
sense-medium 11:0:0:1 | sd 11:0:0:1: [sdx]  Sense Key : Medium Error [current]
member-failed sdb1 | raid5: Disk failure on sdb1, disabling device.
member-failed sdb1 | raid10: Disk failure on sdb1, disabling device.
read-repaired sdb1 | raid5:md0: read error corrected (8 sectors at 1234 on sdb1)
read-unrepaired sdb1 | raid5:md0: read error not correctable (sector 1234 on sdb1).
read-unrepaired sdb1 | raid5:md0: read error NOT corrected!! (sector 1234 on sdb1).
read-unrepaired sdb1 | md/raid:md0: Too many read errors, failing device sdb1.
read-unrepaired sdb1 | raid5:md0: Too many read errors, failing device sdb1.
read-repaired sdb1 | raid1: sdb1: rescheduling sector 1234
read-unrepaired sdb1 | raid1: sdb1: unrecoverable I/O read error for block 1234
array-failed md0 | raid5: not enough operational devices for md0 (2/3 failed)
array-failed md0 | raid1: no operational mirrors for md0
array-failed md0 | raid5: cannot start dirty degraded array for md0
array-failed md0 | raid5: failed to run raid set md0
degraded-array md0 | raid5: raid level 5 set md0 active with 2 out of 3 devices, algorithm 2
degraded-array md0 | raid1: raid set md0 active with 1 out of 2 mirrors
read-unrepaired sdb1 | md/raid10:md0: sdb1: Raid device exceeded read_error threshold [cur 21:max 20]
fs-error sda1 | EXT3-fs error (device sda1): ext3_lookup: deleted inode referenced: 123
fs-error sda1 | EXT3-fs error (device sda1) in ext3_reserve_inode_write: Journal has aborted
fs-readonly sda1 | EXT3-fs (sda1): error: remounting filesystem read-only
fs-write-lost sdx1 | JBD: Detected IO errors while flushing file data on sdx1
fs-error sdx1 | JBD: I/O error detected when updating journal superblock for sdx1.
fs-error dm-3 | JBD2: I/O error detected when updating journal superblock for dm-3-8.
fs-error dm-3 | XFS (dm-3): xfs_log_force: error 5 returned.
journal-abort journal | journal commit I/O error
journal-abort sda1 | Aborting journal on device sda1.
timeout 0000:03:00.0 | nvme 0000:03:00.0: I/O 22 QID 3 timeout, disable controller
controller-fault 0000:03:00.0 | nvme 0000:03:00.0: Device not ready; aborting initialisation
controller-fault nvme0 | nvme nvme0: Device not ready; aborting reset
snapshot-invalid snapshots | device-mapper: snapshots: Invalidating snapshot: Unable to allocate exception.
offline-io 1.1 | aoe: device 1.1 is not up
peer-lost node | drbd r0 node2: conn( Connected -> NetworkFailure ) peer( Secondary -> Unknown )
peer-lost node | block drbd0: peer( Primary -> Unknown ) conn( Connected -> BrokenPipe ) pdsk( UpToDate -> DUnknown )
osd-down node | libceph: osd3 down
task-waiting node | task:mysqld          state:D stack:    0 pid: 2233 ppid:     1 flags:0x00000000
task-waiting node | task:jbd2/dm-3-8     state:D stack:0     pid:812   ppid:2      flags:0x00004000
task-waiting node | mysqld          D ffff880035f4bd28     0  2233      1 0x00000080
reset 0000:04:00.0 | qla2xxx [0000:04:00.0]-8009:7: TARGET RESET ISSUED nexus=7:0 cmd=00000000abcd1234.
controller-fault 0000:04:00.0 | qla2xxx [0000:04:00.0]-500c:7: Unrecoverable Hardware Error: adapter marked OFFLINE!
controller-reset 0000:04:00.0 | qla2xxx [0000:04:00.0]-8006:7: Mailbox command timeout occurred. Scheduling ISP abort.
controller-hot 0000:04:00.0 | qla2xxx [0000:04:00.0]-505f:7: TEMPERATURE ALERT: 0001 0002 0003
controller-hot 0000:04:00.0 | lpfc 0000:04:00.0: 0:0347 Adapter is very hot, please take corrective action.
controller-fault 0000:04:00.0 | lpfc 0000:04:00.0: 0:0460 Adapter hardware error
controller-fault 0000:04:00.0 | lpfc 0000:04:00.0: 0:(0):0310 Mailbox command x5 timeout Data: x0 x700 xffff8801
abort 0000:04:00.0 | lpfc 0000:04:00.0: 0:(0):0748 abort handler timed out waiting for aborting I/O xri x4f3 to complete
reset 0000:04:00.0 | lpfc 0000:04:00.0: 0:(0):0727 TMF FCP_LUN_RESET to TGT 0 LUN 1 failed (0, 0)
reset 0:0:1:0 | sd 0:0:1:0: device reset
reset 0:0:1:0 | sd 0:0:1:0: [sdb] tag#5 SCSI Bus reset
session-lost port-7:1 | fast_io_fail_tmo expired for SRP port-7:1 / host7.
nic-down node | bond0: (slave eth2): link status down for active interface, disabling it in 200 ms
nic-down node | bond0: link status down for active interface eth2, disabling it in 200 ms
nic-down node | bonding: bond0: backup interface eth2 is now down
transmit-hang node | ixgbe 0000:04:00.0 eth2: initiating reset due to tx timeout
client-lost node | Unable to recover from DataOut timeout while in ERL=0, closing iSCSI connection for I_T Nexus iqn.a,i
memory-uncorrected node | [Hardware Error]: Uncorrected, software restartable error.
machine-check node | [Hardware Error]: System Fatal error.
hardware-corrected node | [Hardware Error]: Corrected error, no action required.
memory-uncorrected node | Memory failure: 0x12345: Sending SIGBUS to qemu-kvm:1234 due to hardware memory corruption
swap-error node | Write error -5 on dio swapfile (8192)
kernel-bug node | Assertion failure in ext4_mb_release() at fs/ext4/mballoc.c:662: "x"
paths-gone mpatha | mpatha: remaining active paths: 0
session-restored connection1:0 | connection1:0 is operational after recovery (3 attempts)
path-restored mpatha | mpatha: remaining active paths: 2
thin-low vg-pool | WARNING: Thin pool vg-pool data is now 95.10% full.
thin-low vg-pool-tpool | Thin pool vg-pool-tpool metadata is now 81.25% full.
peer-lost node | [TOTEM ] A processor failed, forming new configuration.
peer-lost node | 2026-11-29T03:01:00.1+0000 7f1a2b -1 osd.1 123 heartbeat_check: no reply from - osd.3 ever on
session-lost nvme2 | nvme nvme2: Removing controller (18)...
session-error nvme2 | nvme nvme2: failed nvme_keep_alive_end_io error=10
device-gone 2:0:0:0 | sd 2:0:0:0: [sdc] tag#12 Medium access timeout failure. Offlining disk!
kernel-bug node | Oops: 0000 [#1] PREEMPT SMP NOPTI
kernel-bug node | divide error: 0000 [#1] SMP
kernel-bug node | list_add corruption. prev->next should be next (ffff8881), but was 0000.
kernel-bug node | refcount_t: underflow; use-after-free.
kernel-bug node | get_swap_device: Bad swap file entry 3ffffffffffff
kernel-bug node | VERIFY3(rs_get_end(rs, rt) >= end) failed (1 >= 2)
alloc-failure node | SLUB: Unable to allocate memory on node -1, gfp=0xcc0(GFP_KERNEL)
kernel-warning node | WARNING: CPU: 3 PID: 912 at fs/xfs/xfs_message.c:110 assfail+0x20/0x30 [xfs]
transmit-hang node | virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5120 ms
transmit-hang node | i40e 0000:01:00.0: TX driver issue detected, PF reset issued
transmit-hang node | tg3 0000:01:00.0 eth0: transmit timed out, resetting
pcie-gone 0000:00:1c.0 | pcieport 0000:00:1c.0: pciehp: Slot(3): Link Down
controller-fault 0000:00:1c.0 | pcieport 0000:00:1c.0: AER: device recovery failed
link-slow 0000:00:1c.0 | pcieport 0000:00:1c.0: broken device, retraining non-functional downstream link at 2.5GT/s
link-slow 0000:00:1c.0 | pcieport 0000:00:1c.0: retraining failed
controller-fault 0000:65:00.0 | pci 0000:65:00.0: not ready 65535ms after bus reset; giving up
controller-fault 0000:02:00.0 | megaraid_sas 0000:02:00.0: Fatal firmware error: Line 1100 in ../../raid/1078dma.c
controller-reset 0000:02:00.0 | megaraid_sas 0000:02:00.0: waiting for controller reset to finish
controller-fault mpt3sas_cm0 | mpt3sas_cm0: _base_wait_for_doorbell_int: failed due to timeout count(5000)!
controller-fault aacraid | aacraid: Host adapter dead -1
controller-fault 0000:05:00.0 | qla2xxx [0000:05:00.0]-5003:3: ISP System Error - mbx1=1234h mbx2=0h mbx3=0h.
thin-low 1:0:0:3 | sd 1:0:0:3: Warning! Received an indication that the LUN reached a thin provisioning soft threshold.
transport-error 1:0:0:3 | sd 1:0:0:3: alua: rtpg failed, result 0x30000
io-error nbd0 | block nbd0: Other side returned error (5)
timeout nbd0 | block nbd0: Possible stuck request 00000000abcdabcd: control (read@1234,4096B). Runtime 150 seconds
medium-error ata5.00 | ata5.00: error: { UNC }
fs-shutdown sdb1 | XFS (sdb1): xfs_do_force_shutdown(0x2) called from line 1211 of file fs/xfs/xfs_log.c.
fs-corruption dm-3 | XFS (dm-3): Unmount and run xfs_repair
fs-old-errors sdb1 | EXT4-fs (sdb1): warning: mounting fs with errors, running e2fsck is recommended
fs-error sdb1 | EXT4-fs warning (device sdb1): f:1020: inode #2: comm ls: error -5 reading directory block
fs-write-lost sdb1 | BTRFS warning (device sdb1): lost page write due to IO error on /dev/sdb1 (-5)
fs-write-lost vda | BTRFS error (device vda): error writing primary super block to device 2
fs-corruption sdb1 | BTRFS critical (device sdb1): unable to find logical 1234 length 4096
fs-shutdown sdb1 | F2FS-fs (sdb1): Stopped filesystem due to reason: 3
fs-error sdb1 | OCFS2: ERROR (device sdb1): ocfs2_validate_inode_block: Invalid dinode #12
cluster-fs-stopped node | gfs2: fsid=c1:fs0.1: fatal: filesystem consistency error
cluster-fs-stopped node | gfs2: fsid=c1:fs0.1: withdrawn
io-error drbd0 | drbd r0/0 drbd0: local WRITE IO error sector 1234+8 on sdb
device-gone drbd0 | block drbd0: Local IO failed in __req_mod. Detaching...
cache-failed 253:5 | device-mapper: cache: 253:5: aborting current metadata transaction
pool-suspended tank | WARNING: MMP writes to pool 'tank' have not succeeded in over 60 s; suspending pool. Hrtime 12
server-silent nas1 | lockd: server nas1 not responding, still trying
server-back nas1 | lockd: server nas1 OK
udev-stuck node | sdb: Worker [9123] processing SEQNUM=5123 is taking a long time
udev-stuck node | sdb: Worker [9123] processing SEQNUM=5123 killed
controller-fault mpt3sas_cm0 | mpt3sas_cm0: coredump_state(0x5854)!
controller-fault mpt3sas_cm0 | mpt3sas_cm0: port enable: FAILED with timeout (timeout=300s)
controller-fault mpi3mr0 | mpi3mr0: controller is not present while waiting to reset
controller-reset 0000:02:00.0 | megaraid_sas 0000:02:00.0: pending commands remain after waiting
controller-fault 0000:02:00.0 | megaraid_sas 0000:02:00.0: Reset not supported, killing adapter scsi0.
controller-fault 0000:02:00.0 | megaraid_sas 0000:02:00.0: Controller is not OPERATIONAL,SCSI host:0
controller-fault 0000:02:00.0 | megaraid_sas 0000:02:00.0: Diag reset adapter never cleared f 4012
controller-fault 0000:5c:00.0 | smartpqi 0000:5c:00.0: no heartbeat detected - last heartbeat count: 4711
controller-fault 0000:5c:00.0 | smartpqi 0000:5c:00.0: controller not ready after 180 seconds
device-gone 1:0:3:0 | smartpqi 0000:5c:00.0: scsi 1:0:3:0 removing device with 12 outstanding command(s)
degraded-array 0:1:0:2 | hpsa 0000:03:00.0: f: [0:1:0:2] A phys disk component of LV is missing
controller-fault 0000:01:00.0 | aacraid 0000:01:00.0: adapter kernel panic'd fd.
controller-reset aacraid | aacraid: Host device reset request. SCSI hang ?
controller-reset arcmsr | arcmsr: executing bus reset eh.....num_resets = 0, num_aborts = 1
controller-fault arcmsr0 | arcmsr0: waiting for hw bus reset return, RETRY TERMINATED!!
abort arcmsr0 | arcmsr0: abort device command of scsi id = 0 lun = 1
controller-fault 0000:05:00.0 | qla2xxx [0000:05:00.0]-600e:1: Device temperature 105 degrees C exceeds  maximum allowed
controller-hot 0000:05:00.0 | qla2xxx [0000:05:00.0]-600f:1: Device temperature 95 degrees C exceeds operating range.
controller-fault 0000:05:00.0 | qla2xxx [0000:05:00.0]-00b8:1: Disabling the board.
controller-fault 0000:05:00.0 | qla2xxx [0000:05:00.0]-5027:1: RISC paused -- HCCR=1a, Dumping firmware.
controller-fault 0000:05:00.0 | qla2xxx [0000:05:00.0]-ffff:1: Adapter did not come out of reset
controller-reset 0000:05:00.0 | qla2xxx [0000:05:00.0]-d046:1: Exchange starvation. Resetting RISC
hba-event 0000:01:00.1 | qla2xxx [0000:01:00.1]-00af:11: Performing ISP error recovery - ha=00000000a01620a7.
controller-reset 0000:05:00.0 | qla2xxx [0000:05:00.0]-8018:1: ADAPTER RESET ISSUED nexus=1:0:2.
transport-error 0000:05:00.0 | qla2xxx [0000:05:00.0]-301d:1: Dropped frame(s) detected (0x1000 of 0x8000 bytes).
controller-hot 0000:81:00.0 | lpfc 0000:81:00.0: 0:3190 Over Temperature:99 Celsius- Port Name c
port-down 0000:81:00.0 | lpfc 0000:81:00.0: 0:0491 Adapter Link is disabled.
controller-reset 0000:81:00.0 | lpfc 0000:81:00.0: 0:2887 Reset Needed: Attempting Port Recovery...
controller-alarm 0000:81:00.0 | lpfc 0000:81:00.0: 0:0459 Adapter heartbeat still outstanding: last compl
protection-error sdb | sdb: guard tag error at sector 1234 (rcvd 1234, want 4321)
protection-error nvme0n1 | nvme0n1: ref tag error at location 88 (rcvd 12)
write-lost sdb1 | VFS: Dirty inode writeback failed for block device sdb1 (err=-5).
beyond-end 0:0:3:0 | sd 0:0:3:0: [sdd] tag#4 access beyond end of device
flush-failed ata1.00 | ata1.00: retrying FLUSH 0xea Emask 0x4
capacity-error ata1.00 | ata1.00: native sectors (1) is smaller than sectors (976773168)
session-error nvme2 | nvme nvme2: Connect for subsystem nqn.2014-08.org.lab:n1 is not allowed, hostnqn: n
device-gone nvme2 | nvme nvme2: NVME-FC{0}: Max reconnect attempts (60) reached.
device-gone nvme2 | nvme nvme2: NVME-FC{0}: dev_loss_tmo (60) expired while waiting for remoteport connectivity.
session-error nvme2 | nvme nvme2: NVME-FC{0}: transport association event: transport detected io error
controller-reset nvme2 | nvme nvme2: NVME-FC{0}: resetting controller
device-gone nvme2 | nvme nvme2: identifiers changed for nsid 1
duplicate-id nvme2 | nvme nvme2: IDs don't match for shared namespace 1
session-error nvme2 | nvme nvme2: Received C2HTermReq (FES = Invalid PDU Header Field)
fs-corruption sda1 | XFS (sda1): Filesystem needs repair.  Please run xfs_repair.
fs-corruption sda1 | XFS (sda1): Please run xfs_repair to determine the extent of the problem.
fs-corruption sda1 | XFS (sda1): Superblock has bad magic number 0x0. Not an XFS filesystem?
fs-corruption sda1 | XFS (sda1): bad inode magic/vsn daddr 64 #3 (magic=1a)
fs-corruption sda1 | XFS (sda1): Log inconsistent (didn't find previous header)
fs-corruption sda1 | XFS (sda1): Access to block zero in inode 128 start_block: 0 start_off: 0 blkcnt: 8 extent-state: 0
unnamed-fault node | XFS (sda1): Reserve blocks depleted! Consider increasing reserve pool size.
fs-corruption sda1 | EXT4-fs (sda1): ext4_check_descriptors: Block bitmap for group 3 overlaps superblock
fs-corruption sda1 | EXT4-fs (sda1): bad geometry: block count 262144 exceeds size of device (131072 blocks)
fs-error sda1 | EXT4-fs (sda1): journal UUID does not match
fs-error sda1 | EXT4-fs warning (device sda1): ext4_update_dynamic_rev:1120: Marking fs in need of filesystem check.
fs-error sda1 | BTRFS warning (device sda1): devid 3 uuid 2b8e2f7e-8d2a-4c3a-9f3b-1c2d3e4f5a6b is missing
fs-error sda1 | BTRFS warning (device sda1): chunk 22020096 missing 1 devices, max tolerance is 0 for writable mount
fs-corruption sda1 | BTRFS warning (device sda1): tree block 30523392 mirror 1 has bad generation, has 5 want 7
fs-corruption sda1 | BTRFS warning (device sda1): couldn't read tree root
array-failed md5 | md/raid:md5: not enough configured devices (2, minimum 4)
degraded-array md5 | md/raid10:md5: insufficient working devices for recovery.
journal-missing md5 | md/raid:md5: journal disk is missing, force array readonly
cache-failed sdb | bcache: cached_dev_status_update() I/O disabled on cached dev sdb
cache-failed bcache | bcache: bch_journal_read() journal entries 12-14 missing! (replaying 10-20)
cache-error bcache | bcache: prio_read() bad magic reading priorities
unnamed-fault node | qla2xxx [0000:05:00.0]-8802:1: MBX Command timeout for cmd 54
unnamed-fault node | nvme nvme4: Identify namespace failed (-5)
unnamed-fault node | device-mapper: clone: dm-4: Metadata operation failed
unnamed-fault node | JBD2: Error while async write back metadata bh 12
medium-error sdc | critical medium error, dev sdc, sector 8201 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2
medium-error sdc | blk_update_request: critical medium error, dev sdc, sector 8201 op 0x0:(READ) flags 0x0 phys_seg 1
medium-error sdc | print_req_error: critical medium error, dev sdc, sector 8201
io-error nvme0n1 | I/O error, dev nvme0n1, sector 77 op 0x1:(WRITE) flags 0x8800 phys_seg 4 prio class 0
io-error etherd/e0.1 | I/O error, dev etherd!e0.1, sector 8 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2
io-error sdd | timeout error, dev sdd, sector 88 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2
io-error sdd | device offline error, dev sdd, sector 88 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2
target-error sdd | critical target error, dev sdd, sector 88 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2
protection-error sdd | protection error, dev sdd, sector 88 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2
no-space sdd | critical space allocation error, dev sdd, sector 88 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2
transport-error sdd | recoverable transport error, dev sdd, sector 88 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2
reservation-conflict sdd | reservation conflict error, dev sdd, sector 88 op 0x1:(WRITE) flags 0x0 phys_seg 1
write-lost dm-3 | Buffer I/O error on dev dm-3, logical block 88, lost async page write
write-lost sdc1 | Buffer I/O error on device sdc1, logical block 88, lost sync page write
buffer-error sdc | Buffer I/O error on dev sdc, logical block 0, async page read
timeout 6:0:3:0 | sd 6:0:3:0: [sdc] tag#12 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK cmd_age=31s
transport-error 6:0:3:0 | sd 6:0:3:0: [sdc] tag#12 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK
transport-error 6:0:3:0 | sd 6:0:3:0: [sdc] tag#1 UNKNOWN(0x2003) FAILED Result: hostbyte=DID_SOFT_ERROR driverbyte=0
reset 6:0:3:0 | sd 6:0:3:0: [sdc] FAILED Result: hostbyte=DID_RESET driverbyte=DRIVER_OK
sense-medium 6:0:3:0 | sd 6:0:3:0: [sdc] tag#12 Sense Key : Medium Error [current]
sense-hardware 6:0:3:0 | sd 6:0:3:0: [sdc] tag#12 Sense Key : Hardware Error [deferred]
sense-aborted 6:0:3:0 | sd 6:0:3:0: [sdc] Sense Key : Aborted Command [current] [descriptor]
abort 6:0:3:0 | sd 6:0:3:0: attempting task abort!scmd(0x0000000012345678), outstanding for 30312 ms & timeout 30000 ms
abort 6:0:3:0 | sd 6:0:3:0: attempting task abort! scmd(0x0000000012345678)
abort 6:0:3:0 | sd 6:0:3:0: Attempting Task Abort! scmd(00000000abcdabcd)
reset 6:0:3:0 | sd 6:0:3:0: attempting device reset! scmd(0x0000000012345678)
reset 6:0:3:0 | scsi 6:0:3:0: attempting target reset! scmd(0x0000000012345678)
timeout 6:0:3:0 | sd 6:0:3:0: [sdc] tag#3 timing out command, waited 180s
device-gone 6:0:3:0 | sd 6:0:3:0: Device offlined - not ready after error recovery
offline-io 6:0:3:0 | sd 6:0:3:0: rejecting I/O to offline device
power-on 6:0:3:0 | sd 6:0:3:0: Power-on or device reset occurred
flush-failed 6:0:3:0 | sd 6:0:3:0: [sdc] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT
abort 6:0:3:0 | sd 6:0:3:0: [sdc] tag#3 uas_eh_abort_handler 0 uas-tag 3 inflight: CMD
controller-reset mpt3sas_cm0 | mpt3sas_cm0: sending diag reset !!
controller-reset mpt3sas_cm0 | mpt3sas_cm0: attempting host reset! scmd(0x0000000012345678)
controller-fault mpt2sas_cm1 | mpt2sas_cm1: fault_state(0x2622)!
controller-fault mpt3sas_cm0 | mpt3sas_cm0: SAS host is non-operational !!!!
hba-event mpt3sas_cm0 | mpt3sas_cm0: log_info(0x31110e03): originator(PL), code(0x11), sub_code(0x0e03)
controller-fault 0000:3b:00.0 | megaraid_sas 0000:3b:00.0: Found FW in FAULT state, will reset adapter scsi0.
controller-reset 0000:3b:00.0 | megaraid_sas 0000:3b:00.0: resetting fusion adapter scsi0.
controller-reset aacraid | aacraid: Host adapter abort request.
timeout ata7.00 | ata7.00: exception Emask 0x0 SAct 0x40 SErr 0x0 action 0x6 frozen
link-error ata7.00 | ata7.00: error: { ICRC ABRT }
link-reset ata7 | ata7: hard resetting link
link-reset ata7.15 | ata7.15: soft resetting link
link-down ata7 | ata7: COMRESET failed (errno=-16)
link-slow ata7 | ata7: limiting SATA link speed to 3.0 Gbps
device-gone ata7 | ata7: reset failed, giving up
device-gone ata7.00 | ata7.00: disable device
device-gone ata7.00 | ata7.00: disabled
device-gone nvme0n1 | nvme0n1: detected capacity change from 3907029168 to 0
device-gone sdf | sdf: detected capacity change from 3907029168 to 0
split-brain drbd0 | block drbd0: Split-Brain detected but unresolved, dropping connection!
cache-failed 253:4 | device-mapper: cache: 253:4: metadata operation 'dm_cache_commit' failed: error = -5
pcie-fatal 0000:02:00.0 | pcieport 0000:00:02.0: AER: Uncorrected (Fatal) error received: 0000:02:00.0
pcie-uncorrected 0000:02:00.0 | pcieport 0000:00:02.0: AER: Uncorrected (Non-Fatal) error received: 0000:02:00.0
port-down 0000:05:00.0 | lpfc 0000:05:00.0: 0:1305 Link Down Event x2 received Data: x2 x20 x80000 x0 x0
port-down 0000:05:00.0 | qla2xxx [0000:05:00.0]-500b:7: LOOP DOWN detected (2 7 0 0).
kernel-bug node | Kernel panic - not syncing: Fatal exception
transmit-hang node | NETDEV WATCHDOG: eth2 (ixgbe): transmit queue 3 timed out
transmit-hang node | ixgbe 0000:04:00.0 eth2: Detected Tx Unit Hang
conntrack-full node | nf_conntrack: nf_conntrack: table full, dropping packet
cpu-hot node | CPU9: Package temperature is above threshold, cpu clock is throttled (total events = 12)
cpu-throttled node | CPU5: Package temperature above threshold, cpu clock throttled (total events = 1)
overheating node | thermal thermal_zone0: critical temperature reached (105 C), shutting down
timeout nvme1 | nvme nvme1: I/O 512 QID 3 timeout, aborting
timeout nvme1 | nvme nvme1: I/O 512 (I/O Cmd) QID 3 timeout, reset controller
timeout nvme1 | nvme nvme1: I/O tag 51 (a033) opcode 0x2 (I/O Cmd) QID 3 timeout, aborting req_op:READ(0) size:4096
missed-interrupt nvme1 | nvme nvme1: I/O 512 QID 3 timeout, completion polled
timeout nvme1 | nvme nvme1: queue 2: timeout request 0x11 type 4
pcie-fatal nvme1 | nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10
controller-reset nvme1 | nvme nvme1: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10
controller-reset nvme1 | nvme nvme1: resetting controller
controller-fault nvme1 | nvme nvme1: Device not ready; aborting reset, CSTS=0x1
device-gone nvme1 | nvme nvme1: Removing after probe failure status: -19
device-gone nvme1 | nvme nvme1: Disabling device after reset failure: -19
session-error nvme1 | nvme nvme1: starting error recovery
session-error nvme1 | nvme nvme1: failed reconnect attempt 3
session-restored nvme1 | nvme nvme1: Successfully reconnected (4 attempts)
sense-medium nvme1n1 | nvme1n1: Read(0x2) @ LBA 88, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) DNR
member-failed sdc1 | md/raid1:md0: Disk failure on sdc1, disabling device.
member-failed sdc1 | md/raid:md0: Disk failure on sdc1, disabling device.
array-reduced md0 | md/raid:md0: Operation continuing on 5 devices.
member-failed sdc1 | md: kicking non-fresh sdc1 from array!
read-repaired sdc1 | md/raid:md0: read error corrected (8 sectors at 8200 on sdc1)
read-repaired sdc1 | md/raid1:md0: sdc1: rescheduling sector 8200
read-unrepaired sdc1 | md/raid:md0: read error not correctable (sector 8200 on sdc1).
read-unrepaired md0 | md/raid1:md0: sdc1: unrecoverable I/O read error for block 8200
array-failed md0 | md/raid:md0: Cannot continue operation (2/4 failed).
array-failed md0 | md/raid:md0: not enough operational devices (3/5 failed)
recovery md0 | md: recovery of RAID array md0
recovery-done md0 | md: md0: recovery done.
thin-full 253:2 | device-mapper: thin: 253:2: switching pool to out-of-data-space (queue IO) mode
thin-readonly 253:2 | device-mapper: thin: 253:2: switching pool to read-only mode
thin-failed 253:2 | device-mapper: thin: 253:2: switching pool to fail mode
thin-restored 253:2 | device-mapper: thin: 253:2: switching pool to write mode
thin-low 253:2 | device-mapper: thin: 253:2: reached low water mark for data device: sending event.
path-failed 8:32 | device-mapper: multipath: 253:3: Failing path 8:32.
path-restored 8:32 | device-mapper: multipath: 253:3: Reinstating path 8:32.
snapshot-invalid 253:5 | device-mapper: snapshots: 253:5: Invalidating snapshot: Unable to allocate exception.
integrity-error sdc1 | device-mapper: integrity: sdc1: Checksum failed at sector 0x88
pool-suspended tank | WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.
zfs-io sdc | eid=12 class=io pool='tank' vdev=sdc size=4096 offset=8192 priority=0 err=5 flags=0x1
vdev-failed sdc1 | eid=13 class=statechange pool='tank' vdev=sdc1 vdev_state=FAULTED
session-error connection1:0 |  connection1:0: detected conn error (1020)
session-lost session1 |  session1: session recovery timed out after 120 secs
server-silent nas1 | nfs: server nas1 not responding, still trying
server-back nas1 | nfs: server nas1 OK
server-silent nas2 | CIFS: VFS: \\\\nas2 has not responded in 180 seconds. Reconnecting...
path-failed sdc | mpatha: sdc - tur checker reports path is down
fs-error dm-3 | EXT4-fs error (device dm-3): ext4_lookup:1858: inode #2: comm secret: deleted inode referenced: 12
fs-readonly sda1 | EXT4-fs (sda1): Remounting filesystem read-only
fs-old-errors sda1 | EXT4-fs (sda1): error count since last fsck: 3
fs-write-lost sda1 | EXT4-fs (sda1): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 1
fs-write-lost loop0 | EXT4-fs warning (device loop0): ext4_end_bio:343: I/O error 10 writing to inode 12
io-error loop0 | I/O error, dev loop0, sector 260610 op 0x1:(WRITE) flags 0x800 phys_seg 12 prio class 2
fs-write-lost sda1 | EXT4-fs warning (device sda1): ext4_end_bio:343: I/O error 10 writing to inode 12 starting block 8)
fs-mounted sda1 | EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.
fs-mounted sda1 | EXT4-fs (sda1): re-mounted. Opts: (null)
fs-mounted sda1 | EXT4-fs (sda1): re-mounted 0f3a r/w. Quota mode: none.
fs-unmounted sda1 | EXT4-fs (sda1): unmounting filesystem.
journal-abort sda1 | Aborting journal on device sda1-8.
journal-abort dm-3 | Aborting journal on device dm-3-8.
journal-abort dm-3 | Aborting journal on device dm-3.
journal-abort nvme0n1p2 | Aborting journal on device nvme0n1p2.
fs-error dm-3 | JBD2: I/O error when updating journal superblock for dm-3.
fs-error sdb1 | JBD2: I/O error when updating journal superblock for sdb1.
fs-write-lost dm-3 | JBD2: Detected IO errors while flushing file data on dm-3
fs-write-lost sda1 | JBD2: Detected IO errors while flushing file data on sda1-8
fs-error dm-0 | XFS (dm-0): metadata I/O error in "xfs_buf_ioerror_alert+0x1" at daddr 0x88 len 8 error 5
fs-error dm-0 | XFS (dm-0): log I/O error -5
fs-shutdown dm-0 | XFS (dm-0): Filesystem has been shut down due to log error (0x2).
fs-shutdown dm-0 | XFS (dm-0): Corruption detected! Unmount. Shutting down filesystem
fs-corruption dm-0 | XFS (dm-0): Metadata corruption detected at xfs_agf_verify+0x1, xfs_agf block 0x1
fs-corruption dm-0 | XFS (dm-0): Internal error XFS_WANT_CORRUPTED_GOTO at line 1 of file fs/xfs/x.c
fs-mounted dm-0 | XFS (dm-0): Mounting V5 Filesystem 0f3a
fs-unmounted dm-0 | XFS (dm-0): Unmounting Filesystem 0f3a
fs-error sdb | BTRFS error (device sda1 state E): bdev /dev/sdb errs: wr 0, rd 1, flush 0, corrupt 0, gen 0
fs-old-errors sdb | BTRFS info (device sda1): bdev /dev/sdb errs: wr 0, rd 1, flush 0, corrupt 0, gen 0
fs-corruption sdb | BTRFS warning (device sdb): csum failed root 5 ino 257 off 0 csum 0x1 expected csum 0x2 mirror 1
fs-readonly sda1 | BTRFS info (device sda1: state E): forced readonly
fs-error sda1 | BTRFS: error (device sda1) in btrfs_commit_transaction:2345: errno=-5 IO failure
usb-reset 2-1 | usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd
usb-gone 2-1 | usb 2-1: USB disconnect, device number 2
pcie-corrected 0000:01:00.0 | nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
pcie-corrected 0000:01:00.0 | nvme 0000:01:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer
pcie-fatal 0000:01:00.0 | nvme 0000:01:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
pcie-uncorrected 0000:01:00.0 | nvme 0000:01:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Inaccessible
hung-task node | INFO: task jbd2/sda1-8:123 blocked for more than 120 seconds.
hung-task node | INFO: task kworker/u8:3:88 blocked in I/O wait for more than 122 seconds.
lockup node | watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [secret:123]
lockup node | NMI watchdog: Watchdog detected hard LOCKUP on cpu 3
cpu-stall node | rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
cpu-stall node | rcu: INFO: rcu_sched self-detected stall on CPU
oom-kill node | Out of memory: Killed process 1234 (mysqld) total-vm:1kB, anon-rss:1kB, file-rss:0kB, UID:0
cgroup-oom-kill node | Memory cgroup out of memory: Killed process 1234 (java) total-vm:1kB
kernel-bug node | kernel BUG at fs/ext4/inode.c:123!
memory-corrected node | EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1)
memory-uncorrected node | EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0
hardware-corrected node | {1}[Hardware Error]: event severity: corrected
machine-check node | {1}[Hardware Error]: event severity: fatal
write-lost sdc1 | lost page write due to I/O error on sdc1
reset 6:1:3:0 | smartpqi 0000:3b:00.0: resetting scsi 6:1:3:0 SCSI cmd at 0000000012345678 due to cmd opcode 0x28
reset 0:1:0:0 | hpsa 0000:3b:00.0: scsi 0:1:0:0: resetting logical  Direct-Access HP LOGICAL VOLUME RAID-5
controller-fault 0000:3b:00.0 | smartpqi 0000:3b:00.0: controller is offline: status code 0x6100c
timeout nvme1 | nvme nvme1: I/O tag 3 (0003) type 4 opcode 0x1 (I/O Cmd) QID 1 timeout
controller-reset nvme1 | nvme nvme1: frozen state error detected, reset controller
read-unrepaired sdc1 | md/raid:md0: read error NOT corrected!! (sector 8200 on sdc1).
array-failed md0 | md/raid:md0: failed to run raid set.
thin-full 253:2 | device-mapper: thin: 253:2: no free data space available.
thin-readonly 253:4 | device-mapper: thin: 253:4: unable to service pool target messages in READ_ONLY or FAIL mode
thin-readonly 253:2 | device-mapper: thin: 253:2: metadata operation 'dm_pool_commit_metadata' failed: error = -28
cache-failed 253:4 | device-mapper: cache: 253:4: switching cache to fail mode
cache-failed sdb | bcache: bch_count_io_errors() sdb: too many IO errors on reading from cache
cache-error sdb | bcache: bch_count_io_errors() sdb: IO error on writing to cache
session-error connection1:0 |  connection1:0: ping timeout of 5 secs expired, recv timeout 5, last rx 1, last ping 2
device-gone drbd0 | drbd r0/0 drbd0: disk( UpToDate -> Failed )
fs-shutdown sda1 | EXT4-fs (sda1): shut down requested (2)
fs-error sda1 | EXT4-fs (sda1): I/O error while writing superblock
fs-write-lost dm-0 | dm-0: writeback error on inode 172, offset 0, sector 5440
fs-error dm-0 | JBD2: I/O error when updating journal superblock for dm-0-8.
fs-error dm-0 | XFS (dm-0): metadata I/O error: block 0x88 ("xfs_trans_read_buf_map") error 5 numblks 8
fs-corruption dm-0 | XFS (dm-0): Corruption of in-memory data (0x8) detected at xfs_defer_finish_noroll+0x1
fs-shutdown dm-0 | XFS (dm-0): User initiated shutdown received.
fs-write-lost dm-0 | XFS (dm-0): Failing async write on buffer block 0x88. Retrying async write.
fs-write-lost dm-0 | XFS (dm-0): writeback error on inode 12, offset 0, sector 88
fs-corruption sdb | BTRFS warning (device sdb): checksum verify failed on logical 88 mirror 1 wanted 0x1 found 0x2
fs-corruption sdb | BTRFS error (device sdb): parent transid verify failed on logical 88 mirror 1 wanted 7 found 5
fs-corruption sdb | BTRFS critical (device sdb): corrupt leaf: root=5 block=88 slot=0
fs-corrected sdb | BTRFS error (device sdb): fixed up error at logical 88 on dev /dev/sdb
fs-corrected sdb | BTRFS info (device sdb): read error corrected: ino 257 off 0 (dev /dev/sdb sector 88)
fs-mounted sdb | BTRFS info (device sdb): first mount of filesystem 0f3a
fs-unmounted sdb | BTRFS info (device sdb): last unmount of filesystem 0f3a
fs-readonly sdb1 | FAT-fs (sdb1): Filesystem has been set read-only
pcie-fatal 0000:00:01.0 | pcieport 0000:00:01.0: DPC: containment event, status:0x1f01 source:0x0000
kernel-bug node | BUG: unable to handle page fault for address: 0000000000000008
hardware-corrected node | mce: [Hardware Error]: Machine check events logged
machine-check node | mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 7: be00000000800400
read-only-write dm-3 | Trying to write to read-only block-device dm-3
read-only-write sda1 | Trying to write to read-only block-device sda1 (partno 1)
read-only-write vda | generic_make_request: Trying to write to read-only block-device vda (partno 0)
beyond-end sdc1 | sdc1: rw=2048, sector=7814037160, nr_sectors = 8 limit=7814035087
beyond-end sdc1 | sdc1: rw=0, want=7814037168, limit=7814035087
capacity-error 6:0:3:0 | sd 6:0:3:0: [sdc] Read Capacity(16) failed: Result: hostbyte=DID_OK driverbyte=DRIVER_OK
duplicate-id nvme1 | nvme nvme1: globally duplicate IDs for nsid 1
controller-hot mpt3sas_cm0 | mpt3sas_cm0: Temperature Threshold flags 1 exceeded for Sensor: 0 !!!
controller-reset 0000:3b:00.0 | megaraid_sas 0000:3b:00.0: 1 (7s) - Controller encountered a fatal error and was reset
controller-fault 0000:03:00.0 | hpsa 0000:03:00.0: Controller lockup detected: 0x00130000 after 30
link-error ata7.00 | ata7.00: exception Emask 0x10 SAct 0x40 SErr 0x4050002 action 0xe frozen
link-error ata7.00 | ata7.00: NCQ disabled due to excessive errors
timeout ata7.00 | ata7.00: qc timeout (cmd 0xec)
timeout ata7.00 | ata7.00: qc timeout after 15000 msecs (cmd 0xec)
beyond-end nvme0n1 | nvme0n1: Read(0x2) @ LBA 12, 8 blocks, LBA Out of Range (sct 0x0 / sc 0x80) DNR
superblock-error node | md: super_written gets error=-5
superblock-error node | device-mapper: raid: Failed to read superblock of device at position 1
array-failed md3 | md3: bitmap initialisation failed: -5
bitmap-lost md3 | md3: disabling internal bitmap due to errors
bitmap-lost md3 | md3: kicking failed bitmap file /var/lib/bitmap-md3 from array!
journal-missing md3 | md/raid:md3: journal device is missing, mount the array read-only
request-refused node | blk_insert_cloned_request: over max size limit. (2048 > 1024)
integrity-error dm-3 | device-mapper: crypt: dm-3: INTEGRITY AEAD ERROR, sector 12
integrity-error 253:3 | device-mapper: verity: 253:3: data block 12 is corrupted
cache-failed 253:3 | device-mapper: cache: 253:3: unable to switch cache to write mode until repaired.
volume-readonly kvdo1 | kvdo1:dmsetup: Entering read-only mode
nic-down node | ixgbe 0000:05:00.0 eth0: NIC Link is Down
nic-down node | tg3 0000:02:00.0 eth0: Link is down
nic-down node | e1000e: eth0 NIC Link is Down
nic-down node | mlx5_core 0000:3b:00.0 ens1f0: Link down
nic-down node | bond0: (slave eth1): link status definitely down, disabling slave
nic-down node | bond0: link status definitely down for interface eth1, disabling it
bond-down node | bond0: now running without any active interface!
controller-fault 0000:3b:00.0 | mlx5_core 0000:3b:00.0: poll_health:825:(pid 0): Fatal error 3 detected
controller-fault 0000:3b:00.0 | mlx5_core 0000:3b:00.0: poll_health:800:(pid 0): device's health compromised - reached
peer-lost node | drbd r0 node2: PingAck did not arrive in time.
peer-lost node | block drbd0: PingAck did not arrive in time.
peer-lost node | drbd r0: Remote failed to finish a request within 42000ms > ko-count (7) * timeout (60 * 0.1s)
session-lost rport-7:0-3 |  rport-7:0-3: blocked FC remote port time out: removing target and saving binding
session-error nbd0 | block nbd0: Connection timed out
session-error nbd0 | block nbd0: Receive control failed (result -32)
io-error rbd0 | rbd: rbd0: write 1000 at 3000 result -108
io-error rbd0 | rbd: rbd0: write at objno 12 0~4096 result -108
neighbors-full node | neighbour: arp_cache: neighbor table overflow!
tcp-memory node | TCP: out of memory -- consider tuning tcp_mem
kernel-bug node | PANIC at zio.c:3456:zio_done()
cpu-stall node | BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for 31s!
memory-uncorrected node | Memory failure: 0x12: recovery action for dirty LRU page: Recovered
alloc-failure node | kworker/0:1: page allocation failure: order:0, mode:0x20(GFP_ATOMIC), nodemask=(null)
clock-unstable node | clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew
files-full node | VFS: file-max limit 1024 reached
clients-refused node | nfsd: too many open connections, consider increasing the number of threads
clients-refused node | nfsd: too many open connections, consider increasing the max number of connections
interrupt-lost node | Disabling IRQ #16
metadata-damaged node | device-mapper: btree: node_check failed: csum 1234 != wanted 5678
metadata-damaged node | device-mapper: block manager: superblock validator check failed for block 0
metadata-damaged node | device-mapper: block manager: btree_node validator check failed for block 12
transmit-hang node | e1000e 0000:00:19.0 eno1: Detected Hardware Unit Hang:
controller-fault 0000:5c:00.0 | smartpqi 0000:5c:00.0: controller offline: reason code 0x1 (No Reason Given)
link-slow ata7.00 | ata7.00: limiting speed to UDMA/33:PIO4
server-silent fs1 | CIFS: VFS: \\\\fs1 sends on sock 000000006d3ea7a6 stuck for 15 seconds
iommu-fault node | DMAR: [DMA Read] Request device [05:00.0] PASID ffffffff fault addr ff000000
iommu-fault node | AMD-Vi: Event logged [IO_PAGE_FAULT device=05:00.0 domain=0x0012 address=0x0 flags=0x0020]
controller-fault 0000:05:00.0 | nvme 0000:05:00.0: Refused to change power state, currently in D3
controller-alarm 0000:3b:00.0 | megaraid_sas 0000:3b:00.0: 9117 (642437832s/0x0001/CRIT) - VD 00/0 is now DEGRADED
controller-alarm 0000:3b:00.0 | megaraid_sas 0000:3b:00.0: 7 (boot + 12s/0x0020/CRIT) - Battery needs replacement
controller-fatal 0000:3b:00.0 | megaraid_sas 0000:3b:00.0: 9118 (642437832s/0x0001/FATAL) - VD 00/0 is now OFFLINE
timeout 0:2:0:0 | sd 0:2:0:0: [sda] tag#55 OCR is requested due to IO timeout!!
abort 0000:05:00.0 | qla2xxx [0000:05:00.0]-801c:7: Abort command issued nexus=7:0:3 --  1 2002.
reset 0000:05:00.0 | qla2xxx [0000:05:00.0]-8009:7: DEVICE RESET ISSUED nexus=7:0:3 cmd=00000000abcdabcd.
reset 0000:81:00.0 | lpfc 0000:81:00.0: 0:(0):0713 SCSI layer issued Device Reset (0, 3) return x2002
session-lost 0000:81:00.0 | lpfc 0000:81:00.0: 0:(0):0203 Devloss timeout on WWPN 50:06:01:60:3b:a0:12:34 NPort x010200
sense-medium nvme0n1 | nvme0n1: I/O Cmd(0x2) @ LBA 12, 8 blocks, I/O Error (sct 0x2 / sc 0x81) DNR
sense-medium nvme0n1 | nvme0n1: Write(0x1) @ LBA 12, 8 blocks, Write Fault (sct 0x2 / sc 0x80)
path-wait nvme0n1 | block nvme0n1: no usable path - requeuing I/O
io-error nvme0n1 | block nvme0n1: no available path - failing I/O
controller-fault 0000:00:14.0 | xhci_hcd 0000:00:14.0: HC died; cleaning up
slot-empty 0000:00:03.0 | pcieport 0000:00:03.0: pciehp: Slot(5): Card not present
array-failed md3 | md/raid0:md3: Disk failure on sdb1 detected, failing array.
array-failed md3 | md/linearmd3: Disk failure on sdb1 detected, failing array.
cache-failed bcache | bcache: bch_cache_set_error() error on 1b2c3d4e-0000: IO error reading bucket, disabling caching
split-brain drbd0 | drbd r0/0 drbd0 node2: Split-Brain detected but unresolved, dropping connection!
device-gone drbd0 | block drbd0: disk( UpToDate -> Failed )
volume-readonly kvdo0 | kvdo0:logQ0: Unrecoverable error, entering read-only mode: VDO Status: Out of space
volume-readonly vdo0 | device-mapper: vdo0:journalQ: Unrecoverable error, entering read-only mode: VDO Status
server-silent nas1 | CIFS VFS: Server nas1 has not responded in 120 seconds. Reconnecting...
server-silent mds0 | ceph: mds0 hung
server-back mds0 | ceph: mds0 came back
client-abort node | ABORT_TASK: Found referenced iSCSI task_tag: 12
controller-reset mpt3sas_cm0 | mpt3sas_cm0: sending message unit reset !!
path-failed sdb | mpatha: sdb - directio checker reports path is down
device-gone drbd0 | block drbd0: conn( Connected -> NetworkFailure ) disk( UpToDate -> Failed )
pending-sectors sda | Device: /dev/sda [SAT], 8 Total unreadable sectors
io-error kvdo0 | kvdo0:journalQ: Completing write VIO for LBN 12 with error after journal: kvdo: Read only
io-error sdb | bcache: bch_count_backing_io_errors() sdb: IO error on backing device, unrecoverable
degraded-array md3 | md/raid:md3: raid level 5 active with 2 out of 3 devices, algorithm 2
degraded-array md0 | md/raid1:md0: active with 1 out of 2 mirrors
target-error ScaleIO | ScaleIO mapVolIO_ReportIOErrorIfNeeded:403 :[1234] IO-ERROR comb: a60c. offsetInComb 1
client-lost node | nvmet: ctrl 1 keep-alive timer (5 seconds) expired!
client-lost node | nvmet: ctrl 1 fatal error occurred!
client-lost node | Did not receive response to NOPIN on CID: 0, failing connection for I_T Nexus iqn.a:b,i
client-lost node | Time2Retain timer expired for SID: 1, cleaning up iSCSI session.
target-error e1.1 | aoe: ata error cmd=35h stat=51h from e1.1
target-error e1.1 | aoe: aoecmd_ata_rsp: ata error cmd=24h stat=51h from e1.1
target-error 7.3 | aoe: error packet from 7.3@eth2; ecode=3 'device unavailable'
io-error flashcache | device-mapper: flashcache: flashcache_io_callback: io error -5 block 8201 action 3
cache-failed flashcache | device-mapper: flashcache: flashcache_io_callback: switching cachedev to BYPASS mode
fs-write-lost sda1 | EXT4-fs (sda1): failed to convert unwritten extents to written extents -- potential data loss!
fs-error sda1 | EXT4-fs (sda1): previous I/O error to superblock detected
fs-shutdown sda1 | XFS (sda1): Log I/O Error (0x2) detected at xlog+0x6 [xfs] (xfs_log.c:13).  Shutting down filesystem.
fs-corruption sda1 | BTRFS error (device sda1): unable to fixup (regular) error at logical 123 on dev /dev/sda1
fs-shutdown GFS2 | GFS2: fsid=lab:data.0: about to withdraw this file system
lacp-silent node | bond0: Warning: No 802.3ad response from the link partner for any adapters in the bond
module-error 0000:3b:00.0 | mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error, Bus stuck
controller-hot 0000:3b:00.0 | mlx5_core 0000:3b:00.0: temp_warn:141:(pid 0): High temperature on sensors
nic-down node | igb 0000:3b:00.0 eth0: igb: eth0 NIC Link is Down
oom-kill node | Out of memory: Kill process 1234 (ceph-osd) score 123 or sacrifice child
kernel-bug node | general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1]
kernel-bug node | general protection fault: 0000 [#1] SMP
kernel-bug node | Internal error: Oops: 96000004 [#1] SMP
swap-error node | Write-error on swap-device (253:1:1234)
alloc-failure node | XFS: cp(1234) possible memory allocation deadlock size 65552 in kmem_realloc (mode:0x250)
memory-uncorrected node | mce: Uncorrected hardware memory error in user-access at 1234
failure-predicted sdb | Device: /dev/sdb [SAT], FAILED SMART self-check. BACK UP DATA NOW!
failure-predicted sdb | Device: /dev/sdb [SAT], Failed SMART usage Attribute: 5 Reallocated_Sector_Ct.
pending-sectors sdb | Device: /dev/sdb [SAT], 16 Currently unreadable (pending) sectors (changed +8)
pending-sectors sdb | Device: /dev/sdb [SAT], 16 Offline uncorrectable sectors
error-count sdb | Device: /dev/sdb [SAT], ATA error count increased from 3 to 5
selftest-failed sdb | Device: /dev/sdb [SAT], Self-Test Log error count increased from 0 to 1
critical-warning nvme0 | Device: /dev/nvme0, Critical Warning (0x04): Reliability
member-failed sdb1 | Fail event detected on md device /dev/md0, component device /dev/sdb1
degraded-array md0 | DegradedArray event detected on md device /dev/md0
"""
CASES = [tuple(part.strip(" ") for part in line.split(" | ", 1)) for line in UNDERSTOOD.strip().splitlines()]

NORMAL = """
Filesystem "dm-3": Disabling barriers, not supported by the underlying device
qla2xxx 0000:05:00.0: LOOP UP detected (8 Gbps).
qla2xxx 0000:05:00.0: LIP reset occurred (f7f7).
EDAC MC: Ver: 2.1.0
mptbase: ioc0:   volume is now optimal, enabled
mptbase: ioc0:   PhysDisk is now online, out of sync
mptbase: ioc0: RAID STATUS CHANGE for VolumeID 0
ioc0: LSISAS1068E B3: Capabilities={Initiator}
scsi target0:0:14: handle(0x0018), sas_addr(0x5003048017ab995e)
mpt3sas_cm0: LSISAS3008: FWVersion(16.00.12.00), ChipRevision(0x02)
megaraid_sas: no pending cmds after reset
megasas: reset successful
sas: Enter sas_scsi_recover_host busy: 0 failed: 0
sas: --- Exit sas_scsi_recover_host: busy: 0 failed: 0 tries: 1
sas: ata7: end_device-1:0: dev error handler
sas: ata7: end_device-1:0: cmd error handler
sas: DONE DISCOVERY on port 0, pid:312, result:0
sas: ex 500056b37789abff phy05:D:9 attached: 5000c500a1b2c3d4 (stp)
mptbase: ioc0: Initiating bringup
mptsas: ioc0: attaching ssp device: fw_channel 0, fw_id 0, phy 0, sas_addr 0x5000c500a1b2c3d4
mptscsih: ioc1: task abort: SUCCESS (rv=2002) (sc=ffff88061db32a00)
mpt2sas0: port enable: SUCCESS
mpt3sas_cm0: hard reset: SUCCESS
sd 0:0:1:0: task abort: SUCCESS scmd(0x00000000abcd1234)
sd 0:0:1:0: [sdb] tag#7 device reset: SUCCESS scmd(0x00000000abcd1234)
megasas: FW now in Ready state
megaraid_sas 0000:18:00.0: Waiting for FW to come to ready state
megaraid_sas 0000:18:00.0: Firmware supports online controller reset
megaraid_sas 0000:18:00.0: firmware crash dump	: no
megaraid_sas 0000:18:00.0: Online Controller Reset(OCR)	: Enabled
megaraid_sas 0000:18:00.0: Snap dump wait time	: 15
3w-9xxx: scsi0: Found a 3ware 9000 Storage Controller at 0xfe8df000, IRQ: 16.
3w-9xxx: scsi0: AEN: INFO (0x04:0x0029): Verify started:unit=0.
3w-9xxx: scsi0: AEN: INFO (0x04:0x0005): Rebuild completed:unit=0.
3w-9xxx: scsi0: ERROR: (0x03:0x0101): Invalid command opcode:opcode=0x85.
3w-xxxx: scsi2: AEN: INFO: Verify complete: Unit #0.
cciss 0000:05:00.0: cmd ffff8800 has CHECK CONDITION sense key = 0x5
hpsa 0000:03:00.0: Waiting for controller to respond to no-op
mpi3mr0: issuing message unit reset (MUR) to bring to reset state
pm80xx 0000:05:00.0: pm80xx: driver version 0.1.40
raid1: raid set md0 active with 2 out of 2 mirrors
raid5: Operation continuing on 3 devices.
raid5: device sdb1 operational as raid disk 1
sd 11:0:0:1: [sdx] Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE
sd 11:0:0:1: [sdx]  Sense Key : Illegal Request [current]
task:kworker/0:1     state:I stack:0     pid:12    ppid:2      flags:0x00004000
bash            S ffff880035f4bd28     0  2233      1 0x00000080
bond0: (slave eth2): failed to get link speed/duplex
bond0: (slave eth2): link status definitely up, 10000 Mbps full duplex
bond0: link status up for interface eth2, enabling it in 200 ms
libceph: osd3 up
libceph: osd3 weight 0x10000 (in)
qla2xxx [0000:04:00.0]-8009:7: DEVICE RESET SUCCEEDED nexus:7:0:0 cmd=00000000abcd1234.
lpfc 0000:04:00.0: 0:1303 Link Up Event x1 received Data: x1 x0 x80 x0 x0 x0 0
nvme 0000:03:00.0: irq 91 for MSI/MSI-X
block drbd0: conn( Connected -> Disconnecting )
block drbd0: conn( WFConnection -> WFReportParams )
ata3: SATA link down (SStatus 0 SControl 300)
ata7: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
ata7.00: exception Emask 0x10 SAct 0x0 SErr 0x4040000 action 0xe frozen
sd 6:0:3:0: [sdc] tag#12 Sense Key : Illegal Request [current]
sd 6:0:3:0: [sdc] tag#12 Sense Key : Unit Attention [current]
sd 6:0:3:0: [sdc] tag#12 Sense Key : Not Ready [current]
sd 6:0:3:0: [sdc] tag#12 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age=0s
sd 6:0:3:0: [sdc] Write cache: enabled, read cache: enabled, doesn't support DPO or FUA
I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2
I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2
I/O error, dev loop3, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2
Buffer I/O error on dev loop3, logical block 0, async page read
loop: Write error at byte offset 133660672, length 4096.
Buffer I/O error on dev sr0, logical block 0, async page read
critical target error, dev sdc, sector 88 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 0
critical target error, dev sdc, sector 88 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 2
operation not supported error, dev sdc, sector 88 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 0
nvme nvme0: 8/0/0 default/read/poll queues
nvme nvme0: allocated 64 MiB host memory buffer.
md: md0: data-check done.
md: data-check of RAID array md0
EXT4-fs (sda1): recovery complete
EXT4-fs (sda1): orphan cleanup on readonly fs
JBD2: recovery pass ended, transactions 1 to 2, recovered 3 blocks
XFS (dm-0): Starting recovery (logdev: internal)
XFS (dm-0): Ending clean mount
EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0: DEV 0000:7e:0c.0
eid=3 class=config_sync pool='tank'
eid=3 class=statechange pool='tank' vdev=sdc1 vdev_state=ONLINE
audit: type=1400 audit(1.2:3): I/O error, dev sdc, sector 1 password=hunter2
mount: I/O error, dev sdc
device-mapper: multipath: version 1.14.0 loaded
md0: detected capacity change from 3907029168 to 0
loop0: detected capacity change from 8 to 0
sdb: detected capacity change from 0 to 3907029168
ata7.00: exception Emask 0x0 SAct 0x40 SErr 0x0 action 0x0
ata7: exception Emask 0x10 SAct 0x0 SErr 0x4050002 action 0xe frozen
ixgbe 0000:05:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX
loop3: rw=0, want=8, limit=4
clocksource: Switched to clocksource hpet
sd 6:0:3:0: [sdc] Write Protect is on
net_ratelimit: 12 callbacks suppressed
megaraid_sas 0000:3b:00.0: 9115 (642437832s/0x0002/WARN) - Unexpected sense: PD 04(e0x20/s4)
megaraid_sas 0000:3b:00.0: 9120 (642437832s/0x0001/info) - Patrol Read complete
nvme0n1: Dataset Management(0x9) @ LBA 12, 8 blocks, Invalid Field in Command (sct 0x0 / sc 0x2) DNR
Device: /dev/sdb [SAT], SMART Usage Attribute: 194 Temperature_Celsius changed from 67 to 66
Device: /dev/sdb [SAT], SMART Prefailure Attribute: 1 Raw_Read_Error_Rate changed from 82 to 83
Device: /dev/sdb [SAT], is SMART capable. Adding to "monitor" list.
NewArray event detected on md device /dev/md0
RebuildFinished event detected on md device /dev/md0
DegradedArray event detected on md device /dev/md/payroll
block drbd0: disk( Attaching -> UpToDate )
pcieport 0000:00:03.0: pciehp: Slot(5): Card present
"""


@pytest.mark.parametrize(("expected", "text"), CASES, ids=[text[:60] for _, text in CASES])
def test_a_message_has_its_kind_and_device(expected: str, text: str) -> None:
    message = understood(text)
    assert message is not None
    kind, device = expected.split(" ", 1)
    assert (message.kind, message.device or "node") == (kind, device)
    assert kind in KINDS
    assert text.strip().startswith(message.text) or "-" in message.text


@pytest.mark.parametrize("text", NORMAL.strip().splitlines())
def test_a_normal_message_is_not_a_complaint(text: str) -> None:
    assert understood(text) is None


def test_a_suspended_pool_of_the_solaris_porting_layer_is_understood() -> None:
    text = "SPLError: 1850:0:(spl-err.c:67:vcmn_err()) WARNING: Pool 'tank' has encountered an uncorrectable I/O"
    message = understood(f"{text} failure and has been suspended.")
    assert message is not None
    assert (message.kind, message.device) == ("pool-suspended", "tank")


def test_what_is_kept_is_understood_again() -> None:
    """A kept message is read again on replay, and must keep its meaning."""
    for _, text in CASES:
        message = understood(text)
        assert message is not None
        again = understood(message.text)
        assert again is not None, message.text
        assert (again.kind, again.device, again.text) == (message.kind, message.device, message.text)


def test_free_text_behind_a_message_is_not_kept() -> None:
    for text in ("EXT4-fs error (device sda1): ext4_lookup:1858: inode #2: comm secret: deleted inode",
                 "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [secret:123]"):  # fmt: skip
        message = understood(text)
        assert message is not None
        assert "secret" not in message.text


@pytest.mark.parametrize("text", [
    "drbd r0/0 drbd0 payroll: Split-Brain detected but unresolved",
    "GFS2: fsid=payroll:payroll.0: File system withdrawn",
    "Fail event detected on md device /dev/md/payroll, component device /dev/sdb1",
    "payroll: sdc - tur checker reports path is down", "md/raid:payroll: Disk failure on sdc1, disabling device.",
    "md/raid1:payroll: sdc1: rescheduling sector 8200", "drbd payroll/0 drbd0: disk( UpToDate -> Failed )",
    "eid=12 class=io pool='payroll' vdev=sdc size=4096",
    "md/raid:payroll: read error corrected (8 sectors at 8 on sdc1)",
])  # fmt: skip
def test_names_that_the_owner_chose_are_replaced(text: str) -> None:
    message = understood(text)
    assert message is not None
    assert "payroll" not in f"{message.text} {message.device} {message.also}"
    assert understood(message.text) == message


@pytest.mark.parametrize("text", [
    "I/O error, dev sd\u202ec, sector 8", "INFO: task \x1b[2J:12 blocked for more than 120 seconds.",
    "nfs: server n\u00e4s not responding, timed out", "Out of memory: Killed process 12 (\u6e80)",
    "EXT4-fs (sd\x07a): Remounting filesystem read-only",
])  # fmt: skip
def test_names_that_no_kernel_gives_are_not_understood(text: str) -> None:
    assert understood(text) is None


def test_no_message_is_kept_at_any_length() -> None:
    message = understood("EXT4-fs error (device sda1): " + "f" * 60 + ":1858: " + "x" * 5000)
    assert message is not None
    assert len(message.text) <= LONGEST


def test_each_pattern_is_used_by_a_message() -> None:
    """Every pattern has an example above; a pattern without one may be wrong."""
    unused = [
        each.word for each in PATTERNS
        if not any(each.word in text and each.form.match(text) for _, text in CASES)
    ]  # fmt: skip
    assert unused == []


def test_messages_of_the_rate_limit_are_counted_for_requests_only() -> None:
    assert suppressed("blk_print_req_error: 12 callbacks suppressed") == 12
    assert suppressed("buffer_io_error: 3 callbacks suppressed") == 3
    assert suppressed("net_ratelimit: 12 callbacks suppressed") == 0


@pytest.mark.parametrize("text", [
    "nvme nvme0: Shutdown timeout set to 10 seconds", "nvme nvme0: failed to set APST feature (2)",
    "sd 0:0:0:0: [sda] Asking for cache data failed", "sd 0:0:0:0: [sda] No Caching mode page found",
    "EXT4-fs (sda1): re-mounted abcd r/w. Quota mode: none. Opts: errors=remount-ro", "XFS (sdb1): Ending clean mount",
    "scsi host3: iSCSI Initiator over TCP/IP", "megaraid_sas 0000:02:00.0: firmware crash dump\t: no",
    "EXT4-fs (sda1): couldn't mount as ext3 due to feature incompatibilities", "ata1.00: unexpected _GTF length (8)",
    "device-mapper: core: CONFIG_IMA_DISABLE_HTABLE is disabled. Duplicate IMA measurements will not be recorded",
    "nvme nvme0: missing or invalid SUBNQN field.", "qla2xxx [0000:05:00.0]-00fb:1: QLogic QLE2562 - QLogic 8Gb.",
    "block drbd0: conn( WFBitMapS -> SyncSource ) pdsk( Consistent -> Inconsistent ) ",
    "ata5: SATA link down (SStatus 0 SControl 300)", "md: md0: resync done.",
    "BTRFS info (device sda): using crc32c (crc32c-intel) checksum algorithm",
    "libceph: osd3 (1)10.0.0.5:6801 socket closed (con state OPEN)",
    "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:01:00.0",
    "mlx5_core 0000:01:00.0: E-Switch: Total vports 2", "nvme nvme0: 8/0/0 default/read/poll queues",
    "device-mapper: multipath service-time: version 0.3.0 loaded", "nfs: server nas1 OK and without errors",
    "ACPI Error: No handler for Region [SYSI] (0000000012345678)", "usb 1-1: device descriptor read/64, error -71",
    "bcache: register_bcache() error : device already registered (emitting change event)",
    "bcache: register_bcache() error : device already registered",
    "bcache: register_bcache() error /dev/sdc: device already registered",
])  # fmt: skip
def test_what_drivers_say_on_healthy_nodes_is_no_fault(text: str) -> None:
    message = understood(text)
    assert message is None or message.kind != "unnamed-fault"


@pytest.mark.parametrize(("text", "kept"), [
    ("md/raid6:payroll: unsupported reshape required - aborting.", "md/raid6:-abort"),
    ("megaraid_sas 0000:02:00.0: reset of payroll timed out", "megaraid_sas 0000:02:00.0: -timed out"),
    ("CIFS: VFS: \\\\payroll invalidate failed", "CIFS: -invalid"),
    (" connection1:0: pdu (op 0x25 itt 0x5) rejected due to DataDigest error.", "connection1:0: -reject"),
])  # fmt: skip
def test_of_an_unclassified_fault_only_driver_and_fault_are_kept(text: str, kept: str) -> None:
    message = understood(text)
    assert message is not None
    assert (message.kind, message.text) == ("unnamed-fault", kept)
    assert understood(message.text) == message


@pytest.mark.slow
@pytest.mark.parametrize("known", PATTERNS, ids=range(len(PATTERNS)))
def test_every_message_of_a_pattern_has_its_word(known: Pattern) -> None:
    """The word decides whether the pattern is tried at all; five patterns never saw some of their messages."""

    @settings(max_examples=25, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(st.from_regex(re.compile(known.regex, re.ASCII), fullmatch=True))
    def check(text: str) -> None:
        assert known.word in text

    check()
