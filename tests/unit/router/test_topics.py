"""Subscriptions per topic. ZeroMQ does not report whose subscriptions end with a connection."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.topics import Topics

ALICE = Caller("alice", "client", "alice", max_topics=3)
ANNA = Caller("anna", "client", "alice", max_topics=3)
BOB = Caller("bob", "client", "bob", max_topics=3)
CALLERS = {caller.name: caller for caller in (ALICE, ANNA, BOB)}


def test_a_topic_belongs_to_its_first_tenant() -> None:
    topics = Topics()
    assert topics.subscribe("t", ALICE) is None
    assert topics.subscribe("t", ANNA) is None
    assert topics.subscribe("t", BOB) == "foreign_topic"
    assert topics.is_free("t", "alice")
    assert not topics.is_free("t", "bob")
    assert topics.is_free("other", "bob")


def test_the_number_of_topics_of_a_key_is_limited() -> None:
    topics = Topics()
    for topic in "abc":
        assert topics.subscribe(topic, ALICE) is None
    assert topics.subscribe("d", ALICE) == "too_many_subscriptions"
    assert topics.subscribe("d", ANNA) is None
    assert topics.subscribe("d", ALICE) is None  # it costs nothing more
    topics.unsubscribe("a", ALICE)
    assert topics.subscribe("e", ALICE) is None


def test_an_unsubscription_without_a_subscription_changes_nothing() -> None:
    topics = Topics()
    topics.subscribe("t", ALICE)
    topics.unsubscribe("t", BOB)
    assert "t" in topics
    topics.unsubscribe("never", None)
    topics.unsubscribe("t", None)
    assert "t" not in topics


def test_a_refused_connection_cannot_end_a_subscription() -> None:
    topics = Topics()
    topics.subscribe("t", ALICE)
    topics.subscribe("t", BOB)
    for _ in range(3):
        topics.unsubscribe("t", BOB)  # ZeroMQ also forwards unsubscriptions without a subscription
    assert "t" in topics
    topics.unsubscribe("t", None)
    assert "t" not in topics
    assert topics.is_free("t", "bob")


def test_a_subscriber_counts_as_present_while_another_connection_may_have_left() -> None:
    topics = Topics()
    topics.subscribe("t", ALICE)
    topics.subscribe("t", BOB)
    topics.unsubscribe("t", None)
    assert "t" in topics
    topics.unsubscribe("t", None)
    assert "t" not in topics


def test_a_refused_connection_gets_the_topic_when_it_is_free() -> None:
    topics = Topics()
    topics.subscribe("t", ALICE)
    topics.subscribe("t", BOB)
    topics.unsubscribe("t", ALICE)
    assert topics.is_free("t", "bob")
    assert topics.subscribe("t", BOB) is None
    assert not topics.is_free("t", "alice")


subscriptions = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from([*CALLERS])), max_size=25)


@given(subscriptions, st.data())
def test_subscribers_are_never_missed_and_no_topic_remains(wishes: list[tuple[str, str]], data: st.DataObject) -> None:
    """Connections leave in any order, and some without naming themselves."""
    topics = Topics()
    present: list[tuple[str, str, bool]] = []
    for topic, name in wishes:
        present.append((topic, name, topics.subscribe(topic, CALLERS[name]) is None))
    may_be_told = data.draw(st.booleans())
    for topic, name, _ in data.draw(st.permutations(present)):
        is_told = may_be_told and data.draw(st.booleans())
        topics.unsubscribe(topic, CALLERS[name] if is_told else None)
        if not may_be_told:
            present.remove((topic, name, _))
            for listened_to in {topic for topic, _, is_granted in present if is_granted}:
                assert listened_to in topics
    assert len(topics) == 0
    assert all(topics.subscribe(f"{name}{number}", ALICE) is None for name in "x" for number in range(3))
