"""A request's tenant and id, from which its jobs are found after a disconnect."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import msgspec

from cactus_actors.api.field_names import FieldNames
from cactus_actors.gateway.http.api_keys import Tenant, account_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.http.request_ids import job_id_of, read_request_id, request_id_of_key
from cactus_actors.gateway.http.stream_positions import StreamPosition, read_event_id
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.trace_context import read_traceparent


@dataclass(frozen=True)
class Identity:
    """A request with an Idempotency-Key or a Last-Event-ID survives a disconnect.

    A repeated request finds the same jobs, for a day after their end if it `has_key`. Any other is
    cancelled when its connection closes.
    """

    tenant: Tenant
    request_id: str
    received_at: float
    survives_disconnect: bool = False
    has_key: bool = False
    positions: list[StreamPosition] = field(default_factory=list)
    traceparent: str | None = None

    @staticmethod
    def of(request: HttpRequest) -> Identity:
        """Raises InvalidRequest for invalid headers, JobNotFound for a foreign event's id."""
        state = request.scope["state"]
        tenant, request_id = state["tenant"], state["request_id"]
        keys = request.headers.getall("idempotency-key", [])
        if len(keys) > 1:
            raise InvalidRequest("a request has one Idempotency-Key", param="Idempotency-Key")
        key = keys[0] if keys else None
        last_event = request.headers.get("last-event-id")
        positions: list[StreamPosition] = []
        if key is not None:
            request_id = request_id_of_key(key, tenant)
        if last_event:
            named, positions = read_event_id(last_event, tenant)
            if key is not None and named != request_id:
                raise InvalidRequest(
                    "Last-Event-ID belongs to a request with another Idempotency-Key", param="Last-Event-ID"
                )
            request_id = named
        state["request_id"] = request_id
        has_key = key is not None
        survives_disconnect = has_key or bool(last_event)
        traces = request.headers.getall("traceparent", [])
        traceparent = read_traceparent(traces[0]) if len(traces) == 1 else None
        return Identity(tenant, request_id, state["received_at"], survives_disconnect, has_key, positions, traceparent)

    @property
    def field_names(self) -> FieldNames:
        """The header from which job ids are derived, for errors about one."""
        if self.has_key:
            return {"job_id": "Idempotency-Key"}
        return {"job_id": "Last-Event-ID"} if self.survives_disconnect else {}

    def job_id(self, choice: int) -> str:
        """The id of a choice's job."""
        return job_id_of(self.request_id, choice)

    def positions_of(self, num_choices: int) -> list[StreamPosition]:
        """The reader's position in each choice; raises InvalidRequest for an event of another request."""
        if not self.positions:
            return [StreamPosition() for _ in range(num_choices)]
        if len(self.positions) != num_choices:
            raise InvalidRequest(
                f"Last-Event-ID is of a request with {len(self.positions)} choices, this one has {num_choices}",
                param="Last-Event-ID",
            )
        return self.positions

    def owned(self, submit: Submit) -> Submit:
        """The job with this tenant, trace and key.

        It uses the tenant's share, and only the tenant reuses its cached prefixes.
        """
        submit = msgspec.structs.replace(submit, traceparent=self.traceparent, keyed=self.has_key)
        if not self.tenant:
            return submit
        given = submit.options.cache_salt or ""
        salt = hashlib.blake2b(given.encode(), key=self.tenant, digest_size=16).hexdigest()
        options = msgspec.structs.replace(submit.options, cache_salt=salt)
        return msgspec.structs.replace(submit, options=options, account=account_of(self.tenant))


def identity_named(request: HttpRequest, name: str) -> str:
    """The id of a request that is named in a path; raises JobNotFound unless it is the caller's."""
    return read_request_id(name, request.scope["state"]["tenant"])


def tenant_name(request: HttpRequest) -> str:
    """The tenant's name on disk; empty without API keys."""
    tenant: Tenant = request.scope["state"]["tenant"]
    return account_of(tenant) if tenant else ""
