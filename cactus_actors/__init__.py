"""Small language models on ordinary CPUs, a big model in the cloud for what they are not sure of.

`import cactus_actors` is the client only: it needs neither Ray nor numba.
"""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from cactus_actors.client import AsyncClient, AsyncTokenStream, Client, TokenStream

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

_OF_CLIENT = frozenset(("AsyncClient", "AsyncTokenStream", "Client", "TokenStream"))


def __getattr__(name: str) -> Any:
    """Import the client, and asyncio with it, when it is first used: the service's processes never do."""
    if name not in _OF_CLIENT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cactus_actors import client

    return getattr(client, name)
