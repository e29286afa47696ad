"""Clients of the service: `AsyncClient`, and `Client`, the same thing without `await`."""

from cactus_actors.client.async_client import AsyncClient
from cactus_actors.client.stream import AsyncTokenStream
from cactus_actors.client.sync_client import Client, TokenStream

__all__ = ["AsyncClient", "AsyncTokenStream", "Client", "TokenStream"]
