"""Disk health: SMART and NVMe logs, temperatures, enclosure slots, SCSI error counters, and RAID controllers."""
