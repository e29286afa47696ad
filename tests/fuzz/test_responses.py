"""Bodies of OpenAI's Responses: prepared, or refused by name; and what is stored of them is read again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.api.responses import Item, ResponseRequest, request_from_response
from cactus_actors.client.submit import encoded, new_job_id
from cactus_actors.gateway.http.request_body import strict_json
from cactus_actors.protocol.errors import CactusError, InvalidRequest, ResourceNotFound
from cactus_actors.protocol.wire import client_message_decoder
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.state.prepared_request import PreparedRequest
from tests.support.fuzzing.damage import changed_json
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.router.letter_model import LetterModel

BODY: dict[str, Any] = {
    "model": "letters",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Rain in Rome?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}], "id": "msg_1"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "yes"}]},
        {"type": "item_reference", "id": f"msg_{'1' * 24}0000"},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "integer"}}, "verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "metadata": {"a": "b"},
    "max_output_tokens": 5,
    "temperature": 0.5,
    "store": True,
    "background": False,
    "stream": True,
    "truncation": "disabled",
}


class NothingStored:
    """No response is stored."""

    def conversation(self, response_id: str) -> list[Item]:
        raise ResourceNotFound("no such response", param="previous_response_id")

    def item(self, item_id: str) -> Item:
        return {"type": "message", "id": item_id, "role": "user", "content": [{"type": "input_text", "text": "Why?"}]}


@pytest.fixture(scope="module")
def model() -> LetterModel:
    return LetterModel()


@fuzzed(30)
@given(data=st.data(), strict=st.booleans())
def test_changed_bodies_are_prepared_or_refused(model: LetterModel, data: st.DataObject, strict: bool) -> None:
    body = answer(strict_json, data.draw(changed_json(BODY)))
    if isinstance(body, CactusError):
        assert isinstance(body, InvalidRequest)
        return
    given = answer(
        request_from_response, body, lambda _: new_job_id(), f"resp_{'2' * 24}", NothingStored(), strict=strict
    )
    if isinstance(given, CactusError):
        assert 400 <= given.status < 500
        return
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(given), type=ResponseRequest)
    assert (kept.items, kept.repeated) == (given.items, given.repeated)
    ready = answer(encoded, given.asked.submits[0])
    if isinstance(ready, CactusError):
        return
    sent = answer(client_message_decoder().decode, ready.frames)
    if not isinstance(sent, CactusError):
        assert isinstance(answer(prepare, sent, model), PreparedRequest | CactusError)
