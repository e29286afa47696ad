"""The link between the router and its edge process."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import zmq

from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.router.edge.edge_link import MAX_WAITING_BYTES, EdgeLink
from cactus_actors.router.edge.edge_messages import (
    ClientReply,
    ClientRequest,
    FromEdge,
    Publications,
    Revocation,
    Subscription,
    ToEdge,
)
from cactus_actors.router.state.caller import Caller, RevokedKey

Ends = tuple[EdgeLink[FromEdge], EdgeLink[ToEdge]]
ALICE = Caller("alice", "client", "team", max_topics=3, grants=KeyGrants(weight=3, allow_cloud=False))


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    router_end: EdgeLink[FromEdge] = EdgeLink(ours, FromEdge)
    edge_end: EdgeLink[ToEdge] = EdgeLink(theirs, ToEdge)
    yield router_end, edge_end
    router_end.close()
    edge_end.close()


def test_messages_arrive_in_order_and_unchanged(ends: Ends) -> None:
    router_end, edge_end = ends
    sent = [ClientReply(b"\0\1", [b"\1m", b"x"]), Publications([b"t", b"h", b"p"] * 100), ClientReply(b"", [])]
    for message in sent:
        router_end.put(message)
    router_end.flush()
    assert edge_end.receive() == sent
    assert edge_end.receive() == []


def test_callers_and_revocations_arrive_unchanged(ends: Ends) -> None:
    router_end, edge_end = ends
    revoked = RevokedKey(ALICE, True, frozenset((b"\0a", b"\0b")), frozenset())
    sent = [
        ClientRequest(b"i", ALICE, [b"\1m"]),
        ClientRequest(b"i", None, []),
        Subscription("t", ALICE, None),
        Revocation(revoked),
    ]
    for message in sent:
        edge_end.put(message)
    edge_end.flush()
    received = router_end.receive()
    assert received == sent
    assert isinstance(received[0], ClientRequest)
    assert received[0].caller is not None
    assert received[0].caller.grants == ALICE.grants  # a field that comparisons of callers ignore


def test_messages_for_which_nobody_waits_go_with_the_next_one_in_order(ends: Ends) -> None:
    router_end, edge_end = ends
    later = [Subscription("a" * 32, ALICE, None), Subscription("b" * 32, ALICE, None)]
    for message in later:
        edge_end.put_later(message)
    edge_end.flush()
    assert router_end.receive() == []
    edge_end.put(ClientRequest(b"i", ALICE, [b"\1m"]))
    edge_end.flush()
    assert router_end.receive() == [*later, ClientRequest(b"i", ALICE, [b"\1m"])]
    assert not edge_end.has_later


def test_messages_for_which_nobody_waits_are_released(ends: Ends) -> None:
    router_end, edge_end = ends
    edge_end.put_later(Subscription("a" * 32, ALICE, None))
    edge_end.release()
    edge_end.flush()
    assert router_end.receive() == [Subscription("a" * 32, ALICE, None)]


def test_messages_for_which_nobody_waits_count_as_waiting(ends: Ends) -> None:
    _, edge_end = ends
    while not edge_end.is_congested:
        edge_end.put_later(ClientRequest(b"i", ALICE, [bytes(50_000)]))
    edge_end.release()
    assert edge_end.is_congested


def test_free_buffer_space_wakes_the_poller(ends: Ends) -> None:
    """Otherwise a large reply would continue at the next tick only, one socket buffer at a time."""
    router_end, edge_end = ends
    poller = zmq.Poller()
    poller.register(router_end, router_end.events)
    assert poller.poll(0) == []
    router_end.put(ClientReply(b"", [bytes(3_000_000)]))
    router_end.flush()
    poller.register(router_end, router_end.events)
    assert poller.poll(0) == []
    edge_end.receive()
    assert poller.poll(60_000) == [(router_end.fileno(), zmq.POLLOUT)]


def test_messages_larger_than_the_socket_s_buffer_arrive_whole(ends: Ends) -> None:
    router_end, edge_end = ends
    sent = [ClientReply(bytes([number]), [bytes([number]) * 3_000_000]) for number in range(3)]
    for message in sent:
        router_end.put(message)
    received: list[ToEdge] = []
    while len(received) < len(sent):
        router_end.flush()
        received += edge_end.receive()
    assert received == sent
    assert router_end.events == zmq.POLLIN


def test_attached_frames_arrive_with_their_message_and_are_not_copied_before(ends: Ends) -> None:
    router_end, edge_end = ends
    pictures = [bytearray(bytes([number]) * size) for number, size in ((1, 3_000_000), (2, 0), (3, 1), (4, 70_000))]
    small = ClientRequest(b"a", ALICE, [b"\1m", b"x"])
    edge_end.put(small)
    edge_end.put(ClientRequest(b"b", None, [b"\1m", b"y"], len(pictures)), [*map(memoryview, pictures)])
    edge_end.put(small)
    pictures[3][0] = 9
    received: list[FromEdge] = []
    while len(received) < 3:
        edge_end.flush()
        received += router_end.receive()
    first, second, third = received
    assert first == third == small
    assert isinstance(second, ClientRequest)
    assert second.frames == [b"\1m", b"y", *map(bytes, pictures)]
    assert (edge_end.events, edge_end.is_congested) == (zmq.POLLIN, False)


def test_bytes_of_attached_frames_count_as_waiting(ends: Ends) -> None:
    router_end, edge_end = ends
    picture = memoryview(bytes(2 * MAX_WAITING_BYTES))
    edge_end.put(ClientRequest(b"b", None, [], 1), [picture])
    assert edge_end.is_congested
    received: list[FromEdge] = []
    while not received:
        edge_end.flush()
        received += router_end.receive()
    assert edge_end.num_bytes_sent > len(picture)
    assert not edge_end.is_congested


def test_a_receiver_that_is_far_behind_is_reported(ends: Ends) -> None:
    router_end, edge_end = ends
    num_put = 0
    while not router_end.is_congested:
        router_end.put(Publications([bytes(1000)]))
        router_end.flush()
        num_put += 1
        assert num_put < 4 * MAX_WAITING_BYTES // 1000
    num_received = 0
    while num_received < num_put:
        num_received += len(edge_end.receive())
        router_end.flush()
    assert not router_end.is_congested


def test_the_receiver_detects_a_closed_end(ends: Ends) -> None:
    router_end, edge_end = ends
    edge_end.close()
    with pytest.raises(EOFError):
        router_end.receive()


def test_the_sender_detects_a_closed_end(ends: Ends) -> None:
    router_end, edge_end = ends
    edge_end.close()
    router_end.put(ClientReply(b"", [b"x"]))
    with pytest.raises(EOFError):
        router_end.flush()
