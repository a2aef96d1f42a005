"""A memory controller in sysfs, with its modules."""

from __future__ import annotations

from dataclasses import dataclass, field

from sdstop.collectors.memory.readings import MC


@dataclass
class Controller:
    """Modules by label, each with its corrected and uncorrected errors; `more` of the first are of no module."""

    modules: dict[str, tuple[int, int]] = field(default_factory=lambda: {"CPU_SrcID#0_Ha#0_Chan#0_DIMM#0": (0, 0)})
    more: tuple[int, int] = (0, 0)
    seconds: int = 864_000
    number: int = 0

    def files(self) -> dict[str, str]:
        base = f"{MC}/mc{self.number}"
        corrected, uncorrected = (sum(n[i] for n in self.modules.values()) + self.more[i] for i in (0, 1))
        found = {
            f"{base}/mc_name": "Broadwell SrcID#0_Ha#0\n",
            f"{base}/size_mb": "16384\n",
            f"{base}/seconds_since_reset": f"{self.seconds}\n",
            f"{base}/ce_count": f"{corrected}\n",
            f"{base}/ue_count": f"{uncorrected}\n",
            f"{base}/ce_noinfo_count": f"{self.more[0]}\n",
            f"{base}/ue_noinfo_count": f"{self.more[1]}\n",
        }
        for n, (label, (ce, ue)) in enumerate(self.modules.items()):
            found |= {
                f"{base}/dimm{n}/dimm_label": f"{label}\n",
                f"{base}/dimm{n}/dimm_location": f"channel {n} slot 0\n",
                f"{base}/dimm{n}/size": "16384\n",
                f"{base}/dimm{n}/dimm_ce_count": f"{ce}\n",
                f"{base}/dimm{n}/dimm_ue_count": f"{ue}\n",
            }
        return found
