"""docs/protocol.md says what the code does: its examples decode, and encode back to the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from cactus_actors.protocol import wire
from cactus_actors.protocol.options import Options

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = (DOCS / "protocol.md").read_text()
EXAMPLES = re.findall(r"^```(json|hex) (client|reply|stream|worker)\n(.*?)^```", DOCUMENT, re.M | re.S)
DECODERS = {
    "client": wire.client_message_decoder(),
    "reply": wire.router_reply_decoder(),
    "stream": wire.stream_message_decoder(),
    "worker": wire.worker_message_decoder(),
}


def test_the_document_has_examples_of_every_conversation() -> None:
    assert {side for _, side, _ in EXAMPLES} == set(DECODERS)
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize(("form", "side", "body"), EXAMPLES)
def test_examples_decode_and_encode_back(form: str, side: str, body: str) -> None:
    if form == "json":
        frames = [b"\x01j", body.strip().encode()]
    else:
        header, *payload = body.split()
        frames = [bytes.fromhex(header), bytes.fromhex("".join(payload))]
    message = DECODERS[side].decode(frames)
    encoding = wire.encoding_of(frames[0])
    if encoding == wire.MSGPACK:
        assert wire.encode(message, encoding) == frames
    else:  # optional fields may be left out of an example
        assert DECODERS[side].decode(wire.encode(message, encoding)) == message


def test_every_option_is_documented() -> None:
    section = (DOCS / "api.md").read_text().split("## Options")[1].split("## ")[0]
    for field in msgspec.structs.fields(Options):
        assert f"`{field.name}`" in section, field.name
