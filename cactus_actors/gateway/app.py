"""The ASGI application: routes inside the request guard."""

from __future__ import annotations

from litestar import Litestar
from litestar.datastructures import State

from cactus_actors.gateway.context import GatewayContext
from cactus_actors.gateway.http.error_responses import exception_handler
from cactus_actors.gateway.openapi import pages
from cactus_actors.gateway.request_guard import RequestGuard
from cactus_actors.gateway.routes import (
    batches,
    embeddings,
    files,
    health,
    infill,
    llama_cpp,
    models,
    openai,
    requests,
    text,
)


def build_app(gateway: GatewayContext) -> RequestGuard:
    """The application that answers for `gateway`."""
    handlers = [
        *openai.HANDLERS,
        *embeddings.HANDLERS,
        *llama_cpp.HANDLERS,
        *infill.HANDLERS,
        *models.HANDLERS,
        *text.HANDLERS,
        *requests.HANDLERS,
        *pages.HANDLERS,
        *files.HANDLERS,
        *batches.HANDLERS,
        *health.HANDLERS,
    ]
    app = Litestar(
        handlers,
        state=State({"gateway": gateway}),
        exception_handlers={Exception: exception_handler(is_mistral=gateway.is_mistral)},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
    return RequestGuard(app, gateway)
