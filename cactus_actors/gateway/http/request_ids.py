"""The id of an HTTP request, from which its jobs' ids are derived.

A request id is 24 hexadecimal characters: 16 that are random, or derived from the Idempotency-Key, and 8 that prove
its owner. A job id is the request's id and the number of the choice, so that the id of a request suffices to find
its jobs, also in the next gateway.
"""

from __future__ import annotations

import hashlib
import re
import secrets

from cactus_actors.gateway.http.api_keys import Tenant
from cactus_actors.protocol.errors import InvalidRequest, JobNotFound

MAX_IDEMPOTENCY_KEY = 255
_NAME_LENGTH = 16
_PROOF_LENGTH = 8
_SPELLINGS = re.compile(r"(?:req_|cmpl-|chatcmpl-|embd-|msg_|resp_)?([0-9a-f]{24})", re.ASCII)


def new_request_id(tenant: Tenant) -> str:
    """A new, unique request id."""
    return _proven(secrets.token_hex(_NAME_LENGTH // 2), tenant)


def request_id_of_key(idempotency_key: str, tenant: Tenant) -> str:
    """The request id of a tenant's Idempotency-Key; raises InvalidRequest."""
    if not 0 < len(idempotency_key) <= MAX_IDEMPOTENCY_KEY or not idempotency_key.isprintable():
        raise InvalidRequest(
            f"an Idempotency-Key has 1 to {MAX_IDEMPOTENCY_KEY} printable characters", param="Idempotency-Key"
        )
    digest = hashlib.blake2b(idempotency_key.encode(), key=tenant, digest_size=_NAME_LENGTH // 2)
    return _proven(digest.hexdigest(), tenant)


def read_request_id(text: str, tenant: Tenant) -> str:
    """The id in any of its spellings; raises JobNotFound for a foreign or unknown one."""
    found = _SPELLINGS.fullmatch(text)
    if found is None or _proven(found[1][:_NAME_LENGTH], tenant) != found[1]:
        raise JobNotFound(f"no request {text[:64]!r}")
    return found[1]


def job_id_of(request_id: str, choice: int) -> str:
    """The id of the job of one choice of a request."""
    return f"{request_id}{choice:08x}"


def _proven(name: str, tenant: Tenant) -> str:
    proof = hashlib.blake2b(name.encode(), key=tenant, digest_size=_PROOF_LENGTH // 2, person=b"request id")
    return name + proof.hexdigest()
