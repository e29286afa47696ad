"""Every error that crosses a socket or ends a command.

docs/reference/errors.md, which is written from this file, shows their tree with types and statuses.
"""

from __future__ import annotations

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.results import Result


class CactusError(Exception):
    """Base of all errors that this package raises.

    `result` is the partial result of a failed job; None for an error that did not end a job.
    """

    status = 500
    type = "server_error"
    result: Result | None = None

    def __init_subclass__(cls, *, status: int | None = None, type: str | None = None) -> None:
        """Define a kind of error; arguments that are left out are those of its base."""
        cls.status = cls.status if status is None else status
        cls.type = cls.type if type is None else type

    def __init__(self, message: str, *, param: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after

    def info(self) -> ErrorInfo:
        """The form of this error that is sent to clients."""
        return ErrorInfo(
            type=self.type,
            status=self.status,
            message=self.message,
            param=self.param,
            retry_after=self.retry_after,
        )


class InvalidRequest(CactusError, status=400, type="invalid_request_error"):
    """The request can never succeed as written; `param` names the field."""


class ContextExceeded(InvalidRequest, type="exceed_context_size_error"):
    """The prompt alone does not fit the model's context."""


class TemplateInvalid(InvalidRequest, type="template_error"):
    """The chat template does not compile, or refused these messages."""


class NotSupported(InvalidRequest, type="not_supported_error"):
    """The request needs a feature that this model or service does not have."""


class MediaInvalid(InvalidRequest, type="media_invalid"):
    """A picture that cannot be read: there is none, or it is damaged, or of an unsupported type or shape."""


class MediaNotAllowed(InvalidRequest, type="media_not_allowed"):
    """A picture from a place that the service does not read from."""


class MediaTooLarge(InvalidRequest, type="media_too_large"):
    """A picture, or pictures of a request, with more bytes or pixels than the service decodes."""


class RequestTooComplex(InvalidRequest, type="request_too_complex"):
    """Preparing the request takes more time or memory than one request may take."""


class InvalidJSON(InvalidRequest, type="invalid_json"):
    """A body that is not strictly valid JSON; the message names the byte."""


class SchemaInvalid(InvalidRequest, type="schema_invalid"):
    """An invalid JSON schema, regular expression or grammar; the message names the place."""


class SchemaTooComplex(SchemaInvalid, type="schema_too_complex"):
    """A schema, expression or grammar beyond the limits on size, depth and counts."""


class SchemaUnsatisfiable(SchemaInvalid, type="schema_unsatisfiable"):
    """A schema, expression or grammar that no text can match."""


class InvalidMessage(InvalidRequest, type="invalid_message"):
    """Frames that are not a message of the protocol."""


class UnsupportedVersion(InvalidMessage, type="unsupported_version"):
    """The header frame names an unknown protocol version or encoding."""


class AuthenticationFailed(CactusError, status=401, type="authentication_error"):
    """Credentials are missing, unknown or revoked."""


class PermissionDenied(CactusError, status=403, type="permission_error"):
    """The caller may not do this."""


class QuotaExceeded(CactusError, status=403, type="quota_exceeded_error"):
    """The key's storage quota is used up; delete files first."""


class JobNotFound(CactusError, status=404, type="not_found_error"):
    """No job with this id is known: it never existed, or its retention is over."""


class ResourceNotFound(CactusError, status=404, type="resource_not_found_error"):
    """There is no route, file or batch of this name."""


class ModelNotFound(CactusError, status=404, type="model_not_found"):
    """No model of this name is served here."""


class MethodNotAllowed(CactusError, status=405, type="method_not_allowed"):
    """The route does not support this HTTP method."""


class RequestTimedOut(CactusError, status=408, type="request_timeout"):
    """The request did not arrive completely in time."""


class JobConflict(CactusError, status=409, type="idempotency_conflict"):
    """The job id was used for a different request."""


class ResultDropped(CactusError, status=410, type="result_dropped"):
    """The job has ended, and its result was dropped early to make room for newer ones."""


class PayloadTooLarge(CactusError, status=413, type="payload_too_large"):
    """The body exceeds the limit."""


class UnsupportedMediaType(CactusError, status=415, type="unsupported_media_type"):
    """The body's content type or encoding is not supported."""


class Overloaded(CactusError, status=429, type="rate_limit_error"):
    """The service has too much work, or the caller exceeds a rate; `retry_after` says when to try again."""


class ServerFailure(CactusError):
    """An accepted job could not be finished; the request is not at fault."""


class PoisonJob(ServerFailure, type="poison_job"):
    """Several workers died while they ran this job, the last one while it ran no other."""


class ModelFailure(ServerFailure, type="model_error"):
    """The model runtime failed on this job (non-finite logits, an exception in a step)."""


class HandoffFailed(CactusError, status=502, type="handoff_error"):
    """The cloud could not answer a job that was handed off."""


class Unavailable(CactusError, status=503, type="unavailable_error"):
    """The service is loading, draining, or out of reach."""


class StorageFailure(CactusError, status=507, type="storage_error"):
    """The job could not be written to disk, so it was not accepted."""


class DeadlineExceeded(CactusError, status=504, type="timeout_error"):
    """The job's deadline passed before it finished, or could not be met."""


class ConfigurationInvalid(CactusError, status=0, type="configuration_error"):
    """A setting, a file or the environment prevents a command from starting."""


class ModelFileInvalid(ConfigurationInvalid, type="model_file_invalid"):
    """A model file is missing, truncated, inconsistent or of an unsupported kind."""


def _tree(root: type[CactusError]) -> list[type[CactusError]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in _tree(child))]


def error_from_info(info: ErrorInfo) -> CactusError:
    """The exception that `info` describes; an unknown type becomes a plain CactusError."""
    for kind in _tree(CactusError):
        if kind.type == info.type:
            return kind(info.message, param=info.param, retry_after=info.retry_after)
    return CactusError(info.message, param=info.param, retry_after=info.retry_after)
