"""The ASGI application: routes inside the request guard."""

from __future__ import annotations

from litestar import Litestar
from litestar.datastructures import State

from cactus_actors.gateway.context import GatewayContext
from cactus_actors.gateway.http.error_responses import handle_exception
from cactus_actors.gateway.http.head_requests import HeadRequests
from cactus_actors.gateway.openapi import pages
from cactus_actors.gateway.page import responses as page
from cactus_actors.gateway.page import service_events
from cactus_actors.gateway.request_guard import RequestGuard
from cactus_actors.gateway.routes import (
    adapters,
    anthropic,
    batches,
    embeddings,
    files,
    health,
    infill,
    llama_cpp,
    message_batches,
    models,
    ollama,
    openai,
    openai_responses,
    operations,
    requests,
    rerank,
    text,
)

PARTS = (
    *(openai, openai_responses, anthropic, message_batches, embeddings, rerank, llama_cpp, infill, ollama),
    *(models, adapters, text, requests, pages, page, service_events, operations, files, batches, health),
)


def build_app(gateway: GatewayContext) -> HeadRequests:
    """The application that answers for `gateway`."""
    app = Litestar(
        [handler for part in PARTS for handler in part.HANDLERS],
        state=State({"gateway": gateway}),
        exception_handlers={Exception: handle_exception},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,
    )
    return HeadRequests(RequestGuard(app, gateway))
