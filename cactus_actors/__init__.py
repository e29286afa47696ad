"""Small language models on ordinary CPUs, a big model in the cloud for what they are not sure of.

`import cactus_actors` is the client only: it needs neither Ray nor numba.
"""

from cactus_actors.client import AsyncClient, AsyncTokenStream, Client, TokenStream
from cactus_actors.protocol.errors import (
    AuthenticationFailed,
    CactusError,
    ConfigurationInvalid,
    ContextExceeded,
    DeadlineExceeded,
    HandoffFailed,
    InvalidRequest,
    JobConflict,
    JobNotFound,
    ModelFailure,
    NotSupported,
    Overloaded,
    ServerFailure,
    TemplateInvalid,
    Unavailable,
)
from cactus_actors.protocol.messages import Delta, Status
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

__all__ = [
    "AsyncClient",
    "AsyncTokenStream",
    "AuthenticationFailed",
    "CactusError",
    "Client",
    "ConfigurationInvalid",
    "ContextExceeded",
    "DeadlineExceeded",
    "Delta",
    "HandoffFailed",
    "InvalidRequest",
    "JobConflict",
    "JobNotFound",
    "ModelFailure",
    "NotSupported",
    "Options",
    "Overloaded",
    "Result",
    "ServerFailure",
    "Status",
    "TemplateInvalid",
    "TokenStream",
    "Unavailable",
]
