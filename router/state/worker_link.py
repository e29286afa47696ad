"""The exchange with one worker: the last messages from it, and the sent messages that it has not acknowledged."""

from __future__ import annotations

from collections import deque

from cactus_actors.protocol.worker_messages import Report, ReportsTaken

MIN_UNACKNOWLEDGED, UNACKNOWLEDGED_S = 4, 2.0
"""A worker counts as silent after this many reports in a row without an acknowledgement, and this many seconds after
the report before them."""


class WorkerLink:
    """The times of a worker's messages, and the reports that were acknowledged to it.

    The last `_num_unacknowledged` reports acknowledge nothing of what was sent to it; the report before them arrived
    at `_acknowledged_at`.
    """

    def __init__(self, now: float) -> None:
        self.last_seen = now
        self._excused_s = 0.0
        self._num_reports = self._num_reports_acknowledged = self._num_unacknowledged = 0
        self._acknowledged_at = now

    def silent_s(self, now: float) -> float:
        """The seconds since its last message, without the excused ones."""
        return now - self.last_seen - self._excused_s

    def mark_alive(self, now: float) -> None:
        self.last_seen, self._excused_s = now, 0.0

    def excuse(self, seconds: float, now: float) -> None:
        """Do not count `seconds` of its silence."""
        self._excused_s = min(self._excused_s + seconds, now - self.last_seen)

    def on_report(self, report: Report, last: Report, num_sent: int, now: float) -> None:
        """Count a report, and mark the worker alive as long as the router's messages arrive there.

        If a worker continues to report, but for a long time receives nothing of the messages in flight, its connection
        is broken in one direction. A few reports may have been in flight, too.
        """
        num_taken = self._num_reports_acknowledged if report.num_taken is None else report.num_taken
        has_received_all = report.num_accepted >= num_sent and num_taken >= self._num_reports_acknowledged
        if has_received_all or report.num_accepted > last.num_accepted or num_taken > (last.num_taken or 0):
            self._num_unacknowledged, self._acknowledged_at = 0, now
        else:
            self._num_unacknowledged += 1
        if self._num_unacknowledged < MIN_UNACKNOWLEDGED or now - self._acknowledged_at < UNACKNOWLEDGED_S:
            self.mark_alive(now)
        self._num_reports += 1

    def credit(self, max_ahead: int) -> ReportsTaken | None:
        """The message that grants it more reports, at most `max_ahead` unacknowledged ones; None if not needed now."""
        if max_ahead <= 0 or 2 * (self._num_reports - self._num_reports_acknowledged) < max_ahead:
            return None
        self._num_reports_acknowledged = self._num_reports
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
