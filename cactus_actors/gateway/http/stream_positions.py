"""A reader's position in a stream, as event ids encode it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from cactus_actors.gateway.http.api_keys import Tenant
from cactus_actors.gateway.http.request_ids import read_request_id
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Delta

_POSITION = r"[0-9]{1,9}\.[0-9]{1,9}(?:\.[0-9]{1,9})?[be]?"
_EVENT_ID = re.compile(rf"([0-9a-f]{{24}}):({_POSITION}(?:_{_POSITION}){{0,1023}})", re.ASCII)


@dataclass
class StreamPosition:
    """Position in one choice: items of its stream, characters of its answer and of its reasoning.

    `is_begun` says that what comes before its first item was sent, `is_ended` that its end was.
    """

    num_items: int = 0
    num_characters: int = 0
    num_reasoning_characters: int = 0
    is_begun: bool = False
    is_ended: bool = False

    def advance(self, delta: Delta) -> None:
        """Count a delta."""
        self.num_items += len(delta.token_ids)
        self.num_characters += len(delta.text)
        self.num_reasoning_characters += len(delta.reasoning_content)

    def __str__(self) -> str:
        reasoned = f".{self.num_reasoning_characters}" if self.num_reasoning_characters else ""
        mark = "e" if self.is_ended else "b" if self.is_begun and not self.num_items else ""
        return f"{self.num_items}.{self.num_characters}{reasoned}{mark}"

    def halves(self, delta: Delta, of_delta: StreamPosition) -> tuple[Delta | None, Delta | None]:
        """The parts of a delta before and after this position; `of_delta` is the delta's start."""
        items = min(max(0, self.num_items - of_delta.num_items), len(delta.token_ids))
        characters = min(max(0, self.num_characters - of_delta.num_characters), len(delta.text))
        reasoned = min(
            max(0, self.num_reasoning_characters - of_delta.num_reasoning_characters),
            len(delta.reasoning_content),
        )
        if items == 0 and characters == 0 and reasoned == 0:
            return None, delta
        is_whole = characters == len(delta.text) and reasoned == len(delta.reasoning_content)
        if items == len(delta.token_ids) and is_whole:
            return delta, None
        logprobs = delta.logprobs
        before = msgspec.structs.replace(
            delta,
            token_ids=delta.token_ids[:items],
            text=delta.text[:characters],
            reasoning_content=delta.reasoning_content[:reasoned],
            logprobs=logprobs and logprobs[:items],
        )
        after = msgspec.structs.replace(
            delta,
            index=delta.index + items,
            token_ids=delta.token_ids[items:],
            text=delta.text[characters:],
            reasoning_content=delta.reasoning_content[reasoned:],
            logprobs=logprobs and logprobs[items:],
        )
        return before, after


def event_id(request_id: str, positions: list[StreamPosition]) -> str:
    """The id of an event after which every choice is at its position."""
    return f"{request_id}:{'_'.join(map(str, positions))}"


def read_event_id(text: str, tenant: Tenant) -> tuple[str, list[StreamPosition]]:
    """The request and the positions that a Last-Event-ID names.

    Raises InvalidRequest for an invalid id, JobNotFound for a foreign one.
    """
    found = _EVENT_ID.fullmatch(text)
    if found is None:
        raise InvalidRequest("Last-Event-ID is not an id of one of our events", param="Last-Event-ID")
    request_id = read_request_id(found[1], tenant)
    return request_id, [_position(written) for written in found[2].split("_")]


def _position(written: str) -> StreamPosition:
    items, characters, *reasoned = [int(count) for count in written.rstrip("be").split(".")]
    is_begun = items > 0 or not written[-1].isdigit()
    return StreamPosition(items, characters, sum(reasoned), is_begun=is_begun, is_ended=written.endswith("e"))
