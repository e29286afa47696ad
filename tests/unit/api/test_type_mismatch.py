"""Type errors name the field, in the words of JSON and not in those of a decoder."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from cactus_actors.api.conversion import converted
from cactus_actors.api.openai import request_from_body
from cactus_actors.protocol.errors import InvalidMessage, InvalidRequest
from cactus_actors.protocol.messages import Cancel
from cactus_actors.protocol.wire import JSON, MSGPACK, Encoding, client_message_decoder, encode
from tests.support.router.core_harness import job_id

SUBMIT = {"type": "submit", "job_id": job_id(1), "messages": [{"role": "user", "content": "x"}]}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    (
        {"options": {"temperature": "hot"}},
        "temperature",
        "temperature must be a number or null, not a string",
    ),
    ({"options": {"max_tokens": 1.5}}, "max_tokens", "must be an integer or null, not a decimal number"),
    (
        {"options": {"logprobs": [True]}},
        "logprobs",
        "true or false or an integer or null, not a list",
    ),
    ({"options": {"stop": ["a", 3]}}, "stop[1]", "stop[1] must be a string, not an integer"),
    ({"options": {"logit_bias": {"7": "x"}}}, "logit_bias[...]", "must be a number, not a string"),
    ({"options": {"heat": 1}}, "heat", "unknown field 'heat'"),
    ({"options": 3}, "options", "options must be an object, not an integer"),
    ({"heat": 1}, "heat", "unknown field 'heat'"),
    ({"options": {"temprature": 1}}, "temprature", "unknown field 'temprature'; did you mean 'temperature'?"),
    ({"jobid": "x"}, "jobid", "unknown field 'jobid'; did you mean 'job_id'?"),
    (
        {"messages": [{"role": "user", "contents": "x"}]},
        "messages[0].contents",
        "unknown field 'messages[0].contents'; did you mean 'content'?",
    ),
    (
        {"messages": [{"role": "wizard"}]},
        "messages[0].role",
        "messages[0].role: 'wizard' is not one of 'assistant', 'developer', 'system', 'tool', 'user'",
    ),
    ({"messages": [{"role": "w" * 1000}]}, "messages[0].role", "www… is not one of 'assistant', "),
    ({"messages": [{"content": "x"}]}, "messages[0].role", "messages[0].role is required"),
    ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content", "not an integer"),
    ({"messages": {}}, "messages", "messages must be a list or null, not an object"),
    ({"tools": [1]}, "tools[0]", "tools[0] must be an object, not an integer"),
    ({"choice": True}, "choice", "choice must be an integer, not a boolean"),
    ({"job_id": 5}, "job_id", "job_id must be a string, not an integer"),
    ({"type": "sumbit"}, "type", "type: 'sumbit' is not one of 'submit', 'cancel', 'resume', 'fetch', "),
    ({"type": 5}, "type", "type must be a string"),
]


def refusal_of(payload: bytes, encoding: Encoding) -> InvalidMessage:
    header = encode(msgspec.defstruct("Empty", [])(), encoding)[0]
    with pytest.raises(InvalidMessage) as refused:
        client_message_decoder().decode([header, payload])
    return refused.value


@pytest.mark.parametrize(("change", "param", "message"), WRONG)
@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
def test_zeromq_errors_name_the_field(encoding: Encoding, change: dict[str, Any], param: str, message: str) -> None:
    encoder = msgspec.msgpack.encode if encoding == MSGPACK else msgspec.json.encode
    error = refusal_of(encoder(SUBMIT | change), encoding)
    assert error.param == param
    assert message in error.message
    assert "`" not in error.message
    assert "Expected" not in error.message


def test_a_value_that_is_not_an_object_has_no_field() -> None:
    error = refusal_of(b"[]", JSON)
    assert (error.param, error.message) == (None, "the value must be an object, not a list")
    error = refusal_of(b"{}", JSON)
    assert (error.param, error.message) == ("type", "type is required")
    error = refusal_of(msgspec.msgpack.encode(SUBMIT | {"options": {3: 4}}), MSGPACK)
    assert (error.param, error.message) == ("options", "a key of options must be a string, not an integer")


def test_a_repeated_type_must_have_the_same_value() -> None:
    """For other names the last value counts, as docs/reference/protocol.md says."""
    for encoding, mapping in ((JSON, _json_map), (MSGPACK, _msgpack_map)):
        header = encode(msgspec.defstruct("Empty", [])(), encoding)[0]
        twice = mapping(("type", "cancel"), ("type", "cancel"), ("job_id", "x"), ("job_id", job_id(1)))
        assert client_message_decoder().decode([header, twice]) == Cancel(job_id=job_id(1))
        error = refusal_of(mapping(("type", "submit"), ("type", "cancel"), ("job_id", job_id(1))), encoding)
        assert error.param == "type"
        assert error.message == "type is given twice in one object, with two values; give it once"


def _json_map(*fields: tuple[str, str]) -> bytes:
    return b"{%s}" % b",".join(msgspec.json.encode(name) + b":" + msgspec.json.encode(value) for name, value in fields)


def _msgpack_map(*fields: tuple[str, str]) -> bytes:
    encoded = (msgspec.msgpack.encode(text) for field in fields for text in field)
    return bytes([0x80 | len(fields)]) + b"".join(encoded)


def test_a_bounded_number_of_choices_is_listed() -> None:
    choices = Literal[tuple(f"value-{number}" for number in range(100))]  # type: ignore[valid-type]
    with pytest.raises(InvalidRequest) as refused:
        converted("other", choices)
    assert "'value-0', 'value-1', " in refused.value.message
    assert refused.value.message.endswith(", …")
    assert len(refused.value.message) <= 300


def test_a_long_field_name_is_shortened() -> None:
    error = refusal_of(msgspec.json.encode(SUBMIT | {"x" * 5000: 1}), JSON)
    assert len(error.param or "") == len(error.message) == 300


def test_http_errors_equal_those_of_zeromq() -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}
    with pytest.raises(InvalidRequest) as refused:
        request_from_body("/v1/chat/completions", body, lambda _: job_id(1))
    assert refused.value.param == "temperature"
    assert refused.value.message == "temperature must be a number or null, not a string"
