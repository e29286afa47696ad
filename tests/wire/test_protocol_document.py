"""docs/reference/protocol.md agrees with the code: its examples decode, and encode to the same bytes."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
import pytest

from cactus_actors.protocol import wire
from cactus_actors.protocol.confidence import Probability, Probe, SignalFits
from cactus_actors.protocol.messages import Accepted, Resume
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish, SequenceExtras
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.picture_letters import PictureLetters
from tests.support.text.documents import page

DOCUMENT = page("reference/protocol.md")
EXAMPLES = re.findall(r"^```(json|hex) (client|reply|stream|worker)\n(.*?)^```", DOCUMENT, re.M | re.S)
SURE_PROBE = Probe(bias=1.0, entropy_mean=0.0, entropy_max=0.0, surprise_mean=0.0, surprise_max=0.0, length=0.0)
CERTAIN = Probability(signal="probe", scores=[0.5], probabilities=[0.875])
DECODERS: dict[str, Any] = {
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


def test_a_router_accepts_the_example_with_a_picture() -> None:
    [(body, picture)] = re.findall(r"^```json client\n([^`]*)```\n\n```hex frame\n([^`]*)```", DOCUMENT, re.M)
    frames = [b"\x01j", body.encode(), bytes.fromhex("".join(picture.split()))]
    submit, pictures = wire.RequestDecoder().decode(frames)
    router = RouterHarness(model=PictureLetters())
    router.connect()
    [accepted] = router.client(submit, frames=pictures)
    assert isinstance(accepted, Accepted)
    [worker] = router.workers.values()
    [dispatch] = worker.dispatches.values()
    assert dispatch.pictures[0].tiles[0].pixels[:3] == b"\xff\0\0"


def full_examples(kind: str) -> list[dict[str, Any]]:
    """The JSON examples of one type."""
    bodies = [json.loads(body) for form, _, body in EXAMPLES if form == "json"]
    return [body for body in bodies if body["type"] == kind]


@pytest.mark.parametrize("kind", ["finished", "progress", "replay"])
def test_examples_of_final_messages_are_complete(kind: str) -> None:
    """The example contains exactly the encoded fields: a new field requires a change of the page."""
    examples = full_examples(kind)
    assert examples
    for example in examples:
        side = "stream" if kind == "progress" else "reply"
        message = DECODERS[side].decode([b"\x01j", json.dumps(example).encode()])
        assert json.loads(wire.encode(message, wire.JSON)[1]) == example


def shape(value: Any) -> Any:
    """The names inside a value; of the items of a list, those of the first."""
    match value:
        case dict():
            return {name: shape(item) for name, item in sorted(value.items())}
        case [first, *_]:
            return [shape(first)]
    return None


def test_a_router_sends_the_messages_of_the_examples() -> None:
    router = RouterHarness(fits=SignalFits(SURE_PROBE, CERTAIN))
    router.connect()
    router.submit(1, "Hi!", logprobs=True, top_logprobs=2)
    router.subscribe(1)
    top = [[(97, -0.25), (98, -1.5)], [(33, -0.125), (46, -2.25)]]
    router.generate(1, "a!", finish=Finish("stop", 1), extras=SequenceExtras(top=top))
    local, cloud = full_examples("finished")
    [finished] = router.finished(1)
    told = json.loads(wire.encode(finished, wire.JSON)[1])
    assert shape(told) == shape(local)
    [replay] = router.client(Resume(job_id=job_id(1), next_index=1))
    told = json.loads(wire.encode(replay, wire.JSON)[1]) | {"finished": None}
    assert shape(told) == shape(full_examples("replay")[0])
    assert cloud["result"]["handoff"].keys() >= {"local_usage", "local_confidence", "cost", "currency"}
    assert cloud["result"].keys() == local["result"].keys()


def test_the_example_of_a_result_is_consistent() -> None:
    for example in full_examples("finished"):
        result = example["result"]
        timings, usage = result["timings"], result["usage"]
        assert timings["queue_ms"] <= timings["time_to_first_token_ms"] <= timings["total_time_ms"]
        if not result["cloud_handoff"]:
            assert usage["completion_tokens"] == len(result["token_ids"]) == example["length"]
            assert "".join(token["token"] for token in result["logprobs"]) == result["text"]
            prompt_s = (timings["time_to_first_token_ms"] - timings["queue_ms"]) / 1000
            rate = (usage["prompt_tokens"] - usage["cached_tokens"]) / prompt_s
            assert timings["prefill_tokens_per_second"] == pytest.approx(rate, abs=1e-3)
            decode_s = (timings["total_time_ms"] - timings["time_to_first_token_ms"]) / 1000
            rate = (usage["completion_tokens"] - 1) / decode_s
            assert timings["decode_tokens_per_second"] == pytest.approx(rate, abs=1e-3)
            measures = result["measures"]
            assert result["confidence"] == 1 - measures["entropy_mean"]
            logprobs = [token["logprob"] for token in result["logprobs"]]
            assert measures["mean_logprob"] == sum(logprobs) / len(logprobs)
            assert measures["min_token_prob"] == pytest.approx(math.exp(min(logprobs)), abs=1e-4)


def test_every_option_is_documented() -> None:
    section = page("reference/options.md").split("\n## Options")[1].split("\n## ")[0]
    for field in msgspec.structs.fields(Options):
        assert f"`{field.name}`" in section, field.name
