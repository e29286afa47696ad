"""Passes questions about batches of the cloud to a cloud worker, and its replies to the clients."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cactus_actors.protocol.cloud_batches import MAX_QUESTIONS
from cactus_actors.protocol.errors import InvalidRequest, PermissionDenied
from cactus_actors.protocol.messages import AskCloudBatch, CloudBatch
from cactus_actors.protocol.wire import Encoding, is_job_id
from cactus_actors.protocol.worker_messages import AskBatch, BatchReply
from cactus_actors.router.cascade.confidence_gates import NO_KEY, NO_WORKER
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.caller import Caller

MAX_PENDING = 1000


class _Asker(NamedTuple):
    identity: bytes
    encoding: Encoding
    request_id: str


class CloudBatchRequests:
    """Keeps no state of batches: the cloud worker knows them, and answers at once. A lost reply is asked for again."""

    def __init__(self, state: RouterState) -> None:
        self._outbox = state.outbox
        self._workers = state.fleets.cloud.workers
        self._has_cloud = state.settings.has_cloud
        self._pending: dict[int, _Asker] = {}
        self._num_asked = 0

    def ask(self, identity: bytes, request: AskCloudBatch, encoding: Encoding, caller: Caller) -> None:
        """Pass a question on; raises PermissionDenied for a key without the cloud, and InvalidRequest."""
        if not caller.grants.allow_cloud:
            raise PermissionDenied("the key does not allow the cloud")
        if not is_job_id(request.mark):
            raise InvalidRequest("mark must be 32 lowercase hexadecimal characters", param="mark")
        if len(request.questions) > MAX_QUESTIONS:
            raise InvalidRequest(f"a batch has at most {MAX_QUESTIONS} questions", param="questions")
        worker = next(iter(self._workers.cloud.values()), None)
        if worker is None:
            reason = NO_WORKER if self._has_cloud else NO_KEY
            batch = CloudBatch(mark=request.mark, state="refused", reason=reason, is_temporary=self._has_cloud)
            self._reply(_Asker(identity, encoding, request.request_id), batch)
            return
        self._num_asked += 1
        self._pending[self._num_asked] = _Asker(identity, encoding, request.request_id)
        if len(self._pending) > MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        self._outbox.command(worker.identity, AskBatch(self._num_asked, caller.tenant, request))

    def on_reply(self, reply: BatchReply) -> None:
        """Send the worker's reply to the client that asked."""
        asker = self._pending.pop(reply.number, None)
        if asker is not None:
            self._reply(asker, reply.batch)

    def _reply(self, asker: _Asker, batch: CloudBatch) -> None:
        batch = msgspec.structs.replace(batch, request_id=asker.request_id)
        self._outbox.reply(asker.identity, batch, asker.encoding)
