"""Flow control of reports: each step is reported immediately, or several together when the router lags."""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.protocol.worker_messages import ReportsTaken, SequenceDelta

MAX_HELD_STEPS = 8
"""Steps in one report; a worker that holds as many runs no step until the router has read."""


class ReportWindow:
    """Holds the deltas of steps until they are reported: immediately, as long as the router keeps up.

    The router acknowledges reports and says how many may be in flight. When three quarters of them are, a
    report carries MAX_HELD_STEPS steps, which costs the router less per token; held deltas would otherwise wait
    in the socket. `max_ahead` of 0 or less is no limit. Where nobody follows streams, a report may always carry
    `steps_together` steps: it waits for as many, or for the end of a sequence.
    """

    def __init__(self, max_ahead: int, steps_together: int = 1) -> None:
        self._max_ahead_at_first = max_ahead
        self._steps_together = min(steps_together, MAX_HELD_STEPS)
        self.reset()

    def reset(self) -> None:
        """Start a session: nothing is held, and nothing is in flight."""
        self._max_ahead = self._max_ahead_at_first
        self._num_sent = self.num_taken = self._num_held_steps = 0
        self._held: dict[int, list[SequenceDelta]] = {}
        self._holds_end = False

    def on_taken(self, taken: ReportsTaken) -> None:
        self.num_taken, self._max_ahead = taken.num_reports, taken.max_ahead

    @property
    def holds_deltas(self) -> bool:
        return bool(self._held)

    @property
    def may_step(self) -> bool:
        """True if there is room for the deltas of one more step."""
        return self._num_held_steps < MAX_HELD_STEPS or self.may_report

    @property
    def may_report(self) -> bool:
        """True if the held deltas may be reported now."""
        if 0 < self._num_held_steps < self._steps_together and not self._holds_end:
            return False
        num_ahead = self._num_sent - self.num_taken
        if self._max_ahead_at_first <= 0 or 4 * num_ahead < 3 * self._max_ahead:
            return True
        return num_ahead < self._max_ahead and self._num_held_steps >= MAX_HELD_STEPS

    def hold_step(self, deltas: list[SequenceDelta]) -> None:
        """Keep the deltas of a step until they are reported."""
        self._num_held_steps += 1
        for delta in deltas:
            self._holds_end |= delta.finish is not None
            self._held.setdefault(delta.dispatch_id, []).append(delta)

    def take(self) -> list[SequenceDelta]:
        """Remove and return the held deltas, for a report; consecutive tokens of one answer are one delta."""
        deltas = [delta for held in self._held.values() for delta in joined(held)]
        self._held.clear()
        self._num_held_steps, self._holds_end = 0, False
        return deltas

    def drop(self, dispatch_id: int) -> None:
        """Remove the held deltas of an aborted dispatch."""
        self._held.pop(dispatch_id, None)
        if not self._held:
            self._num_held_steps = 0

    def on_sent(self) -> None:
        """Record that a report was sent, with the held deltas or, as a heartbeat, without."""
        self._num_sent += 1


def joined(deltas: Sequence[SequenceDelta]) -> list[SequenceDelta]:
    """The deltas of one dispatch, in which those with consecutive tokens and nothing else are one."""
    if len(deltas) == 1:
        return [*deltas]
    runs: list[list[SequenceDelta]] = []
    for delta in deltas:
        if runs and can_merge(runs[-1][-1], delta):
            runs[-1].append(delta)
        else:
            runs.append([delta])
    return [run[0] if len(run) == 1 else merged(run) for run in runs]


def can_merge(delta: SequenceDelta, following: SequenceDelta) -> bool:
    """True for two deltas with consecutive tokens of an answer and nothing else."""
    return (
        bool(delta.token_ids and following.token_ids)
        and delta.position + len(delta.token_ids) == following.position
        and delta.finish is None
        and not (delta.extras or following.extras)
        and not (delta.reasoning or delta.reasoning_flags or following.reasoning or following.reasoning_flags)
    )


def merged(deltas: Sequence[SequenceDelta]) -> SequenceDelta:
    """One delta for consecutive ones; each token keeps its own text."""
    end, cuts = 0, []
    for delta in deltas:
        # Without cuts all text is that of the last token.
        cuts += [end + cut for cut in delta.cuts or [0] * (len(delta.token_ids) - 1)]
        end += len(delta.text)
        cuts.append(end)
    last = deltas[-1]
    return SequenceDelta(
        dispatch_id=last.dispatch_id,
        position=deltas[0].position,
        token_ids=[token_id for delta in deltas for token_id in delta.token_ids],
        text="".join(delta.text for delta in deltas),
        entropies=[entropy for delta in deltas for entropy in delta.entropies],
        logprobs=[logprob for delta in deltas for logprob in delta.logprobs],
        cached_tokens=last.cached_tokens,
        finish=last.finish,
        cuts=cuts[:-1],
    )
