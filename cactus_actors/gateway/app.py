"""The ASGI application: routes behind the front."""

from __future__ import annotations

from litestar import Litestar
from litestar.datastructures import State

from cactus_actors.gateway.failures import on_failure
from cactus_actors.gateway.gateway import Gateway
from cactus_actors.gateway.http.front import Front
from cactus_actors.gateway.routes import (
    batches,
    document,
    embeddings,
    files,
    health,
    llama_cpp,
    models,
    openai,
    requests,
    text,
)


def build_app(gateway: Gateway) -> Front:
    """The application that answers for `gateway`."""
    handlers = [
        *openai.HANDLERS,
        *embeddings.HANDLERS,
        *llama_cpp.HANDLERS,
        *models.HANDLERS,
        *text.HANDLERS,
        *requests.HANDLERS,
        *document.HANDLERS,
        *files.HANDLERS,
        *batches.HANDLERS,
        *health.HANDLERS,
    ]
    app = Litestar(
        handlers,
        state=State({"gateway": gateway}),
        exception_handlers={Exception: on_failure},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
    return Front(app, gateway)
