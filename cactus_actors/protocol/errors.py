"""Every error that crosses a socket or ends a command.

::

    CactusError                     status  type
    ├── InvalidRequest              400     invalid_request_error
    │   ├── ContextExceeded         400     exceed_context_size_error
    │   ├── TemplateInvalid         400     template_error
    │   ├── NotSupported            400     not_supported_error
    │   ├── SchemaInvalid           400     schema_invalid
    │   │   ├── SchemaTooComplex    400     schema_too_complex
    │   │   └── SchemaUnsatisfiable 400     schema_unsatisfiable
    │   ├── RequestTooComplex       400     request_too_complex
    │   ├── InvalidJSON             400     invalid_json
    │   └── InvalidMessage          400     invalid_message
    │       └── UnsupportedVersion  400     unsupported_version
    ├── AuthenticationFailed        401     authentication_error
    ├── PermissionDenied            403     permission_error
    ├── QuotaExceeded               403     quota_exceeded_error
    ├── JobNotFound                 404     not_found_error
    ├── ResourceNotFound            404     resource_not_found_error
    ├── ModelNotFound               404     model_not_found
    ├── MethodNotAllowed            405     method_not_allowed
    ├── RequestTimedOut             408     request_timeout
    ├── JobConflict                 409     idempotency_conflict
    ├── ResultDropped               410     result_dropped
    ├── PayloadTooLarge             413     payload_too_large
    ├── UnsupportedMediaType        415     unsupported_media_type
    ├── Overloaded                  429     rate_limit_error
    ├── ServerFailure               500     server_error
    │   ├── ModelFailure            500     model_error
    │   └── PoisonJob               500     poison_job
    ├── HandoffFailed               502     handoff_error
    ├── Unavailable                 503     unavailable_error
    ├── DeadlineExceeded            504     timeout_error
    ├── StorageFailure              507     storage_error
    └── ConfigurationInvalid        -       configuration_error  (raised before anything starts)
        └── ModelFileInvalid        -       model_file_invalid
"""

from __future__ import annotations

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.results import Result


class CactusError(Exception):
    """Base of all errors that this package raises.

    `result` is what a job had before it failed; None for an error that is not a job's end.
    """

    status = 500
    type = "server_error"
    result: Result | None = None

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


class InvalidRequest(CactusError):
    """The request can never succeed as written; `param` names the field."""

    status = 400
    type = "invalid_request_error"


class ContextExceeded(InvalidRequest):
    """The prompt alone does not fit the model's context."""

    type = "exceed_context_size_error"


class TemplateInvalid(InvalidRequest):
    """The chat template does not compile, or refused these messages."""

    type = "template_error"


class NotSupported(InvalidRequest):
    """The request asks for something that this model or service does not have."""

    type = "not_supported_error"


class RequestTooComplex(InvalidRequest):
    """Preparing the request takes more time or memory than one request may take."""

    type = "request_too_complex"


class InvalidJSON(InvalidRequest):
    """A body that is not strictly valid JSON; the message says at which byte."""

    type = "invalid_json"


class SchemaInvalid(InvalidRequest):
    """An invalid JSON schema, regular expression or grammar; the message says where."""

    type = "schema_invalid"


class SchemaTooComplex(SchemaInvalid):
    """A schema, expression or grammar beyond the limits on size, depth and counts."""

    type = "schema_too_complex"


class SchemaUnsatisfiable(SchemaInvalid):
    """A schema, expression or grammar that no text can match."""

    type = "schema_unsatisfiable"


class InvalidMessage(InvalidRequest):
    """Frames that are not a message of the protocol."""

    type = "invalid_message"


class UnsupportedVersion(InvalidMessage):
    """The header frame names an unknown protocol version or encoding."""

    type = "unsupported_version"


class AuthenticationFailed(CactusError):
    """Credentials are missing, unknown or revoked."""

    status = 401
    type = "authentication_error"


class PermissionDenied(CactusError):
    """The caller may not do this."""

    status = 403
    type = "permission_error"


class QuotaExceeded(CactusError):
    """The key's storage quota is used up; delete files first."""

    status = 403
    type = "quota_exceeded_error"


class JobNotFound(CactusError):
    """No job with this id is known: it never existed, or its retention is over."""

    status = 404
    type = "not_found_error"


class ResourceNotFound(CactusError):
    """There is no route, file or batch of this name."""

    status = 404
    type = "resource_not_found_error"


class ModelNotFound(CactusError):
    """No model of this name is served here."""

    status = 404
    type = "model_not_found"


class MethodNotAllowed(CactusError):
    """The route does not support this HTTP method."""

    status = 405
    type = "method_not_allowed"


class RequestTimedOut(CactusError):
    """The request did not arrive completely in time."""

    status = 408
    type = "request_timeout"


class JobConflict(CactusError):
    """The job id was used for a different request."""

    status = 409
    type = "idempotency_conflict"


class ResultDropped(CactusError):
    """The job has ended, and its result was dropped early to make room for newer ones."""

    status = 410
    type = "result_dropped"


class PayloadTooLarge(CactusError):
    """The body exceeds the limit."""

    status = 413
    type = "payload_too_large"


class UnsupportedMediaType(CactusError):
    """The body's content type or encoding is not supported."""

    status = 415
    type = "unsupported_media_type"


class Overloaded(CactusError):
    """The service has too much work; `retry_after` says when to try again."""

    status = 429
    type = "rate_limit_error"


class ServerFailure(CactusError):
    """An accepted job could not be finished; the request is not at fault."""


class PoisonJob(ServerFailure):
    """Several workers died while they ran this job, the last one while it ran no other."""

    type = "poison_job"


class ModelFailure(ServerFailure):
    """The model runtime failed on this job (non-finite logits, an exception in a step)."""

    type = "model_error"


class HandoffFailed(CactusError):
    """The cloud could not answer an escalated job."""

    status = 502
    type = "handoff_error"


class Unavailable(CactusError):
    """The service is loading, draining, or out of reach."""

    status = 503
    type = "unavailable_error"


class StorageFailure(CactusError):
    """The job could not be written to disk, so it was not accepted."""

    status = 507
    type = "storage_error"


class DeadlineExceeded(CactusError):
    """The job's deadline passed before it finished."""

    status = 504
    type = "timeout_error"


class ConfigurationInvalid(CactusError):
    """A setting, a file or the environment prevents a command from starting."""

    status = 0
    type = "configuration_error"


class ModelFileInvalid(ConfigurationInvalid):
    """A model file is missing, truncated, inconsistent or of an unsupported kind."""

    type = "model_file_invalid"


def _tree(root: type[CactusError]) -> list[type[CactusError]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in _tree(child))]


def error_from_info(info: ErrorInfo) -> CactusError:
    """The exception that `info` describes; an unknown type becomes a plain CactusError."""
    for kind in _tree(CactusError):
        if kind.type == info.type:
            return kind(info.message, param=info.param, retry_after=info.retry_after)
    return CactusError(info.message, param=info.param, retry_after=info.retry_after)
