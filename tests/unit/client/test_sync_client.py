"""Client is made from AsyncClient: the same methods with the same signatures, without `await`."""

import inspect

import pytest

from cactus_actors import AsyncClient, AsyncTokenStream, Client, TokenStream
from cactus_actors.protocol.errors import InvalidRequest

STREAMING = ("stream", "follow")


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_both_clients_have_the_same_methods() -> None:
    of_servers = {"begin", "abandon"}  # of jobs that go on when nobody waits for them
    assert public(Client) == public(AsyncClient) - {"look", "retrieve"} - of_servers
    assert public(TokenStream) == {"close", "job_id", "result"}
    assert public(TokenStream) < public(AsyncTokenStream)


def test_both_clients_have_the_same_constructor_arguments() -> None:
    assert inspect.signature(Client).parameters == inspect.signature(AsyncClient).parameters


@pytest.mark.parametrize("name", sorted(public(Client)))
def test_both_clients_have_the_same_signatures_and_docstrings(name: str) -> None:
    blocking, awaited = getattr(Client, name), getattr(AsyncClient, name)
    signature = inspect.signature(blocking)
    assert not inspect.iscoroutinefunction(blocking)
    assert signature.parameters == inspect.signature(awaited).parameters
    assert signature.return_annotation == (
        "TokenStream" if name in STREAMING else inspect.signature(awaited).return_annotation
    )
    assert inspect.getdoc(blocking)


async def test_the_former_name_of_retrieve_warns() -> None:
    async with AsyncClient("tcp://127.0.0.1:9") as client:
        with pytest.warns(DeprecationWarning, match="use retrieve"), pytest.raises(InvalidRequest):
            await client.look("no id")
