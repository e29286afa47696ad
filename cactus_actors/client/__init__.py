"""Clients of the service: `AsyncClient`, and `Client`, which blocks instead of awaiting."""

from cactus_actors.client.async_client import AsyncClient
from cactus_actors.client.job_follower import Timeouts
from cactus_actors.client.stream import AsyncTokenStream
from cactus_actors.client.sync_client import Client, TokenStream

__all__ = ["AsyncClient", "AsyncTokenStream", "Client", "Timeouts", "TokenStream"]
