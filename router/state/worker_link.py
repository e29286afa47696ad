"""The exchange with one worker: what was heard of it, and what it has not shown to have received."""

from __future__ import annotations

from collections import deque

from cactus_actors.protocol.worker_messages import Report, ReportsTaken

MIN_UNACKNOWLEDGED, UNACKNOWLEDGED_S = 4, 2.0
"""Reports in a row, and the seconds since the one before them, after which a worker counts as silent that
has received nothing of what it was sent."""


class WorkerLink:
    """The times of a worker's messages, and the reports that it knows to be taken.

    The last `_num_unacknowledged` reports show nothing of what was sent to it; the one before came at
    `_acknowledged_at`.
    """

    def __init__(self, now: float) -> None:
        self.last_seen = now
        self._excused_s = 0.0
        self._num_reports = self._num_reports_told = self._num_unacknowledged = 0
        self._acknowledged_at = now

    def silent_s(self, now: float) -> float:
        """The seconds since its last message, less those that are excused."""
        return now - self.last_seen - self._excused_s

    def mark_alive(self, now: float) -> None:
        self.last_seen, self._excused_s = now, 0.0

    def excuse(self, seconds: float, now: float) -> None:
        """Do not count so many seconds of its silence."""
        self._excused_s = min(self._excused_s + seconds, now - self.last_seen)

    def on_report(self, report: Report, last: Report, num_sent: int, now: float) -> None:
        """Count a report, and mark the worker alive as long as what the router sends arrives there.

        A worker that goes on reporting and has received nothing of what is in flight for long is cut off in one
        direction. A few reports may have been in flight, too.
        """
        num_taken = self._num_reports_told if report.num_taken is None else report.num_taken
        has_heard_all = report.num_accepted >= num_sent and num_taken >= self._num_reports_told
        if has_heard_all or report.num_accepted > last.num_accepted or num_taken > (last.num_taken or 0):
            self._num_unacknowledged, self._acknowledged_at = 0, now
        else:
            self._num_unacknowledged += 1
        if self._num_unacknowledged < MIN_UNACKNOWLEDGED or now - self._acknowledged_at < UNACKNOWLEDGED_S:
            self.mark_alive(now)
        self._num_reports += 1

    def credit(self, max_ahead: int) -> ReportsTaken | None:
        """The message that grants it more reports, at most `max_ahead` untaken ones; None if it needs none now."""
        if max_ahead <= 0 or 2 * (self._num_reports - self._num_reports_told) < max_ahead:
            return None
        self._num_reports_told = self._num_reports
        return ReportsTaken(self._num_reports, max_ahead)


class InFlight:
    """The dispatches and preemptions that a worker's last report does not show yet.

    `num_sent` and the report's `num_accepted` both count since its Hello. The worker frees what was preempted
    before it reads what is sent next.
    """

    def __init__(self) -> None:
        self.num_sent = 0
        self.sent_blocks: deque[int] = deque()  # of each dispatch that is not accepted
        self.num_sent_blocks = 0
        self.num_preempted = self.num_preempted_blocks = 0

    def send(self, num_blocks: int) -> None:
        self.num_sent += 1
        self.sent_blocks.append(num_blocks)
        self.num_sent_blocks += num_blocks

    def preempt(self, num_blocks: int) -> None:
        self.num_preempted += 1
        self.num_preempted_blocks += num_blocks

    def on_report(self, num_accepted: int) -> None:
        self.num_preempted = self.num_preempted_blocks = 0
        num_left = max(0, self.num_sent - num_accepted)
        while len(self.sent_blocks) > num_left:
            self.num_sent_blocks -= self.sent_blocks.popleft()
