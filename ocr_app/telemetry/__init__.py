"""Counters of the machine and of progress: device and process memory, rates, time left. Nothing here knows
documents, KV caches or screens.
"""

from ocr_app.telemetry.probes import MemoryProbe
from ocr_app.telemetry.progress import Progress, Throttle, TimeLeft

__all__ = ["MemoryProbe", "Progress", "Throttle", "TimeLeft"]
