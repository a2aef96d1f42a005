"""Collectors of the way from the processor to the disk: NUMA nodes, PCIe, HBAs, SAS expanders, phys and interrupts."""

from __future__ import annotations

from sdstop.collectors.fabric.hba import HBA
from sdstop.collectors.fabric.interrupts import INTERRUPTS
from sdstop.collectors.fabric.numa import NUMA
from sdstop.collectors.fabric.sas import SAS

COLLECTORS = (SAS, HBA, NUMA, INTERRUPTS)
