"""An inference server for small language models on CPUs, which hands answers of low confidence off to a larger model.

`import cactus_actors` is the client only: it needs neither Ray nor numba.
"""

from importlib import import_module

TYPE_CHECKING = False  # importing typing takes longer than all of this module
if TYPE_CHECKING:
    from typing import Any

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

_MODULES = {
    **dict.fromkeys(("AsyncClient", "AsyncTokenStream", "Client", "TokenStream"), "cactus_actors.client"),
    **dict.fromkeys(("Delta", "Status"), "cactus_actors.protocol.messages"),
    "Options": "cactus_actors.protocol.options",
    "Result": "cactus_actors.protocol.results",
}
"""The modules of all names that are not errors."""


def __getattr__(name: str) -> "Any":
    """Import a name when it is first used: processes of the service need few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "cactus_actors.protocol.errors")), name)
