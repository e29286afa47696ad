"""Secret keys do not leak by accident, and no code interprets bytes as more than data."""

from __future__ import annotations

import ast
import copy
import logging
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from cactus_actors.keys.key_file import Credentials
from cactus_actors.keys.key_pair import KeyPair, is_public_key
from cactus_actors.protocol.errors import ConfigurationInvalid
from tests.support.conventions.sources import forget_sources, product, sources

OTHER_CODE = ("benchmarks", "examples")
RUNS_WHAT_IT_READS = {
    "pickle", "cloudpickle", "dill", "marshal", "shelve", "eval", "exec", "recv_pyobj",
    "send_pyobj", "jsonpickle", "joblib", "__import__", "allow_pickle", "trust_remote_code",
}  # fmt: skip
OWN_STATE = {
    "cactus_actors/cli/batch_run.py",
    "cactus_actors/data/parts/part_answers.py",
    "cactus_actors/ray_data/part_actor.py",
    "cactus_actors/ray_data/driver.py",
    "cactus_actors/ray_data/ray_run.py",
    "workers/engine/adapter_table.py",
    "workers/runtime/adapter_sites.py",
    "workers/loading/compile_process.py",
    "workers/loading/load_model.py",
    "router/state/adapter_registry.py",
    "cactus_actors/batch/batch_output.py",
    "cactus_actors/client/router_connection.py",
    "cactus_actors/client/stream.py",
    "cactus_actors/service/service.py",
    "cactus_actors/text/text_model.py",
    "cactus_actors/vision/tiles.py",
    "router/preparation/request_pictures.py",
    "workers/runtime/draft_head.py",
    "workers/families/gemma3n.py",
    "workers/runtime/expert_graph.py",
    "workers/runtime/stream_graph.py",
    "cactus_actors/config_fields.py",
    "cactus_actors/fleet/singleton.py",
    "cactus_actors/ffi/build.py",
    "cactus_actors/gateway/actor.py",
    "cactus_actors/gateway/answers/response_answers.py",
    "cactus_actors/gateway/answers/streaming_response.py",
    "cactus_actors/gateway/files/message_batch.py",
    "cactus_actors/gateway/files/stored_responses.py",
    "cactus_actors/api/responses/response_events.py",
    "cactus_actors/gateway/server.py",
    "cactus_actors/handoff/request_budget.py",
    "cactus_actors/handoff/worker_socket.py",
    "cactus_actors/handoff/cloud_requests.py",
    "cactus_actors/placement/local/local_actor.py",
    "cactus_actors/protocol/confidence.py",
    "cactus_actors/structured/gbnf/parser.py",
    "cactus_actors/structured/satisfiability.py",
    "cactus_actors/text/chat_template.py",
    "cactus_actors/tools/streamed_text.py",
    "cactus_actors/tools/text_with_calls.py",
    "router/actor.py",
    "router/scheduling/worker_table.py",
    "router/scheduling/job_queue.py",
    "router/lifecycle/escalations.py",
    "router/lifecycle/job_finisher.py",
    "router/lifecycle/handoff_result.py",
    "router/journal/job_journal.py",
    "router/lifecycle/journal_writer.py",
    "router/preparation/reasoning_params.py",
    "router/preparation/preparer_process.py",
    "workers/engine_bench.py",
    "workers/engine/block_pool.py",
    "workers/engine/hidden_state_pooling.py",
    "workers/engine/picture_queue.py",
    "workers/engine/engine.py",
    "workers/families/decoder_parts.py",
    "workers/families/granite_moe.py",
    "workers/families/lfm2_vl.py",
    "workers/families/qwen3_vl.py",
    "workers/vision/lfm3_vision.py",
    "workers/spec/qwen_vision_config.py",
    "workers/runtime/axes_step.py",
    "workers/spec/rotary.py",
    "workers/runtime/graph.py",
    "workers/runtime/patch_encoder.py",
    "workers/runtime/program.py",
    "workers/runtime/step_programs.py",
    "workers/runtime/transformer.py",
    "workers/engine/sequence.py",
    "workers/families/qwen3_5.py",
    "workers/engine/step_batch.py",
    "workers/engine/state_pool.py",
    "workers/engine/scheduler.py",
    "workers/families/granite4.py",
    "workers/families/qwen3_5_moe.py",
    "workers/families/qwen3_5_mtp.py",
}
"""Files whose assertions concern the program's own state; input was checked before."""


def test_a_secret_key_is_not_shown() -> None:
    pair = KeyPair.generate()
    credentials = Credentials(pair, KeyPair.generate().public, "alice")
    record = logging.LogRecord("n", 40, "p", 1, "%s %r", (pair, credentials), None)
    for text in (str(pair), f"{credentials}", record.getMessage(), str([pair]), f"{vars(credentials)}"):
        assert pair.reveal() not in text
    assert KeyPair(pair.reveal()).public == pair.public


def test_a_secret_key_cannot_be_pickled_or_copied() -> None:
    """Ray would send it to another process with the arguments of an actor."""
    for secret in (KeyPair.generate(), Credentials(KeyPair.generate(), "", "")):
        with pytest.raises(TypeError, match="does not leave its process"):
            pickle.dumps(secret)
        with pytest.raises(TypeError, match="does not leave its process"):
            copy.deepcopy(secret)


@pytest.mark.parametrize("text", ["", "x", "é" * 40, "0" * 39, '"' * 40, "0" * 41])
def test_invalid_keys_are_refused(text: str) -> None:
    assert not is_public_key(text)
    with pytest.raises(ConfigurationInvalid, match="40 characters"):
        KeyPair(text)


@pytest.fixture(scope="module", autouse=True)
def _sources() -> Iterator[None]:
    yield
    forget_sources()


def names_of(nodes: Iterable[ast.AST]) -> set[str]:
    """Every module, function and attribute that a file names."""
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.Import(names=modules):
                names |= {part for module in modules for part in module.name.split(".")}
            case ast.ImportFrom(module=module, names=imported):
                names |= {*(module or "").split("."), *(name.name for name in imported)}
            case ast.keyword(value=ast.Constant(value=False)):
                pass  # the features that are switched off
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                names.add(name)
    return names


def test_no_code_executes_its_input() -> None:
    files = [*product(), *sources(*OTHER_CODE)]
    assert len(files) > 100
    found = {file.path: sorted(names) for file in files if (names := names_of(file.nodes) & RUNS_WHAT_IT_READS)}
    assert found == {}
    assert names_of(ast.walk(ast.parse(Path(__file__).read_text()))) >= {"pickle"}


def test_checks_are_not_assertions() -> None:
    """`python -O` removes assertions; a new file with assertions is added to this list if they check no input."""
    asserting = {file.path for file in product() if any(isinstance(node, ast.Assert) for node in file.nodes)}
    assert asserting == OWN_STATE
