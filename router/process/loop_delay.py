"""Measures how much of the workers' silence is due to the router itself or to the machine."""

from __future__ import annotations

from cactus_actors.process.starvation import STALLED_WEIGHT, MachinePressure

PRESSURE_INTERVAL_S = 1.0


class LoopDelay:
    """Measures each tick; time is an argument.

    A tick may be late by `grace_s`; a longer delay does not count as silence of workers. While threads of this
    machine wait for a CPU, workers may wait too: such seconds count with STALLED_WEIGHT.
    """

    def __init__(self, grace_s: float, pressure: MachinePressure | None = None) -> None:
        self._grace_s = grace_s
        self._pressure = pressure or MachinePressure()
        self._looked_at = 0.0
        self._measured_at = 0.0
        self._excused_s = 0.0
        """The seconds excused since the pressure was measured."""

    def excused_s(self, now: float, planned_s: float) -> float:
        """Seconds since the last call that do not count as silence; `planned_s` is the planned interval."""
        elapsed, self._looked_at = now - (self._looked_at or now), now
        excused_s = late_s if (late_s := elapsed - planned_s - self._grace_s) > 0 else 0.0
        self._excused_s += excused_s
        if now - self._measured_at >= PRESSURE_INTERVAL_S:
            stalled_s = min(self._pressure.stalled_s(), now - (self._measured_at or now))
            excused_s += max(0.0, (1 - STALLED_WEIGHT) * stalled_s - self._excused_s)
            self._measured_at, self._excused_s = now, 0.0
        return excused_s
